//! Figures of a region on maps of oxygen: those of its voxels, their usual standard deviation, and a histogram.

use super::stats::OxygenStats;
use crate::data::Volume;
use crate::statistics::weighted_median;

/// Lower end of a histogram, torr.
const LOW_TORR: f64 = -10.0;

/// Width of a bin, torr.
const WIDTH_TORR: f64 = 2.0;

/// Number of bins: up to 100 torr.
const NUM_BINS: usize = 55;

/// Weights of the voxels by their oxygen pressure. The outer bins have the values beyond them, too.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OxygenHistogram {
    /// Sum of the weights of each bin.
    pub weights: Vec<f64>,
}

impl OxygenHistogram {
    /// Returns the limits of a bin, torr.
    pub fn limits_torr(bin: usize) -> [f64; 2] {
        [0.0, 1.0].map(|end| LOW_TORR + WIDTH_TORR * (bin as f64 + end))
    }

    fn of(voxels: &[(f32, f64)]) -> Self {
        let mut weights = vec![0.0; NUM_BINS];
        for (po2, weight) in voxels {
            let bin = ((f64::from(*po2) - LOW_TORR) / WIDTH_TORR).floor().clamp(0.0, NUM_BINS as f64 - 1.0);
            weights[bin as usize] += weight;
        }
        Self { weights }
    }
}

/// Oxygen of a region with its uncertainty and distribution.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OxygenFigures {
    /// Median, mean, standard deviation between the voxels, hypoxic fraction.
    pub stats: OxygenStats,
    /// Median of the standard deviations of single voxels, torr; `None` without residuals.
    pub voxel_sd_torr: Option<f64>,
    /// Distribution.
    pub histogram: OxygenHistogram,
}

impl OxygenFigures {
    /// Returns the figures of voxels (index, weight) on a map of the pressure and one of its standard deviation, torr. `None` where no voxel
    /// has a pressure.
    pub fn of(po2: &Volume, po2_sd: Option<&Volume>, voxels: impl Iterator<Item = (usize, f64)> + Clone) -> Option<Self> {
        let on = |map: &Volume| -> Vec<(f32, f64)> {
            let values = map.as_slice();
            let value = |(index, weight): (usize, f64)| Some((*values.get(index)?, weight));
            voxels.clone().filter_map(value).filter(|(value, weight)| value.is_finite() && *weight > 0.0).collect()
        };
        let found = on(po2);
        let (histogram, stats) = (OxygenHistogram::of(&found), OxygenStats::of(found)?);
        Some(Self { stats, voxel_sd_torr: po2_sd.and_then(|map| weighted_median(on(map))), histogram })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Unit;
    use crate::geometry::Grid;

    #[test]
    fn figures_of_five_voxels_by_hand() {
        let grid = Grid::centred([5, 1, 1], [1.0; 3]).unwrap();
        let map = |values: [f32; 5]| Volume::from_vec(grid.clone(), values.to_vec(), Unit::Torr).unwrap();
        let (po2, sd) = (map([4.0, f32::NAN, 20.0, 400.0, -30.0]), map([1.0, f32::NAN, 2.0, 4.0, 3.0]));
        let figures = OxygenFigures::of(&po2, Some(&sd), (0..5).map(|index| (index, 1.0))).unwrap();
        assert_eq!((figures.stats.num_voxels, figures.stats.median_torr, figures.voxel_sd_torr), (4, 12.0, Some(2.5)));
        let filled: Vec<_> = figures.histogram.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0).collect();
        assert_eq!(filled, [(0, &1.0), (7, &1.0), (15, &1.0), (54, &1.0)]);
        assert_eq!([7, 15, 54].map(OxygenHistogram::limits_torr), [[4.0, 6.0], [20.0, 22.0], [98.0, 100.0]]);
        assert_eq!(OxygenFigures::of(&po2, None, [(1, 1.0)].into_iter()), None);
    }
}
