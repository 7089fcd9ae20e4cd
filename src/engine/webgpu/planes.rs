//! Backprojection of planes (`shaders/compute/planes`; the definition is in [`crate::operator`], planes).
//!
//! A voxel and projection cost one read of shared memory, and for linear interpolation a multiply-add for t, an addition that
//! rounds it, a mask, a multiply-add and an addition. The window of a tile on a projection (about 40 samples) and the 64-bit
//! arithmetic of its place are shared by the 1024 to 4096 voxels of the tile.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};

use super::array::{Segment, WebGpuArray};
use super::backend::WebGpuBackend;
use super::device::opened::Gpu;
use super::device::pacing::Pace;
use super::error::WebGpuError;
use super::kernel::Kernel;
use crate::algebra::Image;
use crate::data::Direction;
use crate::geometry::Grid;
use crate::operator::{
    FilteredProjections, Interpolation, OperatorError, OperatorLimit, PLANE_HALF_WAY, PLANE_ROUNDING, PlaneBackprojector,
    PlaneSampling,
};
use crate::task::Task;

/// Voxels of a tile along x and y, as in the kernels.
const TILE: [usize; 2] = [32, 8];
/// Quads of voxels along z that a thread may have. Deep tiles share more of what each needs.
const QUADS: [usize; 3] = [4, 2, 1];
/// Tiles that keep every GPU busy.
const MIN_TILES: usize = 256;
/// Most projections whose windows are brought at a time, as in the kernels, and the bytes of a `Place` there.
const BATCH: usize = 32;
const PLACE_BYTES: usize = 64;
/// Shared memory for windows, unless one alone is longer.
const WINDOW_BYTES: usize = 8 << 10;
/// Samples around those that a tile meets: one before, one behind, and both ends.
const MARGIN: usize = 4;
/// Most projections of a dispatch.
const MAX_PROJECTIONS: usize = 256;
/// Bits behind the point of a position: at least, and at most.
const BITS: [i32; 2] = [32, 52];
/// Bits of a position without its sign and with one to spare for a sum of two.
const POSITION_BITS: i32 = 61;

/// `Parameters` of planes.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Parameters {
    size: [u32; 3],
    num_points: u32,
    tiles: [u32; 2],
    first_tile: u32,
    num_tiles: u32,
    num_projections: u32,
    window: u32,
    batch: u32,
    bits: u32,
    image_first: u32,
    image_len: u32,
    last: [u32; 2],
    rounding: [u32; 2],
    half_way: [u32; 2],
    half_unit: f32,
    padding: [u32; 3],
}

/// `Plane` of planes.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct PlaneRow {
    corner: [u32; 2],
    along: [[u32; 2]; 3],
    slope: [f32; 3],
    padding: u32,
}

/// Where a projection is read, in samples: for voxel (0, 0, 0), and how much farther for the next one along each axis.
struct Position {
    corner: f64,
    along: [f64; 3],
}

impl Position {
    fn new(grid: &Grid, sampling: &PlaneSampling, direction: &Direction) -> Self {
        let along: [f64; 3] = std::array::from_fn(|a| direction[a] * grid.voxel_mm[a] / sampling.step_mm);
        let corner = (0..3).map(|a| direction[a] * grid.origin_mm[a] / sampling.step_mm).sum::<f64>() + sampling.centre;
        Self { corner, along }
    }

    /// Returns the distance of the farthest voxel of a box that begins at voxel (0, 0, 0), in samples, from sample 0.
    fn reach(&self, size: [usize; 3]) -> f64 {
        self.corner.abs() + self.span(size)
    }

    /// Returns the distance between the lowest and the highest position in a box of voxels, in samples.
    fn span(&self, size: [usize; 3]) -> f64 {
        (0..3).map(|a| self.along[a].abs() * size[a].saturating_sub(1) as f64).sum()
    }

    fn row(&self, bits: i32) -> PlaneRow {
        PlaneRow {
            corner: fixed(self.corner, bits),
            along: self.along.map(|step| fixed(step, bits)),
            slope: self.along.map(|step| step as f32),
            padding: 0,
        }
    }
}

/// Returns a position as an integer with `bits` bits behind the point, low word first.
fn fixed(samples: f64, bits: i32) -> [u32; 2] {
    let units = (samples * f64::from(bits).exp2()).round() as i64;
    [units as u32, (units >> 32) as u32]
}

/// Backprojector of planes: single precision, windows of the projections in shared memory, several voxels a thread.
pub struct Planes {
    grid: Grid,
    /// Speeds by interpolation, quads of a thread and number of projections.
    paces: HashMap<(&'static str, usize, usize), Pace>,
}

/// A kernel and its tiles and windows.
struct Program {
    kernel: Kernel,
    quads: usize,
    /// Samples of a window, and windows that are brought at a time.
    window: usize,
    batch: usize,
}

/// Returns the text of the kernel for an interpolation, quads of voxels of a thread, and pieces in shared memory.
pub(super) fn source(interpolation: Interpolation, quads: usize, pieces: usize) -> String {
    let common = include_str!("../../../shaders/compute/planes/planes.wgsl");
    let values = match interpolation {
        Interpolation::Nearest => include_str!("../../../shaders/compute/planes/nearest.wgsl"),
        Interpolation::Linear => include_str!("../../../shaders/compute/planes/linear.wgsl"),
        Interpolation::Cubic => include_str!("../../../shaders/compute/planes/cubic.wgsl"),
    };
    format!("const QUADS: u32 = {quads}u;\nconst PIECES: u32 = {pieces}u;\n{common}\n{values}")
}

impl Planes {
    /// Makes a backprojector into images of a grid.
    pub fn new(grid: Grid) -> Self {
        Self { grid, paces: HashMap::new() }
    }

    /// Tiles along x, y and z.
    fn tiles(&self, quads: usize) -> [usize; 3] {
        let [nx, ny, nz] = self.grid.size;
        [nx.div_ceil(TILE[0]), ny.div_ceil(TILE[1]), nz.div_ceil(4 * quads)]
    }

    /// Returns the kernel for projections at these positions, with the deepest tiles that are enough and fit.
    fn program(&self, gpu: &Gpu, projections: &FilteredProjections, positions: &[Position]) -> Result<Program, OperatorError> {
        let interpolation = projections.interpolation;
        let piece_bytes = match interpolation {
            Interpolation::Nearest => 4,
            Interpolation::Linear => 8,
            Interpolation::Cubic => 16,
        };
        let room = (gpu.limits.max_compute_workgroup_storage_size as usize).saturating_sub(BATCH * PLACE_BYTES) / piece_bytes;
        let window = |quads: usize| {
            let span = |position: &Position| position.span([TILE[0], TILE[1], 4 * quads]);
            positions.iter().map(span).fold(0.0, f64::max).ceil() as usize + MARGIN
        };
        let pieces = |window: usize| window.max(WINDOW_BYTES / piece_bytes).next_power_of_two();
        let is_enough = |quads: usize| self.tiles(quads).iter().product::<usize>() >= MIN_TILES;
        let fitting = || QUADS.into_iter().filter(|&quads| pieces(window(quads)) <= room);
        let Some(quads) = fitting().find(|&quads| is_enough(quads)).or_else(|| fitting().next_back()) else {
            let (voxel_mm, step_mm) = (self.grid.voxel_mm, projections.sampling.step_mm);
            return Err(OperatorLimit::LargeVoxels { voxel_mm, step_mm, window: window(1) }.into());
        };
        let (window, pieces) = (window(quads), pieces(window(quads)));
        let kernel = gpu.kernel("add_planes", &source(interpolation, quads, pieces))?;
        Ok(Program { kernel, quads, window, batch: (pieces / window).clamp(1, BATCH) })
    }

    /// Returns the bits of positions behind the point, so that none overflows and the sums of their rounding are far below
    /// [`PLANE_ROUNDING`]; `None` where there are no such.
    fn bits(&self, positions: &[Position], num_points: usize) -> Option<i32> {
        let [nx, ny, nz] = self.grid.size;
        // Tiles reach beyond the image.
        let size = [nx + TILE[0], ny + TILE[1], nz + 4 * QUADS[0]];
        let reach = positions.iter().map(|position| position.reach(size)).fold(0.0, f64::max) + num_points as f64 + 1.0;
        let bits = (POSITION_BITS - reach.log2().ceil() as i32).min(BITS[1]);
        let num_roundings = size.iter().sum::<usize>() as f64;
        let is_exact = bits >= BITS[0] && num_roundings * f64::from(-bits).exp2() <= PLANE_ROUNDING / 2.0;
        is_exact.then_some(bits)
    }
}

impl PlaneBackprojector<WebGpuBackend> for Planes {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn add(
        &mut self,
        backend: &mut WebGpuBackend,
        projections: &FilteredProjections,
        image: &mut WebGpuArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        image.expect_len(self.grid.num_voxels()).map_err(OperatorError::from)?;
        let sampling = &projections.sampling;
        if projections.is_empty() || sampling.num_points == 0 {
            return Ok(());
        }
        let positions: Vec<Position> =
            projections.directions.iter().map(|direction| Position::new(&self.grid, sampling, direction)).collect();
        let program = self.program(backend.gpu(), projections, &positions)?;
        let Some(bits) = self.bits(&positions, sampling.num_points) else {
            let (voxel_mm, step_mm, window) = (self.grid.voxel_mm, sampling.step_mm, program.window);
            return Err(OperatorLimit::LargeVoxels { voxel_mm, step_mm, window }.into());
        };
        let [tiles_x, tiles_y, _] = self.tiles(program.quads);
        let (plane_len, depth) = (self.grid.size[0] * self.grid.size[1], 4 * program.quads);
        let values = projections.values_f32();
        let fitting = backend.gpu().segment_len / sampling.num_points;
        let block = fitting.clamp(1, MAX_PROJECTIONS);
        for (values, positions) in values.chunks(block * sampling.num_points).zip(positions.chunks(block)) {
            let samples = backend.table(values)?;
            let planes: Vec<PlaneRow> = positions.iter().map(|position| position.row(bits)).collect();
            let planes = backend.table(&planes)?;
            let name = projections.interpolation.name();
            let pace = self.paces.entry((name, program.quads, positions.len())).or_default();
            for Segment { buffer, places } in image.0.all() {
                // The layers of tiles that have voxels in this buffer.
                let layers = places.start / plane_len / depth..(places.end - 1) / plane_len / depth + 1;
                let parameters = Parameters {
                    size: self.grid.size.map(|n| n as u32),
                    num_points: sampling.num_points as u32,
                    tiles: [tiles_x as u32, tiles_y as u32],
                    num_projections: positions.len() as u32,
                    window: program.window as u32,
                    batch: program.batch as u32,
                    bits: bits as u32,
                    image_first: places.start as u32,
                    image_len: places.len() as u32,
                    last: fixed((sampling.num_points - 1) as f64, bits),
                    rounding: fixed(PLANE_ROUNDING, bits),
                    half_way: fixed(PLANE_HALF_WAY, bits),
                    half_unit: f64::from(-bits - 1).exp2() as f32,
                    ..Parameters::default()
                };
                let first_of_layers = layers.start * tiles_x * tiles_y;
                pace.run(&mut backend.commands, layers.len() * tiles_x * tiles_y, task, |commands, first, count| {
                    let first_tile = (first_of_layers + first) as u32;
                    let parameters = Parameters { first_tile, num_tiles: count as u32, ..parameters };
                    commands.dispatch(&program.kernel, count, &parameters, &[buffer, &samples, &planes]);
                    Ok::<(), WebGpuError>(())
                })?;
            }
        }
        Ok(())
    }

    fn scratch_bytes(&self, num_projections: usize, sampling: &PlaneSampling) -> u64 {
        (num_projections * (4 * sampling.num_points + size_of::<PlaneRow>())) as u64
    }

    fn name(&self) -> &'static str {
        "single-stage"
    }
}
