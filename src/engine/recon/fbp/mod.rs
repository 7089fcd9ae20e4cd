//! Filtered backprojection of EPRI sweeps, a block of projections in each step, so that the volume grows while they arrive.

mod algorithm;
mod baseline;
mod check;
mod cutoff;
mod filter;
mod filtering;
mod image_noise;
mod noise;
mod reprojection;
mod resample;
mod thinning;

pub use algorithm::{Fbp, FbpSettings};
pub use baseline::Baseline;
pub(in crate::recon) use baseline::BaselineFit;
pub use check::{GradientSizes, check_projection, check_sweep};
pub use cutoff::cutoff_by_noise;
pub use filter::Filter;
pub use filtering::{FilterSettings, ProjectionFilter, resampling_error, sampling_of};
pub use image_noise::image_noise;
pub use noise::Noise;
pub(in crate::recon) use noise::mean_powers;
pub use resample::equal_angles_for;
