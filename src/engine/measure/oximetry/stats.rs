//! Figures of the oxygen in a region: median, mean, standard deviation, hypoxic fraction.

use super::super::roi_stats::MapStats;
use crate::data::Notice;

/// Oxygen pressure up to which a voxel counts as hypoxic, torr.
pub const HYPOXIC_TORR: f64 = 10.0;

/// Range of a plausible median, torr: noise about 0 to pure oxygen.
const PLAUSIBLE_TORR: std::ops::RangeInclusive<f64> = -10.0..=760.0;

/// Oxygen of a region.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OxygenStats {
    /// Voxels with an oxygen pressure.
    pub num_voxels: usize,
    /// Median, torr.
    pub median_torr: f64,
    /// Mean, torr.
    pub mean_torr: f64,
    /// Standard deviation between the voxels, torr; `None` for one voxel.
    pub sd_torr: Option<f64>,
    /// HF10: part of the voxels of at most [`HYPOXIC_TORR`].
    pub hypoxic_fraction: f64,
}

impl OxygenStats {
    /// Returns the figures of voxels with their weights; values that are not finite are left out. `None` where none is left.
    pub fn of(voxels: impl IntoIterator<Item = (f32, f64)>) -> Option<Self> {
        let voxels: Vec<(f32, f64)> = voxels.into_iter().filter(|(value, weight)| value.is_finite() && *weight > 0.0).collect();
        let sum = |voxels: &mut dyn Iterator<Item = &(f32, f64)>| voxels.map(|(_, weight)| weight).sum::<f64>();
        let is_hypoxic = |(value, _): &&(f32, f64)| f64::from(*value) <= HYPOXIC_TORR;
        let hypoxic_fraction = sum(&mut voxels.iter().filter(is_hypoxic)) / sum(&mut voxels.iter());
        let MapStats { num_voxels, mean, median, sd } = MapStats::of(voxels)?;
        Some(Self { num_voxels, median_torr: median, mean_torr: mean, sd_torr: sd, hypoxic_fraction })
    }

    /// Returns a warning of a median that no tissue has, as times or widths in another unit give it.
    pub fn doubt(&self) -> Option<Notice> {
        let median = self.median_torr;
        (!PLAUSIBLE_TORR.contains(&median)).then(|| {
            Notice::warning(format!(
                "the median of pO2 is {median:.4} torr, expected {} to {} torr: check the calibration, and the times (µs) or \
                 widths (mT)",
                PLAUSIBLE_TORR.start(),
                PLAUSIBLE_TORR.end()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_few_voxels_by_hand() {
        let of = |values: &[f32]| OxygenStats::of(values.iter().map(|value| (*value, 1.0)));
        let stats = of(&[4.0, 10.0, f32::NAN, 20.0, 6.0]).unwrap();
        assert_eq!((stats.num_voxels, stats.median_torr, stats.mean_torr, stats.hypoxic_fraction), (4, 8.0, 10.0, 0.75));
        assert!((stats.sd_torr.unwrap() - (152.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((of(&[]), of(&[f32::NAN]), of(&[1.0]).unwrap().sd_torr), (None, None, None));
        let part = OxygenStats::of([(5.0, 1.0), (30.0, 0.25)]).unwrap();
        assert_eq!((part.hypoxic_fraction, part.mean_torr), (0.8, 10.0));
    }
}
