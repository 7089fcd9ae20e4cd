//! Distance of an image from a converged one, by the measures of the PETRIC challenge.
//!
//! All are relative to the mean of the background regions on the reference r:
//!
//! ```text
//! object and background:  √(Σ w (x − r)² / Σ w),     regions:  |mean(x) − mean(r)|, the largest
//! ```
//!
//! An image is close enough if the first two are at most 0.01 and the third at most 0.005; it has converged if ten images in a row
//! are. The object is every voxel above 5 % of the reference's maximum.

use super::{RoiStats, finite, pooled};
use crate::data::{Roi, RoiMask, RoiRole, RoiSums};

/// Part of the reference's maximum above which a voxel belongs to the object.
const OBJECT_PART: f32 = 0.05;

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
    /// Largest root mean square error of an image that is close enough.
    pub const MAX_RMSE: f64 = 0.01;
    /// Largest error of a mean of such an image.
    pub const MAX_REGION_ERROR: f64 = 0.005;
    /// Number of such images in a row after which a run has converged.
    pub const NUM_IN_A_ROW: usize = 10;

    /// Measures an image, `[z, y, x]` as its reference. `None` without a background region on the image, or if its mean on the
    /// reference is not above 0.
    pub fn of(image: &[f32], reference: &[f32], rois: &[Roi], masks: &[RoiMask]) -> Option<Self> {
        let of_role = |is_wanted: fn(RoiRole) -> bool| {
            rois.iter().zip(masks).filter(move |(roi, mask)| is_wanted(roi.role) && !mask.voxels.is_empty())
        };
        let background: Vec<&RoiMask> = of_role(|role| role == RoiRole::Background).map(|(_, mask)| mask).collect();
        let sums: Vec<RoiSums> = background.iter().map(|mask| mask.sums(reference)).collect();
        let scale = RoiStats::of(&pooled(&sums), 1.0)?.mean;
        if background.is_empty() || scale <= 0.0 {
            return None;
        }
        let threshold = OBJECT_PART * reference.iter().copied().fold(0.0, f32::max);
        let object = reference.iter().enumerate().filter(|(_, value)| **value > threshold).map(|(voxel, _)| (voxel, 1.0));
        let in_background = background.iter().flat_map(|mask| mask.voxels.iter());
        let in_background = in_background.map(|(voxel, weight)| (*voxel as usize, f64::from(*weight)));
        let mean = |mask: &RoiMask, image: &[f32]| {
            let sums = mask.sums(image);
            sums.sum / sums.weight
        };
        let contrasts = of_role(|role| matches!(role, RoiRole::Hot | RoiRole::Cold));
        let errors = contrasts.map(|(_, mask)| (mean(mask, image) - mean(mask, reference)).abs() / scale);
        Some(Self {
            object_rmse: finite(rmse(image, reference, object) / scale)?,
            background_rmse: finite(rmse(image, reference, in_background) / scale)?,
            region_error: errors.reduce(f64::max),
        })
    }

    /// Returns true if the image is close enough.
    pub fn is_close(&self) -> bool {
        self.object_rmse <= Self::MAX_RMSE
            && self.background_rmse <= Self::MAX_RMSE
            && self.region_error.is_none_or(|error| error <= Self::MAX_REGION_ERROR)
    }
}

/// Returns the root mean square of the differences over voxels with weights.
fn rmse(image: &[f32], reference: &[f32], voxels: impl Iterator<Item = (usize, f64)>) -> f64 {
    let [squares, weight] = voxels.fold([0.0; 2], |[squares, sum], (voxel, weight)| {
        let difference = f64::from(image[voxel]) - f64::from(reference[voxel]);
        [squares + weight * difference * difference, sum + weight]
    });
    (squares / weight).sqrt()
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
        let found = Convergence::of(&image, &reference, &rois, &masks).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        // Voxel 0 is at the threshold, not above it.
        assert!(near(found.object_rmse, ((0.64 + 0.36) / 3f64).sqrt() / 4.0), "{found:?}");
        assert!(near(found.background_rmse, (0.64 / 2f64).sqrt() / 4.0), "{found:?}");
        assert!(near(found.region_error.unwrap(), 0.15), "{found:?}");
        assert!(!found.is_close());
        let same = Convergence::of(&reference, &reference, &rois, &masks).unwrap();
        assert!(same.is_close() && same.object_rmse == 0.0, "{same:?}");
        // Without hot and cold regions there is no third measure, without a background none.
        let [background, _, _, _] = &masks;
        let found = Convergence::of(&image, &reference, &rois[..1], std::slice::from_ref(background)).unwrap();
        assert_eq!(found.region_error, None);
        assert_eq!(Convergence::of(&image, &reference, &rois[1..], &masks[1..]), None);
        assert_eq!(Convergence::of(&image, &[0.0; 5], &rois, &masks), None);
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
