//! Statistics of a region from its weighted sums.
//!
//! Weights are the fractions of voxels that lie inside, so W = Σw is the region's size in voxels and takes the place of n:
//! mean = Σwv / W, variance = (Σwv² − (Σwv)²/W) / (W − 1), which for whole voxels is the usual n − 1 form.

use super::finite;
use crate::data::{RoiMask, RoiSums};
use crate::statistics::weighted_median;

/// Statistics of a region of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoiStats {
    /// Weighted mean.
    pub mean: f64,
    /// Weighted standard deviation; `None` for regions of one voxel or less.
    pub sd: Option<f64>,
    /// Smallest value of any voxel touched.
    pub min: f32,
    /// Largest value of any voxel touched.
    pub max: f32,
    /// Number of voxels touched.
    pub num_voxels: usize,
    /// Σ weight × voxel volume, mL; for a flat region that of its slice.
    pub volume_ml: f64,
}

impl RoiStats {
    /// Returns the statistics of a region on a grid with voxels of this volume; `None` if it covers no voxel.
    pub fn of(sums: &RoiSums, voxel_ml: f64) -> Option<Self> {
        if sums.weight <= 0.0 {
            return None;
        }
        let mean = finite(sums.sum / sums.weight)?;
        Some(Self {
            mean,
            sd: sd(sums),
            min: sums.min,
            max: sums.max,
            num_voxels: sums.num_voxels,
            volume_ml: sums.weight * voxel_ml,
        })
    }
}

/// Statistics of the values of a map in a region; values that are not finite are left out.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct MapStats {
    /// Voxels with a value.
    pub num_voxels: usize,
    /// Weighted mean.
    pub mean: f64,
    /// Weighted median.
    pub median: f64,
    /// Weighted standard deviation between the voxels; `None` for one voxel or less.
    pub sd: Option<f64>,
}

impl MapStats {
    /// Returns the statistics of values with their weights; `None` where none is finite.
    pub fn of(voxels: impl IntoIterator<Item = (f32, f64)>) -> Option<Self> {
        let voxels: Vec<(f32, f64)> = voxels.into_iter().filter(|(value, weight)| value.is_finite() && *weight > 0.0).collect();
        let sum = |of: &dyn Fn(f64) -> f64| voxels.iter().map(|(value, weight)| weight * of(f64::from(*value))).sum::<f64>();
        let weight = sum(&|_| 1.0);
        let mean = finite(sum(&|value| value) / weight)?;
        let squares = sum(&|value| (value - mean).powi(2));
        Some(Self {
            num_voxels: voxels.len(),
            mean,
            sd: (weight > 1.0).then(|| (squares / (weight - 1.0)).sqrt()),
            median: weighted_median(voxels)?,
        })
    }
}

/// Returns the weighted standard deviation.
fn sd(sums: &RoiSums) -> Option<f64> {
    if sums.weight <= 1.0 {
        return None;
    }
    // Rounding can leave a tiny negative number where all values are equal.
    let squares = (sums.sum_of_squares - sums.sum * sums.sum / sums.weight).max(0.0);
    finite((squares / (sums.weight - 1.0)).sqrt())
}

/// Returns the weighted median of a region's voxels in an image (`[z, y, x]` order): half of the region's size lies below it;
/// where that is so of all between two values, their mean. `None` where the region covers nothing, or a value is no finite
/// number.
pub fn median(mask: &RoiMask, values: &[f32]) -> Option<f64> {
    let voxels = mask.voxels.iter().filter_map(|&(index, weight)| Some((*values.get(index as usize)?, f64::from(weight))));
    let voxels: Vec<(f32, f64)> = voxels.collect();
    let is_finite = voxels.iter().all(|(value, _)| value.is_finite());
    weighted_median(voxels).filter(|_| is_finite)
}

/// Returns several regions as if they were one.
pub fn pooled(regions: &[RoiSums]) -> RoiSums {
    let mut all = RoiSums::NONE;
    regions.iter().for_each(|region| all += *region);
    all
}

/// Returns the noise-to-signal ratio SD / mean of a region's voxels; `None` where the mean is not positive.
pub fn noise_to_signal(sums: &RoiSums) -> Option<f64> {
    if sums.weight <= 0.0 || sums.sum <= 0.0 {
        return None;
    }
    finite(sd(sums)? / (sums.sum / sums.weight))
}

/// Returns the noise-to-signal ratio over the voxels of all regions together: it also sees how the regions' means differ.
pub fn pooled_noise_to_signal(regions: &[RoiSums]) -> Option<f64> {
    noise_to_signal(&pooled(regions))
}

/// Returns the mean of the regions' own noise-to-signal ratios; `None` if any region has none.
pub fn average_noise_to_signal(regions: &[RoiSums]) -> Option<f64> {
    let ratios: Option<Vec<f64>> = regions.iter().map(noise_to_signal).collect();
    let ratios = ratios?;
    finite(ratios.iter().sum::<f64>() / ratios.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(values: &[f32], weights: &[f32]) -> RoiSums {
        let voxels = weights.iter().enumerate().map(|(index, &w)| (index as u32, w)).collect();
        RoiMask { voxels }.sums(values)
    }

    #[test]
    fn statistics_of_a_few_voxels_by_hand() {
        let stats = RoiStats::of(&sums(&[2.0, 4.0, 4.0, 6.0], &[1.0; 4]), 0.5).unwrap();
        assert_eq!((stats.mean, stats.min, stats.max, stats.num_voxels, stats.volume_ml), (4.0, 2.0, 6.0, 4, 2.0));
        assert!((stats.sd.unwrap() - (8.0f64 / 3.0).sqrt()).abs() < 1e-15);
        // Half voxels: W = 3, Σwv = 1 + 4 + 4 + 3 = 12, Σwv² = 2 + 16 + 16 + 18 = 52, variance (52 − 48)/2.
        let stats = RoiStats::of(&sums(&[2.0, 4.0, 4.0, 6.0], &[0.5, 1.0, 1.0, 0.5]), 1.0).unwrap();
        assert_eq!((stats.mean, stats.volume_ml), (4.0, 3.0));
        assert!((stats.sd.unwrap() - 2f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn half_of_a_region_lies_below_its_median() {
        let of = |values: &[f32], weights: &[f32]| {
            let voxels = weights.iter().enumerate().map(|(index, &w)| (index as u32, w)).collect();
            median(&RoiMask { voxels }, values)
        };
        assert_eq!(of(&[9.0, 1.0, 4.0], &[1.0; 3]), Some(4.0));
        assert_eq!(of(&[9.0, 1.0, 4.0, 2.0], &[1.0; 4]), Some(3.0));
        // Of the size 1.5 the value 1 is 0.5, which is less than half; with the value 4 it is 1.25.
        assert_eq!(of(&[9.0, 1.0, 4.0], &[0.25, 0.5, 0.75]), Some(4.0));
        assert_eq!((of(&[], &[]), of(&[1.0, f32::NAN], &[1.0; 2])), (None, None));
    }

    #[test]
    fn noise_pooled_and_averaged_differ_when_the_means_do() {
        let regions = [sums(&[1.0, 3.0], &[1.0; 2]), sums(&[5.0, 7.0], &[1.0; 2])];
        // Each SD is √2; the pooled variance is (84 − 16²/4)/3 = 20/3 about a mean of 4.
        assert!((pooled_noise_to_signal(&regions).unwrap() - (20.0f64 / 3.0).sqrt() / 4.0).abs() < 1e-15);
        let average = 0.5 * (2f64.sqrt() / 2.0 + 2f64.sqrt() / 6.0);
        assert!((average_noise_to_signal(&regions).unwrap() - average).abs() < 1e-15);
    }

    #[test]
    fn undefined_ratios_are_none() {
        assert_eq!(RoiStats::of(&sums(&[], &[]), 1.0), None);
        assert_eq!(RoiStats::of(&sums(&[f32::NAN], &[1.0]), 1.0), None);
        assert_eq!(RoiStats::of(&sums(&[3.0], &[1.0]), 1.0).unwrap().sd, None);
        assert_eq!(noise_to_signal(&sums(&[0.0, 0.0], &[1.0; 2])), None);
        assert_eq!(noise_to_signal(&sums(&[5.0, 5.0], &[1.0; 2])), Some(0.0));
        assert_eq!(pooled_noise_to_signal(&[]), None);
        assert_eq!(average_noise_to_signal(&[]), None);
    }
}
