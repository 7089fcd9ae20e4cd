//! Maps of the lines of a spectral-spatial image.

use rayon::prelude::*;

use super::super::outcomes::{FitCounts, Outcome, map};
use super::error::SpectrumError;
use super::fit::{LineFit, LineFitter};
use crate::data::{FieldAxis, Unit, Volume};
use crate::geometry::Grid;
use crate::task::Task;

/// Voxels of a piece of work between two looks at the task.
const CHUNK: usize = 256;

/// Usual limit of the mask, as a fraction of the largest peak-to-peak amplitude.
pub const MASK_FRACTION: f64 = 0.15;

/// Cause of [`NoFit::OutOfRange`](crate::measure::NoFit::OutOfRange) for people.
pub const NO_LINE: &str = "without a line inside the field sweep";

/// Maps on the grid of the image; voxels without a line are NaN.
#[derive(Clone, Debug)]
pub struct LineMaps {
    grid: Grid,
    fits: Vec<Outcome<LineFit>>,
    /// Voxels by result.
    pub counts: FitCounts,
}

impl LineMaps {
    /// Returns the grid of the image.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the map of a value of the fits.
    pub fn map(&self, unit: Unit, value: impl Fn(&LineFit) -> f64) -> Volume {
        map(&self.grid, &self.fits, unit, |_, fit| value(fit))
    }

    /// Returns the line of a voxel, if it has one.
    pub fn line(&self, voxel: usize) -> Option<&LineFit> {
        self.outcome(voxel)?.as_ref().ok()
    }

    /// Returns the outcome of a voxel; `None` outside of the image.
    pub fn outcome(&self, voxel: usize) -> Option<&Outcome<LineFit>> {
        self.fits.get(voxel)
    }
}

/// Fits the spectrum of every voxel whose peak-to-peak amplitude is at least `mask_fraction` of the largest. On all cores; `task` counts
/// voxels.
///
/// # Errors
/// Too few samples, spectra that are all flat, stopped.
pub fn line_maps<V: AsRef<Volume> + Sync>(
    samples: &[V],
    axis: FieldAxis,
    fitter: &LineFitter,
    mask_fraction: f64,
    task: &Task,
) -> Result<LineMaps, SpectrumError> {
    let (found, needed) = (samples.len().min(axis.num_samples), fitter.line().num_parameters());
    if found <= needed {
        return Err(SpectrumError::FewSamples { found, needed });
    }
    let grid = samples[0].as_ref().grid.clone();
    let slices: Vec<&[f32]> = samples.iter().map(|sample| sample.as_ref().as_slice()).collect();
    // (A value that is not a number is not below the mask: it is counted as such.)
    let height = |voxel: usize| {
        let values = slices.iter().map(|sample| sample[voxel]);
        let (low, high) = values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        // (Without a finite value it is not below the mask either.)
        if low > high { f64::NAN } else { f64::from(high - low) }
    };
    let largest = (0..grid.num_voxels()).map(height).filter(|height| height.is_finite()).fold(0.0, f64::max);
    if largest <= 0.0 {
        return Err(SpectrumError::NoSignal);
    }
    task.begin(grid.num_voxels() as u64);
    let mut fits: Vec<Outcome<LineFit>> = vec![Err(None); grid.num_voxels()];
    fits.par_chunks_mut(CHUNK).enumerate().try_for_each(|(chunk, fits)| {
        task.check()?;
        let mut values = vec![0.0; slices.len()];
        for (index, fit) in fits.iter_mut().enumerate() {
            let voxel = chunk * CHUNK + index;
            let height = height(voxel);
            if height.is_nan() || height >= mask_fraction * largest {
                values.iter_mut().zip(&slices).for_each(|(value, sample)| *value = f64::from(sample[voxel]));
                *fit = fitter.fit(&values).map_err(Some);
            }
        }
        task.advance(fits.len() as u64);
        Ok::<_, SpectrumError>(())
    })?;
    Ok(LineMaps { counts: FitCounts::of(&fits), grid, fits })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fit::Line;
    use super::*;
    use crate::data::lorentzian_derivative;

    #[test]
    fn voxels_without_a_line_are_nan_and_counted_by_cause() {
        let axis = FieldAxis { first_mt: -1.0, step_mt: 0.1, num_samples: 20 };
        let grid = Grid::centred([5, 1, 1], [1.0; 3]).unwrap();
        let sample = |index: usize| {
            let line = |width| lorentzian_derivative(axis.field_mt(index) - 0.2, width) as f32;
            let values = vec![line(0.3), 2.0 * line(0.4), 0.01 * line(0.3), -line(0.3), f32::NAN];
            Arc::new(Volume::from_vec(grid.clone(), values, Unit::Arbitrary).unwrap())
        };
        let samples: Vec<Arc<Volume>> = (0..20).map(sample).collect();
        let maps = line_maps(&samples, axis, &LineFitter::new(Line::Lorentzian, axis), 0.15, &Task::new()).unwrap();
        assert_eq!(maps.counts, FitCounts { fitted: 2, below_mask: 1, not_finite: 1, out_of_range: 1, ..FitCounts::default() });
        let widths = maps.map(Unit::Millitesla, |fit| fit.width_mt);
        assert!((widths.as_slice()[0] - 0.3).abs() < 1e-4 && (widths.as_slice()[1] - 0.4).abs() < 1e-4, "{widths:?}");
        assert!(widths.as_slice()[2].is_nan() && widths.as_slice()[3].is_nan());
        let few = line_maps(&samples[..3], axis, &LineFitter::new(Line::Lorentzian, axis), 0.15, &Task::new()).unwrap_err();
        assert_eq!(few, SpectrumError::FewSamples { found: 3, needed: 3 });
    }
}
