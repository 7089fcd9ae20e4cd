//! Siddon's projector with one thread per bin on a CUDA device, as in Belzunce et al. 2012 (`kernels/bin_driven.cu`; the
//! definition is [`crate::operator::Siddon`]).

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};
use rayon::prelude::*;
use strum::VariantArray as _;

use super::fixed_point::FixedPoint;
use super::in_plane::{InPlanePaths, fov_rows};
use super::kernel::{Kernel, Module, blocks, launch, one_each};
use super::pacing::Pace;
use super::{CudaArray, CudaBackend, CudaError};
use crate::data::{Michelogram, Volume};
use crate::geometry::{FACE_TOLERANCE_VOXELS, Grid, Row, face_or_row};
use crate::operator::{Accumulation, FieldOfView, InPlanePath, LinearOperator, OperatorError, Subset};
use crate::scanner::{Plane, ScanGeometry};
use crate::task::Task;

/// Threads of a block that are tried where none are asked for.
const THREADS_PER_BLOCK: [u32; 4] = [256, 128, 512, 64];
/// Shuffles bins; as in the kernels.
const SHUFFLE: u64 = 2_654_435_761;

/// In which order the threads take the bins, which lie in memory in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BinOrder {
    /// Radial position, then view, then plane: the paper's. Neighbouring threads hold parallel lines.
    #[default]
    Radial,
    /// Plane, then radial position, then view. Neighbouring threads hold lines one above the other.
    Plane,
    /// Shuffled.
    Random,
}

impl BinOrder {
    /// All orders.
    pub const ALL: [BinOrder; 3] = [BinOrder::Radial, BinOrder::Plane, BinOrder::Random];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            BinOrder::Radial => "r-fastest",
            BinOrder::Plane => "plane-fastest",
            BinOrder::Random => "random",
        }
    }
}

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
    geometry: Arc<ScanGeometry>,
    grid: Grid,
    fov: FieldOfView,
    head: PlanHead,
    order: BinOrder,
    paths: CudaSlice<PathRow>,
    lor_paths: CudaSlice<u32>,
    lines: CudaSlice<LineRow>,
    fov_rows: CudaSlice<[i32; 2]>,
    kernels: Kernels,
    threads_per_block: u32,
    state: Mutex<State>,
}

struct Kernels {
    forward: Kernel,
    atomic: Kernel,
    non_atomic: Kernel,
    fixed: Kernel,
}

/// What calls leave behind for the next.
#[derive(Default)]
struct State {
    fixed_point: FixedPoint,
    /// Forward, atomic, non-atomic, fixed.
    paces: [Pace; 4],
}

/// Launches a kernel on `count` threads' bins from `first` on: `launch_bins!(self, backend, kernel, head, first, count,
/// argument, …)` with the arguments between the tables and the range.
macro_rules! launch_bins {
    ($self:expr, $backend:expr, $kernel:expr, $head:expr, $first:expr, $count:expr, $($argument:expr),+) => {{
        let (first, count) = ($first as u64, $count as u64);
        launch!(
            $backend.stream, $kernel, $self.shape($count), &$head, &$self.paths, &$self.lor_paths, &$self.lines,
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
        let in_plane = InPlanePaths::new(&geometry, &grid, &fov, rays[0].max(1));
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
        let kernels = Kernels {
            forward: module.kernel("forward")?,
            atomic: module.kernel("atomic")?,
            non_atomic: module.kernel("non_atomic")?,
            fixed: module.kernel("fixed")?,
        };
        let threads_per_block = kernels.block(threads_per_block)?;
        Ok(Self {
            paths: backend.table(&paths, PathRow::default())?,
            lor_paths: backend.table(&in_plane.first, 0)?,
            lines: backend.table(&lines, LineRow::default())?,
            fov_rows: fov_rows(backend, &grid, &fov)?,
            geometry,
            grid,
            fov,
            head,
            order: BinOrder::default(),
            kernels,
            threads_per_block,
            state: Mutex::default(),
        })
    }

    /// The same projector with its bins in another order.
    pub fn with_order(mut self, order: BinOrder) -> Self {
        self.order = order;
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
            num_views: subset.views(self.geometry.num_views).len() as i32,
            ..self.head
        }
    }

    fn shape(&self, num_bins: usize) -> LaunchConfig {
        let threads = self.threads_per_block;
        LaunchConfig { grid_dim: (blocks(num_bins, threads), 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
    }

    /// Where the bin of each thread of a subset lies in a michelogram, in the order of the threads.
    fn bins(&self, subset: Subset) -> impl IndexedParallelIterator<Item = usize> + '_ {
        let [nt, np] = [self.geometry.num_tangential, self.geometry.num_planes()];
        let nv = subset.views(self.geometry.num_views).len();
        let len = nt * np * nv;
        let order = self.order;
        (0..len).into_par_iter().map(move |i| {
            let i = if order == BinOrder::Random { (i as u64 * SHUFFLE % len as u64) as usize } else { i };
            let (tangential_pos, view, plane) = match order {
                BinOrder::Plane => (i / np % nt, i / np / nt, i % np),
                BinOrder::Radial | BinOrder::Random => (i % nt, i / nt % nv, i / nt / nv),
            };
            ((subset.index + subset.count.max(1) * view) * nt + tangential_pos) * np + plane
        })
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
        pace.run(backend, self.data_len(subset), task, |first, count| {
            launch_bins!(self, backend, kernel, head, first, count, &q.0, &mut image.0)
        })
    }

    /// Zero outside the field of view.
    fn zero_unseen(&self, backend: &CudaBackend, image: &mut CudaArray) -> Result<(), CudaError> {
        let [nx, ny, nz] = self.grid.size.map(|n| n as u32);
        let shape = one_each(self.grid.size[0] * self.grid.size[1]);
        launch!(backend.stream, backend.kernels.zero_unseen, shape, &mut image.0, &self.fov_rows, &nx, &ny, &nz)
    }
}

impl Kernels {
    /// The number of threads asked for, or the one with which most are resident.
    fn block(&self, asked: Option<u32>) -> Result<u32, OperatorError> {
        let tried = asked.map_or(THREADS_PER_BLOCK.to_vec(), |threads| vec![threads]);
        let mut best = (0, 0);
        for threads in tried {
            let kernels = [&self.forward, &self.atomic];
            let blocks = kernels.map(|kernel| kernel.resident_blocks(threads, 0).unwrap_or(0));
            let resident = threads * blocks[0].min(blocks[1]);
            if resident > best.0 {
                best = (resident, threads);
            }
        }
        if best.0 == 0 {
            let text = format!("blocks of {} threads do not fit on the GPU; choose between 32 and 1024", asked.unwrap_or(0));
            return Err(OperatorError::Settings(text));
        }
        Ok(best.1)
    }
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

impl LinearOperator<CudaBackend> for BinDriven {
    fn image_len(&self) -> usize {
        self.grid.num_voxels()
    }

    fn view_len(&self) -> usize {
        self.geometry.num_tangential * self.geometry.num_planes()
    }

    fn num_views(&self) -> usize {
        self.geometry.num_views
    }

    fn arranged(&self, data: &Michelogram, num_subsets: usize) -> Arc<Vec<f32>> {
        let mut arranged = vec![0.0; data.counts.len()];
        for index in 0..num_subsets.max(1) {
            let subset = Subset { index, count: num_subsets.max(1) };
            for (_, range) in self.pieces(subset) {
                let bins = self.bins(subset).map(|bin| data.counts[bin]);
                arranged[range].par_iter_mut().zip(bins).for_each(|(value, found)| *value = found);
            }
        }
        Arc::new(arranged)
    }

    fn in_order(&self, data: Vec<f32>) -> Vec<f32> {
        let places: Vec<usize> = self.bins(Subset::ALL).collect();
        let mut ordered = vec![0.0; data.len()];
        for (value, place) in data.into_iter().zip(places) {
            ordered[place] = value;
        }
        ordered
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
        let head = self.head(subset);
        state.paces[0].run(backend, self.data_len(subset), task, |first, count| {
            launch_bins!(self, backend, self.kernels.forward, head, first, count, &x.0, &mut out.0)
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
        let State { fixed_point, paces: [_, atomic, non_atomic, fixed] } = &mut *state;
        match accumulation {
            Accumulation::Atomic => {
                backend.clear(out)?;
                self.add(backend, &self.kernels.atomic, atomic, subset, q, out, task)?;
            }
            Accumulation::NonAtomic => {
                backend.clear(out)?;
                self.add(backend, &self.kernels.non_atomic, non_atomic, subset, q, out, task)?;
            }
            Accumulation::Deterministic => fixed_point.backproject(
                backend,
                subset,
                q,
                self.data_len(subset),
                out,
                |backend, ones, image| self.add(backend, &self.kernels.atomic, atomic, subset, ones, image, task),
                |backend, image, scale| {
                    let head = self.head(subset);
                    fixed.run(backend, self.data_len(subset), task, |first, count| {
                        launch_bins!(self, backend, self.kernels.fixed, head, first, count, &q.0, &mut *image, &scale)
                    })
                },
            )?,
        }
        Ok(self.zero_unseen(backend, out)?)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn image_from_volume(&self, volume: &Volume) -> Vec<f32> {
        let mut image = volume.as_slice().to_vec();
        let [nx, ny, _] = self.grid.size;
        for (row, values) in image.chunks_mut(nx).enumerate() {
            let inside = self.fov.row(row % ny);
            values[..inside.start].fill(0.0);
            values[inside.end..].fill(0.0);
        }
        image
    }

    fn volume_from_image(&self, image: &[f32], volume: &mut Volume) {
        volume.as_mut_slice().copy_from_slice(image);
    }

    fn image_index(&self, voxel: usize) -> usize {
        voxel
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        match accumulation {
            Accumulation::Deterministic => 8 * self.image_len() as u64 + 4 * self.data_len(subset) as u64,
            Accumulation::Atomic | Accumulation::NonAtomic => 0,
        }
    }
}
