//! Operators: from the coefficients of an image to data and back.
//!
//! [`LinearOperator`] is A and Aᵀ; a [`DataSpace`] is its data and their subsets. The CPU code is the definition of every
//! operator: `siddon` is the plain one, a line at a time; `axial_runs` is the fast one, equal to it up to rounding. `tubes` has
//! both for tubes of response, `events` for list-mode data; `stored_matrix` is a system matrix. `image_model` is what becomes of an image before
//! any of them projects it.

mod accumulate;
mod axial_runs;
mod chunk;
mod data_space;
mod event_beams;
mod event_path;
mod event_rays;
mod event_space;
mod events;
mod fixed_point;
mod fourier;
mod group_sum;
mod image_model;
mod in_plane;
mod linear;
mod lors;
mod mirrors;
mod planes;
mod problem;
mod projector;
mod shard;
mod siddon;
mod stored_matrix;
mod tof;
mod tubes;

pub use axial_runs::{
    AxialPlan, AxialRuns, AxialTable, EndRow, Family, Group, GroupRow, Layout, MemberRow, PassRow, PathStep, PlainBins, PlanHead,
    RecordRow, Slots, TofRuns, TracedPath,
};
pub(crate) use data_space::one_after_the_other;
pub use data_space::{BinOrder, DataSpace, Subset, Views};
pub use event_beams::EventBeams;
pub use event_path::END_MARGIN;
pub use event_rays::EventRays;
pub use event_space::{EventOrder, EventSpace};
pub use events::{EventLines, IMAGES_AT_ONCE};
pub(crate) use fixed_point::{bound_of_data, bound_of_ones, scale_exponent};
pub use fourier::{
    Convolution, KernelSpectrum, NonuniformTransform, SpectralConvolution, SpectralKernels, good_size, kernel_size,
    num_spectral_frequencies, padded_size,
};
pub use image_model::{Composed, ImageModel, axial_ripple, effective_fwhm_mm, inner_grid, is_coarse, resampling_fwhm_mm};
pub use in_plane::{InPlanePath, InPlanePaths, PlaneLine, Sides};
pub use linear::{Accumulation, LinearOperator, Measured, OperatorError};
pub use mirrors::{LorRuns, MAX_MIRRORED, Mirror, MirrorSets, Mirrored, MirroredColumns, reversed_planes};
pub use planes::{
    FilteredProjections, HALF_WAY as PLANE_HALF_WAY, Interpolation, MultiStage, PlainPlanes, PlaneBackprojector, PlaneSampling,
    ROUNDING as PLANE_ROUNDING, SingleStage, backproject_plain, grid_about_zero,
};
pub use problem::{Misfit, OperatorLimit, STORED_SYMMETRIES};
pub use projector::{EventProjector, ViewProjector};
pub(crate) use shard::shard_of_ranges;
pub use shard::{AnyOperator, Boxed, ShardData, ShardOperator};
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
