//! Events counted in the bins of a cylinder's michelogram.

use std::sync::Arc;

use super::{Events, Michelogram};
use crate::scanner::{Cylinder, ScanGeometry, Segment};

/// Counts of the bins of [`Cylinder::geometry`], one for each pair of detectors.
#[derive(Clone, Debug)]
pub struct EventHistogram {
    cylinder: Arc<Cylinder>,
    geometry: Arc<ScanGeometry>,
    /// Where the planes of each ring difference begin, from the most negative one on; `None` where there are none.
    first_planes: Vec<Option<usize>>,
    num_planes: usize,
    counts: Vec<f32>,
    num_counted: u64,
    num_outside: u64,
}

impl EventHistogram {
    /// Without events. `geometry` is one of [`Cylinder::geometry`] of this cylinder.
    pub fn new(cylinder: Arc<Cylinder>, geometry: Arc<ScanGeometry>) -> Self {
        let largest = cylinder.num_rings as i32 - 1;
        let mut first_planes = vec![None; 2 * cylinder.num_rings - 1];
        let mut first = 0;
        for segment in &geometry.segments {
            first_planes[(segment.min_ring_difference + largest) as usize] = Some(first);
            first += segment.num_axial_pos;
        }
        let counts = vec![0.0; geometry.num_bins()];
        Self { cylinder, geometry, first_planes, num_planes: first, counts, num_counted: 0, num_outside: 0 }
    }

    /// The bin of a pair of crystals; `None` where the sampling has none for it. (Numbers must be those of crystals.)
    pub fn bin(&self, pair: [u32; 2]) -> Option<usize> {
        let bin = self.cylinder.bin(pair);
        let difference = bin.ring2 as i32 - bin.ring1 as i32;
        let first = self.first_planes[(difference + self.cylinder.num_rings as i32 - 1) as usize]?;
        let plane = first + bin.ring1.min(bin.ring2) as usize;
        let tangential_pos = usize::try_from(bin.tangential + (self.geometry.num_tangential / 2) as i32).ok()?;
        let is_inside = tangential_pos < self.geometry.num_tangential
            && bin.tangential.unsigned_abs() < self.cylinder.num_detectors as u32 / 2;
        is_inside.then(|| (bin.view * self.geometry.num_tangential + tangential_pos) * self.num_planes + plane)
    }

    /// Counts events.
    pub fn add(&mut self, events: &Events) {
        for &pair in &events.pairs {
            match self.bin(pair) {
                Some(bin) => {
                    self.counts[bin] += 1.0;
                    self.num_counted += 1;
                }
                None => self.num_outside += 1,
            }
        }
    }

    /// Number of places that detectors can have.
    pub fn num_places(&self) -> usize {
        self.cylinder.num_rings * self.cylinder.num_detectors
    }

    /// Calls `visit` with each bin and the places (ring · detectors + detector) at the end and at the start of its line.
    pub fn for_each_bin(&self, mut visit: impl FnMut(usize, [usize; 2])) {
        let (cylinder, num) = (&self.cylinder, self.cylinder.num_detectors);
        let rings: Vec<[usize; 2]> = self.geometry.segments.iter().flat_map(ring_pairs).collect();
        let mut bin = 0;
        for view in 0..self.geometry.num_views {
            for tangential_pos in 0..self.geometry.num_tangential {
                let ends = cylinder.detectors(view, self.geometry.tangential_index(tangential_pos) as i32);
                for &[ring1, ring2] in &rings {
                    visit(bin, [ring1 * num + ends[0], ring2 * num + ends[1]]);
                    bin += 1;
                }
            }
        }
    }

    /// Events in the bins, and those for which there is none.
    pub fn num_events(&self) -> [u64; 2] {
        [self.num_counted, self.num_outside]
    }

    /// The sampling.
    pub fn geometry(&self) -> &Arc<ScanGeometry> {
        &self.geometry
    }

    /// The cylinder.
    pub fn cylinder(&self) -> &Arc<Cylinder> {
        &self.cylinder
    }

    /// The counts.
    pub fn counts(&self) -> &[f32] {
        &self.counts
    }

    /// The counts as projection data.
    pub fn into_michelogram(self) -> Michelogram {
        Michelogram { geometry: self.geometry, counts: Arc::new(self.counts) }
    }
}

/// Rings at the end and at the start of the lines of a segment's planes.
fn ring_pairs(segment: &Segment) -> impl Iterator<Item = [usize; 2]> {
    let [down, up] = [-segment.min_ring_difference, segment.min_ring_difference].map(|shift| shift.max(0) as usize);
    (0..segment.num_axial_pos).map(move |axial_pos| [axial_pos + down, axial_pos + up])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find;

    #[test]
    fn every_pair_within_the_sampling_is_counted_once() {
        let cylinder = Arc::new(Cylinder::of(&find("small").unwrap().geometry));
        let geometry = Arc::new(cylinder.geometry("small", 61, 3, 60.0).unwrap());
        let mut histogram = EventHistogram::new(Arc::clone(&cylinder), geometry);
        let pairs: Vec<[u32; 2]> = (0..768).flat_map(|a| (0..a).map(move |b| [a, b])).filter(|[a, b]| a % 96 != b % 96).collect();
        let events = Events { pairs, ..Events::default() };
        histogram.add(&events);
        let num_bins = histogram.geometry().num_bins() as u64;
        assert_eq!(histogram.num_events(), [num_bins, events.len() as u64 - num_bins]);
        assert!(histogram.counts().iter().all(|&count| count == 1.0));
        histogram.for_each_bin(|bin, ends| {
            let pair = ends.map(|end| end as u32);
            assert_eq!([histogram.bin(pair), histogram.bin([pair[1], pair[0]])], [Some(bin); 2]);
        });
    }
}
