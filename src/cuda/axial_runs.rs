//! The axial-run projector on a CUDA device (`kernels/axial_path.cuh`, `kernels/axial_runs.cuh`; the definition is
//! [`crate::operator::AxialRuns`]).

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};
use rayon::prelude::*;
use strum::VariantArray as _;

use super::axial_plan::{AxialPlan, EndRow, GroupRow, PassRow, PathRow, PlanHead, RecordRow};
use super::fixed_point::FixedPoint;
use super::in_plane::{InPlanePaths, fov_rows};
use super::kernel::{Kernel, Module, launch, one_each};
use super::pacing::Pace;
use super::{CudaArray, CudaBackend, CudaError};
use crate::data::{Michelogram, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, AxialTable, FieldOfView, LinearOperator, OperatorError, Subset};
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
    grid: Grid,
    fov: FieldOfView,
    plan: AxialPlan,
    tables: Tables,
    kernels: Kernels,
    warps_per_block: u32,
    state: Mutex<State>,
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

struct Kernels {
    difference: Kernel,
    forward: Kernel,
    atomic: Kernel,
    non_atomic: Kernel,
    fixed: Kernel,
}

/// What calls leave behind for the next.
struct State {
    /// x_z − x_{z+1}.
    difference: CudaArray,
    fixed_point: FixedPoint,
    /// Forward, atomic, non-atomic, fixed.
    paces: [Pace; 4],
}

/// Launches a kernel on `count` transaxial LORs from `first` on: `launch_lors!(self, backend, kernel, head, first, count,
/// argument, …)` with the arguments between the tables and the range.
macro_rules! launch_lors {
    ($self:expr, $backend:expr, $kernel:expr, $head:expr, $first:expr, $count:expr, $($argument:expr),+) => {{
        let (t, first, count) = (&$self.tables, $first as u32, $count as u32);
        launch!(
            $backend.stream, $kernel, $self.shape($count), &$head, &t.paths, &t.lor_paths, &t.fov_rows, &t.passes,
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
        let kernels = Kernels::load(backend, &plan)?;
        let warps_per_block = kernels.best_block(plan.head.scratch_bytes as u32)?;
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
        let num_values = grid.size[0] * grid.size[1] * plan.column_len();
        let difference = backend.table(&vec![0.0; num_values], 0.0).map(CudaArray)?;
        let state = Mutex::new(State { difference, fixed_point: FixedPoint::default(), paces: Default::default() });
        Ok(Self { geometry, grid, fov, plan, tables, kernels, warps_per_block, state })
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

    fn num_lors(&self, subset: Subset) -> usize {
        subset.views(self.geometry.num_views).len() * self.geometry.num_tangential
    }

    /// `image` += Aᵀ q by a kernel that adds f32.
    #[allow(clippy::too_many_arguments)]
    fn add(
        &self,
        backend: &CudaBackend,
        kernel: &Kernel,
        pace: &mut Pace,
        subset: Subset,
        q: &CudaArray,
        image: &mut CudaArray,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let head = self.head(subset);
        pace.run(backend, self.num_lors(subset), task, |first, count| {
            launch_lors!(self, backend, kernel, head, first, count, &q.0, &mut image.0)
        })
    }
}

impl Kernels {
    fn load(backend: &CudaBackend, plan: &AxialPlan) -> Result<Self, CudaError> {
        let ptx = match (plan.classes, plan.registers) {
            (1, 1) => include_str!("../../kernels/ptx/axial_runs_1_1.ptx"),
            (1, _) => include_str!("../../kernels/ptx/axial_runs_1_2.ptx"),
            (2, 1) => include_str!("../../kernels/ptx/axial_runs_2_1.ptx"),
            (2, _) => include_str!("../../kernels/ptx/axial_runs_2_2.ptx"),
            _ => include_str!("../../kernels/ptx/axial_runs_4_1.ptx"),
        };
        let module = Module::load(&backend.context, ptx)?;
        Ok(Self {
            difference: module.kernel("difference")?,
            forward: module.kernel("forward")?,
            atomic: module.kernel("atomic")?,
            non_atomic: module.kernel("non_atomic")?,
            fixed: module.kernel("fixed")?,
        })
    }

    /// The number of warps for a block with which most are resident at once, after every kernel has been allowed the
    /// shared memory that it needs.
    fn best_block(&self, scratch_bytes: u32) -> Result<u32, OperatorError> {
        let mut best = (0, 0);
        for warps in WARPS_PER_BLOCK {
            let bytes = warps * scratch_bytes;
            let kernels = [&self.forward, &self.atomic, &self.non_atomic, &self.fixed];
            if bytes > DEFAULT_SHARED_BYTES && kernels.iter().any(|kernel| kernel.allow_shared_bytes(bytes).is_err()) {
                continue;
            }
            let resident = warps * self.forward.resident_blocks(32 * warps, bytes)?;
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
            for kernel in [&self.forward, &self.atomic, &self.non_atomic, &self.fixed] {
                kernel.allow_shared_bytes(bytes)?;
            }
        }
        Ok(warps)
    }
}

impl LinearOperator<CudaBackend> for AxialRuns {
    fn image_len(&self) -> usize {
        self.grid.size[0] * self.grid.size[1] * self.plan.column_len()
    }

    fn view_len(&self) -> usize {
        self.geometry.num_tangential * self.geometry.num_planes()
    }

    fn num_views(&self) -> usize {
        self.geometry.num_views
    }

    fn arranged(&self, data: &Michelogram, num_subsets: usize) -> Arc<Vec<f32>> {
        if num_subsets <= 1 {
            return Arc::clone(&data.counts);
        }
        let view_len = self.view_len();
        let views = (0..num_subsets).flat_map(|index| Subset { index, count: num_subsets }.views(self.num_views()));
        Arc::new(views.flat_map(|view| &data.counts[view * view_len..(view + 1) * view_len]).copied().collect())
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, std::ops::Range<usize>)> {
        super::contiguous_piece(self, subset)
    }

    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray,
        out: &mut CudaArray,
        task: &Task,
    ) -> Result<(), OperatorError> {
        crate::operator::check_lengths(self, subset, x.len(), out.len())?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { difference, paces, .. } = &mut *state;
        let (len, lanes) = (self.image_len(), self.plan.head.lanes);
        let count = len as u64;
        launch!(backend.stream, self.kernels.difference, one_each(len), &x.0, &mut difference.0, &lanes, &count)?;
        let head = self.head(subset);
        paces[0].run(backend, self.num_lors(subset), task, |first, count| {
            launch_lors!(self, backend, self.kernels.forward, head, first, count, &difference.0, &mut out.0)
        })
    }

    fn adjoint(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        q: &CudaArray,
        accumulation: Accumulation,
        out: &mut CudaArray,
        task: &Task,
    ) -> Result<(), OperatorError> {
        crate::operator::check_lengths(self, subset, out.len(), q.len())?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { fixed_point, paces: [_, atomic, non_atomic, fixed], .. } = &mut *state;
        match accumulation {
            Accumulation::Atomic => {
                backend.clear(out)?;
                self.add(backend, &self.kernels.atomic, atomic, subset, q, out, task)
            }
            Accumulation::NonAtomic => {
                backend.clear(out)?;
                self.add(backend, &self.kernels.non_atomic, non_atomic, subset, q, out, task)
            }
            Accumulation::Deterministic => {
                let head = self.head(subset);
                fixed_point.backproject(
                    backend,
                    subset,
                    q,
                    self.data_len(subset),
                    out,
                    |backend, ones, image| self.add(backend, &self.kernels.atomic, atomic, subset, ones, image, task),
                    |backend, image, scale| {
                        fixed.run(backend, self.num_lors(subset), task, |first, count| {
                            launch_lors!(self, backend, self.kernels.fixed, head, first, count, &q.0, &mut *image, &scale)
                        })
                    },
                )
            }
        }
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn image_from_volume(&self, volume: &Volume) -> Vec<f32> {
        let (column_len, [nx, _, _]) = (self.plan.column_len(), self.grid.size);
        let mut image = vec![0.0; self.image_len()];
        image.par_chunks_mut(nx * column_len).enumerate().for_each(|(y, row)| {
            for (z, plane) in volume.values.outer_iter().enumerate() {
                let offset = self.plan.column_offset(z);
                for x in self.fov.row(y) {
                    row[x * column_len + offset] = plane[[y, x]];
                }
            }
        });
        image
    }

    fn volume_from_image(&self, image: &[f32], volume: &mut Volume) {
        let [nx, ny, _] = self.grid.size;
        volume.as_mut_slice().par_chunks_mut(nx * ny).enumerate().for_each(|(z, plane)| {
            let offset = self.plan.column_offset(z);
            for (value, column) in plane.iter_mut().zip(image.chunks_exact(self.plan.column_len())) {
                *value = column[offset];
            }
        });
    }

    fn image_index(&self, voxel: usize) -> usize {
        let num_columns = self.grid.size[0] * self.grid.size[1];
        (voxel % num_columns) * self.plan.column_len() + self.plan.column_offset(voxel / num_columns)
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        // The difference of the image is there already; in fixed point an image of integers, and once the data of ones.
        match accumulation {
            Accumulation::Deterministic => 8 * self.image_len() as u64 + 4 * self.data_len(subset) as u64,
            Accumulation::Atomic | Accumulation::NonAtomic => 0,
        }
    }
}
