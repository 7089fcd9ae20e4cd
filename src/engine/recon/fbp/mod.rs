//! Filtered backprojection of EPRI sweeps, a block of projections in each step, so that the volume grows while they arrive.

mod algorithm;
mod baseline;
mod check;
mod filter;
mod filtering;
mod resample;

pub use algorithm::{Fbp, FbpSettings};
pub use baseline::Baseline;
pub use check::{GradientSizes, check_projection, check_sweep};
pub use filter::Filter;
pub use filtering::{FilterSettings, ProjectionFilter, resampling_error, sampling_of};
pub use resample::equal_angles_for;
