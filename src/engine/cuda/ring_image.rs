//! Functions on the grid of a ring as the basis of images on a CUDA device (`kernels/matrix/ring_basis.cu`; the definition is
//! [`RingBasis`]).

use cudarc::driver::{CudaSlice, LaunchConfig};

use super::backend::{CudaArray, CudaBackend};
use super::error::CudaError;
use super::kernel::blocks;
use super::launches::ring_basis::{Kernels, SliceNear};
use crate::algebra::{BackendError, Host, Image, ImageSpace, RingBasis};
use crate::data::Volume;
use crate::geometry::Grid;

/// Threads of a block.
const THREADS: u32 = 128;

/// The basis with its tables on a device.
pub struct RingImage {
    basis: RingBasis,
    first: CudaSlice<u32>,
    near: CudaSlice<u32>,
    squares: CudaSlice<f32>,
    first_slice: CudaSlice<u32>,
    slices: CudaSlice<SliceNear>,
    values: CudaSlice<f32>,
    num_steps: i32,
    steps_per_mm2: f32,
    kernels: Kernels,
}

impl RingImage {
    /// Makes the tables of a basis.
    ///
    /// # Errors
    /// Device failure.
    pub fn new(backend: &CudaBackend, basis: RingBasis) -> Result<Self, CudaError> {
        let (first, near) = basis.near();
        let first: Vec<u32> = first.iter().map(|&first| first as u32).collect();
        let (places, squares): (Vec<u32>, Vec<f32>) = near.iter().copied().unzip();
        let (mut first_slice, mut slices) = (vec![0], Vec::new());
        for z in 0..ImageSpace::<Host>::grid(&basis).size[2] {
            slices.extend(basis.slices_of(z).map(|(offset, above)| SliceNear { offset: offset as u32, above_mm2: above as f32 }));
            first_slice.push(slices.len() as u32);
        }
        let (values, steps_per_mm2) = basis.table();
        Ok(Self {
            first: backend.table(&first, 0)?,
            near: backend.table(&places, 0)?,
            squares: backend.table(&squares, 0.0)?,
            first_slice: backend.table(&first_slice, 0)?,
            slices: backend.table(&slices, SliceNear::default())?,
            values: backend.table(values, 0.0)?,
            // The last value ends the last step.
            num_steps: values.len().saturating_sub(2) as i32,
            steps_per_mm2: steps_per_mm2 as f32,
            kernels: Kernels::load(&backend.context)?,
            basis,
        })
    }
}

impl ImageSpace<CudaBackend> for RingImage {
    fn len(&self) -> usize {
        ImageSpace::<Host>::len(&self.basis)
    }

    fn grid(&self) -> &Grid {
        ImageSpace::<Host>::grid(&self.basis)
    }

    fn coefficients(&self, volume: &Volume) -> Vec<f32> {
        ImageSpace::<Host>::coefficients(&self.basis, volume)
    }

    fn evaluated_len(&self) -> Option<usize> {
        ImageSpace::<Host>::evaluated_len(&self.basis)
    }

    fn evaluate(&self, backend: &mut CudaBackend, x: &CudaArray<Image>, out: &mut CudaArray<Image>) -> Result<(), BackendError> {
        let [nx, ny, nz] = self.grid().size;
        let num_in_plane = (nx * ny) as u32;
        let grid_dim = (blocks(nx * ny, THREADS), nz as u32, 1);
        let shape = LaunchConfig { grid_dim, block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
        self.kernels.evaluate.launch(
            &backend.stream,
            shape,
            &self.first,
            &self.near,
            &self.squares,
            &self.first_slice,
            &self.slices,
            &self.values,
            self.steps_per_mm2,
            self.num_steps,
            &x.0,
            &mut out.0,
            num_in_plane,
        )?;
        Ok(())
    }

    fn place(&self, voxel: usize) -> usize {
        ImageSpace::<Host>::place(&self.basis, voxel)
    }

    fn write(&self, voxels: &[f32], scale: f32, volume: &mut Volume) {
        ImageSpace::<Host>::write(&self.basis, voxels, scale, volume);
    }
}
