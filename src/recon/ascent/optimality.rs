//! The optimality residual: how far an image is from the maximum of Φ = L − β R.
//!
//! ```text
//! r = max |x⁺ − x| / max x,   x⁺ = arg max over z ≥ floor of ⟨∇L(x), z − x⟩ − ½ (z − x)ᵀ D (z − x) − β R(z),
//! D = H 1 + a thousandth of its mean
//! ```
//!
//! H: the second derivatives of −L. x⁺ is the proximal step (Parikh & Boyd 2014, Found Trends Optim 1:127): x⁺ = x only at the maximum. D has
//! no factor x, so a voxel at the floor that the data want higher counts fully. The penalty is taken as it is, not as a part of D: it does
//! not hold back an error that is the same in all neighbours (in D it would: an image with half of its counts then had r < 10⁻⁵ under a
//! strong penalty), and it does hold back one voxel among others (without it r would be 100 beside voxels that are almost 0).
//!
//! x⁺ is found by accelerated steps
//!
//! ```text
//! z ← max(floor, z̃ + (∇L(x) − D (z̃ − x) − β ∇R(z̃)) / (D + 2 β c(z̃))),   z̃ = z + (t − 1) / t₊ (z − z′)
//! ```
//!
//! until twice as many change r by less than a fifth. Where the penalty is so stiff that it has not settled after 64, a last step by D
//! alone is an upper limit.

use super::anchor::Scratch;
use super::objective::{Objective, copy};
use crate::algebra::{BackendError, Image, ImageSpace};
use crate::recon::{EmKernels, ForwardModel, ReconError};

/// Part of the mean of D that is added to it: D of a voxel at the edge may be almost 0.
const PART_OF_MEAN: f64 = 1e-3;
/// Steps after which r is looked at the first time, and at most.
const STEPS: [u32; 2] = [4, 64];
/// Ratio of r to that after half of the steps up to which it has settled.
const SETTLED: f64 = 1.2;

/// t₊ of an accelerated step after t (Nesterov 1983, Sov Math Dokl 27:372).
pub(super) fn next_momentum(t: f64) -> f64 {
    0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt())
}

/// Images of the accelerated steps.
pub(super) struct ProximalScratch<B: EmKernels> {
    /// The image whose residual it is, and the last z.
    original: B::Array<Image>,
    last: B::Array<Image>,
    /// 1 where the sensitivity is above 0.
    ones: B::Array<Image>,
}

impl<B: EmKernels> ProximalScratch<B> {
    pub fn new<M: ForwardModel<B>, S: ImageSpace<B>>(objective: &mut Objective<B, M, S>) -> Result<Self, BackendError> {
        Ok(Self { original: objective.zeros()?, last: objective.zeros()?, ones: objective.zeros()? })
    }
}

/// Returns r of the present image; 1 of an image of zeros that wants to rise. `of_data` = ∇L, `curvature` = H 1.
///
/// # Errors
/// Values that are not finite, device failure.
pub(super) fn optimality<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>>(
    objective: &mut Objective<B, M, S>,
    of_data: &B::Array<Image>,
    curvature: &B::Array<Image>,
    scratch: &mut Scratch<B>,
) -> Result<f64, ReconError> {
    objective.copy_into(&mut scratch.proximal.original)?;
    let found = proximal_step(objective, of_data, curvature, scratch);
    std::mem::swap(&mut objective.x, &mut scratch.proximal.original);
    found
}

/// The same; the present image becomes another one.
fn proximal_step<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>>(
    objective: &mut Objective<B, M, S>,
    of_data: &B::Array<Image>,
    curvature: &B::Array<Image>,
    Scratch { direction, ratio: step, other: divisor, proximal }: &mut Scratch<B>,
) -> Result<f64, ReconError> {
    let ProximalScratch { original, last, ones } = proximal;
    let all = objective.all();
    let Objective { backend, sensitivity, .. } = objective;
    backend.fill(step, 1.0)?;
    backend.masked(ones, step, sensitivity)?;
    let [num, sum] = [backend.dot(ones, 0, step, all.clone())?, backend.dot(curvature, 0, ones, all.clone())?];
    let part_of_mean = (PART_OF_MEAN * sum / num.max(1.0)) as f32;
    let largest = backend.max_magnitude(original)?;
    copy(backend, original, last, all.clone())?;
    let num_steps = if objective.penalty.is_some() { STEPS[1] } else { 0 };
    let (mut t, mut before) = (1.0, 0.0);
    for at in 0..=num_steps {
        // D (x − z̃) + ∇L − β ∇R(z̃).
        let Objective { backend, x, .. } = &mut *objective;
        copy(backend, curvature, divisor, all.clone())?;
        backend.add_scaled(divisor, 0, part_of_mean, ones, all.clone())?;
        backend.scaled_difference(step, 1.0, [original, x], None)?;
        copy(backend, of_data, direction, all.clone())?;
        backend.multiply(step, 0, divisor, all.clone())?;
        backend.add_scaled(direction, 0, 1.0, step, all.clone())?;
        objective.subtract_penalty_gradient(direction)?;
        if at < num_steps {
            objective.backend.fill(step, 0.0)?;
            objective.add_penalty_curvature(step)?;
            objective.backend.add_scaled(divisor, 0, 2.0, step, all.clone())?;
        }
        let Objective { backend, x, floor, .. } = &mut *objective;
        copy(backend, ones, step, all.clone())?;
        backend.em_update(step, ones, divisor)?;
        let [of_step, of_x] = backend.climb(x, floor, 1.0, step, direction)?;
        if !(of_step.is_finite() && of_x.is_finite()) {
            return Err(ReconError::NotFinite("the gradient of the objective"));
        }
        let count = at + 1;
        if at == num_steps || (count >= STEPS[0] && count.is_power_of_two()) {
            backend.scaled_difference(step, 1.0, [x, original], None)?;
            let distance = backend.max_magnitude(step)?;
            let found = if largest > 0.0 { distance / largest } else { f64::from(u8::from(distance > 0.0)) };
            if at == num_steps || (count > STEPS[0] && found <= SETTLED * before) {
                return Ok(found);
            }
            before = found;
        }
        let next = next_momentum(t);
        objective.copy_into(step)?;
        objective.move_ahead((t - 1.0) / next, last)?;
        copy(&mut objective.backend, step, last, all.clone())?;
        t = next;
    }
    Ok(before)
}
