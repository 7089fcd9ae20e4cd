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
//! strong penalty), and it does hold back one voxel among others (without it r would be 100 next to voxels that are almost 0).
//!
//! x⁺ is found by accelerated steps
//!
//! ```text
//! z ← max(floor, z̃ + (∇L(x) − D (z̃ − x) − β ∇R(z̃)) / (D + 2 β c(z̃))),   z̃ = z + (t − 1) / t₊ (z − z′)
//! ```
//!
//! Where the penalty is stiff, z is too near to x at first, and z̃ + (…) / D is too far. r is the larger distance, from the first step on at
//! which it is at most twice the other one, or after 64.

use super::objective::{Objective, copy};
use super::scratch::Scratch;
use crate::algebra::{Image, ImageSpace};
use crate::recon::{EmKernels, ForwardModel, ReconError};

/// Part of the mean of D that is added to it: D of a voxel at the edge may be almost 0.
const PART_OF_MEAN: f64 = 1e-3;
/// Largest number of steps.
const MAX_STEPS: u32 = 64;
/// Ratio of the far image's distance to the near one's at which the steps end.
const NARROW: f64 = 2.0;

/// t₊ of an accelerated step after t (Nesterov 1983, Sov Math Dokl 27:372).
pub(super) fn next_momentum(t: f64) -> f64 {
    0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt())
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
    objective.copy_into(&mut scratch.original)?;
    let found = proximal_step(objective, of_data, curvature, scratch);
    std::mem::swap(&mut objective.x, &mut scratch.original);
    found
}

/// The same; the present image becomes another one.
fn proximal_step<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>>(
    objective: &mut Objective<B, M, S>,
    of_data: &B::Array<Image>,
    curvature: &B::Array<Image>,
    Scratch { direction, ratio: step, other: divisor, original, last, ones }: &mut Scratch<B>,
) -> Result<f64, ReconError> {
    let all = objective.all();
    let Objective { backend, sensitivity, .. } = objective;
    backend.fill(step, 1.0)?;
    backend.masked(ones, step, sensitivity)?;
    let [num, sum] = [backend.dot(ones, 0, step, all.clone())?, backend.dot(curvature, 0, ones, all.clone())?];
    let part_of_mean = (PART_OF_MEAN * sum / num.max(1.0)) as f32;
    let largest = backend.max_magnitude(original)?;
    let part = |distance: f64| if largest > 0.0 { distance / largest } else { f64::from(u8::from(distance > 0.0)) };
    // `direction` = ∇L + D (x − z̃) − β ∇R(z̃), `divisor` = D.
    let ascend = |objective: &mut Objective<B, M, S>,
                  [direction, divisor, step]: [&mut B::Array<Image>; 3],
                  [original, ones]: [&B::Array<Image>; 2]| {
        let (all, Objective { backend, x, .. }) = (objective.all(), &mut *objective);
        copy(backend, curvature, divisor, all.clone())?;
        backend.add_scaled(divisor, 0, part_of_mean, ones, all.clone())?;
        backend.scaled_difference(step, 1.0, [original, x], None)?;
        backend.multiply(step, 0, divisor, all.clone())?;
        copy(backend, of_data, direction, all.clone())?;
        backend.add_scaled(direction, 0, 1.0, step, all)?;
        objective.subtract_penalty_gradient(direction)
    };
    copy(&mut objective.backend, original, last, all.clone())?;
    let num_steps = if objective.penalty.is_some() { MAX_STEPS } else { 0 };
    let (mut t, mut near) = (1.0, 0.0);
    let mut far = f64::INFINITY;
    for at in 0..=num_steps {
        ascend(objective, [direction, divisor, step], [original, ones])?;
        if at == num_steps || at.is_power_of_two() {
            let Objective { backend, x, floor, .. } = &mut *objective;
            backend.em_update(direction, ones, divisor)?;
            if !backend.dot(direction, 0, direction, all.clone())?.is_finite() {
                return Err(ReconError::NotFinite("the gradient of the objective"));
            }
            // max(floor, z̃ + direction) − x.
            backend.scaled_difference(step, 1.0, [x, floor], Some(direction))?;
            backend.masked(direction, step, step)?;
            backend.add_scaled(direction, 0, 1.0, floor, all.clone())?;
            backend.add_scaled(direction, 0, -1.0, original, all.clone())?;
            far = part(backend.max_magnitude(direction)?);
            if at == num_steps || far <= NARROW * near {
                break;
            }
            ascend(objective, [direction, divisor, step], [original, ones])?;
        }
        objective.backend.fill(step, 0.0)?;
        objective.add_penalty_curvature(step)?;
        let Objective { backend, x, floor, .. } = &mut *objective;
        backend.add_scaled(divisor, 0, 2.0, step, all.clone())?;
        copy(backend, ones, step, all.clone())?;
        backend.em_update(step, ones, divisor)?;
        backend.climb(x, floor, 1.0, step, direction)?;
        if (at + 1).is_power_of_two() {
            backend.scaled_difference(step, 1.0, [x, original], None)?;
            near = part(backend.max_magnitude(step)?);
        }
        let next = next_momentum(t);
        objective.copy_into(step)?;
        objective.move_ahead((t - 1.0) / next, last)?;
        copy(&mut objective.backend, step, last, all.clone())?;
        t = next;
    }
    Ok(far.max(near))
}
