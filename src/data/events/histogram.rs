//! Events counted in the bins of a cylinder's michelogram.

use std::sync::Arc;

use super::chunk::Events;
use crate::data::sinogram::michelogram::Michelogram;
use crate::scanner::{Cylinder, CylinderBin, ScanGeometry};

/// Counts of the bins of [`Cylinder::geometry`].
#[derive(Clone, Debug)]
pub struct EventHistogram {
    /// The cylinder.
    pub cylinder: Arc<Cylinder>,
    /// Sampling of the bins.
    pub geometry: Arc<ScanGeometry>,
    /// Plane of each pair of rings, `[ring1][ring2]`: where lines end, and where they begin.
    planes: Vec<Option<u32>>,
    /// Counts of the bins.
    pub counts: Vec<f32>,
    /// Events in the bins that each place took part in, `[ring][detector]`.
    pub counts_of_places: Vec<f64>,
    num_counted: u64,
    num_outside: u64,
}

impl EventHistogram {
    /// Returns a histogram without events. `geometry` is one of [`Cylinder::geometry`] of this cylinder.
    pub fn new(cylinder: Arc<Cylinder>, geometry: Arc<ScanGeometry>) -> Self {
        let (planes, counts) = (planes_of_rings(&geometry), vec![0.0; geometry.num_bins()]);
        let counts_of_places = vec![0.0; cylinder.num_rings * cylinder.num_detectors];
        Self { cylinder, geometry, planes, counts, counts_of_places, num_counted: 0, num_outside: 0 }
    }

    /// Returns the bin of a pair of crystals; `None` where the sampling has none for it. (Numbers must be those of crystals.)
    pub fn bin(&self, pair: [u32; 2]) -> Option<usize> {
        self.index(self.cylinder.bin(pair))
    }

    fn index(&self, bin: CylinderBin) -> Option<usize> {
        let plane = self.planes[bin.ring1 as usize * self.cylinder.num_rings + bin.ring2 as usize]?;
        let num_tangential = self.geometry.num_tangential;
        let tangential_pos = usize::try_from(bin.tangential + (num_tangential / 2) as i32).ok()?;
        let transaxial = bin.view * num_tangential + tangential_pos;
        (tangential_pos < num_tangential).then(|| transaxial * self.geometry.num_planes() + plane as usize)
    }

    /// Counts events.
    pub fn add(&mut self, events: &Events) {
        for &pair in &events.pairs {
            match self.bin(pair) {
                Some(bin) => {
                    self.counts[bin] += 1.0;
                    self.num_counted += 1;
                    for crystal in pair {
                        self.counts_of_places[self.cylinder.place(crystal)] += 1.0;
                    }
                }
                None => self.num_outside += 1,
            }
        }
    }

    /// Calls `visit` with the bin of each pair of places, and the places (ring · detectors + detector) at the end and at the start
    /// of their line.
    pub fn for_each_pair(&self, mut visit: impl FnMut(usize, [usize; 2])) {
        let (cylinder, num, num_planes) = (&self.cylinder, self.cylinder.num_detectors, self.geometry.num_planes());
        let num_rings = cylinder.num_rings;
        let rings = |pair: usize| Some((self.planes[pair]? as usize, pair / num_rings, pair % num_rings));
        let rings: Vec<(usize, usize, usize)> = (0..num_rings * num_rings).filter_map(rings).collect();
        for transaxial in 0..self.geometry.num_transaxial() {
            let [view, tangential_pos] = [transaxial / self.geometry.num_tangential, transaxial % self.geometry.num_tangential];
            let [end1, end2] = cylinder.detectors(view, self.geometry.tangential_index(tangential_pos) as i32);
            for &(plane, ring1, ring2) in &rings {
                visit(transaxial * num_planes + plane, [ring1 * num + end1, ring2 * num + end2]);
            }
        }
    }

    /// Events in the bins, and those for which there is none.
    pub fn num_events(&self) -> [u64; 2] {
        [self.num_counted, self.num_outside]
    }

    /// Returns the counts as projection data.
    pub fn into_michelogram(self) -> Michelogram {
        Michelogram { geometry: self.geometry, counts: Arc::new(self.counts), tof: None }
    }
}

/// Returns the plane of each pair of rings, `[ring1][ring2]`: those at the end and at the start of its lines. Planes of one ring
/// difference are as far apart as rings, others half as far.
fn planes_of_rings(geometry: &ScanGeometry) -> Vec<Option<u32>> {
    let num_rings = geometry.num_rings as i32;
    let mut planes = vec![None; (num_rings * num_rings) as usize];
    let mut first = 0;
    for segment in &geometry.segments {
        let (min, max) = (segment.min_ring_difference, segment.max_ring_difference);
        let smallest = (min..=max).map(i32::abs).min().unwrap_or(0);
        for difference in min..=max {
            for lower in 0..num_rings - difference.abs() {
                let [ring1, ring2] = [lower + (-difference).max(0), lower + difference.max(0)];
                let axial_pos = if segment.is_spanned() { ring1 + ring2 - smallest } else { lower };
                planes[(ring1 * num_rings + ring2) as usize] = Some((first + axial_pos) as u32);
            }
        }
        first += segment.num_axial_pos as i32;
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::{Detectors, find};

    #[test]
    fn every_pair_within_the_sampling_is_counted_in_the_bin_whose_line_it_is_nearly() {
        let detectors = Detectors::of_cylinder(&find("small").unwrap().geometry).unwrap();
        let cylinder = Arc::new(Cylinder::recognise(&detectors).unwrap());
        for span in [1, 3, 5] {
            let geometry = Arc::new(cylinder.geometry("small", 61, 5, span, 60.0).unwrap());
            let mut histogram = EventHistogram::new(Arc::clone(&cylinder), Arc::clone(&geometry));
            let planes = geometry.planes();
            let all = (0..768u32).flat_map(|a| (0..a).map(move |b| [a, b])).filter(|[a, b]| a % 96 != b % 96);
            for pair in all {
                let bin = histogram.bin(pair);
                assert_eq!(histogram.bin([pair[1], pair[0]]), bin);
                let Some(bin) = bin else { continue };
                // The ends of a plane lie half a ring and what the span adds from those of its pairs of rings; its middle does not.
                let plane = planes[bin % planes.len()];
                let z = pair.map(|crystal| detectors.crystals()[crystal as usize].centre_mm[2]);
                assert!((plane.z_start_mm + plane.z_end_mm - z[0] - z[1]).abs() < 1e-9, "{pair:?} in {plane:?}");
                let rise = (plane.z_start_mm - plane.z_end_mm).abs() - (z[0] - z[1]).abs();
                assert!(rise.abs() < 2.5 * span as f64, "{pair:?} in {plane:?}");
            }
            let pairs: Vec<[u32; 2]> =
                (0..768).flat_map(|a| (0..a).map(move |b| [a, b])).filter(|[a, b]| a % 96 != b % 96).collect();
            let events = Events { pairs, ..Events::default() };
            histogram.add(&events);
            let mut num_pairs = vec![0.0; geometry.num_bins()];
            histogram.for_each_pair(|bin, ends| {
                assert_eq!(histogram.bin(ends.map(|end| end as u32)), Some(bin));
                num_pairs[bin] += 1.0;
            });
            let [inside, outside] = histogram.num_events();
            assert_eq!(inside + outside, events.len() as u64);
            assert!(histogram.counts == num_pairs && num_pairs.iter().all(|num| *num > 0.0));
            assert_eq!(histogram.counts_of_places.iter().sum::<f64>(), 2.0 * inside as f64);
        }
    }
}
