//! The fast projector with tubes of response on a CUDA device (`kernels/tubes/tubes.cu`; the definition is
//! [`crate::operator::Tubes`]).

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, LaunchConfig};

use super::plan::{
    COLUMN, GroupRow, LINES, LineRow, PROJECT_SHARED_BYTES, PROJECT_WARPS, SPREAD_SHARED_BYTES, SlotRow, TubesPlan,
};
use crate::algebra::{Columns, FieldOfView, Voxels};
use crate::cuda::backend::CudaBackend;
use crate::cuda::device::driver::{clear, zeros};
use crate::cuda::error::CudaError;
use crate::cuda::fixed_point::Sum;
use crate::cuda::in_plane::fov_rows;
use crate::cuda::kernel::blocks;
use crate::cuda::launches::tubes::{Kernels, Views as OfViews};
use crate::cuda::projecting::{Adder, Direction, Launches, Piece, Projecting, ProjectingViews};
use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::operator::{Accumulation, BinOrder, OperatorError, Subset, TubeTable, Views};
use crate::scanner::ScanGeometry;

/// Views whose cells are in memory at once: a launch then lasts a few milliseconds.
const VIEWS_AT_ONCE: usize = 32;
/// Columns that a block of `resample` or `collect` takes.
const COLUMNS_PER_BLOCK: usize = 4;
/// Threads of a block of `spread`.
const SPREAD_THREADS: u32 = 256;
/// A block of `scatter_…`: planes of a group, groups.
const SCATTER_THREADS: (u32, u32, u32) = (32, 8, 1);

/// The projector with tubes of response. Images are `[y][x][parity of z][place]`, zero outside the field of view; data of a
/// subset is its views one after the other, each `[tangential_pos][plane]`.
pub struct Tubes {
    voxels: Voxels,
    views: Views,
    plan: TubesPlan,
    tables: Tables,
    kernels: Kernels,
    largest_element: f64,
    /// The cells of some views, made when first needed.
    cells: Mutex<Option<CudaSlice<f32>>>,
    launches: Launches,
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

/// Some views of a subset.
struct Part {
    first_view: i32,
    view_step: i32,
    num_lines: i32,
    /// Their data among that of the subset.
    data: Range<usize>,
}

impl Tubes {
    /// Makes the projector between a grid and a scan.
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
        let largest_element = plan.largest_element(&grid);
        let kernels = Kernels::load(&backend.context)?;
        kernels.spread.allow_shared_bytes(SPREAD_SHARED_BYTES)?;
        let columns = Columns { classes: 2, lanes: COLUMN / 2, first: 0, tail: 0 };
        Ok(Self {
            voxels: Voxels::in_columns(grid, fov, columns),
            views: Views::by_subset(&geometry, BinOrder::Plane),
            plan,
            tables,
            kernels,
            largest_element,
            cells: Mutex::default(),
            launches: Launches::default(),
        })
    }

    /// Returns a subset's views, some at a time.
    fn parts(&self, subset: Subset) -> Vec<Part> {
        let views: Vec<usize> = self.views.of(subset).collect();
        let part = |(number, views): (usize, &[usize])| {
            let first = number * VIEWS_AT_ONCE;
            Part {
                first_view: views[0] as i32,
                view_step: subset.count.max(1) as i32,
                num_lines: 2 * views.len() as i32,
                data: first * self.views.view_len()..(first + views.len()) * self.views.view_len(),
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
        f: impl FnOnce(&mut CudaSlice<f32>) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let len = self.cells_len(subset);
        let enough = cells.take().filter(|cells| cells.len() >= len);
        let mut memory = match enough {
            Some(memory) => memory,
            None => zeros(&backend.stream, len)?,
        };
        let result = f(&mut memory);
        *cells = Some(memory);
        result
    }

    /// The bins of a part of a subset from the image.
    fn project_part(
        &self,
        backend: &CudaBackend,
        part: &Part,
        x: &CudaSlice<f32>,
        cells: &mut CudaSlice<f32>,
        out: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        let (plan, t, stream) = (&self.plan, &self.tables, &backend.stream);
        let Part { first_view, view_step, num_lines, .. } = *part;
        let columns = blocks(plan.head.num_columns as usize, COLUMNS_PER_BLOCK as u32);
        let each_cell = shape((columns, plan.head.num_rows as u32, num_lines as u32), COLUMN_THREADS, 0);
        self.kernels.resample.launch(stream, each_cell, &plan.head, &t.lines, first_view, view_step, x, cells)?;
        let groups = plan.num_parts() as u32 * blocks(num_lines as usize, LINES as u32);
        let block = (32 * PROJECT_WARPS as u32, 1, 1);
        self.kernels.project.launch(
            stream,
            shape((groups, plan.num_tiles() as u32, 1), block, PROJECT_SHARED_BYTES),
            &plan.head,
            &t.groups,
            &t.slots,
            &t.differences,
            plan.num_parts() as i32,
            &t.weights,
            &t.windows,
            &t.rows,
            cells,
            &mut out.slice_mut(part.data.clone()),
            num_lines,
        )
    }

    /// The cells of a part of a subset from its bins: Aᵀ q before it is interpolated.
    fn fill_cells(
        &self,
        backend: &CudaBackend,
        part: &Part,
        q: &CudaSlice<f32>,
        adder: Adder,
        cells: &mut CudaSlice<f32>,
    ) -> Result<(), CudaError> {
        let (plan, t, stream) = (&self.plan, &self.tables, &backend.stream);
        let (head, bins, num_lines) = (&plan.head, q.slice(part.data.clone()), part.num_lines);
        let scatter = match adder {
            Adder::Atomic => &self.kernels.scatter_atomic,
            Adder::NonAtomic => &self.kernels.scatter_non_atomic,
            Adder::Fixed => {
                let quads = blocks(num_lines as usize, LINES as u32);
                let each_row = shape((quads, head.num_rows as u32, 1), (SPREAD_THREADS, 1, 1), SPREAD_SHARED_BYTES);
                return self.kernels.spread.launch(
                    stream,
                    each_row,
                    head,
                    &t.groups,
                    &t.weights,
                    &t.windows,
                    &t.places,
                    &t.num_seen,
                    &t.row_order,
                    &bins,
                    cells,
                    num_lines,
                );
            }
        };
        clear(stream, cells)?;
        let groups = blocks(head.num_groups as usize, SCATTER_THREADS.1);
        let each_bin = shape(((num_lines * head.num_radial) as u32, groups, 1), SCATTER_THREADS, 0);
        scatter.launch(stream, each_bin, head, &t.groups, &t.weights, &t.windows, &t.rows, &bins, cells)
    }

    /// Adds the cells of a part of a subset to the image.
    fn collect(&self, backend: &CudaBackend, part: &Part, cells: &CudaSlice<f32>, to: Sum<'_>) -> Result<(), CudaError> {
        let Part { first_view, view_step, num_lines, .. } = *part;
        let (plan, lines, fov_rows) = (&self.plan.head, self.tables.lines.as_view(), self.tables.fov_rows.as_view());
        let (stream, shape) = (&backend.stream, self.each_voxel());
        let views = OfViews { plan, lines, first_view, view_step, num_lines, fov_rows };
        match to {
            Sum::Values(image) => self.kernels.collect.launch(stream, shape, &views, cells, image),
            Sum::Units(image, scale) => self.kernels.collect_fixed.launch(stream, shape, &views, cells, image, scale),
        }
    }

    /// Returns the threads of a kernel that goes through the columns of an image.
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

impl Projecting for Tubes {
    fn launches(&self) -> &Launches {
        &self.launches
    }

    fn voxels(&self) -> &Voxels {
        &self.voxels
    }

    fn data_len(&self, subset: Subset) -> usize {
        self.views.len(subset)
    }

    fn largest_element(&self) -> f64 {
        self.largest_element
    }

    /// Cells are gathered by one thread or block each in one order, and voxels in integers, line by line; or bins scatter their
    /// values to the cells, where threads meet.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic, Accumulation::Atomic, Accumulation::NonAtomic]
    }

    fn own_bytes(&self, subset: Subset) -> u64 {
        4 * self.cells_len(subset) as u64
    }

    /// Parts of the views.
    fn num_units(&self, _: &CudaBackend, subset: Subset, _: Direction) -> Result<usize, CudaError> {
        Ok(self.views.of(subset).len().div_ceil(VIEWS_AT_ONCE))
    }

    fn launch_forward(&self, piece: &Piece<'_>, x: &CudaSlice<f32>, out: &mut CudaSlice<f32>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        self.with_cells(backend, subset, |cells| {
            self.parts(subset)[units.clone()].iter().try_for_each(|part| self.project_part(backend, part, x, cells, out))
        })
    }

    fn launch_add(&self, piece: &Piece<'_>, q: &CudaSlice<f32>, adder: Adder, mut to: Sum<'_>) -> Result<(), CudaError> {
        let Piece { backend, subset, ref units } = *piece;
        self.with_cells(backend, subset, |cells| {
            self.parts(subset)[units.clone()].iter().try_for_each(|part| {
                self.fill_cells(backend, part, q, adder, cells)?;
                self.collect(backend, part, cells, to.again())
            })
        })
    }
}

impl ProjectingViews for Tubes {
    fn views(&self) -> &Views {
        &self.views
    }
}
