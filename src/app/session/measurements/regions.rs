//! Sums of regions on the stored iterates: the curve of an edited region.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::measurement::Measurement;
use super::roi_set::RoiSet;
use crate::data::{Roi, RoiMask, RoiSums, RunId};
use crate::session::history::{History, StoredIterate};

/// Sums of regions on the stored iterates, and in a further answer on the current one and those stored meanwhile.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RegionSums {
    pub branch: u64,
    /// (iteration, subiteration, sums in the order of the ROI set), oldest first.
    pub points: Vec<(usize, usize, Vec<RoiSums>)>,
    /// Number of steps of the current iterate, and the standard deviations of the means between its replicates.
    pub deviations: Option<(usize, Vec<Option<f64>>)>,
}

/// Regions, and their sums on the iterates of a run.
pub struct Edit {
    rois: RoiSet,
    /// Sums by the steps done.
    sums: HashMap<usize, Vec<RoiSums>>,
    /// Sums of the previous regions.
    before: HashMap<usize, Vec<RoiSums>>,
    /// Index of the previous region that covers the same voxels, for each region.
    unmoved: Vec<Option<usize>>,
}

impl Measurement for Edit {
    type Query = RoiSet;
    type Answer = RegionSums;
    /// (The curves of the regions have branches.)
    type Found = ();

    /// Returns the edit that follows another of the same run; sums of unmoved regions are reused.
    fn begin(rois: RoiSet, before: Option<Self>) -> Option<Self> {
        let index = |roi: &Roi| before.as_ref()?.rois.rois.iter().position(|other| other.covers_same(roi));
        let unmoved = rois.rois.iter().map(index).collect();
        Some(Self { rois, sums: HashMap::new(), unmoved, before: before.map(|before| before.sums).unwrap_or_default() })
    }

    /// Measures all iterates: they are the curve of a dragged region.
    fn measure(&mut self, run: RunId, history: &History) -> Option<RegionSums> {
        let points = self.points(history.entries(run));
        (!points.is_empty()).then_some(RegionSums { branch: self.rois.branch, points, deviations: None })
    }

    fn add(_answer: &RegionSums, _found: &mut ()) {}

    fn regions(query: &mut RoiSet) -> Option<&mut RoiSet> {
        Some(query)
    }
}

impl Edit {
    /// Returns (iteration, subiteration, sums of each region) of the images that were not measured yet, in their order.
    fn points(&mut self, images: Vec<StoredIterate>) -> Vec<(usize, usize, Vec<RoiSums>)> {
        let Self { rois, sums, before, unmoved } = self;
        let new = images.into_iter().filter(|image| !sums.contains_key(&image.id.subiteration)).map(|image| {
            let masks = rois.rois.masks(&image.volume.grid);
            let known = before.get(&image.id.subiteration);
            let of = |(mask, index): (&RoiMask, &Option<usize>)| {
                let known = index.and_then(|index| known?.get(index).copied());
                known.unwrap_or_else(|| mask.sums(image.volume.as_slice()))
            };
            (image.id.iteration, image.id.subiteration, masks.iter().zip(&*unmoved).map(of).collect())
        });
        let new: Vec<(usize, usize, Vec<RoiSums>)> = new.collect();
        sums.extend(new.iter().map(|(_, subiteration, sums)| (*subiteration, sums.clone())));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::image;
    use super::*;
    use crate::data::{RoiPlane, RoiShape};

    #[test]
    fn of_the_regions_only_those_that_moved_are_measured_again() {
        let images = [image(1, [1.0, 2.0, 3.0], 1.0), image(2, [4.0, 5.0, 6.0], 1.0)];
        let roi = |x_mm: f64| Roi::new("r", RoiShape::Box { size_mm: [1.0; 3], plane: RoiPlane::Transaxial }, [x_mm, 0.0, 0.0]);
        let set = |branch, places: &[f64]| RoiSet { branch, rois: places.iter().copied().map(roi).collect::<Vec<_>>().into() };
        let sums = |edit: &mut Edit, images: &[StoredIterate]| -> Vec<Vec<f64>> {
            edit.points(images.to_vec()).into_iter().map(|(.., sums)| sums.iter().map(|sums| sums.sum).collect()).collect()
        };
        let mut edit = Edit::begin(set(1, &[-1.0, 0.0]), None).unwrap();
        assert_eq!(sums(&mut edit, &images[..1]), [[1.0, 2.0]]);
        // Other images under the same numbers show which sums were reused: those of the unmoved region on the measured image.
        let others = [image(1, [10.0, 20.0, 30.0], 1.0), image(2, [40.0, 50.0, 60.0], 1.0)];
        let mut moved = Edit::begin(set(2, &[1.0, 0.0]), Some(edit)).unwrap();
        assert_eq!(sums(&mut moved, &others), [[30.0, 2.0], [60.0, 50.0]]);
        assert!(sums(&mut moved, &others).is_empty());
    }
}
