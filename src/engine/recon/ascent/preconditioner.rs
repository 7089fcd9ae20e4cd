//! The preconditioner of algorithms that climb,
//!
//! ```text
//! P = v / (N max_s (H_s v) + 2 β c v),   v = x + δ,   δ = Σx² / (10 Σx)
//! ```
//!
//! and 0 where Aᵀm = 0. H_s are the second derivatives of the negative log-likelihood of a subset. They have no negative element, so for each
//! v > 0 the diagonal (H_s v) / v is at least H_s (its largest eigenvalue is 1 in that metric: Perron and Frobenius), and steps
//! below 2 P ∇Φ contract for every subset, also for one with a single view. With v = x this is the step x / Aᵀm of expectation maximisation,
//! which never leaves 0; with δ it does. Known images bound H_s v:
//!
//! ```text
//! H_s x ≤ max(b_s, Aᵀm / N),   b_s = A_sᵀ (m ⊙ y / ȳ);   H_s 1 from the image at which it was computed last
//! ```
//!
//! c: Σ w κ κ′ ψ′ / (x − x′) over the neighbours, the curvatures of parabolas above the penalty; twice as much also bounds the mixed
//! derivatives.

use super::objective::Objective;
use crate::algebra::{Image, ImageSpace};
use crate::recon::{EmKernels, ForwardModel, ReconError};

/// `p` = P at the present image. `largest` = the largest b_s, at least Aᵀm / N, and the largest H_s 1, of each voxel over the subsets. The
/// scratch arrays are images.
pub(super) fn make_preconditioner<B: EmKernels, M: ForwardModel<B>, S: ImageSpace<B>>(
    objective: &mut Objective<B, M, S>,
    [of_image, of_ones]: [&B::Array<Image>; 2],
    p: &mut B::Array<Image>,
    [v, divisor]: [&mut B::Array<Image>; 2],
) -> Result<(), ReconError> {
    let (all, num_subsets) = (objective.all(), objective.num_subsets() as f32);
    let lift = objective.lift(v)?;
    objective.backend.fill(p, 0.0)?;
    objective.add_penalty_curvature(p)?;
    let Objective { backend, x, sensitivity, .. } = objective;
    backend.fill(v, lift)?;
    backend.add_scaled(v, 0, 1.0, x, all.clone())?;
    backend.multiply(p, 0, v, all.clone())?;
    backend.fill(divisor, 0.0)?;
    backend.add_scaled(divisor, 0, num_subsets, of_image, all.clone())?;
    backend.add_scaled(divisor, 0, num_subsets * lift, of_ones, all.clone())?;
    backend.add_scaled(divisor, 0, 2.0, p, all)?;
    // v · 1 / divisor.
    backend.masked(p, v, sensitivity)?;
    backend.fill(v, 1.0)?;
    Ok(backend.em_update(p, v, divisor)?)
}
