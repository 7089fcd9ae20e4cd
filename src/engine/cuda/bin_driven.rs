//! Siddon's projector with one thread per bin on a CUDA device, as in Belzunce et al. 2012 (`kernels/bin_driven.cu`; the
//! definition is [`crate::operator::Siddon`]).

use std::sync::Arc;

use cudarc::driver::{CudaSlice, LaunchConfig};

use super::backend::{CudaArray, CudaBackend};
use super::error::CudaError;
use super::fixed_point::Sum;
use super::in_plane::fov_rows;
use super::kernel::{blocks, one_each};
use super::launches::bin_driven::{Kernels, Line as LineRow, Path as PathRow, Plan as PlanHead, Tables};
use super::projecting::{Adder, Launches, Piece, Projecting, ProjectingViews, launch_adding};
use crate::algebra::{BackendError, FieldOfView, Image, Voxels};
use crate::geometry::Grid;
use crate::operator::{BinOrder, InPlanePath, InPlanePaths, OperatorError, OperatorLimit, PlaneLine, Subset, Views};
use crate::scanner::ScanGeometry;

/// Threads of a block that are tried where none are asked for.
const THREADS_PER_BLOCK: [u32; 4] = [256, 128, 512, 64];

/// The bin-driven projector. Images are `[z, y, x]`, zero outside the field of view; data of a subset lies in the order of
/// its [`BinOrder`].
pub struct BinDriven {
    voxels: Voxels,
    views: Views,
    head: PlanHead,
    paths: CudaSlice<PathRow>,
    lor_paths: CudaSlice<u32>,
    lines: CudaSlice<LineRow>,
    fov_rows: CudaSlice<[i32; 2]>,
    kernels: Kernels,
    threads_per_block: u32,
    launches: Launches,
}

impl BinDriven {
    /// Makes the projector between a grid and a scan; `rays` = rays per LOR, tangential and axial. `threads_per_block`: by
    /// default the number with which most threads are resident.
    ///
    /// # Errors
    /// A number of threads that the device does not allow, device failure.
    pub fn new(
        backend: &CudaBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
        threads_per_block: Option<u32>,
    ) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let in_plane = InPlanePaths::of_all(&geometry, &grid, &fov, rays[0].max(1));
        let paths: Vec<PathRow> = in_plane.paths.iter().map(path_row).collect();
        let num_rays = rays[1].max(1);
        let lines: Vec<LineRow> = PlaneLine::of_all(&geometry, &grid, num_rays).into_iter().map(line_row).collect();
        let head = PlanHead {
            num_tangential: geometry.num_tangential as i32,
            num_planes: geometry.num_planes() as i32,
            num_rays: num_rays as i32,
            first_view: 0,
            view_step: 1,
            num_views: geometry.num_views as i32,
            order: BinOrder::default() as i32,
            nz: grid.size[2] as u32,
            num_columns: (grid.size[0] * grid.size[1]) as u32,
        };
        let kernels = Kernels::load(&backend.context)?;
        let threads_per_block = block(&kernels, threads_per_block)?;
        Ok(Self {
            paths: backend.table(&paths, PathRow::default())?,
            lor_paths: backend.table(&in_plane.first, 0)?,
            lines: backend.table(&lines, LineRow::default())?,
            fov_rows: fov_rows(backend, &grid, &fov)?,
            views: Views::by_subset(&geometry, BinOrder::default()),
            voxels: Voxels::new(grid, fov),
            head,
            kernels,
            threads_per_block,
            launches: Launches::default(),
        })
    }

    /// The same projector with its bins in another order.
    pub fn with_order(mut self, order: BinOrder) -> Self {
        self.views = self.views.with_order(order);
        self.head.order = order as i32;
        self
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u32 {
        self.threads_per_block
    }

    /// Returns the plan for the views of a subset.
    fn head(&self, subset: Subset) -> PlanHead {
        PlanHead {
            first_view: subset.index as i32,
            view_step: subset.count.max(1) as i32,
            num_views: self.views.of(subset).len() as i32,
            ..self.head
        }
    }

    fn tables<'a>(&'a self, plan: &'a PlanHead) -> Tables<'a> {
        let (paths, lor_paths, lines) = (self.paths.as_view(), self.lor_paths.as_view(), self.lines.as_view());
        Tables { plan, paths, lor_paths, lines }
    }

    fn shape(&self, num_bins: usize) -> LaunchConfig {
        let threads = self.threads_per_block;
        LaunchConfig { grid_dim: (blocks(num_bins, threads), 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
    }
}

/// Returns the number of threads of a block asked for, or the one with which most are resident.
fn block(kernels: &Kernels, asked: Option<u32>) -> Result<u32, OperatorError> {
    let tried = asked.map_or(THREADS_PER_BLOCK.to_vec(), |threads| vec![threads]);
    let mut best = (0, 0);
    for threads in tried {
        let blocks = [&*kernels.forward, &*kernels.atomic].map(|kernel| kernel.resident_blocks(threads, 0).unwrap_or(0));
        let resident = threads * blocks[0].min(blocks[1]);
        if resident > best.0 {
            best = (resident, threads);
        }
    }
    if best.0 == 0 {
        return Err(OperatorLimit::Threads(asked.unwrap_or(0)).into());
    }
    Ok(best.1)
}

fn path_row((path, share): &(InPlanePath, f32)) -> PathRow {
    PathRow {
        next: path.next_f32(),
        pitch: path.pitch.map(|pitch| pitch as f32),
        length_mm: path.length_mm as f32,
        start_mm: path.start_mm as f32,
        lor_mm: path.lor_mm as f32,
        column: path.column as i32,
        stride: path.stride.map(|stride| stride as i32),
        share: *share,
    }
}

fn line_row(line: PlaneLine) -> LineRow {
    let PlaneLine { v_start, rise, rise_mm, weight, row, num_rows } = line;
    LineRow { v_start, rise, rise_mm, weight, row, num_rows }
}

impl Projecting for BinDriven {
    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn data_len(&self, subset: Subset) -> usize {
        self.views.len(subset)
    }

    fn launch_forward(&self, piece: &Piece<'_>, x: &CudaSlice<f32>, out: &mut CudaSlice<f32>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let (head, shape, [first, count]) =
            (self.head(subset), self.shape(units.len()), [units.start, units.len()].map(|n| n as u64));
        self.kernels.forward.launch(&backend.stream, shape, &self.tables(&head), x, out, first, count)
    }

    fn launch_add(&self, piece: &Piece<'_>, q: &CudaSlice<f32>, adder: Adder, to: Sum<'_>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        let (head, shape, [first, count]) =
            (self.head(subset), self.shape(units.len()), [units.start, units.len()].map(|n| n as u64));
        let tables = self.tables(&head);
        launch_adding!(self.kernels, adder, to, [&backend.stream, shape, &tables, q], [first, count])
    }

    /// Sets the image to zero outside the field of view.
    fn finish(&self, backend: &mut CudaBackend, image: &mut CudaArray<Image>) -> Result<(), BackendError> {
        let [nx, ny, nz] = self.voxels.grid().size.map(|n| n as u32);
        let shape = one_each((nx * ny) as usize);
        Ok(backend.kernels.arrays.zero_unseen.launch(&backend.stream, shape, &mut image.0, &self.fov_rows, nx, ny, nz)?)
    }
}

impl ProjectingViews for BinDriven {
    fn views(&self) -> &Views {
        &self.views
    }
}
