//! Distance of an image from a converged one over regions of interest, by the measures of the PETRIC challenge.
//!
//! The background is that of the background regions, the object every voxel above 5 % of the reference's maximum, and the volumes of
//! interest are the hot and cold regions. A run has converged when [`HELD_UPDATES`](super::HELD_UPDATES) images in a row are close.

use super::{MAX_MEAN_ERROR, MAX_RMSE, PetricMasks, PetricMeasures};
use crate::data::{Roi, RoiMask, RoiRole};

/// Part of the reference's maximum above which a voxel belongs to the object.
const OBJECT_PART: f32 = 0.05;

impl PetricMasks {
    /// Returns the regions of a reference, `[z, y, x]`, from regions of interest with their masks on its grid. `None` without a
    /// background region on it.
    pub fn of_regions(reference: &[f32], rois: &[Roi], masks: &[RoiMask]) -> Option<Self> {
        let of_role = |is_wanted: fn(RoiRole) -> bool| {
            rois.iter().zip(masks).filter(move |(roi, mask)| is_wanted(roi.role) && !mask.voxels.is_empty())
        };
        let background = of_role(|role| role == RoiRole::Background).flat_map(|(_, mask)| mask.voxels.iter().copied());
        let background = RoiMask { voxels: background.collect() };
        let threshold = OBJECT_PART * reference.iter().copied().fold(0.0, f32::max);
        let object = (0..).zip(reference).filter(|(_, value)| **value > threshold).map(|(voxel, _)| (voxel, 1.0));
        let vois = of_role(|role| matches!(role, RoiRole::Hot | RoiRole::Cold));
        let vois = vois.map(|(roi, mask)| (roi.name.clone(), mask.clone())).collect();
        (!background.voxels.is_empty()).then(|| Self { whole_object: RoiMask { voxels: object.collect() }, background, vois })
    }
}

/// Distance of an image from a reference, each value a fraction of the mean of the reference's background.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Convergence {
    /// Root mean square error over the object.
    pub object_rmse: f64,
    /// Root mean square error over the background regions.
    pub background_rmse: f64,
    /// Largest error of the mean of a hot or cold region; `None` without one.
    pub region_error: Option<f64>,
}

impl Convergence {
    /// Measures an image; `None` where its reference has no such measure ([`PetricMeasures::of`]).
    pub fn of(image: &[f32], reference: &[f32], masks: &PetricMasks) -> Option<Self> {
        let found = PetricMeasures::of(image, reference, masks)?;
        Some(Self {
            object_rmse: found.whole_object_rmse,
            background_rmse: found.background_rmse,
            region_error: (!masks.vois.is_empty()).then(|| found.max_voi_error()),
        })
    }

    /// Returns true if all measures are within their limits.
    pub fn is_close(&self) -> bool {
        self.object_rmse <= MAX_RMSE
            && self.background_rmse <= MAX_RMSE
            && self.region_error.is_none_or(|error| error <= MAX_MEAN_ERROR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RoiShape;

    fn roi(role: RoiRole) -> Roi {
        Roi { role, ..Roi::new("roi", RoiShape::Sphere { radius_mm: 1.0 }, [0.0; 3]) }
    }

    fn mask(voxels: &[u32]) -> RoiMask {
        RoiMask { voxels: voxels.iter().map(|voxel| (*voxel, 1.0)).collect() }
    }

    #[test]
    fn errors_are_relative_to_the_mean_of_the_background() {
        // Background 2 and 6, a hot and a cold region; the last voxel lies outside the object (5 % of 40 is 2).
        let reference = [2.0, 6.0, 40.0, 3.0, 0.5];
        let image = [2.0, 6.8, 40.0, 2.4, 90.0];
        let rois = [RoiRole::Background, RoiRole::Hot, RoiRole::Cold, RoiRole::None].map(roi);
        let masks = [mask(&[0, 1]), mask(&[2]), mask(&[3]), mask(&[4])];
        let of = |image: &[f32], reference: &[f32], rois: &[Roi], masks: &[RoiMask]| {
            Convergence::of(image, reference, &PetricMasks::of_regions(reference, rois, masks)?)
        };
        let found = of(&image, &reference, &rois, &masks).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        // Voxel 0 is at the threshold, not above it.
        assert!(near(found.object_rmse, ((0.64 + 0.36) / 3f64).sqrt() / 4.0), "{found:?}");
        assert!(near(found.background_rmse, (0.64 / 2f64).sqrt() / 4.0), "{found:?}");
        assert!(near(found.region_error.unwrap(), 0.15), "{found:?}");
        assert!(!found.is_close());
        let same = of(&reference, &reference, &rois, &masks).unwrap();
        assert!(same.is_close() && same.object_rmse == 0.0, "{same:?}");
        // Without hot and cold regions there is no third measure, without a background none.
        let [background, _, _, _] = &masks;
        let found = of(&image, &reference, &rois[..1], std::slice::from_ref(background)).unwrap();
        assert_eq!(found.region_error, None);
        assert_eq!(of(&image, &reference, &rois[1..], &masks[1..]), None);
        assert_eq!(of(&image, &[0.0; 5], &rois, &masks), None);
    }

    #[test]
    fn each_measure_has_its_threshold() {
        let close = Convergence { object_rmse: 0.01, background_rmse: 0.01, region_error: Some(0.005) };
        assert!(close.is_close());
        assert!(!Convergence { object_rmse: 0.0101, ..close }.is_close());
        assert!(!Convergence { background_rmse: 0.0101, ..close }.is_close());
        assert!(!Convergence { region_error: Some(0.0051), ..close }.is_close());
    }
}
