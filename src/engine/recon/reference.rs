//! The transform of the spectrum of the probe, which continuous-wave projections are convolved with.

use crate::fft::Complex;
use rayon::prelude::*;

use super::{DataProblem, ReconError, ReferenceProblem};
use crate::data::{ReferenceSpectrum, Sweep};

/// Returns the transform H of the probe's derivative spectrum at these frequencies ω, radians a sample of the projections, relative to
/// t = 0. Both are measured at the same fields: the spectrum's middle belongs to the sample `centre` of a projection, or is moved from there
/// by the field shift of the sweep.
///
/// # Errors
/// A spectrum without a distance of its samples, with a sample that is not a number, or that is zero everywhere.
pub(super) fn reference_spectrum_at(
    omegas: &[f64],
    reference: &ReferenceSpectrum,
    sweep: &Sweep,
    step_mt: f64,
) -> Result<Vec<Complex<f64>>, ReconError> {
    let unusable = |problem: ReferenceProblem| ReconError::from(DataProblem::Reference(problem));
    let ratio = reference.step_mt / step_mt;
    if !(ratio.is_finite() && ratio > 0.0) {
        return Err(unusable(ReferenceProblem::NoStep));
    }
    if let Some(sample) = reference.values.iter().position(|value| !value.is_finite()) {
        return Err(unusable(ReferenceProblem::Sample { sample, value: reference.values[sample] }));
    }
    if reference.values.iter().all(|&value| value == 0.0) {
        return Err(unusable(ReferenceProblem::Zero));
    }
    let middle = if reference.values.len() == sweep.num_points { sweep.centre } else { (reference.values.len() / 2) as f64 };
    let shift = sweep.facts.field_shift.map_or(0.0, |shift| shift.shift_mt) / step_mt;
    let at = |&omega: &f64| {
        let term =
            |(j, &value): (usize, &f32)| Complex::from_polar(f64::from(value), -omega * (ratio * (j as f64 - middle) + shift));
        ratio * reference.values.iter().enumerate().map(term).sum::<Complex<f64>>()
    };
    Ok(omegas.par_iter().map(at).collect())
}
