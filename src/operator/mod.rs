//! Operators: from an image to projection data and back, and the arrays that they work on.
//!
//! [`Backend`] holds arrays and the dozen operations on them; [`LinearOperator`] is A and Aᵀ for subsets of views;
//! [`ForwardModel`] is what an algorithm sees: ȳ = m ⊙ (A x) + a with its data and its sensitivity.
//! The CPU code is the definition of every operator: `siddon` is the plain one, a line at a time; `axial_runs` is the
//! fast one, equal to it up to rounding.

mod backend;
mod linear;
mod model;

pub use backend::{Backend, BackendError, Host, PoissonTerms};
pub use linear::{Accumulation, LinearOperator, OperatorError, Subset};
pub use model::{ForwardModel, ProjectionModel};
