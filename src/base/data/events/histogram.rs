//! Events counted in the bins of a cylinder's michelogram, also by their time of flight.

use std::sync::Arc;

use super::chunk::Events;
use crate::data::sinogram::michelogram::Michelogram;
use crate::data::sinogram::tof::{TofBins, TofValues};
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
    /// The same by time of flight.
    by_tof: Option<TofCounts>,
    /// Events in the bins that each place took part in, `[ring][detector]`.
    pub counts_of_places: Vec<f64>,
    num_counted: u64,
    num_outside: u64,
}

/// Counts by time of flight.
#[derive(Clone, Debug)]
struct TofCounts {
    bins: TofBins,
    /// `[view][tangential_pos][tof][plane]`.
    counts: Vec<f32>,
    num_outside: u64,
    num_across: u64,
}

/// Part of a bin's width by which an interval of d can exceed the bin and still be in it: of rounding.
const EDGE_TOLERANCE: f64 = 1e-3;

impl TofCounts {
    /// Returns the time-of-flight bin that holds the middle of an interval of d, mm towards the end of a line. Counts it as
    /// outside if there is none, and as across if it reaches into another bin.
    fn bin(&mut self, [from_mm, to_mm]: [f64; 2]) -> Option<usize> {
        let Some(bin) = self.bins.index_of(0.5 * (from_mm + to_mm)) else {
            self.num_outside += 1;
            return None;
        };
        let ([low, high], tolerance) = (self.bins.edges_mm(bin), EDGE_TOLERANCE * self.bins.width_mm);
        self.num_across += u64::from(from_mm < low - tolerance || to_mm > high + tolerance);
        Some(bin)
    }
}

impl EventHistogram {
    /// Returns a histogram without events. `geometry` is one of [`Cylinder::geometry`] of this cylinder.
    pub fn new(cylinder: Arc<Cylinder>, geometry: Arc<ScanGeometry>) -> Self {
        let (planes, counts) = (planes_of_rings(&geometry), vec![0.0; geometry.num_bins()]);
        let counts_of_places = vec![0.0; cylinder.num_rings * cylinder.num_detectors];
        Self { cylinder, geometry, planes, counts, by_tof: None, counts_of_places, num_counted: 0, num_outside: 0 }
    }

    /// Counts events by their time of flight, too. Events outside of these bins are not counted.
    #[must_use]
    pub fn with_tof(self, bins: TofBins) -> Self {
        let counts = vec![0.0; self.counts.len() * bins.num];
        Self { by_tof: Some(TofCounts { bins, counts, num_outside: 0, num_across: 0 }), ..self }
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
        let num_planes = self.geometry.num_planes();
        for (event, &pair) in events.pairs.iter().enumerate() {
            let line = self.cylinder.bin(pair);
            let Some(bin) = self.index(line) else {
                self.num_outside += 1;
                continue;
            };
            if let Some(by_tof) = &mut self.by_tof {
                // An event's d is towards its second crystal. Without d the event may be from anywhere on the line.
                let [from, to] = events.tof_mm.get(event).map_or([f64::NEG_INFINITY, f64::INFINITY], |d| d.map(f64::from));
                let Some(tof) = by_tof.bin(if line.is_swapped { [from, to] } else { [-to, -from] }) else { continue };
                let (transaxial, plane) = (bin / num_planes, bin % num_planes);
                by_tof.counts[(transaxial * by_tof.bins.num + tof) * num_planes + plane] += 1.0;
            }
            self.counts[bin] += 1.0;
            self.num_counted += 1;
            for crystal in pair {
                self.counts_of_places[self.cylinder.place(crystal)] += 1.0;
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

    /// Events in the bins, and those whose line has none.
    pub fn num_events(&self) -> [u64; 2] {
        [self.num_counted, self.num_outside]
    }

    /// Returns the time-of-flight bins, and the numbers of events outside of these and of events whose interval of d reaches into
    /// two of them.
    pub fn tof(&self) -> Option<(TofBins, [u64; 2])> {
        self.by_tof.as_ref().map(|tof| (tof.bins, [tof.num_outside, tof.num_across]))
    }

    /// Returns the counts as projection data.
    pub fn into_michelogram(self) -> Michelogram {
        let tof = self.by_tof.map(|TofCounts { bins, counts, .. }| TofValues { bins, values: Arc::new(counts) });
        Michelogram { geometry: self.geometry, counts: Arc::new(self.counts), tof }
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
    use crate::geometry::Line;
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

    #[test]
    fn events_of_a_point_are_in_the_time_of_flight_bins_of_its_place_on_their_lines() {
        let scanner = &find("small").unwrap().geometry;
        let detectors = Detectors::of_cylinder(scanner).unwrap();
        let cylinder = Arc::new(Cylinder::recognise(&detectors).unwrap());
        let geometry = Arc::new(cylinder.geometry("small", 61, 7, 1, 60.0).unwrap());
        let bins = TofBins { num: 7, width_mm: 6.0, fwhm_mm: 10.0 };
        let point = [21.0, -9.0, 4.0];
        // Where a point is from the middle of a line, towards its end.
        let along = |line: &Line| {
            let towards = |a: usize| (line.end[a] - line.start[a]) / line.length_mm();
            (0..3).map(|a| (point[a] - 0.5 * (line.start[a] + line.end[a])) * towards(a)).sum::<f64>()
        };
        let (planes, num_planes) = (geometry.planes(), geometry.num_planes());
        let mut histogram = EventHistogram::new(Arc::clone(&cylinder), Arc::clone(&geometry)).with_tof(bins);
        let (mut expected, mut num_expected) = (vec![0.0; geometry.num_bins() * bins.num], [0, 0]);
        for pair in (0..768u32).step_by(5).flat_map(|a| (0..768).step_by(7).map(move |b| [a, b])) {
            let Some(bin) = histogram.bin(pair).filter(|_| pair[0] % 96 != pair[1] % 96) else { continue };
            let (transaxial, plane) = (bin / num_planes, bin % num_planes);
            let in_plane = geometry.transaxial_lor(transaxial / 61, transaxial % 61, 0, 1);
            let d = along(&geometry.lor(in_plane, planes[plane]));
            // (Rounding decides at an edge.)
            let edge = (d / bins.width_mm + 0.5).rem_euclid(1.0);
            if edge.min(1.0 - edge) < 1e-3 {
                continue;
            }
            histogram.add(&Events {
                pairs: vec![pair],
                tof_mm: vec![[along(&detectors.line(pair)) as f32; 2]],
                ..Events::default()
            });
            let tof = bins.index_of(d);
            tof.inspect(|tof| expected[(transaxial * bins.num + tof) * num_planes + plane] += 1.0);
            num_expected[usize::from(tof.is_none())] += 1;
        }
        let ([num_inside, _], (_, [outside, across])) = (histogram.num_events(), histogram.tof().unwrap());
        assert_eq!(([num_inside, outside], across), (num_expected, 0));
        assert!(num_inside > 1000 && outside > 10, "{num_expected:?}");
        let data = histogram.into_michelogram();
        let tof = data.tof.as_ref().unwrap();
        assert!(*tof.values == expected && tof.sums(num_planes, bins.num) == *data.counts);
    }

    #[test]
    fn intervals_across_bins_and_events_without_time_of_flight_are_counted() {
        let scanner = &find("small").unwrap().geometry;
        let cylinder = Arc::new(Cylinder::of(scanner));
        let geometry = Arc::new(cylinder.geometry("small", 61, 7, 1, 60.0).unwrap());
        let mut histogram = EventHistogram::new(cylinder, geometry).with_tof(TofBins { num: 3, width_mm: 6.0, fwhm_mm: 10.0 });
        let add = |histogram: &mut EventHistogram, tof_mm: Vec<[f32; 2]>| {
            histogram.add(&Events { pairs: vec![[0, 48]], tof_mm, ..Events::default() });
            let (_, numbers) = histogram.tof().unwrap();
            (histogram.num_events(), numbers)
        };
        assert_eq!(add(&mut histogram, vec![[3.0, 9.0]]), ([1, 0], [0, 0]));
        assert_eq!(add(&mut histogram, vec![[2.0, 5.0]]), ([2, 0], [0, 1]));
        assert_eq!(add(&mut histogram, Vec::new()), ([2, 0], [1, 1]));
    }
}
