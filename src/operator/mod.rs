//! Operators: from an image to projection data and back, and the arrays that they work on.
//!
//! [`Backend`] holds arrays and the dozen operations on them; [`LinearOperator`] is A and Aᵀ for subsets of views;
//! [`ForwardModel`] is what an algorithm sees: ȳ = m ⊙ (A x) + a with its data and its sensitivity.
//! The CPU code is the definition of every operator: `siddon` is the plain one, a line at a time; `axial_runs` is the
//! fast one, equal to it up to rounding.

mod accumulate;
mod axial_runs;
mod backend;
mod fov;
mod gpu_limits;
mod in_plane;
mod linear;
mod model;
mod planes;
mod siddon;
mod simd;

pub use axial_runs::{AxialRuns, AxialTable, Family, Group, Layout};
pub use backend::{Backend, BackendError, Host, PendingVolume, PoissonTerms};
pub use fov::FieldOfView;
pub use gpu_limits::GpuLimits;
pub use in_plane::{InPlanePath, Sides};
pub use linear::{Accumulation, LinearOperator, OperatorError, Subset};
pub use model::{ForwardModel, ProjectionModel};
pub use planes::{
    FilteredProjections, Interpolation, MultiStage, PlainPlanes, PlaneBackprojector, PlaneSampling, SingleStage,
    backproject_plain, grid_about_zero,
};
pub use siddon::Siddon;
pub use simd::Simd;

/// Checks the array lengths of a call for a subset: `image` values exactly, `data` values at least.
pub(crate) fn check_lengths<B: Backend>(
    operator: &impl LinearOperator<B>,
    subset: Subset,
    image: usize,
    data: usize,
) -> Result<(), OperatorError> {
    let expected = operator.image_len();
    if image != expected {
        return Err(OperatorError::Length { what: "the image", expected, found: image });
    }
    let expected = operator.data_len(subset);
    if data < expected {
        return Err(OperatorError::Length { what: "the projection data", expected, found: data });
    }
    Ok(())
}
