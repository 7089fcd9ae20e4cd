//! Backprojection in two stages of two dimensions, for directions that share azimuths (the "CM" program of Qiao et al.
//! 2015; Lauterbur's scheme):
//!
//! ```text
//! n = (sin θ cos φ, sin θ sin φ, cos θ),   s = x cos φ + y sin φ,   x·n = s sin θ + z cos θ
//! g_φ(s, z) = Σ_θ q_θφ(s sin θ + z cos θ)           for each azimuth φ
//! f(x, y, z) = Σ_φ g_φ(x cos φ + y sin φ, z)        for each slice z
//! ```
//!
//! Voxels are visited once for each azimuth instead of once for each projection: for Q projections of equal linear angle
//! O(Q N² + √Q N³). Any directions are right; only those that share azimuths are fast.
//!
//! The price is that g is interpolated once more, between samples in s that lie 1/n of a projection's apart. A projection that is
//! read linearly has a bend κ = q_{i−1} − 2q_i + q_{i+1} at each sample; straight lines between points h apart miss it at any
//! position between them by κ²h³/90 in the mean square integral. Bends of many projections add up like independent numbers, and
//! so, at the least, do the projections of an object, so that
//!
//! ```text
//! ‖difference to one stage‖ / ‖f‖ ≤ R n^(−3/2),   R² = Σ κ² sin³θ / 90 ∫q²
//! ```
//!
//! where θ = 90° does not count, because there the samples of g lie on the bends. n is the smallest for which that is below a
//! hundredth: 3 to 5 for calm filters, 9 for the parabola on a ball's edge (measurements confirm the power of n, with a factor of
//! 0.2 R to R). Splines, which have no bends, come out closer. Projections that are read by the nearest sample have jumps
//! instead, which no n makes up for: the second stage draws straight lines between the samples of g.
//!
//! g is `[s][z]` for some layers at a time: their voxels of a column read the same two rows of g with the same two weights,
//! contiguous in memory, so that nothing is looked up or permuted voxel by voxel. Sums of neighbouring columns are turned
//! into rows in the first cache, and added to the image as such.

use std::f64::consts::PI;

use rayon::prelude::*;

use super::table::Tables;
use super::tile::{Address, Addresses, SIDE, Tile};
use super::{FilteredProjections, PlaneBackprojector, PlaneSampling, check_image};
use crate::algebra::{Host, HostArray, Image, Simd};
use crate::data::Direction;
use crate::geometry::Grid;
use crate::operator::{OperatorError, OperatorLimit};
use crate::task::{Stopped, Task};

/// Largest difference between two stages and one that bends may cause, as part of the image. With the jumps at the ends of
/// projections it is a hundredth.
const TOLERANCE: f64 = 0.009;
/// Samples of g for one of a projection, at most: beyond, one stage would be as fast.
const FINEST: f64 = 12.0;
/// Azimuths closer than this are one, radians.
const SAME_AZIMUTH: f64 = 1e-6;
/// Voxels of a column that are summed in registers at once, at most.
const CHUNK: usize = 64;
/// Columns that are done before their voxels are added to the image: whole cache lines of it.
const WIDTH: usize = 64;
/// Rows of columns that are done one after the other: they read neighbouring samples of g.
const BLOCK: usize = 16;
/// Side of the squares in which columns are turned into rows; chunks are padded to whole ones.
const SQUARE: usize = SIDE;

/// Adds projections to a volume by way of one plane image for each azimuth.
pub struct MultiStage {
    grid: Grid,
    simd: Simd,
    /// g, `[chunk][azimuth][s][z]`; reused from call to call.
    planes: Vec<f32>,
}

/// Projections of one azimuth.
struct Azimuth {
    /// 0 … π.
    phi: f64,
    /// Row of the tables, sin θ along the azimuth's direction (it may be negative) and cos θ.
    members: Vec<(usize, f64, f64)>,
}

/// Layers of the volume that are done together.
#[derive(Clone, Copy)]
struct Layers {
    first: usize,
    /// Their number, padded to whole squares.
    len: usize,
}

/// The samples of g along s.
struct Steps {
    first_mm: f64,
    step_mm: f64,
    num_points: usize,
}

/// Result of a first stage: the g of an azimuth for some layers.
struct OneAzimuth<'a> {
    azimuth: &'a Azimuth,
    layers: Layers,
    plane: &'a mut [f32],
}

/// Some layers of the volume with their part of each g.
struct Chunk<'a> {
    layers: Layers,
    azimuths: Vec<Columns<'a>>,
}

/// Where columns lie in a part of g, `[s][z]`: column (x, y) at origin + step·(x, y), in samples along s.
struct Columns<'a> {
    plane: &'a [f32],
    origin: f64,
    step: [f64; 2],
}

/// Sums of neighbouring columns, `[x][z]`.
type Block = [[f32; CHUNK]; WIDTH];

impl MultiStage {
    /// For images of this grid.
    pub fn new(grid: Grid) -> Self {
        Self { grid, simd: Simd::detect(), planes: Vec::new() }
    }

    /// Returns the number of azimuths of directions; n and −n have the same. The time of the second stage is proportional to it.
    pub fn num_azimuths(directions: &[Direction]) -> usize {
        azimuths(directions).len()
    }

    /// Returns the layers by chunks.
    fn layers(&self) -> Vec<Layers> {
        let nz = self.grid.size[2];
        let chunk = |first: usize| Layers { first, len: (nz - first).min(CHUNK).next_multiple_of(SQUARE) };
        (0..nz).step_by(CHUNK).map(chunk).collect()
    }

    /// Returns the samples that reach every voxel of a slice, `num` for one of a projection. Among them are the projection's own.
    fn stage(&self, sampling: &PlaneSampling, num: f64) -> Steps {
        let step_mm = sampling.step_mm / num;
        let reach = |a: usize| {
            let [low, high] = self.grid.extent_mm(a);
            low.abs().max(high.abs())
        };
        let half = (reach(0).hypot(reach(1)) / step_mm).ceil() + 1.0;
        let first_mm = -half * step_mm - sampling.centre.rem_euclid(1.0) * sampling.step_mm;
        Steps { first_mm, step_mm, num_points: ((2.0 * half + num) as usize).saturating_add(1) }
    }

    /// Returns the parts of g, chunk by chunk and azimuth by azimuth.
    fn parts<'a>(
        &self,
        planes: &'a mut Vec<f32>,
        azimuths: &'a [Azimuth],
        stage: &Steps,
    ) -> Result<Vec<OneAzimuth<'a>>, OperatorError> {
        let chunks = self.layers();
        let num_layers: usize = chunks.iter().map(|layers| layers.len).sum();
        let total = azimuths.len().saturating_mul(stage.num_points).saturating_mul(num_layers);
        planes.try_reserve_exact(total.saturating_sub(planes.len())).map_err(|_| {
            let (num_azimuths, num_points) = (azimuths.len(), stage.num_points);
            OperatorLimit::StageMemory { num_azimuths, num_points, num_layers }
        })?;
        planes.resize(total, 0.0);
        let mut rest = planes.as_mut_slice();
        let mut parts = Vec::new();
        for layers in chunks {
            for azimuth in azimuths {
                let (plane, others) = rest.split_at_mut(stage.num_points * layers.len);
                parts.push(OneAzimuth { azimuth, layers, plane });
                rest = others;
            }
        }
        Ok(parts)
    }

    /// Returns the rows of an image by blocks of [`BLOCK`] y, `[z][y]` in each.
    fn rows_by_blocks<'a>(&self, image: &'a mut [f32]) -> Vec<Vec<&'a mut [f32]>> {
        let [nx, ny, nz] = self.grid.size;
        let mut blocks: Vec<Vec<&mut [f32]>> = (0..ny.div_ceil(BLOCK)).map(|_| Vec::with_capacity(BLOCK * nz)).collect();
        let rows = image.chunks_exact_mut(nx).enumerate();
        rows.for_each(|(row, voxels)| blocks[row % ny / BLOCK].push(voxels));
        blocks
    }

    /// g of one azimuth for the layers of a chunk.
    fn first_stage(&self, part: &mut OneAzimuth<'_>, stage: &Steps, sampling: &PlaneSampling, tables: &Tables) {
        let Layers { first, len } = part.layers;
        let dz = self.grid.voxel_mm[2];
        let z0 = self.grid.origin_mm[2] + first as f64 * dz;
        let line = |&(row, sin, cos): &(usize, f64, f64)| Address {
            row,
            origin: sampling.centre + (stage.first_mm * sin + z0 * cos) / sampling.step_mm,
            step: [dz * cos / sampling.step_mm, stage.step_mm * sin / sampling.step_mm, 0.0],
        };
        let lines = Addresses::new(self.simd, part.azimuth.members.iter().map(line));
        // Chunks and tiles are as long: none is cut.
        for (j, strip) in part.plane.chunks_mut(SIDE * len).enumerate() {
            for u in (0..len).step_by(SIDE) {
                let mut tile: Tile = [[0.0; SIDE]; SIDE];
                lines.add(tables, [u as f64, (j * SIDE) as f64, 0.0], &mut tile);
                for (samples, sums) in strip.chunks_exact_mut(len).zip(&tile) {
                    samples[u..u + SIDE].copy_from_slice(sums);
                }
            }
        }
    }

    /// Where columns read it.
    fn columns<'a>(&self, part: &'a OneAzimuth<'_>, stage: &Steps) -> Columns<'a> {
        let (sin, cos) = part.azimuth.phi.sin_cos();
        let ([x0, y0, _], [dx, dy, _]) = (self.grid.origin_mm, self.grid.voxel_mm);
        let samples = |mm: f64| mm / stage.step_mm;
        let plane = &*part.plane;
        Columns { plane, origin: samples(x0 * cos + y0 * sin - stage.first_mm), step: [samples(dx * cos), samples(dy * sin)] }
    }

    /// Adds all azimuths to rows `first_y` … of all layers, `[z][y]`, `num_y` of each layer.
    #[inline(always)]
    fn second_stage<const FUSED: bool>(&self, chunks: &[Chunk<'_>], rows: &mut [&mut [f32]], [first_y, num_y]: [usize; 2]) {
        let nx = self.grid.size[0];
        let mut block: Block = [[0.0; CHUNK]; WIDTH];
        for chunk in chunks {
            for first_x in (0..nx).step_by(WIDTH) {
                let num_x = WIDTH.min(nx - first_x);
                for y in 0..num_y {
                    for (x, column) in block.iter_mut().enumerate().take(num_x) {
                        sum_column::<FUSED>(chunk, [(first_x + x) as f64, (first_y + y) as f64], column);
                    }
                    turn(&mut block);
                    let layers = rows.chunks_exact_mut(num_y).skip(chunk.layers.first);
                    for (layer, sums) in layers.zip(&block).take(chunk.layers.len) {
                        let voxels = &mut layer[y][first_x..first_x + num_x];
                        for (voxel, sum) in voxels.iter_mut().zip(sums) {
                            *voxel += sum;
                        }
                    }
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn second_stage_avx512(&self, chunks: &[Chunk<'_>], rows: &mut [&mut [f32]], y: [usize; 2]) {
        self.second_stage::<true>(chunks, rows, y);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn second_stage_avx2(&self, chunks: &[Chunk<'_>], rows: &mut [&mut [f32]], y: [usize; 2]) {
        self.second_stage::<true>(chunks, rows, y);
    }

    /// [`MultiStage::second_stage`] with the processor's instructions.
    #[allow(unsafe_code)]
    fn add_azimuths(&self, chunks: &[Chunk<'_>], rows: &mut [&mut [f32]], y: [usize; 2]) {
        match self.simd {
            // SAFETY: `simd` is what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { self.second_stage_avx512(chunks, rows, y) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.second_stage_avx2(chunks, rows, y) },
            _ => self.second_stage::<false>(chunks, rows, y),
        }
    }
}

/// Sum of the g of all azimuths over a chunk of the column (x, y).
#[inline(always)]
fn sum_column<const FUSED: bool>(chunk: &Chunk<'_>, at: [f64; 2], voxels: &mut [f32; CHUNK]) {
    match chunk.layers.len {
        16 => sum_voxels::<FUSED, 16>(&chunk.azimuths, at, voxels),
        32 => sum_voxels::<FUSED, 32>(&chunk.azimuths, at, voxels),
        48 => sum_voxels::<FUSED, 48>(&chunk.azimuths, at, voxels),
        _ => sum_voxels::<FUSED, CHUNK>(&chunk.azimuths, at, voxels),
    }
}

/// [`sum_column`] of a length that is known, so that the sums stay in registers.
#[inline(always)]
fn sum_voxels<const FUSED: bool, const LEN: usize>(azimuths: &[Columns<'_>], [x, y]: [f64; 2], voxels: &mut [f32; CHUNK]) {
    let mut sums = [0.0f32; LEN];
    for azimuth in azimuths {
        let position = azimuth.origin + azimuth.step[0] * x + azimuth.step[1] * y;
        // Every voxel lies between two samples; positions are not negative, so that the conversion rounds down.
        let below = position as usize;
        let share = (position - below as f64) as f32;
        let (first, second) = azimuth.plane[below * LEN..(below + 2) * LEN].split_at(LEN);
        for ((sum, first), second) in sums.iter_mut().zip(first).zip(second) {
            *sum = if FUSED {
                share.mul_add(*second, (1.0 - share).mul_add(*first, *sum))
            } else {
                *sum + (1.0 - share) * first + share * second
            };
        }
    }
    voxels[..LEN].copy_from_slice(&sums);
}

/// `[x][z]` becomes `[z][x]`, in place: squares change places with those across the diagonal.
#[inline(always)]
fn turn(block: &mut Block) {
    for a in (0..WIDTH).step_by(SQUARE) {
        for b in (a..WIDTH).step_by(SQUARE) {
            let (one, other) = (turned(block, [a, b]), turned(block, [b, a]));
            for i in 0..SQUARE {
                block[b + i][a..a + SQUARE].copy_from_slice(&one[i]);
                block[a + i][b..b + SQUARE].copy_from_slice(&other[i]);
            }
        }
    }
}

/// Returns the square at row `a` and column `b`, its rows turned into columns: halves change places, then their halves, and so
/// on, which takes registers and no single values.
#[inline(always)]
fn turned(block: &Block, [a, b]: [usize; 2]) -> [[f32; SQUARE]; SQUARE] {
    let mut square = [[0.0; SQUARE]; SQUARE];
    for (row, from) in square.iter_mut().zip(&block[a..]) {
        row.copy_from_slice(&from[b..b + SQUARE]);
    }
    exchange::<8>(&mut square);
    exchange::<4>(&mut square);
    exchange::<2>(&mut square);
    exchange::<1>(&mut square);
    square
}

/// In every square of 2·STEP rows, the upper right quarter changes places with the lower left one.
#[inline(always)]
fn exchange<const STEP: usize>(square: &mut [[f32; SQUARE]; SQUARE]) {
    for i in 0..SQUARE {
        if i & STEP == 0 {
            let (upper, lower) = (square[i], square[i + STEP]);
            for j in 0..SQUARE {
                if j & STEP == 0 {
                    square[i][j + STEP] = lower[j];
                    square[i + STEP][j] = upper[j + STEP];
                }
            }
        }
    }
}

/// Returns the number of samples of g for one of a projection that bring two stages to [`TOLERANCE`] of one.
fn samples_of_stage(projections: &FilteredProjections) -> f64 {
    let (mut bends, mut energy) = (0.0, 0.0);
    for (&[x, y, _], values) in projections.iter() {
        let sin = x.hypot(y);
        // Across z, the bends are at samples of g: nothing is missed.
        if (1.0 - sin).abs() > SAME_AZIMUTH {
            bends += values.windows(3).map(|v| (v[0] - 2.0 * v[1] + v[2]).powi(2)).sum::<f64>() * sin.powi(3) / 90.0;
        }
        // Energy of the straight lines between the samples.
        energy += values.windows(2).map(|v| (v[0] * v[0] + v[0] * v[1] + v[1] * v[1]) / 3.0).sum::<f64>();
    }
    if energy > 0.0 { ((bends / energy).sqrt() / TOLERANCE).powf(2.0 / 3.0).ceil().clamp(1.0, FINEST) } else { 1.0 }
}

/// Projections by azimuth, in ascending order.
fn azimuths(directions: &[Direction]) -> Vec<Azimuth> {
    let polar = |(row, &[x, y, z]): (usize, &Direction)| {
        // Along −s the sine turns its sign: φ in 0 … π is enough. (A pole has no azimuth; 0 is as good as any.)
        let phi = y.atan2(x);
        let sin = x.hypot(y);
        if sin <= SAME_AZIMUTH {
            (0.0, (row, 0.0, z))
        } else if phi < -SAME_AZIMUTH {
            (phi + PI, (row, -sin, z))
        } else if phi > PI - SAME_AZIMUTH {
            (phi - PI, (row, -sin, z))
        } else {
            (phi, (row, sin, z))
        }
    };
    let mut all: Vec<_> = directions.iter().enumerate().map(polar).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.0.cmp(&b.1.0)));
    let mut azimuths: Vec<Azimuth> = Vec::new();
    for (phi, member) in all {
        match azimuths.last_mut() {
            Some(last) if phi - last.phi <= SAME_AZIMUTH => last.members.push(member),
            _ => azimuths.push(Azimuth { phi, members: vec![member] }),
        }
    }
    azimuths
}

impl PlaneBackprojector<Host> for MultiStage {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn add(
        &mut self,
        _: &mut Host,
        projections: &FilteredProjections,
        image: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_image(&self.grid, image)?;
        let stage = self.stage(&projections.sampling, samples_of_stage(projections));
        let tables = Tables::new(projections);
        let azimuths = azimuths(&projections.directions);
        let mut planes = std::mem::take(&mut self.planes);
        let mut parts = self.parts(&mut planes, &azimuths, &stage)?;
        // Each stage is half of the progress.
        let (num_parts, num_blocks) = (parts.len() as u64, self.grid.size[1].div_ceil(BLOCK) as u64);
        task.begin(2 * num_parts * num_blocks);
        parts.par_iter_mut().try_for_each(|part| {
            task.check()?;
            self.first_stage(part, &stage, &projections.sampling, &tables);
            task.advance(num_blocks);
            Ok::<_, Stopped>(())
        })?;
        let chunks = parts.chunks(azimuths.len().max(1)).map(|parts| Chunk {
            layers: parts[0].layers,
            azimuths: parts.iter().map(|part| self.columns(part, &stage)).collect(),
        });
        let chunks: Vec<Chunk<'_>> = chunks.collect();
        let nz = self.grid.size[2];
        let image = image.values_mut();
        self.rows_by_blocks(image).par_iter_mut().enumerate().try_for_each(|(j, rows)| {
            task.check()?;
            let num_y = rows.len() / nz;
            self.add_azimuths(&chunks, rows, [j * BLOCK, num_y]);
            task.advance(num_parts);
            Ok::<_, Stopped>(())
        })?;
        self.planes = planes;
        Ok(())
    }

    fn scratch_bytes(&self, num_projections: usize, sampling: &PlaneSampling) -> u64 {
        let num_azimuths = (num_projections as f64).sqrt().ceil() as usize;
        let num_layers = self.grid.size[2].next_multiple_of(SQUARE);
        let planes = self.stage(sampling, FINEST).num_points.saturating_mul(4 * num_azimuths * num_layers);
        planes.saturating_add(num_projections * 24 * sampling.num_points) as u64
    }

    fn name(&self) -> &'static str {
        "multi-stage"
    }
}
