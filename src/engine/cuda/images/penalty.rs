//! Penalties on a CUDA device (`kernels/penalty.cu`; the definition is [`Penalty::terms`]).

use cudarc::driver::CudaSlice;

use crate::algebra::{BackendError, Image, VoxelPlaces};
use crate::cuda::backend::{CudaArray, CudaBackend, REDUCTION};
use crate::cuda::kernel::one_each;
use crate::cuda::launches::penalty::{Kernels, PenaltyShape};
use crate::recon::{PairWeights, Penalty, PenaltyKernels};

/// The voxels of an image with their κ on a device.
pub struct CudaNeighbours {
    kernels: Kernels,
    /// Values of an array.
    len: usize,
    /// Voxel sizes, order and weights.
    voxels: PenaltyShape,
    places: CudaSlice<u32>,
    fov_rows: CudaSlice<[u32; 2]>,
    kappa: CudaSlice<f32>,
}

impl CudaNeighbours {
    /// Returns the numbers of a penalty with this factor of its sums.
    fn numbers(&self, penalty: &Penalty, scale: f64) -> PenaltyShape {
        let (potential, [first, second]) = penalty.potential.numbers();
        PenaltyShape { potential, first, second, scale: scale as f32, ..self.voxels }
    }

    fn num_voxels(&self) -> usize {
        (self.voxels.nx * self.voxels.ny * self.voxels.nz) as usize
    }
}

impl PenaltyKernels for CudaBackend {
    type Neighbours = CudaNeighbours;

    fn neighbours(&mut self, penalty: &Penalty, places: VoxelPlaces, voxel_mm: [f64; 3]) -> Result<CudaNeighbours, BackendError> {
        let kappa = penalty.kappa_of(&places)?.map(|kappa| places.arranged(kappa));
        let [nx, ny, nz] = places.size.map(|num| num as u32);
        Ok(CudaNeighbours {
            kernels: Kernels::load(&self.context)?,
            len: places.len,
            voxels: PenaltyShape {
                nx,
                ny,
                nz,
                z_is_fastest: u32::from(places.z_is_fastest()),
                has_kappa: u32::from(kappa.is_some()),
                weights: PairWeights::new(voxel_mm).table(),
                ..PenaltyShape::default()
            },
            places: self.table(&places.along.concat(), 0)?,
            fov_rows: self.table(&places.fov_rows, [0; 2])?,
            kappa: self.table(&kappa.unwrap_or_default(), 1.0)?,
        })
    }

    fn subtract_penalty_gradient(
        &mut self,
        penalty: &Penalty,
        neighbours: &CudaNeighbours,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Image>,
    ) -> Result<(), BackendError> {
        x.expect_len(neighbours.len)?;
        out.expect_len(neighbours.len)?;
        let CudaNeighbours { kernels, places, fov_rows, kappa, .. } = neighbours;
        let (numbers, shape) = (neighbours.numbers(penalty, -penalty.strength), one_each(neighbours.num_voxels()));
        Ok(kernels.add_slopes.launch(&self.stream, shape, &mut out.0, &x.0, kappa, places, fov_rows, &numbers)?)
    }

    fn penalty_value(
        &mut self,
        penalty: &Penalty,
        neighbours: &CudaNeighbours,
        x: &CudaArray<Image>,
    ) -> Result<f64, BackendError> {
        x.expect_len(neighbours.len)?;
        let CudaNeighbours { kernels, places, kappa, .. } = neighbours;
        let numbers = neighbours.numbers(penalty, 1.0);
        kernels.sum_values.launch(&self.stream, REDUCTION, &x.0, kappa, places, &mut self.partial, &numbers)?;
        // Each pair is met from both sides.
        Ok(0.5 * penalty.strength * self.partial::<1>()?.into_iter().map(|[sum]| sum).sum::<f64>())
    }

    fn add_penalty_curvature(
        &mut self,
        penalty: &Penalty,
        neighbours: &CudaNeighbours,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Image>,
    ) -> Result<(), BackendError> {
        x.expect_len(neighbours.len)?;
        out.expect_len(neighbours.len)?;
        let CudaNeighbours { kernels, places, fov_rows, kappa, .. } = neighbours;
        let (numbers, shape) = (neighbours.numbers(penalty, penalty.strength), one_each(neighbours.num_voxels()));
        Ok(kernels.add_curvatures.launch(&self.stream, shape, &mut out.0, &x.0, kappa, places, fov_rows, &numbers)?)
    }
}
