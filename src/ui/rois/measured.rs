//! Numbers of the ROIs on the image that is shown, for the table.

use crate::data::{Roi, RoiMask, RoiRole, RoiSums, Volume};
use crate::geometry::Grid;
use crate::session::{RoiNumbers, roi_numbers};

/// Why a ROI's recovery is not known.
pub fn why_no_recovery(rois: &[Roi], roi: &Roi) -> &'static str {
    match (roi.role, roi.activity_ratio) {
        (RoiRole::None | RoiRole::Background, _) => "only regions of the role hot or cold have a recovery",
        (RoiRole::Hot, None) => "enter the true ratio of its activity to the background's: without it there is no recovery",
        _ if rois.iter().all(|roi| roi.role != RoiRole::Background) => "needs a region of the role background",
        _ => "the region lies outside the image, or the background's mean is not positive",
    }
}

/// Which image is measured: grows with each change of what is on the screen; whether without its filter.
type ImageKey = (u64, bool);

/// Masks and sums of the document's ROIs on the image that is shown, renewed only where something changed.
#[derive(Default)]
pub struct TableCache {
    grid: Option<Grid>,
    masks: Vec<(Roi, RoiMask)>,
    sums: Vec<RoiSums>,
    image: Option<ImageKey>,
    numbers: Vec<RoiNumbers>,
}

impl TableCache {
    /// Brings the numbers up to date; `image` tells which one the volume is.
    pub fn update(&mut self, rois: &[Roi], volume: &Volume, image: ImageKey) {
        let same_grid = self.grid.as_ref() == Some(&volume.grid);
        let same_image = same_grid && self.image == Some(image);
        if same_image && self.masks.iter().map(|(roi, _)| roi).eq(rois) {
            return;
        }
        if !same_grid {
            self.masks.clear();
            self.grid = Some(volume.grid.clone());
        }
        let old = std::mem::take(&mut self.masks);
        let old_sums = std::mem::take(&mut self.sums);
        for (index, roi) in rois.iter().enumerate() {
            let same_shape = |other: &Roi| other.shape == roi.shape && other.centre_mm == roi.centre_mm;
            let kept = old.get(index).filter(|(before, _)| same_shape(before)).map(|(_, mask)| mask.clone());
            let is_kept = kept.is_some();
            let mask = kept.unwrap_or_else(|| roi.mask(&volume.grid));
            let sums = old_sums.get(index).filter(|_| same_image && is_kept).copied();
            self.sums.push(sums.unwrap_or_else(|| mask.sums(volume.as_slice())));
            self.masks.push((roi.clone(), mask));
        }
        self.image = Some(image);
        let sums: Vec<Option<RoiSums>> = self.sums.iter().copied().map(Some).collect();
        self.numbers = roi_numbers(rois, &sums, volume.grid.voxel_ml()).into_iter().flatten().collect();
    }

    /// The numbers, in the order of the ROIs.
    pub fn numbers(&self) -> &[RoiNumbers] {
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RoiShape;

    fn sphere(role: RoiRole, x_mm: f64) -> Roi {
        let shape = RoiShape::Sphere { radius_mm: 3.0 };
        Roi { name: "r".into(), shape, centre_mm: [x_mm, 0.0, 0.0], role, activity_ratio: Some(3.0), colour: None }
    }

    #[test]
    fn recovery_is_against_the_background() {
        let mut volume = Volume::filled(Grid::centred([20, 20, 20], [1.0; 3]).unwrap(), 2.0);
        for ((_, _, x), value) in volume.values.indexed_iter_mut() {
            if x < 10 {
                *value = 4.0;
            }
        }
        let rois = [sphere(RoiRole::Hot, -5.0), sphere(RoiRole::Background, 5.0)];
        let mut cache = TableCache::default();
        cache.update(&rois, &volume, (1, false));
        assert_eq!(cache.numbers()[0].recovery, Some(0.5));
        assert_eq!(cache.numbers()[1].nsr, Some(0.0));
        // Nobody said how active it truly is.
        let unknown = Roi { activity_ratio: None, ..rois[0].clone() };
        cache.update(&[unknown.clone(), rois[1].clone()], &volume, (1, false));
        assert_eq!((cache.numbers()[0].recovery, cache.numbers()[0].mean), (None, Some(4.0)));
        assert!(why_no_recovery(&rois, &unknown).contains("enter the true ratio"));
        // Another image, then another place.
        volume.as_mut_slice().fill(2.0);
        cache.update(&rois, &volume, (2, false));
        assert_eq!(cache.numbers()[0].recovery, Some(0.0));
        cache.update(&[rois[1].clone(), sphere(RoiRole::Cold, -50.0)], &volume, (2, false));
        assert_eq!((cache.numbers()[0].mean, cache.numbers()[1].mean), (Some(2.0), None));
    }
}
