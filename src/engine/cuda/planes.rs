//! Backprojection of planes on a CUDA device (`kernels/planes.cu`; the definition is in [`crate::operator`], planes).

use cudarc::driver::{CudaSlice, LaunchConfig};

use super::backend::{CudaArray, CudaBackend};
use super::device::driver::{copied, zeros};
use super::device::pacing::Pace;
use super::error::CudaError;
use super::kernel::one_each;
use super::launches::planes::{Kernels, LinearKernel, Plan as PlanHead, Plane, Planes};
use crate::algebra::Image;
use crate::data::Direction;
use crate::geometry::Grid;
use crate::operator::{FilteredProjections, Interpolation, OperatorError, OperatorLimit, PlaneBackprojector, PlaneSampling};
use crate::task::Task;

/// Voxels of a block of the fast kernels along x and y.
const TILE: [usize; 2] = [32, 8];
/// The same along z: as a rule, and of the deep kernel.
const DEPTH: usize = 8;
const DEEP: usize = 16;
/// Deep tiles for each multiprocessor from which on they are faster.
const MIN_DEEP_TILES: usize = 3;
/// Projections whose windows are brought at a time, and how many such batches are in shared memory.
const BATCH: usize = 32;
const NUM_BATCHES: usize = 2;
/// Bytes of the figures of a projection in a tile.
const SLOPE_BYTES: usize = 64;
/// Units of a position that is needed exactly in a sample.
const FINE_UNITS: f64 = (1u64 << 40) as f64;
/// Samples around those that a tile meets: for rounding and for cubic interpolation.
const MARGIN: usize = 6;
/// Dynamic shared memory that every block may have.
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

impl Plane {
    /// Where a grid's voxels lie on a projection.
    fn new(grid: &Grid, sampling: &PlaneSampling, direction: &Direction) -> Self {
        let along: [f64; 3] = std::array::from_fn(|a| direction[a] * grid.voxel_mm[a] / sampling.step_mm);
        let origin = zero_of(grid);
        let corner = (0..3).fold(sampling.centre, |sum, a| sum - along[a] * origin[a]);
        Self { corner, along, fine: along.map(|u| (u * FINE_UNITS).round() as i64) }
    }
}

/// Voxel index of x = 0, y = 0, z = 0.
fn zero_of(grid: &Grid) -> [f64; 3] {
    std::array::from_fn(|a| -grid.origin_mm[a] / grid.voxel_mm[a])
}

/// The fast backprojector: single precision, windows of the projections in shared memory, several voxels a thread.
pub struct FastPlanes {
    grid: Grid,
    kernels: Kernels,
    pace: Pace,
}

impl Kernels {
    /// Returns the kernel for an interpolation, the depth of its tiles and the bytes that it keeps of a sample.
    fn choose(&self, interpolation: Interpolation, grid: &Grid, num_multiprocessors: u32) -> (&LinearKernel, usize, usize) {
        let num_deep: usize = tiles(grid, DEEP).iter().product();
        match interpolation {
            Interpolation::Linear if num_deep >= MIN_DEEP_TILES * num_multiprocessors as usize => (&self.linear_deep, DEEP, 8),
            Interpolation::Linear => (&self.linear, DEPTH, 8),
            Interpolation::Nearest => (&self.nearest, DEPTH, 4),
            Interpolation::Cubic => (&self.cubic, DEPTH, 4),
        }
    }
}

/// Tiles along x, y and z.
fn tiles(grid: &Grid, depth: usize) -> [usize; 3] {
    let [nx, ny, nz] = grid.size;
    [nx.div_ceil(TILE[0]), ny.div_ceil(TILE[1]), nz.div_ceil(depth)]
}

impl FastPlanes {
    /// Makes a backprojector into images of a grid.
    ///
    /// # Errors
    /// Device failure.
    pub fn new(backend: &CudaBackend, grid: Grid) -> Result<Self, CudaError> {
        Ok(Self { grid, kernels: Kernels::load(&backend.context)?, pace: Pace::default() })
    }

    /// Returns the samples that a tile can meet on a projection in any direction.
    fn window(&self, depth: usize, sampling: &PlaneSampling) -> usize {
        let tile = [TILE[0], TILE[1], depth];
        let half = |a: usize| 0.5 * (tile[a] - 1) as f64 * self.grid.voxel_mm[a];
        let reach_mm = half(0).hypot(half(1)).hypot(half(2));
        (2.0 * reach_mm / sampling.step_mm).ceil() as usize + MARGIN
    }
}

impl PlaneBackprojector<CudaBackend> for FastPlanes {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn add(
        &mut self,
        backend: &mut CudaBackend,
        projections: &FilteredProjections,
        image: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        image.expect_len(self.grid.num_voxels())?;
        if projections.is_empty() {
            return Ok(());
        }
        let num_multiprocessors = backend.info().limits.num_multiprocessors;
        let (kernel, depth, piece_bytes) = self.kernels.choose(projections.interpolation, &self.grid, num_multiprocessors);
        let sampling = &projections.sampling;
        let window = self.window(depth, sampling);
        let shared_bytes = (NUM_BATCHES * BATCH * (SLOPE_BYTES + piece_bytes * window)) as u32;
        if shared_bytes > DEFAULT_SHARED_BYTES && kernel.allow_shared_bytes(shared_bytes).is_err() {
            let (voxel_mm, step_mm) = (self.grid.voxel_mm, sampling.step_mm);
            return Err(OperatorLimit::LargeVoxels { voxel_mm, step_mm, window }.into());
        }
        let plan =
            PlanHead { size: self.grid.size.map(|n| n as i32), num_points: sampling.num_points as i32, window: window as i32 };
        let [x, y, z] = tiles(&self.grid, depth).map(|n| n as u32);
        let shape =
            LaunchConfig { grid_dim: (x, y, z), block_dim: (TILE[0] as u32, TILE[1] as u32, 1), shared_mem_bytes: shared_bytes };
        let values = backend.table(&projections.values_f32(), 0.0)?;
        let planes: Vec<Plane> = projections.directions.iter().map(|n| Plane::new(&self.grid, sampling, n)).collect();
        let planes = backend.table(&planes, Plane::default())?;
        self.pace.run(backend, projections.len(), task, |first, count| {
            let projections = values.slice(first * sampling.num_points..);
            let planes = Planes { plan: &plan, projections, planes: planes.slice(first..), num_projections: count as i32 };
            kernel.launch(&backend.stream, shape, &planes, &mut image.0)
        })
    }

    fn scratch_bytes(&self, num_projections: usize, sampling: &PlaneSampling) -> u64 {
        (num_projections * (4 * sampling.num_points + size_of::<Plane>())) as u64
    }

    fn name(&self) -> &'static str {
        "single-stage"
    }
}

/// The kernel of Qiao et al. 2015: double precision, one thread for each voxel, linear interpolation.
pub struct PaperPlanes {
    grid: Grid,
    kernels: Kernels,
    sum: CudaSlice<f64>,
    pace: Pace,
}

impl PaperPlanes {
    /// Makes a backprojector into images of a grid, with its own sum in double precision, which begins at zero.
    ///
    /// # Errors
    /// Rows longer than a block of threads, device failure.
    pub fn new(backend: &CudaBackend, grid: Grid) -> Result<Self, OperatorError> {
        let most = backend.info().limits.max_threads_per_block as usize;
        if grid.size[0] > most {
            return Err(OperatorLimit::LongRow { found: grid.size[0], most }.into());
        }
        let sum = zeros(&backend.stream, grid.num_voxels())?;
        Ok(Self { kernels: Kernels::load(&backend.context)?, grid, sum, pace: Pace::default() })
    }

    /// Returns the sum so far in double precision, `[z, y, x]`.
    ///
    /// # Errors
    /// Device failure.
    pub fn sum(&self, backend: &CudaBackend) -> Result<Vec<f64>, CudaError> {
        copied(&backend.stream, "copy values from the device", &self.sum)
    }
}

impl PlaneBackprojector<CudaBackend> for PaperPlanes {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The image becomes the sum of everything added so far.
    fn add(
        &mut self,
        backend: &mut CudaBackend,
        projections: &FilteredProjections,
        image: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        image.expect_len(self.grid.num_voxels())?;
        if projections.interpolation != Interpolation::Linear {
            return Err(OperatorLimit::interpolation(projections.interpolation).into());
        }
        let values = backend.table(&projections.values, 0.0)?;
        let directions = backend.table(projections.directions.as_flattened(), 0.0)?;
        let (voxel_mm, origin) = (self.grid.voxel_mm, zero_of(&self.grid));
        let PlaneSampling { num_points, step_mm, centre } = projections.sampling;
        let [nx, ny, nz] = self.grid.size.map(|n| n as u32);
        let shape = LaunchConfig { grid_dim: (ny, nz, 1), block_dim: (nx, 1, 1), shared_mem_bytes: 0 };
        let points = num_points as i32;
        let (paper, sum) = (&self.kernels.paper, &mut self.sum);
        self.pace.run(backend, projections.len(), task, |first, count| {
            let values = values.slice(first * num_points..);
            let directions = directions.slice(3 * first..);
            let stream = &backend.stream;
            paper.launch(stream, shape, sum, &values, &directions, &voxel_mm, &origin, step_mm, centre, count as i32, points)
        })?;
        let len = self.grid.num_voxels();
        Ok(self.kernels.narrow.launch(&backend.stream, one_each(len), &mut image.0, &self.sum, len as u64)?)
    }

    fn scratch_bytes(&self, num_projections: usize, sampling: &PlaneSampling) -> u64 {
        (8 * self.grid.num_voxels() + num_projections * (8 * sampling.num_points + 24)) as u64
    }

    fn name(&self) -> &'static str {
        "single-stage, the paper's kernel"
    }
}
