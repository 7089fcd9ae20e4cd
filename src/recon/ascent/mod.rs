//! Algorithms that climb to the maximum of a penalised likelihood,
//!
//! ```text
//! Φ(x) = Σ (y ln ȳ − ȳ) − β R(x),   ȳ = m ⊙ (A x) + a,   x ≥ 0,
//! ```
//!
//! by the gradients of subsets: [`Bsrem`] with steps that shrink, [`Svrg`] with gradients whose variance vanishes. Unlike EM they
//! converge, also with subsets. Without a penalty they find the maximum of the likelihood.

mod bsrem;
mod objective;
mod order;
mod svrg;

pub use bsrem::{Bsrem, BsremSettings};
pub use objective::ObjectiveValue;
pub use order::DrawOrder;
pub use svrg::{StepSizes, Svrg, SvrgSettings};

/// Report of a step that climbs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AscentReport {
    /// Φ at the image *before* the step, where the step went through all data.
    pub objective: Option<ObjectiveValue>,
    /// Step size.
    pub step_size: f64,
    /// How often the step size has been halved, for Φ had fallen or was no number.
    pub num_halved: usize,
    /// Length of the step relative to that of the image before it.
    pub update: f64,
}

#[cfg(test)]
mod tests;
