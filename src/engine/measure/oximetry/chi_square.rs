//! Residuals of the fits against the noise outside of the object.
//!
//! Filtered backprojection has nearly the same noise inside and outside of an object. Outside are streaks, too, which recover or decay like the object:
//! [`WithoutSignals`] takes them out. With the noise σ from there, reduced χ² of a voxel is its sum of squared residuals over σ² and the median of
//! the χ² distribution, so that the median over the voxels is 1.

use nalgebra::DVector;

use super::fit::RateFitter;
use super::signals::WithoutSignals;
use super::voxels::VoxelFit;
use crate::data::Volume;
use crate::geometry::Grid;
use crate::statistics::median;

/// Part of the ellipse within an image whose voxels count as background: all projections reach them.
const PART_OF_ELLIPSE: f64 = 0.95;

/// Fewest voxels of the background.
const MIN_VOXELS: usize = 100;

/// Fewest times beyond the parameters: one direction of the residuals would be that of the streaks.
const MIN_FREEDOM: usize = 2;

/// Median of reduced χ² above which it is reported, and the part of the amplitude that the residuals then have beyond the noise: streaks of the
/// reconstruction reach it in images nearly without noise.
const MAX_MEDIAN: f64 = 1.5;
const MAX_EXCESS: f64 = 0.005;

/// Residuals of the fits against the noise of the background.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ChiSquare {
    /// Reduced χ², median over the fitted voxels; 1 is expected.
    pub median: f64,
    /// Noise of the images outside of the object, in their unit.
    pub noise: f64,
    /// Median residual beyond the noise, as a fraction of the amplitude.
    pub excess: f64,
}

impl ChiSquare {
    /// Returns that of the fits of images; `None` without enough background, and of less than [`MIN_FREEDOM`] times beyond the parameters.
    pub(super) fn of(images: &[&Volume], fits: &[VoxelFit], fitter: &RateFitter, rates: &Volume) -> Option<Self> {
        let freedom = fitter.degrees_of_freedom();
        let without = WithoutSignals::new(fitter, rates).filter(|_| freedom >= MIN_FREEDOM)?;
        let grid = &images[0].grid;
        let background: Vec<usize> = fits
            .iter()
            .enumerate()
            .filter(|(voxel, fit)| matches!(fit, Err(None)) && is_inside(grid, *voxel))
            .map(|(voxel, _)| voxel)
            .collect();
        if background.len() < MIN_VOXELS {
            return None;
        }
        let squares = |voxel: &usize| {
            let values = DVector::from_iterator(images.len(), images.iter().map(|image| f64::from(image.as_slice()[*voxel])));
            (&without.0 * values).norm_squared()
        };
        // (The mean over the median of χ² of the noise: edges of the object are in the background, too.)
        let dimension = without.dimension() as f64;
        let variance = median(background.iter().map(squares).collect())? / median_of_chi_square(dimension);
        let expected = median_of_chi_square(freedom as f64);
        let residuals = || fits.iter().flatten();
        let found = median(residuals().map(|fit| fit.residual).collect())? / expected;
        let amplitude = median(residuals().map(|fit| fit.amplitude.abs()).collect())?;
        (variance > 0.0).then(|| Self {
            median: found / variance,
            noise: variance.sqrt(),
            excess: (found - variance).max(0.0).sqrt() / amplitude,
        })
    }

    /// Returns the warning about residuals that the noise does not explain.
    pub fn doubt(&self) -> Option<String> {
        (self.median > MAX_MEDIAN && self.excess > MAX_EXCESS).then(|| {
            format!(
                "the images do not follow the model within their noise: reduced χ² is {:.2} (median), expected at most {MAX_MEDIAN}. Several rates in a \
                 voxel, motion between the acquisitions or another gain of one of them have this effect",
                self.median
            )
        })
    }
}

/// Returns the median of the χ² distribution (Wilson and Hilferty 1931).
fn median_of_chi_square(freedom: f64) -> f64 {
    freedom * (1.0 - 2.0 / (9.0 * freedom)).powi(3)
}

/// Returns true of a voxel within the ellipse of a grid.
fn is_inside(grid: &Grid, voxel: usize) -> bool {
    let [nx, ny, _] = grid.size;
    let place = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
    let square = |axis: usize| {
        let half = 0.5 * (grid.size[axis] as f64 - 1.0);
        if half > 0.0 { ((place[axis] as f64 - half) / half).powi(2) } else { 0.0 }
    };
    (0..3).map(square).sum::<f64>() <= PART_OF_ELLIPSE * PART_OF_ELLIPSE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_chi_square_are_those_of_tables() {
        for (freedom, expected) in [(1.0, 0.455), (2.0, 1.386), (5.0, 4.351), (10.0, 9.342)] {
            let found = median_of_chi_square(freedom);
            assert!((found / expected - 1.0).abs() < 0.04, "{freedom}: {found}");
        }
    }
}
