//! Operators: from the coefficients of an image to data and back.
//!
//! [`LinearOperator`] is A and Aᵀ; a [`DataSpace`] says what the data are and which of them belong to a subset. Operators compose:
//! [`Composed`] is A G with a map G from images to images.
//! The CPU code is the definition of every operator: `siddon` is the plain one, a line at a time; `axial_runs` is the
//! fast one, equal to it up to rounding. `tubes` has both for tubes of response, `events` for lists of events; `stored_matrix` takes a matrix as it is.

mod accumulate;
mod axial_runs;
mod chunk;
mod composed;
mod data_space;
mod event_path;
mod event_space;
mod events;
mod in_plane;
mod linear;
mod lors;
mod mirrors;
mod of_share;
mod planes;
mod problem;
mod sharing;
mod siddon;
mod stored_matrix;
mod tof;
mod tubes;

pub use axial_runs::{AxialRuns, AxialTable, Family, Group, Layout};
pub use composed::{Composed, ImageMap};
pub(crate) use data_space::one_after_the_other;
pub use data_space::{BinOrder, DataSpace, Subset, Views};
pub use event_path::END_MARGIN;
pub use event_space::{EventOrder, EventSpace, EventSplit};
pub use events::{EventLines, EventRays, EventSubsets};
pub use in_plane::{InPlanePath, Sides};
pub use linear::{
    Accumulation, AnyOperator, Boxed, EventProjector, LinearOperator, Measured, OperatorError, OwnShare, ViewProjector,
};
pub use mirrors::{LorRuns, MAX_MIRRORED, Mirror, MirrorSets, Mirrored, MirroredColumns, reversed_planes};
pub use of_share::OfShare;
pub use planes::{
    FilteredProjections, Interpolation, MultiStage, PlainPlanes, PlaneBackprojector, PlaneSampling, SingleStage,
    backproject_plain, grid_about_zero,
};
pub use problem::{Misfit, OperatorLimit, STORED_SYMMETRIES};
pub use siddon::Siddon;
pub use stored_matrix::{CrystalPairs, MatrixColumns, MatrixOrder, Residence, StoredMatrix, check_symmetries};
pub use tof::{REACH_SIGMAS, TofKernel, TofTerms};
pub use tubes::{InPlaneTube, MAX_AXIAL, PlainTubes, TAPS, TubeTable, Tubes, tubes_fit};

/// Checks the array lengths of a call: of an image exactly, of data at least.
pub(crate) fn check_lengths(image: [usize; 2], data: [usize; 2]) -> Result<(), OperatorError> {
    let [found, expected] = image;
    if found != expected {
        return Err(OperatorError::Length { what: "the image", expected, found });
    }
    let [found, expected] = data;
    if found < expected {
        return Err(OperatorError::Length { what: "the projection data", expected, found });
    }
    Ok(())
}
