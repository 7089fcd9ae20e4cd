//! The axial-run projector on a CUDA device (`kernels/axial_path.cuh`, `kernels/axial_runs.cuh`; the definition is
//! [`crate::operator::AxialRuns`]).

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};
use strum::VariantArray as _;

use super::axial_plan::{AxialPlan, EndRow, GroupRow, PassRow, PathRow, PlanHead, RecordRow};
use super::in_plane::{InPlanePaths, fov_rows};
use super::kernel::{Kernel, Module, launch, one_each};
use super::projecting::{Launches, Projecting, ProjectorKernels, scratch_bytes};
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{Data, FieldOfView, Image, Voxels};
use crate::geometry::Grid;
use crate::operator::{Accumulation, AxialTable, BinOrder, LinearOperator, OperatorError, Subset, ViewProjector, Views};
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Warps of a block that are tried; more share more of the first-level cache.
const WARPS_PER_BLOCK: [u32; 4] = [4, 2, 8, 1];
/// Dynamic shared memory that every block may have.
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

#[allow(unsafe_code)]
// SAFETY: all are `repr(C)` with fields of plain numbers, laid out as the structs of the kernels.
mod device_repr {
    use super::*;

    unsafe impl DeviceRepr for PathRow {}
    unsafe impl DeviceRepr for PassRow {}
    unsafe impl DeviceRepr for RecordRow {}
    unsafe impl DeviceRepr for EndRow {}
    unsafe impl DeviceRepr for GroupRow {}
    unsafe impl DeviceRepr for PlanHead {}
}

/// The axial-run projector. Images are `[y][x][class of z][place]`, zero outside the field of view; data of a subset is its
/// views one after the other, each `[tangential_pos][plane]`.
pub struct AxialRuns {
    geometry: Arc<ScanGeometry>,
    voxels: Voxels,
    views: Views,
    plan: AxialPlan,
    tables: Tables,
    difference_kernel: Kernel,
    kernels: ProjectorKernels,
    warps_per_block: u32,
    /// x_z − x_{z+1}.
    difference: Mutex<CudaSlice<f32>>,
    launches: Launches,
}

/// The plan on the device.
struct Tables {
    paths: CudaSlice<PathRow>,
    lor_paths: CudaSlice<u32>,
    fov_rows: CudaSlice<[i32; 2]>,
    passes: CudaSlice<PassRow>,
    groups: CudaSlice<GroupRow>,
    records: CudaSlice<RecordRow>,
    ends: CudaSlice<EndRow>,
    outputs: CudaSlice<u32>,
}

/// Launches a kernel on `count` transaxial LORs from `first` on: `launch_lors!(self, backend, kernel, subset, units, argument, …)`
/// with the arguments between the tables and the range.
macro_rules! launch_lors {
    ($self:expr, $backend:expr, $kernel:expr, $subset:expr, $units:expr, $($argument:expr),+) => {{
        let (t, head, [first, count]) = (&$self.tables, $self.head($subset), $units.map(|units| units as u32));
        launch!(
            $backend.stream, $kernel, $self.shape($units[1]), &head, &t.paths, &t.lor_paths, &t.fov_rows, &t.passes,
            &t.groups, &t.records, &t.ends, &t.outputs, $($argument,)+ &first, &count
        )
    }};
}

impl AxialRuns {
    /// The projector between a grid and a scan; `rays` = lines per bin, tangential and axial.
    ///
    /// # Errors
    /// Neighbouring planes are not a whole number of voxels apart, or the image has more z than the kernels are made for;
    /// device failure.
    pub fn new(
        backend: &CudaBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        rays: [usize; 2],
    ) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let reach = (fov.path_radius_mm / geometry.radius_mm()).min(1.0) + 1e-9;
        let table = AxialTable::new(&geometry, &grid, rays[1].max(1), reach)?;
        let paths = InPlanePaths::new(&geometry, &grid, &fov, rays[0].max(1));
        let plan = AxialPlan::new(&geometry, &grid, &table, &paths)?;
        let module = module(backend, &plan)?;
        let kernels = ProjectorKernels::load(&module)?;
        let warps_per_block = best_block(&kernels, plan.head.scratch_bytes as u32)?;
        let rows: Vec<PathRow> = paths.paths.iter().map(PathRow::from).collect();
        let tables = Tables {
            paths: backend.table(&rows, PathRow::default())?,
            lor_paths: backend.table(&paths.first, 0)?,
            fov_rows: fov_rows(backend, &grid, &fov)?,
            passes: backend.table(&plan.passes, PassRow::default())?,
            groups: backend.table(&plan.groups, GroupRow::default())?,
            records: backend.table(&plan.records, RecordRow::default())?,
            ends: backend.table(&plan.ends, EndRow::default())?,
            outputs: backend.table(&plan.outputs, 0)?,
        };
        let voxels = Voxels::in_columns(grid, fov, plan.columns());
        Ok(Self {
            difference: Mutex::new(backend.table(&vec![0.0; voxels.len()], 0.0)?),
            difference_kernel: module.kernel("difference")?,
            views: Views::by_subset(&geometry, BinOrder::Plane),
            geometry,
            voxels,
            plan,
            tables,
            kernels,
            warps_per_block,
            launches: Launches::default(),
        })
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u32 {
        32 * self.warps_per_block
    }

    /// The plan for the views of a subset.
    fn head(&self, subset: Subset) -> PlanHead {
        PlanHead { first_view: subset.index as i32, view_step: subset.count.max(1) as i32, ..self.plan.head }
    }

    fn shape(&self, num_lors: usize) -> LaunchConfig {
        LaunchConfig {
            grid_dim: ((num_lors as u32).div_ceil(self.warps_per_block), 1, 1),
            block_dim: (32, self.warps_per_block, 1),
            shared_mem_bytes: self.warps_per_block * self.plan.head.scratch_bytes as u32,
        }
    }
}

/// The kernels for a plan.
fn module(backend: &CudaBackend, plan: &AxialPlan) -> Result<Module, CudaError> {
    let ptx = match (plan.classes, plan.registers) {
        (1, 1) => include_str!("../../kernels/ptx/axial_runs_1_1.ptx"),
        (1, _) => include_str!("../../kernels/ptx/axial_runs_1_2.ptx"),
        (2, 1) => include_str!("../../kernels/ptx/axial_runs_2_1.ptx"),
        (2, _) => include_str!("../../kernels/ptx/axial_runs_2_2.ptx"),
        _ => include_str!("../../kernels/ptx/axial_runs_4_1.ptx"),
    };
    Module::load(&backend.context, ptx)
}

/// The number of warps for a block with which most are resident at once, after every kernel has been allowed the
/// shared memory that it needs.
fn best_block(kernels: &ProjectorKernels, scratch_bytes: u32) -> Result<u32, OperatorError> {
    let mut best = (0, 0);
    for warps in WARPS_PER_BLOCK {
        let bytes = warps * scratch_bytes;
        if bytes > DEFAULT_SHARED_BYTES && kernels.all().iter().any(|kernel| kernel.allow_shared_bytes(bytes).is_err()) {
            continue;
        }
        let resident = warps * kernels.forward.resident_blocks(32 * warps, bytes)?;
        if resident > best.0 {
            best = (resident, warps);
        }
    }
    let (resident, warps) = best;
    if resident == 0 {
        let text = format!("a warp would need {scratch_bytes} bytes of the GPU's shared memory, more than it has");
        return Err(OperatorError::Unsuitable(text));
    }
    // What was allowed last may be less than what the best block needs.
    let bytes = warps * scratch_bytes;
    if bytes > DEFAULT_SHARED_BYTES {
        for kernel in kernels.all() {
            kernel.allow_shared_bytes(bytes)?;
        }
    }
    Ok(warps)
}

impl Projecting for AxialRuns {
    fn kernels(&self) -> &ProjectorKernels {
        &self.kernels
    }

    fn launches(&self) -> &Launches {
        &self.launches
    }

    /// Transaxial LORs.
    fn num_units(&self, subset: Subset) -> usize {
        self.views.of(subset).len() * self.geometry.num_tangential
    }

    fn launch_forward(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        units: [usize; 2],
        x: &CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        launch_lors!(self, backend, self.kernels.forward, subset, units, x, out)
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
        launch_lors!(self, backend, kernel, subset, units, q, image)
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
        launch_lors!(self, backend, self.kernels.fixed, subset, units, q, image, &scale)
    }
}

impl LinearOperator<CudaBackend> for AxialRuns {
    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.check_lengths(subset, x, out)?;
        let mut difference = self.difference.lock().unwrap_or_else(PoisonError::into_inner);
        let (len, lanes) = (self.voxels.len(), self.plan.head.lanes);
        let count = len as u64;
        launch!(backend.stream, self.difference_kernel, one_each(len), &x.0, &mut *difference, &lanes, &count)?;
        self.project(backend, subset, &difference, out, task)
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
        self.backproject(backend, subset, q, accumulation, out, task)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        // (The difference of the image is there already.)
        scratch_bytes(self.voxels.len(), &self.views, subset, accumulation)
    }
}

impl ViewProjector<CudaBackend> for AxialRuns {
    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn views(&self) -> &Views {
        &self.views
    }
}
