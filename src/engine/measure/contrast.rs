//! Contrast and its recovery, as NEMA NU 2 defines them.
//!
//! Hot: Q_H = (C_H / C_B − 1) / (a_H / a_B − 1). Cold: Q_C = 1 − C_C / C_B. Background variability: N = SD of the
//! background regions' means / C_B. C are means of the image in the regions, a the true activities.

use super::finite;
use super::roi_stats::RoiStats;

/// Returns the contrast recovery of a hot region whose true activity is `activity_ratio` times the background's; `None` where the
/// background is not positive or the ratio is not a positive one other than 1.
pub fn hot_recovery(hot_mean: f64, background_mean: f64, activity_ratio: f64) -> Option<f64> {
    if background_mean <= 0.0 || activity_ratio <= 0.0 || activity_ratio == 1.0 {
        return None;
    }
    finite((hot_mean / background_mean - 1.0) / (activity_ratio - 1.0))
}

/// Returns the contrast recovery of a region without activity; `None` where the background is not positive.
pub fn cold_recovery(cold_mean: f64, background_mean: f64) -> Option<f64> {
    if background_mean <= 0.0 {
        return None;
    }
    finite(1.0 - cold_mean / background_mean)
}

/// Returns the background variability: the standard deviation (n − 1) of the regions' means over the mean of them. `None` for
/// fewer than two regions or a background that is not positive. For the standard's figure the regions must be its 60.
pub fn background_variability(means: &[f64]) -> Option<f64> {
    let num = means.len() as f64;
    let mean = means.iter().sum::<f64>() / num;
    if means.len() < 2 || mean <= 0.0 {
        return None;
    }
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    finite((squares / (num - 1.0)).sqrt() / mean)
}

/// Returns the contrast-to-noise ratio (μ_s − μ_b) / √((σ_s² + σ_b²) / 2); `None` where neither region has any noise.
pub fn contrast_to_noise(signal: &RoiStats, background: &RoiStats) -> Option<f64> {
    let variance = 0.5 * (signal.sd?.powi(2) + background.sd?.powi(2));
    if variance <= 0.0 {
        return None;
    }
    finite((signal.mean - background.mean) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_recovery_by_hand() {
        assert_eq!(hot_recovery(4.0, 1.0, 4.0), Some(1.0));
        assert_eq!(hot_recovery(5.0, 2.0, 4.0), Some(0.5));
        assert_eq!(cold_recovery(0.0, 3.0), Some(1.0));
        assert_eq!(cold_recovery(1.0, 4.0), Some(0.75));
        // Means 1, 2, 3: SD 1, mean 2.
        assert_eq!(background_variability(&[1.0, 2.0, 3.0]), Some(0.5));
    }

    #[test]
    fn contrast_to_noise_by_hand() {
        let stats = |mean, sd| RoiStats { mean, sd, min: 0.0, max: 0.0, num_voxels: 9, volume_ml: 1.0 };
        assert_eq!(contrast_to_noise(&stats(10.0, Some(1.0)), &stats(3.0, Some(7.0))), Some(7.0 / 5.0));
        assert_eq!(contrast_to_noise(&stats(10.0, None), &stats(3.0, Some(7.0))), None);
        assert_eq!(contrast_to_noise(&stats(10.0, Some(0.0)), &stats(3.0, Some(0.0))), None);
    }

    #[test]
    fn undefined_ratios_are_none() {
        assert_eq!(hot_recovery(1.0, 0.0, 4.0), None);
        assert_eq!(hot_recovery(1.0, 1.0, 1.0), None);
        assert_eq!(hot_recovery(1.0, 1.0, 0.0), None);
        assert_eq!(hot_recovery(f64::NAN, 1.0, 4.0), None);
        assert_eq!(cold_recovery(1.0, 0.0), None);
        assert_eq!(background_variability(&[]), None);
        assert_eq!(background_variability(&[1.0]), None);
        assert_eq!(background_variability(&[0.0, 0.0]), None);
        assert_eq!(background_variability(&[f64::NAN, 1.0]), None);
    }
}
