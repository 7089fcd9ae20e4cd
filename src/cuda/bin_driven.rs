//! Siddon's projector with one thread per bin on a CUDA device, as in Belzunce et al. 2012 (`kernels/bin_driven.cu`; the
//! definition is [`crate::operator::Siddon`]).

use std::sync::Arc;

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};

use super::in_plane::{InPlanePaths, fov_rows};
use super::kernel::{Kernel, Module, blocks, launch, one_each};
use super::projecting::{Launches, Projecting, ProjectorKernels, scratch_bytes};
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{Data, FieldOfView, Image, Team, Voxels};
use crate::geometry::{FACE_TOLERANCE_VOXELS, Grid, Row, face_or_row};
use crate::operator::{
    Accumulation, BinOrder, InPlanePath, LinearOperator, OfShare, OperatorError, OperatorLimit, OwnShare, Subset, ViewProjector,
    Views,
};
use crate::scanner::{Plane, ScanGeometry};
use crate::task::Task;

/// Threads of a block that are tried where none are asked for.
const THREADS_PER_BLOCK: [u32; 4] = [256, 128, 512, 64];
/// `Path` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct PathRow {
    next: [f32; 2],
    pitch: [f32; 2],
    length_mm: f32,
    start_mm: f32,
    lor_mm: f32,
    column: i32,
    stride: [i32; 2],
    share: f32,
}

/// `Line` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct LineRow {
    v_start: f32,
    rise: f32,
    rise_mm: f32,
    weight: f32,
    row: i32,
    num_rows: i32,
}

/// `Plan` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct PlanHead {
    num_tangential: i32,
    num_planes: i32,
    num_rays: i32,
    first_view: i32,
    view_step: i32,
    num_views: i32,
    order: i32,
    nz: u32,
    num_columns: u32,
}

#[allow(unsafe_code)]
// SAFETY: all are `repr(C)` with fields of plain numbers, laid out as the structs of the kernels.
mod device_repr {
    use super::*;

    unsafe impl DeviceRepr for PathRow {}
    unsafe impl DeviceRepr for LineRow {}
    unsafe impl DeviceRepr for PlanHead {}
}

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
    kernels: ProjectorKernels,
    threads_per_block: u32,
    launches: Launches,
}

/// Launches a kernel on `count` threads' bins from `first` on: `launch_bins!(self, backend, kernel, subset, units, argument, …)`
/// with the arguments between the tables and the range.
macro_rules! launch_bins {
    ($self:expr, $backend:expr, $kernel:expr, $subset:expr, $units:expr, $($argument:expr),+) => {{
        let (head, [first, count]) = ($self.head($subset), $units.map(|units| units as u64));
        launch!(
            $backend.stream, $kernel, $self.shape($units[1]), &head, &$self.paths, &$self.lor_paths, &$self.lines,
            $($argument,)+ &first, &count
        )
    }};
}

impl BinDriven {
    /// The projector between a grid and a scan; `rays` = lines per bin, tangential and axial. `threads_per_block`: by
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
        let lines: Vec<LineRow> = (0..num_rays)
            .flat_map(|ray| geometry.ray_planes(ray, num_rays))
            .map(|plane| line_row(plane, &grid, num_rays))
            .collect();
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
        let module = Module::load(&backend.context, include_str!("../../kernels/ptx/bin_driven.ptx"))?;
        let kernels = ProjectorKernels::load(&module)?;
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

    /// The plan for the views of a subset.
    fn head(&self, subset: Subset) -> PlanHead {
        PlanHead {
            first_view: subset.index as i32,
            view_step: subset.count.max(1) as i32,
            num_views: self.views.of(subset).len() as i32,
            ..self.head
        }
    }

    fn shape(&self, num_bins: usize) -> LaunchConfig {
        let threads = self.threads_per_block;
        LaunchConfig { grid_dim: (blocks(num_bins, threads), 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
    }

    /// Zero outside the field of view.
    fn zero_unseen(&self, backend: &CudaBackend, image: &mut CudaArray<Image>) -> Result<(), CudaError> {
        let [nx, ny, nz] = self.voxels.grid().size.map(|n| n as u32);
        let shape = one_each((nx * ny) as usize);
        launch!(backend.stream, backend.kernels.zero_unseen, shape, &mut image.0, &self.fov_rows, &nx, &ny, &nz)
    }
}

/// The number of threads of a block asked for, or the one with which most are resident.
fn block(kernels: &ProjectorKernels, asked: Option<u32>) -> Result<u32, OperatorError> {
    let tried = asked.map_or(THREADS_PER_BLOCK.to_vec(), |threads| vec![threads]);
    let mut best = (0, 0);
    for threads in tried {
        let blocks = [&kernels.forward, &kernels.atomic].map(|kernel| kernel.resident_blocks(threads, 0).unwrap_or(0));
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
    // An axis that is never crossed is crossed beyond everything.
    let next = |a: usize| if path.pitch[a] > 0.0 { path.next[a] as f32 } else { f32::MAX };
    PathRow {
        next: [next(0), next(1)],
        pitch: path.pitch.map(|pitch| pitch as f32),
        length_mm: path.length_mm as f32,
        start_mm: path.start_mm as f32,
        lor_mm: path.lor_mm as f32,
        column: path.column as i32,
        stride: path.stride.map(|stride| stride as i32),
        share: *share,
    }
}

/// A line of a plane; a direct one in a voxel face has two rows.
fn line_row(plane: Plane, grid: &Grid, num_rays: usize) -> LineRow {
    let voxel = |z_mm: f64| (z_mm - grid.origin_mm[2]) / grid.voxel_mm[2] + 0.5;
    let (v_start, v_end) = (voxel(plane.z_start_mm), voxel(plane.z_end_mm));
    let rises = (v_end - v_start).abs() >= FACE_TOLERANCE_VOXELS;
    let (row, num_rows) = match face_or_row(0.5 * (v_start + v_end) - 0.5) {
        _ if rises => (0, 1),
        Row::Inside(row) => (row as i32, 1),
        Row::Face(row) => (row as i32, 2),
    };
    LineRow {
        v_start: v_start as f32,
        rise: if rises { (v_end - v_start) as f32 } else { 0.0 },
        rise_mm: (plane.z_end_mm - plane.z_start_mm) as f32,
        weight: 1.0 / (num_rays as i32 * num_rows) as f32,
        row,
        num_rows,
    }
}

impl Projecting for BinDriven {
    fn kernels(&self) -> &ProjectorKernels {
        &self.kernels
    }

    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn image_len(&self) -> usize {
        self.voxels.len()
    }

    fn data_len(&self, subset: Subset) -> usize {
        self.views.len(subset)
    }

    /// Bins.
    fn num_units(&self, _: &CudaBackend, subset: Subset) -> Result<usize, CudaError> {
        Ok(self.views.len(subset))
    }

    fn launch_forward(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: [usize; 2],
        x: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        launch_bins!(self, backend, self.kernels.forward, subset, units, x, out)
    }

    fn launch_add(
        &self,
        backend: &CudaBackend,
        kernel: &Kernel,
        subset: Subset,
        units: [usize; 2],
        q: &CudaSlice<f32>,
        image: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        launch_bins!(self, backend, kernel, subset, units, q, image)
    }

    fn launch_fixed(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: [usize; 2],
        q: &CudaSlice<f32>,
        image: &mut CudaSlice<u64>,
        scale: f32,
    ) -> Result<(), CudaError> {
        launch_bins!(self, backend, self.kernels.fixed, subset, units, q, image, &scale)
    }
}

impl LinearOperator<CudaBackend> for BinDriven {
    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
        self.project(backend, subset, &x.0, out, task)
    }

    fn adjoint(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        accumulation: Accumulation,
        out: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.backproject(backend, subset, q, accumulation, out, task)?;
        Ok(self.zero_unseen(backend, out)?)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        scratch_bytes(self.voxels.len(), self.views.len(subset), accumulation)
    }
}

impl ViewProjector<CudaBackend> for BinDriven {
    fn for_team(self, team: &Team) -> Result<OwnShare<CudaBackend>, OperatorError> {
        let views = self.views.clone();
        Ok(OfShare::of(self, views, team.share()))
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }
}
