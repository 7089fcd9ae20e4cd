//! From measured projections to filtered and weighted ones: transform, multiply, transform back, in double precision.
//!
//! Pulse: q = −w/(4π²)·p″, of a slice w/(2π)·(p * ramp). Continuous wave: the samples are the plane (line) integrals convolved
//! with the probe's derivative spectrum h, so that P/H has taken p's place before; with G = H/(iξ), the absorption profile,
//! the parabola over H is the factor −iξ/G(ξ), the ramp over H −i sign(ξ)/G(ξ). Where H is small there is nothing to divide: a
//! hard cut-off leaves the frequencies above it out. The spectra are not padded but taken as one period, which they can be
//! because they vanish at their ends: hyperfine lines make zeros in H, and the finer frequencies of a padded transform come
//! closer to these, where there is nothing but noise.
//!
//! The ramp has a corner at the frequency 0, which the parabola has not. Taken at the frequencies of one period it would be the
//! kernel and all its repetitions, and a disc of radius r in samples over a length L would lose (π²/6)(r/L)² of its density (10 %
//! at r = L/4) and lie in a background below zero. So the kernel is cut to half a period, which gives the middle half of the
//! samples without repetitions. The part of P/H at the frequency 0, where both vanish, is its limit: the ratio of the first
//! moments of a projection and of h.
//!
//! PyEPRI, which published reconstructions are made with, takes the absorption profile G as a running sum of h, half a sample
//! late; dividing by the transform of h itself is exact. In three dimensions that is the whole difference: an independent
//! program with the running sum copied agrees with PyEPRI to 2.5e-8, and without it they differ by 3 to 19 %, growing with the
//! cut-off (0.05 to 0.2). In two PyEPRI also takes the ramp at the frequencies of one period and nothing at the frequency 0.

use std::f64::consts::{PI, SQRT_2, TAU};
use std::sync::Arc;

use rayon::prelude::*;

use super::baseline::BaselineFit;
use super::cutoff::{MIN_SPECTRUM, cutoff_by_noise};
use super::resample::Measured;
use super::thinning::{Thinning, interpolation_window};
use super::{Baseline, Filter};
use crate::data::{Projection, ReferenceSpectrum, Sweep, SweepKind, SweepSpace};
use crate::fft::{Complex, Fft, Number};
use crate::geometry::Grid;
use crate::operator::{FilteredProjections, Interpolation, OperatorError, PlaneSampling};
use crate::recon::reference::reference_spectrum_at;
use crate::recon::{DataProblem, ReconError, SettingsProblem};
use crate::statistics::first_moment;
use crate::task::Task;

/// Filter and interpolation of projections.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FilterSettings {
    /// The form of the filter.
    pub filter: Filter,
    /// Frequencies above this part of the Nyquist frequency (0 … 1] are left out; windows end there.
    pub cutoff: Option<f64>,
    /// Baseline that is subtracted from continuous-wave spectra before their deconvolution.
    pub baseline: Baseline,
    /// Interpolation between the samples of filtered projections.
    pub interpolation: Interpolation,
}

impl FilterSettings {
    /// Returns the default settings for data: for continuous-wave spectra the parabola up to a tenth of the Nyquist frequency, as
    /// the reconstructions published of such data.
    pub fn for_data(acquisition: &SweepKind) -> Self {
        match acquisition {
            SweepKind::Pulse => Self::default(),
            SweepKind::ContinuousWave { .. } => {
                Self { filter: Filter::Rectangular, cutoff: Some(0.1), baseline: Baseline::Line, ..Self::default() }
            }
        }
    }

    /// Returns the default settings for an acquisition: for continuous-wave spectra, with the cut-off where the signal is as large as the
    /// noise, as far as its projections show it.
    pub fn for_sweep(sweep: &Sweep) -> Self {
        let default = Self::for_data(&sweep.kind);
        // (A run refuses a reference spectrum that is not usable.)
        let by_noise = cutoff_by_noise(sweep).ok().flatten();
        Self { cutoff: by_noise.or(default.cutoff), ..default }
    }
}

/// A filter made for the projections of one sweep.
pub struct ProjectionFilter {
    /// Samples of a projection, and of the filtered one before them.
    num_points: usize,
    num_before: usize,
    sampling: PlaneSampling,
    interpolation: Interpolation,
    num_passes: usize,
    baseline: BaselineFit,
    /// Response of one pass, in the order of the transform.
    response: Vec<Complex<f64>>,
    /// True if a projection's first moment replaces its transform at the frequency 0, see above.
    restores_level: bool,
    /// True of projections that are deconvolved with a reference spectrum.
    is_deconvolved: bool,
    form: Form,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
    /// Fewer samples of filtered projections.
    thinning: Option<Thinning>,
}

impl ProjectionFilter {
    /// For projections that are sampled and acquired like those of `sweep`.
    ///
    /// # Errors
    /// A cut-off outside 0 … 1, a baseline of pulse data, continuous-wave data without a reference spectrum or with one that is
    /// all zero.
    pub fn new(sweep: &Sweep, settings: &FilterSettings) -> Result<Self, ReconError> {
        if let Some(cutoff) = settings.cutoff.filter(|cutoff| !(*cutoff > 0.0 && *cutoff <= 1.0)) {
            return Err(SettingsProblem::Cutoff(cutoff).into());
        }
        if matches!(sweep.kind, SweepKind::Pulse) && settings.baseline != Baseline::None {
            return Err(SettingsProblem::Baseline.into());
        }
        let (num_points, sampling) = (sweep.num_points, sampling_of(sweep));
        let len = match sweep.kind {
            // Room for a kernel of 2S − 1 values: nothing wraps round.
            SweepKind::Pulse => (2 * sampling.num_points.max(1)).next_power_of_two(),
            // One period, see above.
            SweepKind::ContinuousWave { .. } => sampling.num_points.max(1),
        };
        let (forward, inverse) = (f64::forward(len), f64::inverse(len));
        let form = Form { filter: settings.filter, space: sweep.space, cutoff: settings.cutoff.unwrap_or(1.0) };
        let (mut response, num_passes) = match &sweep.kind {
            // Kernels cut to the 2S − 1 values that samples of S can meet.
            SweepKind::Pulse => {
                let reach = sampling.num_points.saturating_sub(1);
                (form.kernel_response(reach, len, &*forward), form.filter.num_passes(form.space))
            }
            SweepKind::ContinuousWave { reference: None, .. } => {
                return Err(DataProblem::NoReference.into());
            }
            SweepKind::ContinuousWave { reference: Some(reference), step_mt, .. } => {
                let omegas: Vec<f64> = (0..len).map(|k| omega(k, len)).collect();
                let spectrum = reference_spectrum_at(&omegas, reference, sweep, *step_mt)?;
                let of_integrals: Vec<f64> = match form.space {
                    SweepSpace::Volume => (0..len).map(|k| form.response(omega(k, len).abs())).collect(),
                    SweepSpace::Slice(_) => form.kernel_response(len / 2, len, &*forward).iter().map(|value| value.re).collect(),
                };
                let mut response = deconvolving_response(&of_integrals, &spectrum, sampling.step_mm);
                if form.space.is_slice() {
                    response[0].re = level(of_integrals[0], reference, *step_mt) / sampling.step_mm;
                }
                (response, 1)
            }
        };
        let largest = form.cutoff * PI * (1.0 + 1e-12);
        // The weight apart: −1/(4π²), −1/d² or 1/2π, 1/d, and rustfft leaves out the 1/len of the inverse; two passes share them.
        let constant = match form.space {
            SweepSpace::Volume => 1.0 / (4.0 * PI * PI * sampling.step_mm.powi(2)),
            SweepSpace::Slice(_) => 1.0 / (2.0 * PI * sampling.step_mm),
        };
        let scale = constant.powf(1.0 / num_passes as f64) / len as f64;
        for (k, value) in response.iter_mut().enumerate() {
            *value = if omega(k, len).abs() <= largest { *value * scale } else { Complex::default() };
        }
        let restores_level = form.space.is_slice() && sweep.kind != SweepKind::Pulse;
        let (interpolation, baseline) = (settings.interpolation, BaselineFit::new(settings.baseline, num_points));
        let num_before = (sampling.num_points - num_points) / 2;
        Ok(Self {
            num_points,
            num_before,
            sampling,
            interpolation,
            num_passes,
            baseline,
            response,
            restores_level,
            is_deconvolved: sweep.is_continuous_wave(),
            form,
            forward,
            inverse,
            thinning: None,
        })
    }

    /// Returns the same filter, whose filtered projections have samples about as far apart as the voxels of an image, where that saves some.
    pub(super) fn thinned_for(self, grid: &Grid) -> Self {
        let thinning = Thinning::new(&self.sampling, self.form.cutoff, self.interpolation, grid);
        Self { thinning: thinning.filter(|_| self.is_deconvolved), ..self }
    }

    /// Returns the number of samples of a projection.
    pub fn num_points(&self) -> usize {
        self.num_points
    }

    /// Returns the places of the samples of filtered projections.
    pub fn sampling(&self) -> &PlaneSampling {
        &self.sampling
    }

    /// Takes the baseline off a projection.
    pub(super) fn subtract_baseline(&self, row: &mut [f64]) {
        self.baseline.subtract(row);
    }

    /// Returns the part of a frequency ω, 0 to π, that an image contains: the filter over the parabola or the ramp, times that of the
    /// interpolation; 0 above the cut-off. (Deconvolved spectra have no frequency 0.)
    pub(super) fn window(&self, omega: f64) -> f64 {
        if omega == 0.0 {
            return f64::from(u8::from(!self.is_deconvolved));
        }
        let power = if self.form.space.is_slice() { 1 } else { 2 };
        interpolation_window(self.interpolation, omega) * self.form.response(omega) / omega.powi(power)
    }

    /// Filters and weights projections of the sweep's length.
    ///
    /// # Errors
    /// A projection of another length.
    pub fn apply(&self, projections: &[Projection]) -> Result<FilteredProjections, OperatorError> {
        let is_slice = self.form.space.is_slice();
        let weight: fn(&Projection) -> f64 = if is_slice { weight_of_a_line } else { weight_of_a_plane };
        let Measured { sampling, directions, samples } = self.filtered(projections, weight)?;
        let interpolation = if self.thinning.is_some() { Interpolation::Cubic } else { self.interpolation };
        FilteredProjections::new(sampling, interpolation, directions, samples)
    }

    /// Filters projections of the sweep's length, resamples them to equal linear angles, and weights them.
    ///
    /// # Errors
    /// A projection of another length, fewer projections than a new one is interpolated between, stopped.
    pub fn apply_at_equal_angles(
        &self,
        projections: &[Projection],
        angles: [usize; 2],
        task: &Task,
    ) -> Result<FilteredProjections, ReconError> {
        let (directions, samples) = self.filtered(projections, |_| 1.0)?.at_equal_angles(angles, task)?;
        Ok(FilteredProjections::new(self.sampling, self.interpolation, directions, samples)?)
    }

    /// Filters projections of the sweep's length, with these weights.
    pub(super) fn filtered(&self, projections: &[Projection], weight: fn(&Projection) -> f64) -> Result<Measured, OperatorError> {
        if let Some(other) = projections.iter().find(|projection| projection.values.len() != self.num_points) {
            return Err(OperatorError::Length { what: "a projection", expected: self.num_points, found: other.values.len() });
        }
        let sampling = self.thinning.as_ref().map_or(self.sampling, |thinning| thinning.sampling);
        let mut samples = vec![0.0; projections.len() * sampling.num_points];
        samples.par_chunks_mut(sampling.num_points.max(1)).zip(projections).for_each_init(
            || (vec![0.0; self.sampling.num_points], vec![Complex::default(); self.response.len()], Vec::new()),
            |(row, buffer, thin), (out, projection)| {
                row.fill(0.0);
                let values = projection.values.iter().map(|&value| weight(projection) * f64::from(value));
                row[self.num_before..].iter_mut().zip(values).for_each(|(sample, value)| *sample = value);
                self.baseline.subtract(row);
                for _ in 1..self.num_passes {
                    self.multiply(row, buffer);
                    self.transform_back(buffer, row);
                }
                self.multiply(row, buffer);
                match &self.thinning {
                    Some(thinning) => thinning.samples(buffer, thin, out),
                    None => self.transform_back(buffer, out),
                }
            },
        );
        let directions = projections.iter().map(|projection| projection.direction).collect();
        Ok(Measured { sampling, directions, samples })
    }

    /// Writes the transform of a projection times the response.
    fn multiply(&self, row: &[f64], buffer: &mut [Complex<f64>]) {
        buffer.fill(Complex::default());
        buffer.iter_mut().zip(row.iter()).for_each(|(cell, &value)| cell.re = value);
        self.forward.process(buffer);
        if self.restores_level {
            buffer[0] = first_moment(row.iter().copied()).into();
        }
        buffer.iter_mut().zip(&self.response).for_each(|(cell, factor)| *cell *= factor);
    }

    /// Writes the projection with this transform; what leaves the window is cut off.
    fn transform_back(&self, buffer: &mut [Complex<f64>], row: &mut [f64]) {
        self.inverse.process(buffer);
        row.iter_mut().zip(buffer.iter()).for_each(|(value, cell)| *value = cell.re);
    }
}

/// Returns the weight of a projection of line integrals under a gradient g, of the largest one, whose samples are 1/g as far apart: the ramp
/// over the distance, and the sample over the width that it contains, are g² as large.
fn weight_of_a_line(projection: &Projection) -> f64 {
    projection.weight * size(projection).powi(2)
}

/// The same of plane integrals, with the parabola: g³.
fn weight_of_a_plane(projection: &Projection) -> f64 {
    projection.weight * size(projection).powi(3)
}

/// Returns the size of the gradient; 1 of unit vectors, whose last digits are rounded.
fn size(projection: &Projection) -> f64 {
    let size = projection.gradient();
    if (size - 1.0).abs() < 1e-9 { 1.0 } else { size }
}

/// Returns the error of resampling the filtered projections of a sweep to other directions, relative to their size: at most
/// [`Measured::error`].
///
/// # Errors
/// As [`ProjectionFilter::new`]; fewer projections than a new one is interpolated between, stopped.
pub fn resampling_error(sweep: &Sweep, settings: &FilterSettings, task: &Task) -> Result<f64, ReconError> {
    ProjectionFilter::new(sweep, settings)?.filtered(&sweep.projections, |_| 1.0)?.error(task)
}

/// Returns the places of the samples of filtered projections: those of the projections. The ramp of a slice reaches beyond them, so that
/// those of plane integrals continue to the corners of the square about the measured circle, √2 farther.
pub fn sampling_of(sweep: &Sweep) -> PlaneSampling {
    let is_ramp = sweep.space.is_slice() && sweep.kind == SweepKind::Pulse;
    let num_more = if is_ramp { (0.5 * (SQRT_2 - 1.0) * sweep.num_points as f64).ceil() as usize } else { 0 };
    let num_points = sweep.num_points + 2 * num_more;
    PlaneSampling { num_points, step_mm: sweep.step_mm, centre: sweep.centre + num_more as f64 }
}

/// ω of place `k` of a transform of `len`, −π … π.
fn omega(k: usize, len: usize) -> f64 {
    let k = if 2 * k > len { k as f64 - len as f64 } else { k as f64 };
    TAU * k / len as f64
}

/// A filter for an image and a cut-off.
struct Form {
    filter: Filter,
    space: SweepSpace,
    cutoff: f64,
}

impl Form {
    fn response(&self, omega: f64) -> f64 {
        self.filter.response(self.space, omega, self.cutoff)
    }

    /// Transform of the kernel, cut to the values up to `reach` samples away. Windows that end at a cut-off multiply that of
    /// the rectangular filter; the cut-off itself is left to the caller.
    fn kernel_response(&self, reach: usize, len: usize, forward: &dyn Fft<f64>) -> Vec<Complex<f64>> {
        let is_narrow = self.filter.is_window() && self.cutoff < 1.0;
        let filter = if is_narrow { Filter::Rectangular } else { self.filter };
        let mut kernel = vec![Complex::default(); len];
        for n in 0..=reach {
            kernel[n].re = filter.kernel(self.space, n);
            kernel[(len - n) % len].re = filter.kernel(self.space, n);
        }
        forward.process(&mut kernel);
        if is_narrow {
            for (k, value) in kernel.iter_mut().enumerate().skip(1) {
                let omega = omega(k, len).abs();
                *value *= self.response(omega) / filter.response(self.space, omega, 1.0);
            }
        }
        kernel
    }
}

/// Response of the filter over H: a projection P = F(k)·H/step has F, the transform of the integrals, as P/H·step.
/// Frequencies that H hardly holds are left out, and so is 0, which spectra do not hold.
fn deconvolving_response(of_integrals: &[f64], spectrum: &[Complex<f64>], step_mm: f64) -> Vec<Complex<f64>> {
    let largest = spectrum.iter().map(Complex::norm_sqr).fold(0.0, f64::max);
    let at = |(k, (value, h)): (usize, (&f64, &Complex<f64>))| {
        if k == 0 || h.norm_sqr() <= MIN_SPECTRUM.powi(2) * largest { Complex::default() } else { *value / (h * step_mm) }
    };
    of_integrals.iter().zip(spectrum).enumerate().map(at).collect()
}

/// Response at the frequency 0 to a projection's first moment, for unit sample distance: P/H tends to the ratio of the first
/// moments. Nothing where the reference spectrum has none.
fn level(of_integrals: f64, reference: &ReferenceSpectrum, step_mt: f64) -> f64 {
    let moment = -reference.double_integral() / step_mt.powi(2);
    if moment == 0.0 { 0.0 } else { of_integrals / moment }
}
