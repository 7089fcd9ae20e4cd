//! The steps from an image to the one that is projected: the resolution model G, and a resampling R to the slices of the projector.
//!
//! The operator of a reconstruction is A R M G, its adjoint Gᵀ M Rᵀ Aᵀ, with M the field of view. Sensitivities are those of the
//! whole, or the pair does not match.

mod composed;
mod gaussian;
mod resampling;

use std::sync::Arc;

pub use composed::Composed;
pub use gaussian::{effective_fwhm_mm, is_coarse};
pub use resampling::{axial_ripple, inner_grid, resampling_fwhm_mm};

use crate::algebra::{VoxelMap, VoxelPlaces, Voxels};
use crate::data::Psf;

/// The steps from an image to the one that is projected.
#[derive(Clone, Debug)]
pub struct ImageModel {
    from: Arc<VoxelPlaces>,
    to: Arc<VoxelPlaces>,
    steps: Vec<VoxelMap>,
}

/// Returns the steps with zeros outside the field of view after the last one that leaves a column, and after all that stay within
/// columns: their input is zero there.
fn within_fov(mut steps: Vec<VoxelMap>) -> Vec<VoxelMap> {
    let mut is_last = true;
    for step in steps.iter_mut().rev() {
        match step {
            VoxelMap::AlongAxis(map) if map.axis == 2 => map.is_masked = true,
            VoxelMap::AlongAxis(map) => map.is_masked = std::mem::take(&mut is_last),
            VoxelMap::InPlane(_) => is_last = false,
        }
    }
    steps
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

    /// Returns the steps from the image to the one that is projected.
    fn forward(&self) -> Vec<VoxelMap> {
        within_fov(self.steps.clone())
    }

    /// Returns the transposed steps, from the last to the first.
    fn back(&self) -> Vec<VoxelMap> {
        within_fov(self.steps.iter().rev().map(VoxelMap::transposed).collect())
    }
}
