//! The fast projector with tubes of response on a CUDA device (`kernels/tubes.cu`; the definition is
//! [`crate::operator::Tubes`]).

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};

use super::fixed_point::FixedPoint;
use super::in_plane::fov_rows;
use super::kernel::{Kernel, Module, blocks, launch};
use super::probe::guarded;
use super::projecting::scratch_bytes;
use super::tubes_plan::{
    COLUMN, GroupRow, LINES, LineRow, PROJECT_SHARED_BYTES, PROJECT_WARPS, PlanHead, SPREAD_SHARED_BYTES, SlotRow, TubesPlan,
};
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{Columns, Data, FieldOfView, Image, Team, Voxels};
use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::operator::{
    Accumulation, BinOrder, LinearOperator, OfShare, OperatorError, OwnShare, Subset, TubeTable, ViewProjector, Views,
    check_lengths,
};
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Views whose cells are in memory at once: a launch then lasts a few milliseconds.
const VIEWS_AT_ONCE: usize = 32;
/// Columns that a block of `resample` or `collect` takes.
const COLUMNS_PER_BLOCK: usize = 4;
/// Threads of a block of `spread`.
const SPREAD_THREADS: u32 = 256;
/// A block of `scatter_…`: planes of a group, groups.
const SCATTER_THREADS: (u32, u32, u32) = (32, 8, 1);

#[allow(unsafe_code)]
// SAFETY: all are `repr(C)` with fields of plain numbers, laid out as the structs of the kernels.
mod device_repr {
    use super::*;

    unsafe impl DeviceRepr for PlanHead {}
    unsafe impl DeviceRepr for LineRow {}
    unsafe impl DeviceRepr for GroupRow {}
    unsafe impl DeviceRepr for SlotRow {}
}

/// The projector with tubes of response. Images are `[y][x][parity of z][place]`, zero outside the field of view; data of a
/// subset is its views one after the other, each `[tangential_pos][plane]`.
pub struct Tubes {
    voxels: Voxels,
    views: Views,
    plan: TubesPlan,
    tables: Tables,
    kernels: Kernels,
    /// The cells of some views, made when first needed.
    cells: Mutex<Option<CudaSlice<f32>>>,
    fixed_point: Mutex<FixedPoint>,
}

/// The plan on the device.
struct Tables {
    /// `[view][side]`
    lines: CudaSlice<LineRow>,
    groups: CudaSlice<GroupRow>,
    slots: CudaSlice<SlotRow>,
    differences: CudaSlice<i32>,
    weights: CudaSlice<f32>,
    windows: CudaSlice<i32>,
    rows: CudaSlice<[i32; 2]>,
    places: CudaSlice<i32>,
    num_seen: CudaSlice<i32>,
    row_order: CudaSlice<i32>,
    fov_rows: CudaSlice<[i32; 2]>,
}

struct Kernels {
    resample: Kernel,
    project: Kernel,
    spread: Kernel,
    scatter_atomic: Kernel,
    scatter_non_atomic: Kernel,
    collect: Kernel,
    collect_fixed: Kernel,
}

/// Some views of a subset.
struct Part {
    first_view: i32,
    view_step: i32,
    num_lines: i32,
    /// Their data among that of the subset.
    data: Range<usize>,
    is_first: i32,
}

impl Tubes {
    /// The projector between a grid and a scan.
    ///
    /// # Errors
    /// The tubes do not fit the scan, or their samples and the slices of the grid are not on one lattice; more rings, slices or
    /// samples than the kernels take; device failure.
    pub fn new(
        backend: &CudaBackend,
        geometry: Arc<ScanGeometry>,
        grid: Grid,
        fov_radius_mm: f64,
        tubes: &TubeSet,
    ) -> Result<Self, OperatorError> {
        let fov = FieldOfView::new(&grid, fov_radius_mm);
        let table = TubeTable::new(&geometry, &grid, &fov, tubes)?;
        let spacing_mm = tubes.sampling.spacing_mm;
        let plan = TubesPlan::new(&geometry, &grid, spacing_mm, &table)?;
        let line = |view: usize| [false, true].map(|side| LineRow::new(&grid, spacing_mm, geometry.phi_rad(view), side));
        let lines: Vec<LineRow> = (0..geometry.num_views).flat_map(line).collect();
        let tables = Tables {
            lines: backend.table(&lines, LineRow::default())?,
            groups: backend.table(&plan.groups, GroupRow::default())?,
            slots: backend.table(&plan.slots, SlotRow::NONE)?,
            differences: backend.table(&plan.differences, -1)?,
            weights: backend.table(&plan.weights, 0.0)?,
            windows: backend.table(&plan.windows, 0)?,
            rows: backend.table(&plan.rows, [0; 2])?,
            places: backend.table(&plan.places, 0)?,
            num_seen: backend.table(&plan.num_seen, 0)?,
            row_order: backend.table(&plan.row_order, 0)?,
            fov_rows: fov_rows(backend, &grid, &fov)?,
        };
        let module = Module::load(&backend.context, include_str!("../../kernels/ptx/tubes.ptx"))?;
        let kernels = Kernels {
            resample: module.kernel("resample")?,
            project: module.kernel("project")?,
            spread: module.kernel("spread")?,
            scatter_atomic: module.kernel("scatter_atomic")?,
            scatter_non_atomic: module.kernel("scatter_non_atomic")?,
            collect: module.kernel("collect")?,
            collect_fixed: module.kernel("collect_fixed")?,
        };
        kernels.spread.allow_shared_bytes(SPREAD_SHARED_BYTES)?;
        let columns = Columns { classes: 2, lanes: COLUMN / 2, first: 0, tail: 0 };
        Ok(Self {
            voxels: Voxels::in_columns(grid, fov, columns),
            views: Views::by_subset(&geometry, BinOrder::Plane),
            plan,
            tables,
            kernels,
            cells: Mutex::default(),
            fixed_point: Mutex::default(),
        })
    }

    /// A subset's views, some at a time.
    fn parts(&self, subset: Subset) -> Vec<Part> {
        let views: Vec<usize> = self.views.of(subset).collect();
        let part = |(number, views): (usize, &[usize])| {
            let first = number * VIEWS_AT_ONCE;
            Part {
                first_view: views[0] as i32,
                view_step: subset.count.max(1) as i32,
                num_lines: 2 * views.len() as i32,
                data: first * self.views.view_len()..(first + views.len()) * self.views.view_len(),
                is_first: i32::from(number == 0),
            }
        };
        views.chunks(VIEWS_AT_ONCE).enumerate().map(part).collect()
    }

    fn cells_len(&self, subset: Subset) -> usize {
        2 * self.views.of(subset).len().min(VIEWS_AT_ONCE) * self.plan.cells_of_line()
    }

    /// Calls `f` with memory for the cells of a part of a subset.
    fn with_cells(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        f: impl FnOnce(&mut CudaSlice<f32>) -> Result<(), OperatorError>,
    ) -> Result<(), OperatorError> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let len = self.cells_len(subset);
        let enough = cells.take().filter(|cells| cells.len() >= len);
        let mut memory = match enough {
            Some(memory) => memory,
            None => guarded("reserve memory", || backend.stream.alloc_zeros(len))?,
        };
        let result = f(&mut memory);
        *cells = Some(memory);
        result
    }

    /// Calls `collect` with the cells of each part of a subset: Aᵀ q before it is interpolated. By a kernel that scatters, where one is
    /// given.
    fn backproject(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        scatter: Option<&Kernel>,
        task: &Task,
        mut collect: impl FnMut(&Part, &CudaSlice<f32>) -> Result<(), CudaError>,
    ) -> Result<(), OperatorError> {
        let (plan, t, stream) = (&self.plan, &self.tables, &backend.stream);
        self.with_cells(backend, subset, |cells| {
            for part in self.parts(subset) {
                task.check()?;
                let bins = q.piece(part.data.clone())?;
                if let Some(scatter) = scatter {
                    guarded("clear memory", || stream.memset_zeros(cells))?;
                    let lines = (part.num_lines * plan.head.num_radial) as u32;
                    let groups = blocks(plan.head.num_groups as usize, SCATTER_THREADS.1);
                    let each_bin = shape((lines, groups, 1), SCATTER_THREADS, 0);
                    let (groups, weights) = (&t.groups, &t.weights);
                    launch!(stream, scatter, each_bin, &plan.head, groups, weights, &t.windows, &t.rows, &bins, &mut *cells)?;
                } else {
                    let quads = blocks(part.num_lines as usize, LINES as u32);
                    let each_row = shape((quads, plan.head.num_rows as u32, 1), (SPREAD_THREADS, 1, 1), SPREAD_SHARED_BYTES);
                    launch!(
                        stream,
                        self.kernels.spread,
                        each_row,
                        &plan.head,
                        &t.groups,
                        &t.weights,
                        &t.windows,
                        &t.places,
                        &t.num_seen,
                        &t.row_order,
                        &bins,
                        &mut *cells,
                        &part.num_lines
                    )?;
                }
                collect(&part, cells)?;
            }
            Ok(())
        })
    }

    /// `out` = Aᵀ q in f32.
    fn gather(
        &self,
        backend: &CudaBackend,
        subset: Subset,
        q: &CudaArray<Data>,
        scatter: Option<&Kernel>,
        out: &mut CudaArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.backproject(backend, subset, q, scatter, task, |part, cells| {
            launch!(
                backend.stream,
                self.kernels.collect,
                self.each_voxel(),
                &self.plan.head,
                &self.tables.lines,
                &part.first_view,
                &part.view_step,
                &part.num_lines,
                cells,
                &self.tables.fov_rows,
                &mut out.0,
                &part.is_first
            )
        })
    }

    /// Adds the cells of a part to integers, at a scale.
    fn collect_fixed(
        &self,
        backend: &CudaBackend,
        part: &Part,
        cells: &CudaSlice<f32>,
        image: &mut CudaSlice<u64>,
        scale: f32,
    ) -> Result<(), CudaError> {
        launch!(
            backend.stream,
            self.kernels.collect_fixed,
            self.each_voxel(),
            &self.plan.head,
            &self.tables.lines,
            &part.first_view,
            &part.view_step,
            &part.num_lines,
            cells,
            &self.tables.fov_rows,
            image,
            &scale
        )
    }

    /// The threads of a kernel that goes through the columns of an image.
    fn each_voxel(&self) -> LaunchConfig {
        let [nx, ny, _] = self.voxels.grid().size;
        shape((blocks(nx, COLUMNS_PER_BLOCK as u32), ny as u32, 1), COLUMN_THREADS, 0)
    }
}

fn shape(grid_dim: (u32, u32, u32), block_dim: (u32, u32, u32), shared_mem_bytes: u32) -> LaunchConfig {
    LaunchConfig { grid_dim, block_dim, shared_mem_bytes }
}

/// A thread for every two places of a column of the image or of a cell.
const COLUMN_THREADS: (u32, u32, u32) = (COLUMN as u32 / 2, COLUMNS_PER_BLOCK as u32, 1);

impl LinearOperator<CudaBackend> for Tubes {
    fn apply(
        &self,
        backend: &mut CudaBackend,
        subset: Subset,
        x: &CudaArray<Image>,
        out: &mut CudaArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([x.len(), self.voxels.len()], [out.len(), self.views.len(subset)])?;
        let (plan, t, kernels, stream) = (&self.plan, &self.tables, &self.kernels, &backend.stream);
        self.with_cells(backend, subset, |cells| {
            for part in self.parts(subset) {
                task.check()?;
                let Part { first_view, view_step, num_lines, data, .. } = part;
                let mut bins = out.piece_mut(data)?;
                let columns = blocks(plan.head.num_columns as usize, COLUMNS_PER_BLOCK as u32);
                let each_cell = shape((columns, plan.head.num_rows as u32, num_lines as u32), COLUMN_THREADS, 0);
                launch!(stream, kernels.resample, each_cell, &plan.head, &t.lines, &first_view, &view_step, &x.0, &mut *cells)?;
                let num_parts = plan.num_parts() as i32;
                let groups = num_parts as u32 * blocks(num_lines as usize, LINES as u32);
                let each_bin =
                    shape((groups, plan.num_tiles() as u32, 1), (32 * PROJECT_WARPS as u32, 1, 1), PROJECT_SHARED_BYTES);
                launch!(
                    stream,
                    kernels.project,
                    each_bin,
                    &plan.head,
                    &t.groups,
                    &t.slots,
                    &t.differences,
                    &num_parts,
                    &t.weights,
                    &t.windows,
                    &t.rows,
                    &*cells,
                    &mut bins,
                    &num_lines
                )?;
            }
            Ok(())
        })
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
        check_lengths([out.len(), self.voxels.len()], [q.len(), self.views.len(subset)])?;
        let scatter = match accumulation {
            Accumulation::Atomic => Some(&self.kernels.scatter_atomic),
            Accumulation::NonAtomic => Some(&self.kernels.scatter_non_atomic),
            _ => None,
        };
        if scatter.is_some() {
            self.gather(backend, subset, q, scatter, out, task)?;
            return Ok(backend.sum_over_team(out)?);
        }
        let mut fixed_point = self.fixed_point.lock().unwrap_or_else(PoisonError::into_inner);
        fixed_point.backproject(
            backend,
            subset,
            q,
            self.views.len(subset),
            out,
            |backend, ones, image| self.gather(backend, subset, ones, None, image, task),
            |backend, image, scale| {
                self.backproject(backend, subset, q, None, task, |part, cells| {
                    self.collect_fixed(backend, part, cells, image, scale)
                })
            },
        )
    }

    /// Each cell is gathered by one thread or block in one order, and each voxel in integers, line by line; or each bin scatters what
    /// it has, and threads meet in the cells.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic, Accumulation::Atomic, Accumulation::NonAtomic]
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        4 * self.cells_len(subset) as u64 + scratch_bytes(self.voxels.len(), self.views.len(subset), accumulation)
    }
}

impl ViewProjector<CudaBackend> for Tubes {
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
