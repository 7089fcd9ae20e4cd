//! What filtered backprojection refuses, with a sentence.

use crate::data::{Projection, Sweep, SweepSpace};
use crate::recon::ReconError;

/// How far the length of a direction may be from 1.
const DIRECTION_TOLERANCE: f64 = 1e-3;

/// Refuses a sweep that cannot be reconstructed.
///
/// # Errors
/// A sampling that cannot be, a projection that cannot be used.
pub fn check_sweep(sweep: &Sweep) -> Result<(), ReconError> {
    let Sweep { num_points, step_mm, centre, .. } = sweep;
    if *num_points < 3 {
        return Err(ReconError::UnsuitableData(format!(
            "a projection has {num_points} samples; a second derivative needs three at least"
        )));
    }
    if !(step_mm.is_finite() && *step_mm > 0.0) {
        return Err(ReconError::UnsuitableData(format!(
            "the samples of a projection are {step_mm} mm apart; a positive length is needed"
        )));
    }
    if !centre.is_finite() {
        return Err(ReconError::UnsuitableData(format!("the sample at t = 0 is number {centre}, which is no place")));
    }
    let mut projections = sweep.projections.iter().enumerate();
    projections.try_for_each(|(index, projection)| check_projection(projection, index, *num_points, sweep.space))
}

/// Refuses a projection that cannot be used; `index` counts the projections of the sweep.
///
/// # Errors
/// Another number of samples, a sample that is not a number, a direction that is none or leaves the
/// slice, a weight that is none.
pub fn check_projection(projection: &Projection, index: usize, num_points: usize, space: SweepSpace) -> Result<(), ReconError> {
    let refuse = |what: String| Err(ReconError::UnsuitableData(format!("projection {index} (counted from 0) {what}")));
    let found = projection.values.len();
    if found != num_points {
        return refuse(format!("has {found} samples where the sweep's have {num_points}; all need the same number"));
    }
    if let Some(at) = projection.values.iter().position(|value| !value.is_finite()) {
        return refuse(format!("holds {} at sample {at}; every sample must be a number", projection.values[at]));
    }
    let length = projection.direction.iter().map(|c| c * c).sum::<f64>().sqrt();
    if length == 0.0 {
        return refuse("has no gradient: its direction is zero; leave such service traces out".into());
    }
    if length.is_nan() || (length - 1.0).abs() > DIRECTION_TOLERANCE {
        return refuse(format!("has a direction of length {length}; a unit vector along the gradient is needed"));
    }
    if space.is_slice() && projection.direction[2] != 0.0 {
        return refuse("has a direction that leaves the slice; all of a two-dimensional sweep lie in one plane".into());
    }
    if !(projection.weight.is_finite() && projection.weight >= 0.0) {
        return refuse(format!("has the weight {}; an angle of zero or more is needed", projection.weight));
    }
    Ok(())
}
