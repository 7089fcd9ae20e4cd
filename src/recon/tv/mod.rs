//! Images of an EPRI sweep by least squares with total variation: the u that minimises ½‖A u − s‖² + λ′ Σ|∇u|.

mod algorithm;
mod kernels;
mod model;

pub use algorithm::{TotalVariation, TvImages, TvSettings};
pub use kernels::{Lattice, PrimalStep, PrimalSums, TotalVariationKernels, num_axes};
pub use model::SweepModel;
