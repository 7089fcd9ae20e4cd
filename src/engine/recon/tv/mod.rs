//! Images of an EPRI sweep by least squares with total variation: the u that minimises ½‖A u − s‖² + λ′ Σ|∇u|, for one radical, several
//! radicals, or a spectrum in each voxel.

mod algorithm;
mod arrays;
mod experiments;
mod explained;
mod kernels;
mod known;
mod lattice;
mod level;
mod model;
mod settings;
mod spectral_axis;
mod spectral_model;
mod start;
mod strength;

pub use algorithm::TotalVariation;
pub use experiments::check_experiments;
pub use kernels::{PrimalStep, PrimalSums, TotalVariationKernels};
pub use lattice::{Lattice, num_axes};
pub use model::SweepModel;
pub use settings::{SPECTRAL_STRENGTH, SpectrumSettings, TvImages, TvSettings};
pub use spectral_model::SpectralModel;
pub use strength::strength_by_noise;
