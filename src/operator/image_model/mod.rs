//! What becomes of an image before it is projected: the resolution model G, and a resampling R to the slices of the projector.
//!
//! The operator of a reconstruction is A R M G, its adjoint Gᵀ M Rᵀ Aᵀ, with M the field of view. Sensitivities are those of the
//! whole, or the pair does not match.

mod composed;
mod gaussian;
mod resampling;

use std::sync::Arc;

pub use composed::Composed;
pub use gaussian::{effective_fwhm_mm, is_coarse};
pub use resampling::{inner_grid, resampling_fwhm_mm};

use crate::algebra::{VoxelMap, VoxelPlaces, Voxels};
use crate::data::Psf;

/// The steps from an image to the one that is projected.
#[derive(Clone, Debug)]
pub struct ImageModel {
    from: Arc<VoxelPlaces>,
    to: Arc<VoxelPlaces>,
    steps: Vec<VoxelMap>,
}

impl ImageModel {
    /// Makes the steps from the images of a reconstruction to those of a projector; `None` where there is none. Both have the same
    /// voxels but for their heights and order.
    pub fn new(from: &Voxels, to: &Voxels, psf: Option<&Psf>) -> Option<Self> {
        let places = Arc::new(from.places());
        let mut steps = psf.map_or_else(Vec::new, |psf| gaussian::steps(psf, from.grid(), &places));
        let inner = if from == to { Arc::clone(&places) } else { Arc::new(to.places()) };
        if from != to {
            steps.push(resampling::step([from.grid(), to.grid()], [&places, &inner]));
        }
        (!steps.is_empty()).then_some(Self { from: places, to: inner, steps })
    }
}
