//! PETRIC's measures of an image against a converged reference, their thresholds, and the update that reaches them.
//!
//! All three are relative to the mean b of the reference in the background:
//! RMSE = √(Σ w (x − r)² / Σ w) / b in the whole object and in the background, and |mean x − mean r| / b in each VOI.
//! Source: the image reconstruction challenge PETRIC, `petric.py` of SyneRBI/PETRIC and its page *Metrics and thresholds*.

use super::finite;
use crate::data::RoiMask;

/// Largest relative RMSE of a converged image, in the whole object and in the background.
pub const MAX_RMSE: f64 = 0.01;

/// Largest relative error of the mean of a VOI of a converged image.
pub const MAX_MEAN_ERROR: f64 = 0.005;

/// Number of successive updates that must meet a threshold.
pub const HELD_UPDATES: usize = 10;

/// Regions of PETRIC's measures, on the grid of the reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PetricMasks {
    /// The whole object.
    pub whole_object: RoiMask,
    /// The background: its mean in the reference is the unit of all measures.
    pub background: RoiMask,
    /// Volumes of interest with their names.
    pub vois: Vec<(String, RoiMask)>,
}

/// PETRIC's measures of one image.
#[derive(Clone, Debug, PartialEq)]
pub struct PetricMeasures {
    /// Relative RMSE in the whole object.
    pub whole_object_rmse: f64,
    /// Relative RMSE in the background.
    pub background_rmse: f64,
    /// Relative error of the mean, |mean x − mean r| / b, of each VOI in the order of [`PetricMasks::vois`].
    pub voi_errors: Vec<f64>,
}

impl PetricMeasures {
    /// Returns the measures of an image against a reference on the same grid (`[z, y, x]` order). `None` where the reference has
    /// no positive mean in the background, a region covers no voxel, or a value is not finite.
    pub fn of(image: &[f32], reference: &[f32], masks: &PetricMasks) -> Option<Self> {
        let background = mean(&masks.background, reference).filter(|mean| *mean > 0.0)?;
        let rmse = |mask| Some(mean_square_difference(mask, image, reference)?.sqrt() / background);
        let error = |(_, mask): &(String, RoiMask)| Some((mean(mask, image)? - mean(mask, reference)?).abs() / background);
        Some(Self {
            whole_object_rmse: rmse(&masks.whole_object)?,
            background_rmse: rmse(&masks.background)?,
            voi_errors: masks.vois.iter().map(error).collect::<Option<_>>()?,
        })
    }

    /// Returns the largest relative error of the mean of a VOI; 0 without VOIs.
    pub fn max_voi_error(&self) -> f64 {
        self.voi_errors.iter().copied().fold(0.0, f64::max)
    }

    /// Returns which thresholds the image meets: whole object, background, VOIs.
    pub fn passes(&self) -> [bool; 3] {
        [self.whole_object_rmse <= MAX_RMSE, self.background_rmse <= MAX_RMSE, self.max_voi_error() <= MAX_MEAN_ERROR]
    }

    /// Returns whether the image meets all thresholds.
    pub fn is_converged(&self) -> bool {
        self.passes() == [true; 3]
    }
}

/// Returns the first of these updates from which a threshold is met for [`HELD_UPDATES`] updates.
pub fn first_held(passes: &[bool]) -> Option<usize> {
    passes.windows(HELD_UPDATES).position(|held| held.iter().all(|passes| *passes))
}

/// Returns the weighted mean of a region.
fn mean(mask: &RoiMask, values: &[f32]) -> Option<f64> {
    let sums = mask.sums(values);
    finite(sums.sum / sums.weight)
}

/// Returns the weighted mean of the squared difference of two images in a region.
fn mean_square_difference(mask: &RoiMask, a: &[f32], b: &[f32]) -> Option<f64> {
    let mut squares = 0.0;
    let mut weight = 0.0;
    for &(voxel, w) in mask.voxels.iter() {
        let (a, b) = (*a.get(voxel as usize)?, *b.get(voxel as usize)?);
        squares += f64::from(w) * (f64::from(a) - f64::from(b)).powi(2);
        weight += f64::from(w);
    }
    finite(squares / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(voxels: &[(u32, f32)]) -> RoiMask {
        RoiMask { voxels: voxels.into() }
    }

    fn masks() -> PetricMasks {
        PetricMasks {
            whole_object: mask(&[(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]),
            background: mask(&[(0, 1.0), (1, 1.0)]),
            vois: vec![("hot".to_owned(), mask(&[(2, 1.0), (3, 0.5)])), ("cold".to_owned(), mask(&[(1, 1.0)]))],
        }
    }

    #[test]
    fn measures_by_hand() {
        // Differences 1, −1, 2, −4; the reference's background is 100.
        let (image, reference) = ([91.0f32, 109.0, 402.0, 396.0, 7.0], [90.0f32, 110.0, 400.0, 400.0, 0.0]);
        let measures = PetricMeasures::of(&image, &reference, &masks()).unwrap();
        assert!((measures.whole_object_rmse - 5.5f64.sqrt() / 100.0).abs() < 1e-15);
        assert!((measures.background_rmse - 0.01).abs() < 1e-15);
        // Weighted: (2 − 0.5 · 4) / 1.5 = 0, although both voxels differ.
        assert!(measures.voi_errors[0].abs() < 1e-15 && (measures.voi_errors[1] - 0.01).abs() < 1e-15);
        assert_eq!(measures.max_voi_error(), measures.voi_errors[1]);
        assert_eq!(measures.passes(), [false, true, false]);
        assert!(!measures.is_converged());
        assert!(PetricMeasures::of(&reference, &reference, &masks()).unwrap().is_converged());
    }

    #[test]
    fn undefined_measures_are_none() {
        let reference = [1.0f32; 4];
        assert_eq!(PetricMeasures::of(&reference, &[0.0; 4], &masks()), None);
        assert_eq!(PetricMeasures::of(&[f32::NAN; 4], &reference, &masks()), None);
        assert_eq!(PetricMeasures::of(&reference[..2], &reference, &masks()), None);
        let without_object = PetricMasks { whole_object: RoiMask::default(), ..masks() };
        assert_eq!(PetricMeasures::of(&reference, &reference, &without_object), None);
    }

    #[test]
    fn a_threshold_counts_from_the_first_of_ten_updates() {
        let mut passes = vec![true; 4];
        passes.push(false);
        passes.extend([true; HELD_UPDATES - 1]);
        assert_eq!(first_held(&passes), None);
        passes.push(true);
        assert_eq!(first_held(&passes), Some(5));
        assert_eq!(first_held(&[]), None);
    }
}
