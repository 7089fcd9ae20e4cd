//! Step sizes by the short formula of Barzilai & Borwein 1988, IMA J Numer Anal 8:141, in the metric of the preconditioner P:
//!
//! ```text
//! τ = ⟨s, g⟩ / ⟨g, P g⟩,   s = x − x′,   g = ∇Φ(x′) − ∇Φ(x)
//! ```
//!
//! x and x′ are an anchor and the one before it. It is the least-squares solution of P⁻¹ s = τ g: the step that the curvature between
//! both would have wanted.

use super::objective::{Objective, copy};
use crate::algebra::{Image, ImageSpace};
use crate::recon::{EmKernels, ForwardModel, ReconError};

/// The last anchor, and the step size from there.
pub(super) struct BarzilaiBorwein<B: EmKernels> {
    x: B::Array<Image>,
    /// ∇Φ with the penalty.
    gradient: B::Array<Image>,
    /// τ; `None` until there are two anchors.
    pub size: Option<f64>,
}

impl<B: EmKernels> BarzilaiBorwein<B> {
    /// Returns the state at an anchor, the present image; `of_data` = the gradient of its log-likelihood. The size before stays where
    /// Φ is not concave between both anchors, or where they are the same.
    pub fn at_anchor<M: ForwardModel<B>, S: ImageSpace<B>>(
        last: Option<Self>,
        objective: &mut Objective<B, M, S>,
        of_data: &B::Array<Image>,
        preconditioner: &B::Array<Image>,
    ) -> Result<Self, ReconError> {
        let all = objective.all();
        let [mut x, mut gradient] = [objective.zeros()?, objective.zeros()?];
        objective.copy_into(&mut x)?;
        copy(&mut objective.backend, of_data, &mut gradient, all.clone())?;
        objective.subtract_penalty_gradient(&mut gradient)?;
        let Some(Self { x: mut s, gradient: mut g, size }) = last else { return Ok(Self { x, gradient, size: None }) };
        let backend = &mut objective.backend;
        // (s is that with the other sign.)
        backend.add_scaled(&mut s, 0, -1.0, &x, all.clone())?;
        backend.add_scaled(&mut g, 0, -1.0, &gradient, all.clone())?;
        let along = -backend.dot(&s, 0, &g, all.clone())?;
        copy(backend, &g, &mut s, all.clone())?;
        backend.multiply(&mut s, 0, preconditioner, all.clone())?;
        let squared = backend.dot(&s, 0, &g, all)?;
        let new = Some(along / squared).filter(|size| size.is_finite() && *size > 0.0);
        Ok(Self { x, gradient, size: new.or(size) })
    }
}
