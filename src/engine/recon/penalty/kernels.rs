//! Kernels of penalties on the device that holds an image. On CUDA: `kernels/penalty.cu`, with wgpu: `shaders/compute/penalty.wgsl`.

use super::Penalty;
use crate::algebra::{Backend, BackendError, Image, VoxelPlaces};

/// The kernels of penalties on a back end; the definition is [`Penalty::terms`]. All voxels of the grid are neighbours, also those
/// outside the field of view. Each quantity has its own call.
pub trait PenaltyKernels: Backend {
    /// Tables of an image's voxels, with their κ, on the device.
    type Neighbours: Send;

    /// Brings the places of an image's voxels, sides in mm along x, y and z, and the penalty's κ to the device.
    ///
    /// # Errors
    /// κ of another number of voxels, too little memory, device failure.
    fn neighbours(
        &mut self,
        penalty: &Penalty,
        places: VoxelPlaces,
        voxel_mm: [f64; 3],
    ) -> Result<Self::Neighbours, BackendError>;

    /// `out` −= β ∂R/∂x in the field of view. κ is that of `neighbours`, as for all calls.
    ///
    /// # Errors
    /// Arrays of other lengths, device failure.
    fn subtract_penalty_gradient(
        &mut self,
        penalty: &Penalty,
        neighbours: &Self::Neighbours,
        x: &Self::Array<Image>,
        out: &mut Self::Array<Image>,
    ) -> Result<(), BackendError>;

    /// Returns β R.
    ///
    /// # Errors
    /// An array of another length, device failure.
    fn penalty_value(
        &mut self,
        penalty: &Penalty,
        neighbours: &Self::Neighbours,
        x: &Self::Array<Image>,
    ) -> Result<f64, BackendError>;

    /// `out` += β Σ w κ κ′ ψ′ / (x − x′) over the pairs of each voxel in the field of view: [`PairTerms::above`](super::PairTerms).
    ///
    /// # Errors
    /// Arrays of other lengths, device failure.
    fn add_penalty_curvature(
        &mut self,
        penalty: &Penalty,
        neighbours: &Self::Neighbours,
        x: &Self::Array<Image>,
        out: &mut Self::Array<Image>,
    ) -> Result<(), BackendError>;
}
