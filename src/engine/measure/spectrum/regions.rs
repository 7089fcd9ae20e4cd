//! Lines of the voxels of a region, and the mean spectrum of a region.

use super::super::outcomes::FitCounts;
use super::super::roi_stats::MapStats;
use super::fit::LineFit;
use super::maps::LineMaps;
use crate::data::{OxygenCalibration, RoiMask, Unit, Volume};

/// Figures of the lines in a region.
#[derive(Clone, Debug, PartialEq)]
pub struct LineFigures {
    /// Voxels that it touches, by result.
    pub counts: FitCounts,
    /// Statistics of the fitted ones; `None` without any.
    pub fitted: Option<FittedLines>,
}

/// Part of the median width of the region below which differences of the standard deviations do not count: errors of the reconstruction are larger.
const MIN_DEVIATION: f64 = 0.01;

/// Statistics of fitted lines. Means are weighted by 1/σ² of width or position, with the standard deviations of the fits; that of the amplitudes is
/// not, since strong lines have a larger one.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedLines {
    /// Double integral.
    pub amplitude: MapStats,
    /// Full width at half maximum of the Lorentzian, mT.
    pub width_mt: MapStats,
    /// The same of the Gaussian; `None` of Lorentzian lines.
    pub gaussian_mt: Option<MapStats>,
    /// Position, mT from the middle of the field sweep.
    pub position_mt: MapStats,
    /// Oxygen pressure by a calibration, torr.
    pub po2_torr: Option<MapStats>,
}

impl LineFigures {
    /// Returns the figures of voxels (index, weight); the pressure is that of a calibration of R2.
    fn of(maps: &LineMaps, calibration: Option<&OxygenCalibration>, voxels: impl Iterator<Item = (usize, f64)> + Clone) -> Self {
        let outcomes = voxels.clone().filter_map(|(voxel, _)| maps.outcome(voxel));
        let values = |value: &dyn Fn(&LineFit) -> f64| -> Vec<(f64, f64)> {
            voxels.clone().filter_map(|(voxel, weight)| Some((value(maps.line(voxel)?), weight))).collect()
        };
        let plain = |value: &dyn Fn(&LineFit) -> f64| {
            MapStats::of(values(value).into_iter().map(|(value, weight)| (value as f32, weight)))
        };
        let fitted = || {
            let width_mt = plain(&|fit| fit.width_mt)?;
            let floor_mt = MIN_DEVIATION * width_mt.median;
            let precise = |value: &dyn Fn(&LineFit) -> f64, deviation_mt: &dyn Fn(&LineFit) -> f64| {
                let stats = plain(value)?;
                let deviations = values(deviation_mt).into_iter().map(|(deviation, _)| deviation);
                Some(MapStats { mean: precise_mean(&values(value), deviations, floor_mt).unwrap_or(stats.mean), ..stats })
            };
            let by_width = |value: &dyn Fn(&LineFit) -> f64| precise(value, &|fit| fit.width_sd_mt);
            Some(FittedLines {
                amplitude: plain(&|fit| fit.amplitude)?,
                width_mt: by_width(&|fit| fit.width_mt)?,
                gaussian_mt: by_width(&|fit| fit.gaussian_mt.unwrap_or(f64::NAN)),
                position_mt: precise(&|fit| fit.position_mt, &|fit| fit.position_sd_mt)?,
                po2_torr: calibration.and_then(|calibration| by_width(&|fit| fit.po2_torr(calibration))),
            })
        };
        Self { counts: FitCounts::of(outcomes), fitted: fitted() }
    }

    /// Returns the figures of all voxels of an image.
    pub fn of_all(maps: &LineMaps, calibration: Option<&OxygenCalibration>) -> Self {
        Self::of(maps, calibration, (0..maps.grid().num_voxels()).map(|voxel| (voxel, 1.0)))
    }

    /// Returns the figures of a region.
    pub fn of_region(maps: &LineMaps, calibration: Option<&OxygenCalibration>, mask: &RoiMask) -> Self {
        Self::of(maps, calibration, voxels(mask))
    }

    /// Returns the number of voxels that have no line.
    pub fn num_masked(&self) -> usize {
        let FitCounts { fitted: _, below_mask, not_finite, out_of_range, not_converged, unresolved } = self.counts;
        below_mask + not_finite + out_of_range + not_converged + unresolved
    }
}

impl FittedLines {
    /// Returns the known statistics with the names and units of their maps.
    pub fn quantities(&self) -> impl Iterator<Item = (&'static str, Unit, MapStats)> {
        let all = [
            ("amplitude", Unit::Arbitrary, Some(self.amplitude)),
            ("linewidth", Unit::Millitesla, Some(self.width_mt)),
            ("gaussian", Unit::Millitesla, self.gaussian_mt),
            ("position", Unit::Millitesla, Some(self.position_mt)),
            ("pO2", Unit::Torr, self.po2_torr),
        ];
        all.into_iter().filter_map(|(name, unit, stats)| Some((name, unit, stats?)))
    }
}

/// Returns the mean of values (value, weight) weighted by 1/(σ² + floor²) too; `None` without a known standard deviation.
fn precise_mean(values: &[(f64, f64)], deviations: impl Iterator<Item = f64>, floor: f64) -> Option<f64> {
    let mut sums = [0.0; 2];
    for ((value, weight), deviation) in values.iter().zip(deviations) {
        let weight = weight / (deviation * deviation + floor * floor);
        if value.is_finite() && weight.is_finite() {
            sums = [sums[0] + weight * value, sums[1] + weight];
        }
    }
    (sums[1] > 0.0).then(|| sums[0] / sums[1])
}

/// Returns the voxels of a region with their weights.
fn voxels(mask: &RoiMask) -> impl Iterator<Item = (usize, f64)> + Clone {
    mask.voxels.iter().map(|&(index, weight)| (index as usize, f64::from(weight)))
}

/// Returns the mean spectrum of a region, Σ w s / Σ w; `None` where it covers no voxel.
pub fn mean_spectrum<V: AsRef<Volume>>(samples: &[V], mask: &RoiMask) -> Option<Vec<f64>> {
    let weight: f64 = voxels(mask).map(|(_, weight)| weight).sum();
    let mean = |sample: &V| {
        let values = sample.as_ref().as_slice();
        let terms = voxels(mask).map(|(voxel, weight)| Some(weight * f64::from(*values.get(voxel)?)));
        Some(terms.sum::<Option<f64>>()? / weight)
    };
    if weight > 0.0 { samples.iter().map(mean).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fit::{Line, LineFitter};
    use super::super::maps::line_maps;
    use super::*;
    use crate::data::{FieldAxis, lorentzian_derivative};
    use crate::geometry::Grid;
    use crate::task::Task;

    fn mask(voxels: &[(u32, f32)]) -> RoiMask {
        RoiMask { voxels: voxels.into() }
    }

    /// Lines of amplitude 1, 2 and 1 and of these widths; nothing in the fourth voxel, and a negative line in the fifth.
    fn samples(axis: FieldAxis) -> Vec<Arc<Volume>> {
        let grid = Grid::centred([5, 1, 1], [1.0; 3]).unwrap();
        let sample = |index: usize| {
            let line = |width| lorentzian_derivative(axis.field_mt(index) - 0.2, width) as f32;
            let values = vec![line(0.3), 2.0 * line(0.4), line(0.5), 0.01 * line(0.3), -line(0.3)];
            Arc::new(Volume::from_vec(grid.clone(), values, Unit::Arbitrary).unwrap())
        };
        (0..axis.num_samples).map(sample).collect()
    }

    #[test]
    fn figures_of_a_region_are_those_of_its_fitted_voxels() {
        let axis = FieldAxis { first_mt: -1.6, step_mt: 0.05, num_samples: 64 };
        let samples = samples(axis);
        let maps = line_maps(&samples, axis, &LineFitter::new(Line::Lorentzian, axis), 0.15, &Task::new()).unwrap();
        // Half of the third voxel: W = 2.5.
        let figures = LineFigures::of_region(&maps, None, &mask(&[(0, 1.0), (1, 1.0), (2, 0.5), (3, 1.0), (4, 1.0)]));
        assert_eq!(figures.counts, FitCounts { fitted: 3, below_mask: 1, out_of_range: 1, ..FitCounts::default() });
        assert_eq!(figures.num_masked(), 2);
        let fitted = figures.fitted.unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        near(fitted.amplitude.mean, 3.5 / 2.5);
        near(fitted.width_mt.mean, 0.95 / 2.5);
        near(fitted.width_mt.median, 0.4);
        // Σ w (Γ − 0.38)² = 0.0064 + 0.0004 + 0.0072, over W − 1.
        near(fitted.width_mt.sd.unwrap(), (0.014f64 / 1.5).sqrt());
        near(fitted.position_mt.mean, 0.2);
        assert_eq!((fitted.gaussian_mt, fitted.po2_torr), (None, None));
        // Outside of the image is nothing.
        let none = LineFigures::of_region(&maps, None, &mask(&[(3, 1.0), (7, 1.0)]));
        assert_eq!(LineFigures::of_all(&maps, None).counts, maps.counts);
        assert_eq!((none.counts.below_mask, none.num_masked(), none.fitted), (1, 1, None));
    }

    #[test]
    fn precise_voxels_count_more_in_a_mean() {
        let values = [(1.0, 1.0), (4.0, 1.0), (7.0, 0.5), (f64::NAN, 1.0), (9.0, 1.0)];
        let deviations = [1.0, 2.0, 1.0, 1.0, f64::NAN];
        // (1 + 4/4 + 7/2) / (1 + 1/4 + 1/2).
        let found = precise_mean(&values, deviations.into_iter(), 0.0).unwrap();
        assert!((found - 5.5 / 1.75).abs() < 1e-12, "{found}");
        // Below the floor all count alike.
        let found = precise_mean(&values[..2], [1e-9, 2e-9].into_iter(), 1.0).unwrap();
        assert!((found - 2.5).abs() < 1e-12, "{found}");
        assert_eq!(precise_mean(&values, [f64::NAN; 5].into_iter(), 0.0), None);
    }

    #[test]
    fn the_mean_spectrum_of_a_region_has_its_weights() {
        let axis = FieldAxis { first_mt: -1.6, step_mt: 0.05, num_samples: 64 };
        let samples = samples(axis);
        let mean = mean_spectrum(&samples, &mask(&[(0, 1.0), (1, 0.25)])).unwrap();
        let expected = |index: usize| {
            let line = |width| lorentzian_derivative(axis.field_mt(index) - 0.2, width);
            (line(0.3) + 0.5 * line(0.4)) / 1.25
        };
        assert!(mean.iter().enumerate().all(|(index, value)| (value - expected(index)).abs() < 1e-5), "{mean:?}");
        assert_eq!(mean_spectrum(&samples, &mask(&[])), None);
        assert_eq!(mean_spectrum(&samples, &mask(&[(5, 1.0)])), None);
    }
}
