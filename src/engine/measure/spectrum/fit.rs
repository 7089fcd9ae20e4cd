//! The line of one spectrum, by Levenberg–Marquardt.
//!
//! The model is A · L′(B − B₀) with the derivative L′ of a Lorentzian or Voigt line of area 1, so that A is the double integral of the
//! spectrum. Widths are fitted as logarithms, and positions and widths in units of the range of the fields. The first guess is that of the
//! extrema: those of a Lorentzian are Γ/√3 apart.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn, Matrix};

use super::super::outcomes::NoFit;
use crate::data::{FieldAxis, OxygenCalibration, lorentzian_derivative, rate_of_linewidth, voigt_derivative};

/// Step of differences, relative to the range of the fields and to a width.
const STEP: f64 = 1e-6;

/// Limit of a fit: evaluations for each parameter, and one more.
const MAX_EVALUATIONS: usize = 100;

/// Narrowest line, steps of the field: of a narrower one the samples see a single point.
const MIN_WIDTH_STEPS: f64 = 1.5;

/// Largest standard deviation of a width, relative to it.
const MAX_DEVIATION: f64 = 0.3;

/// Shape of a line.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Line {
    /// A Lorentzian.
    #[default]
    Lorentzian,
    /// The convolution of a Lorentzian and a Gaussian.
    Voigt,
}

impl Line {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the number of its parameters, with the amplitude.
    pub fn num_parameters(self) -> usize {
        match self {
            Line::Lorentzian => 3,
            Line::Voigt => 4,
        }
    }
}

/// The line of a spectrum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineFit {
    /// Double integral, in the unit of the spectrum times mT².
    pub amplitude: f64,
    /// Standard deviation of the amplitude, by the residuals as noise, as those below.
    pub amplitude_sd: f64,
    /// Full width at half maximum of the Lorentzian, mT.
    pub width_mt: f64,
    /// The same of the Gaussian; `None` of a Lorentzian line.
    pub gaussian_mt: Option<f64>,
    /// Middle, mT from the middle of the field sweep.
    pub position_mt: f64,
    /// Standard deviation of the position, mT.
    pub position_sd_mt: f64,
    /// Standard deviation of the width of the Lorentzian, mT.
    pub width_sd_mt: f64,
}

impl LineFit {
    /// Returns a line whose standard deviations are unknown: NaN.
    pub fn new(amplitude: f64, width_mt: f64, gaussian_mt: Option<f64>, position_mt: f64) -> Self {
        let unknown = f64::NAN;
        let [amplitude_sd, position_sd_mt, width_sd_mt] = [unknown; 3];
        Self { amplitude, amplitude_sd, width_mt, gaussian_mt, position_mt, position_sd_mt, width_sd_mt }
    }

    /// Returns the oxygen pressure by a calibration of R2, torr: R2 is that of the half width at half maximum.
    pub fn po2_torr(&self, calibration: &OxygenCalibration) -> f64 {
        calibration.po2_torr(rate_of_linewidth(0.5 * self.width_mt))
    }

    /// Returns the standard deviation of this pressure, torr.
    pub fn po2_sd_torr(&self, calibration: &OxygenCalibration) -> f64 {
        calibration.po2_sd_torr(rate_of_linewidth(0.5 * self.width_sd_mt))
    }

    /// Returns the spectrum at a field, mT.
    pub fn value(&self, field_mt: f64) -> f64 {
        self.amplitude * shape(field_mt - self.position_mt, self.width_mt, self.gaussian_mt)
    }
}

fn shape(distance_mt: f64, width_mt: f64, gaussian_mt: Option<f64>) -> f64 {
    match gaussian_mt {
        None => lorentzian_derivative(distance_mt, width_mt),
        Some(gaussian_mt) => voigt_derivative(distance_mt, width_mt, gaussian_mt),
    }
}

/// Fit of lines to spectra at these fields.
#[derive(Clone, Copy, Debug)]
pub struct LineFitter {
    line: Line,
    axis: FieldAxis,
}

/// A fit: the parameters are A, B₀, ln Γ and ln G, in units of the first guess and of the range of the fields.
struct Problem<'a> {
    fitter: &'a LineFitter,
    values: &'a [f64],
    /// First guess of the amplitude.
    scale: f64,
    parameters: DVector<f64>,
}

impl Problem<'_> {
    fn fit(&self, parameters: &DVector<f64>) -> LineFit {
        let range = self.fitter.axis.range_mt();
        let gaussian_mt = parameters.get(3).map(|width| range * width.exp());
        LineFit::new(self.scale * parameters[0], range * parameters[2].exp(), gaussian_mt, range * parameters[1])
    }

    fn model(&self, parameters: &DVector<f64>) -> DVector<f64> {
        let fit = self.fit(parameters);
        let axis = self.fitter.axis;
        DVector::from_fn(axis.num_samples, |sample, _| fit.value(axis.field_mt(sample)))
    }

    fn derivatives(&self) -> DMatrix<f64> {
        let column = |k: usize| {
            let moved = |by: f64| {
                let mut parameters = self.parameters.clone();
                parameters[k] += by;
                self.model(&parameters)
            };
            (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
        };
        DMatrix::from_columns(&(0..self.parameters.len()).map(column).collect::<Vec<_>>())
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ParameterStorage = Owned<f64, Dyn>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        self.parameters.copy_from(parameters);
    }

    fn params(&self) -> DVector<f64> {
        self.parameters.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let residuals = self.model(&self.parameters) - DVector::from_column_slice(self.values);
        residuals.iter().all(|value| value.is_finite()).then_some(residuals)
    }

    fn jacobian(&self) -> Option<Matrix<f64, Dyn, Dyn, Self::JacobianStorage>> {
        let derivatives = self.derivatives();
        derivatives.iter().all(|value| value.is_finite()).then_some(derivatives)
    }
}

impl LineFitter {
    /// Returns the fit of lines of a shape.
    pub fn new(line: Line, axis: FieldAxis) -> Self {
        Self { line, axis }
    }

    /// Returns the shape.
    pub fn line(&self) -> Line {
        self.line
    }

    /// Fits the values at the fields.
    ///
    /// # Errors
    /// The reason why there is no line.
    pub fn fit(&self, values: &[f64]) -> Result<LineFit, NoFit> {
        let fit = self.fit_any(values)?;
        let width = fit.width_mt + fit.gaussian_mt.unwrap_or(0.0);
        // (A Voigt line may have no Lorentzian width that differs from 0.)
        let is_gaussian = fit.gaussian_mt.is_some() && fit.width_mt <= fit.width_sd_mt;
        if width < MIN_WIDTH_STEPS * self.axis.step_mt || fit.width_sd_mt > MAX_DEVIATION * width || is_gaussian {
            return Err(NoFit::Unresolved);
        }
        Ok(fit)
    }

    /// Fits the values at the fields; the line may be narrower than the samples resolve.
    ///
    /// # Errors
    /// The reason why there is no line.
    pub(super) fn fit_any(&self, values: &[f64]) -> Result<LineFit, NoFit> {
        if !values.iter().all(|value| value.is_finite()) {
            return Err(NoFit::NotFinite);
        }
        let guess = self.guess(values).ok_or(NoFit::OutOfRange)?;
        let range = self.axis.range_mt();
        let mut parameters = vec![1.0, guess.position_mt / range, (guess.width_mt / range).ln()];
        parameters.extend(guess.gaussian_mt.map(|width| (width / range).ln()));
        let problem = Problem { fitter: self, values, scale: guess.amplitude, parameters: DVector::from_vec(parameters) };
        let (problem, report) = LevenbergMarquardt::new().with_patience(MAX_EVALUATIONS).minimize(problem);
        if !report.termination.was_successful() {
            return Err(NoFit::NotConverged);
        }
        let fit = problem.fit(&problem.parameters);
        let [first, last] = [self.axis.first_mt, self.axis.field_mt(self.axis.num_samples - 1)];
        let width = fit.width_mt + fit.gaussian_mt.unwrap_or(0.0);
        let is_inside = (first..=last).contains(&fit.position_mt) && width < range;
        if !(fit.amplitude > 0.0 && is_inside) {
            return Err(NoFit::OutOfRange);
        }
        Ok(self.with_deviations(fit, &problem, 2.0 * report.objective_function))
    }

    /// Returns a fit with its standard deviations, from the sum of squared residuals.
    fn with_deviations(&self, fit: LineFit, problem: &Problem, squares: f64) -> LineFit {
        let derivatives = problem.derivatives();
        let freedom = self.axis.num_samples - derivatives.ncols();
        let Some(covariance) = (derivatives.transpose() * &derivatives).try_inverse() else {
            return LineFit { width_sd_mt: f64::INFINITY, ..fit };
        };
        let deviation = |k: usize| (squares / freedom as f64 * covariance[(k, k)]).sqrt();
        LineFit {
            amplitude_sd: problem.scale * deviation(0),
            position_sd_mt: self.axis.range_mt() * deviation(1),
            width_sd_mt: fit.width_mt * deviation(2),
            ..fit
        }
    }

    /// Returns the line with the extrema of a spectrum.
    fn guess(&self, values: &[f64]) -> Option<LineFit> {
        let highest = (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b]))?;
        let lowest = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b]))?;
        // A line rises before it falls.
        let apart_mt = self.axis.field_mt(lowest) - self.axis.field_mt(highest);
        if apart_mt <= 0.0 {
            return None;
        }
        let width_mt = (3.0_f64.sqrt() * apart_mt).max(self.axis.step_mt);
        let (width_mt, gaussian_mt) = match self.line {
            Line::Lorentzian => (width_mt, None),
            Line::Voigt => (0.6 * width_mt, Some(0.5 * width_mt)),
        };
        let position_mt = 0.5 * (self.axis.field_mt(lowest) + self.axis.field_mt(highest));
        let fit = LineFit::new(1.0, width_mt, gaussian_mt, position_mt);
        let model: Vec<f64> = self.axis.fields_mt().iter().map(|&field| fit.value(field)).collect();
        let [product, square] = model.iter().zip(values).fold([0.0; 2], |[p, s], (m, v)| [p + m * v, s + m * m]);
        let amplitude = product / square;
        (amplitude > 0.0).then_some(LineFit { amplitude, ..fit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis() -> FieldAxis {
        FieldAxis { first_mt: -1.6, step_mt: 0.05, num_samples: 64 }
    }

    fn spectrum(fit: LineFit) -> Vec<f64> {
        axis().fields_mt().iter().map(|&field| fit.value(field)).collect()
    }

    #[test]
    fn exact_lines_give_their_parameters_back() {
        for (width_mt, position_mt) in [(0.1, 0.0), (0.2, 0.13), (0.4, -0.51), (0.25, 0.9)] {
            for (line, gaussian_mt) in [(Line::Lorentzian, None), (Line::Voigt, Some(0.15))] {
                let expected = LineFit::new(3.0, width_mt, gaussian_mt, position_mt);
                let fit = LineFitter::new(line, axis()).fit(&spectrum(expected)).unwrap();
                assert!((fit.amplitude - 3.0).abs() < 1e-5 && (fit.width_mt / width_mt - 1.0).abs() < 1e-5, "{fit:?}");
                assert!((fit.position_mt - position_mt).abs() < 1e-6 && fit.width_sd_mt < 1e-5, "{fit:?}");
                assert!(gaussian_mt.is_none_or(|width| (fit.gaussian_mt.unwrap() / width - 1.0).abs() < 1e-5), "{fit:?}");
            }
        }
    }

    /// Reported standard deviations against those of repeats.
    #[test]
    fn the_standard_deviations_are_those_of_repeats() {
        let expected = LineFit::new(1.0, 0.3, None, 0.1);
        let exact = spectrum(expected);
        let noise = rand_distr::Normal::new(0.0, 0.2).unwrap();
        let fits: Vec<LineFit> = (0..200)
            .map(|seed| {
                let mut random = crate::random::stream(3, seed);
                let noisy: Vec<f64> =
                    exact.iter().map(|value| value + rand_distr::Distribution::sample(&noise, &mut random)).collect();
                LineFitter::new(Line::Lorentzian, axis()).fit(&noisy).unwrap()
            })
            .collect();
        let columns: [fn(&LineFit) -> [f64; 2]; 3] = [
            |fit| [fit.amplitude, fit.amplitude_sd],
            |fit| [fit.width_mt, fit.width_sd_mt],
            |fit| [fit.position_mt, fit.position_sd_mt],
        ];
        for (column, truth) in columns.iter().zip([1.0, 0.3, 0.1]) {
            let [sum, sum_of_sd] = fits.iter().map(column).fold([0.0; 2], |[a, b], [value, sd]| [a + value, b + sd]);
            let (mean, reported) = (sum / 200.0, sum_of_sd / 200.0);
            let sd = (fits.iter().map(|fit| (column(fit)[0] - mean).powi(2)).sum::<f64>() / 199.0).sqrt();
            assert!((mean - truth).abs() < 0.01 && (reported / sd - 1.0).abs() < 0.15, "{truth}: {mean} {sd} {reported}");
        }
    }

    #[test]
    fn spectra_without_a_line_have_a_reason() {
        let of = |values: &[f64]| LineFitter::new(Line::Lorentzian, axis()).fit(values);
        assert_eq!(of(&[0.0; 64]), Err(NoFit::OutOfRange));
        let line = LineFit::new(1.0, 0.3, None, 0.1);
        let falling: Vec<f64> = spectrum(line).iter().map(|value| -value).collect();
        assert_eq!(of(&falling), Err(NoFit::OutOfRange));
        let mut values = spectrum(line);
        values[3] = f64::NAN;
        assert_eq!(of(&values), Err(NoFit::NotFinite));
        // A line of a step and a half is fitted, and one of a step is not, nor one that noise of its height makes uncertain.
        let narrow = |width_mt: f64| spectrum(LineFit::new(3.0, width_mt, None, 0.1));
        assert!(of(&narrow(0.08)).is_ok());
        assert_eq!(of(&narrow(0.05)), Err(NoFit::Unresolved));
        let height = spectrum(line).iter().copied().fold(0.0, f64::max);
        let noise = rand_distr::Normal::new(0.0, height).unwrap();
        let noisy = |seed: u64| {
            let mut random = crate::random::stream(4, seed);
            spectrum(line).iter().map(|value| value + rand_distr::Distribution::sample(&noise, &mut random)).collect::<Vec<f64>>()
        };
        let fits: Vec<_> = (0..100).map(|seed| of(&noisy(seed))).collect();
        let num_unresolved = fits.iter().filter(|fit| **fit == Err(NoFit::Unresolved)).count();
        assert!(num_unresolved > 10, "{num_unresolved}");
        let is_certain = |fit: &LineFit| fit.width_mt >= 0.075 && fit.width_sd_mt <= 0.3 * fit.width_mt;
        assert!(fits.iter().flatten().all(is_certain), "{fits:?}");
        // A Gaussian has no Lorentzian width.
        let gaussian = spectrum(LineFit::new(1.0, 1e-6, Some(0.3), 0.1));
        let noise = rand_distr::Normal::new(0.0, 0.02 * height).unwrap();
        let fits: Vec<_> = (0..100)
            .map(|seed| {
                let mut random = crate::random::stream(5, seed);
                let noisy = gaussian.iter().map(|value| value + rand_distr::Distribution::sample(&noise, &mut random));
                LineFitter::new(Line::Voigt, axis()).fit(&noisy.collect::<Vec<f64>>())
            })
            .collect();
        assert!(fits.iter().filter(|fit| **fit == Err(NoFit::Unresolved)).count() > 30, "{fits:?}");
        assert!(fits.iter().flatten().all(|fit| fit.width_mt > fit.width_sd_mt), "{fits:?}");
    }
}
