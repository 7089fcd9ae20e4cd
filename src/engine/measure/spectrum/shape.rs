//! Shape of the lines: does a Voigt line fit the spectra better than a Lorentzian?
//!
//! Errors of a reconstruction move signal between neighbours, so that the residuals of single voxels are mostly not those of the shape. Their mean over
//! the voxels has little of them: its size relative to that of the mean spectrum is compared.

use rayon::prelude::*;

use super::fit::{Line, LineFit, LineFitter};
use super::maps::LineMaps;
use crate::data::{FieldAxis, Volume};

/// Voxels that are fitted at most.
const MAX_VOXELS: usize = 200;

/// Fewest voxels.
const MIN_VOXELS: usize = 4;

/// Mean residual of Lorentzians that is reported, and the ratio of the mean squares of Lorentzians and Voigt lines: Lorentzians whose spectra total
/// variation reconstructs have a ratio of up to 2.2.
const MAX_RESIDUAL: f64 = 0.01;
const MAX_RATIO: f64 = 2.5;

/// Mean residual of the fits of both shapes, a fraction of the peak-to-peak amplitude of the mean spectrum: root of its mean square over the fields.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LineResiduals {
    /// Of Lorentzian lines.
    pub lorentzian: f64,
    /// Of Voigt lines.
    pub voigt: f64,
}

/// Spectrum of a voxel, and its fits of both shapes.
type Fitted = (Vec<f64>, [LineFit; 2]);

impl LineResiduals {
    /// Fits both shapes to some of the voxels that have a line. `None` of few such voxels.
    pub fn of<V: AsRef<Volume> + Sync>(samples: &[V], axis: FieldAxis, maps: &LineMaps) -> Option<Self> {
        let fitted: Vec<usize> = (0..maps.grid().num_voxels()).filter(|voxel| maps.line(*voxel).is_some()).collect();
        let chosen: Vec<usize> = fitted.iter().copied().step_by(fitted.len().div_ceil(MAX_VOXELS).max(1)).collect();
        let fitters = [Line::Lorentzian, Line::Voigt].map(|line| LineFitter::new(line, axis));
        let of_voxel = |voxel: &usize| {
            let values: Vec<f64> = samples.iter().map(|sample| f64::from(sample.as_ref().as_slice()[*voxel])).collect();
            let fits = fitters.map(|fitter| fitter.fit_any(&values).ok());
            let [Some(lorentzian), Some(voigt)] = fits else { return None };
            Some((values, [lorentzian, voigt]))
        };
        let found: Vec<Fitted> = chosen.par_iter().filter_map(of_voxel).collect();
        if found.len() < MIN_VOXELS {
            return None;
        }
        let fields = axis.fields_mt();
        let mean = |of: &dyn Fn(&Fitted, usize) -> f64| -> Vec<f64> {
            (0..fields.len())
                .map(|sample| found.iter().map(|voxel| of(voxel, sample)).sum::<f64>() / found.len() as f64)
                .collect()
        };
        let spectrum = mean(&|(values, _), sample| values[sample]);
        let height = spectrum.iter().copied().fold(f64::MIN, f64::max) - spectrum.iter().copied().fold(f64::MAX, f64::min);
        let residual = |shape: usize, line: Line| {
            let squares = mean(&|(values, fits), sample| values[sample] - fits[shape].value(fields[sample]))
                .iter()
                .map(|v| v * v)
                .sum::<f64>();
            (squares / (fields.len() - line.num_parameters()) as f64).sqrt() / height
        };
        (height > 0.0).then(|| Self { lorentzian: residual(0, Line::Lorentzian), voigt: residual(1, Line::Voigt) })
    }

    /// Returns the warning about Lorentzians where Voigt lines fit clearly better.
    pub fn doubt(&self) -> Option<String> {
        (self.lorentzian > MAX_RESIDUAL && self.lorentzian.powi(2) > MAX_RATIO * self.voigt.powi(2)).then(|| {
            format!(
                "the lines are no Lorentzians: the mean residual is {:.1} % of the peak-to-peak amplitude, of Voigt lines {:.1} %. The widths contain the \
                 Gaussian part; set --line voigt",
                100.0 * self.lorentzian,
                100.0 * self.voigt
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::maps::line_maps;
    use super::*;
    use crate::data::{Unit, lorentzian_derivative, voigt_derivative};
    use crate::geometry::Grid;
    use crate::random;
    use crate::task::Task;

    /// Lines of several widths and positions, with noise of a 50th of their height.
    fn residuals(gaussian_mt: Option<f64>) -> LineResiduals {
        let axis = FieldAxis { first_mt: -1.6, step_mt: 0.05, num_samples: 64 };
        let grid = Grid::centred([60, 1, 1], [1.0; 3]).unwrap();
        let value = |voxel: usize, field_mt: f64| {
            let (width, at) = (0.12 + 0.002 * voxel as f64, [0.0, 0.13, -0.1][voxel % 3]);
            match gaussian_mt {
                None => lorentzian_derivative(field_mt - at, width),
                Some(gaussian) => voigt_derivative(field_mt - at, width, gaussian),
            }
        };
        let sample = |index: usize| {
            let mut stream = random::stream(2, index as u64);
            let mut noisy = |voxel: usize| {
                let noise: f64 = rand_distr::Distribution::sample(&rand_distr::StandardNormal, &mut stream);
                (value(voxel, axis.field_mt(index)) + 0.5 * noise) as f32
            };
            Arc::new(Volume::from_vec(grid.clone(), (0..60).map(&mut noisy).collect(), Unit::Arbitrary).unwrap())
        };
        let samples: Vec<Arc<Volume>> = (0..64).map(sample).collect();
        let maps = line_maps(&samples, axis, &LineFitter::new(Line::Lorentzian, axis), 0.05, &Task::new()).unwrap();
        LineResiduals::of(&samples, axis, &maps).unwrap()
    }

    #[test]
    fn voigt_lines_are_found_and_lorentzians_of_several_places_are_not() {
        let [lorentzian, voigt] = [None, Some(0.12)].map(residuals);
        println!("{lorentzian:?} {voigt:?}");
        assert_eq!(lorentzian.doubt(), None);
        assert!(voigt.doubt().is_some_and(|text| text.contains("--line voigt")), "{voigt:?}");
    }
}
