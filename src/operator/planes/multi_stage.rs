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
//! O(Q N² + √Q N³). The price is that g is interpolated once more, between samples in s. Any directions are right; only
//! those that share azimuths are fast.
//!
//! Images are `[y][x][z]`, z padded to whole chunks, and g is `[s][z]`: all z of a column read the same two rows of g with the
//! same two weights, contiguous in memory, so that nothing is looked up or permuted voxel by voxel.

use std::f64::consts::PI;
use std::sync::Arc;

use rayon::prelude::*;

use super::single_stage::add_to_strip;
use super::table::Tables;
use super::tile::{Line, Lines, SIDE};
use super::{FilteredProjections, PlaneBackprojector, PlaneSampling};
use crate::data::{Direction, Volume};
use crate::geometry::Grid;
use crate::operator::{Host, OperatorError, Simd};
use crate::task::{Stopped, Task};

/// Distance of the samples of g in s, in those of the projections. Finer is closer to a single stage, and slower; one over a
/// whole number, so that where the directions lie across z, and weigh most, the samples fall on theirs.
const STEP_OF_STAGE: f64 = 1.0 / 3.0;
/// Azimuths closer than this are one, radians.
const SAME_AZIMUTH: f64 = 1e-6;
/// Values of a column that are summed in registers at once; columns are padded to whole chunks.
const CHUNK: usize = 64;
/// Columns along x and y that are done one after the other: they read neighbouring rows of g.
const BLOCK: usize = 16;

/// Adds projections to a volume by way of one plane image for each azimuth.
pub struct MultiStage {
    grid: Grid,
    simd: Simd,
    /// g, `[azimuth][s][z]`; kept from call to call.
    planes: Vec<f32>,
}

/// Projections of one azimuth.
struct Azimuth {
    /// 0 … π.
    phi: f64,
    /// Row of the tables, sin θ along the azimuth's direction (it may be negative) and cos θ.
    members: Vec<(usize, f64, f64)>,
}

/// The samples of g along s.
struct Stage {
    first_mm: f64,
    step_mm: f64,
    num_points: usize,
}

/// Where the columns of a slice lie in the g of an azimuth: column (x, y) at origin + step·(x, y), in rows.
struct Columns<'a> {
    plane: &'a [f32],
    origin: f64,
    step: [f64; 2],
}

impl MultiStage {
    /// For images of this grid.
    pub fn new(grid: Grid) -> Self {
        Self { grid, simd: Simd::detect(), planes: Vec::new() }
    }

    /// How many azimuths directions have, n and −n having one: what the time of the second stage is proportional to.
    pub fn num_azimuths(directions: &[Direction]) -> usize {
        azimuths(directions).len()
    }

    /// Values of a column, with what pads it.
    fn column_len(&self) -> usize {
        self.grid.size[2].next_multiple_of(CHUNK)
    }

    /// Samples that reach every voxel of a slice.
    fn stage(&self, sampling: &PlaneSampling) -> Stage {
        let step_mm = STEP_OF_STAGE * sampling.step_mm;
        let reach = |a: usize| {
            let [low, high] = self.grid.extent_mm(a);
            low.abs().max(high.abs())
        };
        let half = (reach(0).hypot(reach(1)) / step_mm).ceil() + 1.0;
        Stage { first_mm: -half * step_mm, step_mm, num_points: 2 * half as usize + 1 }
    }

    /// g of one azimuth.
    fn first_stage(&self, azimuth: &Azimuth, stage: &Stage, sampling: &PlaneSampling, tables: &Tables, plane: &mut [f32]) {
        let (dz, z0) = (self.grid.voxel_mm[2], self.grid.origin_mm[2]);
        let line = |&(row, sin, cos): &(usize, f64, f64)| Line {
            row,
            origin: sampling.centre + (stage.first_mm * sin + z0 * cos) / sampling.step_mm,
            step: [dz * cos / sampling.step_mm, stage.step_mm * sin / sampling.step_mm, 0.0],
        };
        let lines = Lines::new(self.simd, azimuth.members.iter().map(line));
        plane.fill(0.0);
        for (j, strip) in plane.chunks_mut(SIDE * self.column_len()).enumerate() {
            add_to_strip(&lines, tables, strip, self.column_len(), [j * SIDE, 0]);
        }
    }

    fn columns<'a>(&self, azimuth: &Azimuth, stage: &Stage, plane: &'a [f32]) -> Columns<'a> {
        let (sin, cos) = azimuth.phi.sin_cos();
        let ([x0, y0, _], [dx, dy, _]) = (self.grid.origin_mm, self.grid.voxel_mm);
        let rows = |mm: f64| mm / stage.step_mm;
        Columns { plane, origin: rows(x0 * cos + y0 * sin - stage.first_mm), step: [rows(dx * cos), rows(dy * sin)] }
    }

    /// Adds all azimuths to up to [`BLOCK`] rows of columns, the first of which is row `y`.
    #[inline(always)]
    fn second_stage<const FUSED: bool>(&self, azimuths: &[Columns<'_>], rows: &mut [f32], y: usize) {
        let (nx, column_len) = (self.grid.size[0], self.column_len());
        for x_block in (0..nx).step_by(BLOCK) {
            for z in (0..column_len).step_by(CHUNK) {
                for (row, y) in rows.chunks_exact_mut(nx * column_len).zip(y..) {
                    for x in x_block..(x_block + BLOCK).min(nx) {
                        let voxels = &mut row[x * column_len + z..][..CHUNK];
                        add_to_column::<FUSED>(azimuths, [x as f64, y as f64], [column_len, z], voxels);
                    }
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn second_stage_avx512(&self, azimuths: &[Columns<'_>], rows: &mut [f32], y: usize) {
        self.second_stage::<true>(azimuths, rows, y);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn second_stage_avx2(&self, azimuths: &[Columns<'_>], rows: &mut [f32], y: usize) {
        self.second_stage::<true>(azimuths, rows, y);
    }

    /// [`MultiStage::second_stage`] with the processor's instructions.
    #[allow(unsafe_code)]
    fn add_azimuths(&self, azimuths: &[Columns<'_>], rows: &mut [f32], y: usize) {
        match self.simd {
            // SAFETY: `simd` is what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { self.second_stage_avx512(azimuths, rows, y) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { self.second_stage_avx2(azimuths, rows, y) },
            _ => self.second_stage::<false>(azimuths, rows, y),
        }
    }
}

/// Adds the g of all azimuths to a chunk of the column (x, y); it begins at `z` of the rows of g.
#[inline(always)]
fn add_to_column<const FUSED: bool>(azimuths: &[Columns<'_>], [x, y]: [f64; 2], [row_len, z]: [usize; 2], voxels: &mut [f32]) {
    let mut sums = [0.0f32; CHUNK];
    sums.copy_from_slice(voxels);
    for azimuth in azimuths {
        let position = azimuth.origin + azimuth.step[0] * x + azimuth.step[1] * y;
        // Every voxel lies between two rows; positions are not negative, so that the conversion rounds down.
        let below = position as usize;
        let share = (position - below as f64) as f32;
        let at = below * row_len + z;
        let (first, second) = (&azimuth.plane[at..at + CHUNK], &azimuth.plane[at + row_len..at + row_len + CHUNK]);
        for ((sum, first), second) in sums.iter_mut().zip(first).zip(second) {
            *sum = if FUSED {
                share.mul_add(*second, (1.0 - share).mul_add(*first, *sum))
            } else {
                *sum + (1.0 - share) * first + share * second
            };
        }
    }
    voxels.copy_from_slice(&sums);
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

    fn image_len(&self) -> usize {
        self.grid.size[0] * self.grid.size[1] * self.column_len()
    }

    fn add(
        &mut self,
        _: &mut Host,
        projections: &FilteredProjections,
        image: &mut Arc<Vec<f32>>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let (expected, found) = (self.image_len(), image.len());
        if found != expected {
            return Err(OperatorError::Length { what: "the image", expected, found });
        }
        let stage = self.stage(&projections.sampling);
        let tables = Tables::new(projections);
        let azimuths = azimuths(&projections.directions);
        let plane_len = stage.num_points * self.column_len();
        let mut planes = std::mem::take(&mut self.planes);
        planes.resize(azimuths.len() * plane_len, 0.0);
        planes.par_chunks_mut(plane_len).zip(&azimuths).try_for_each(|(plane, azimuth)| {
            task.check()?;
            self.first_stage(azimuth, &stage, &projections.sampling, &tables, plane);
            Ok::<_, Stopped>(())
        })?;
        let columns = planes.chunks_exact(plane_len).zip(&azimuths);
        let columns: Vec<Columns<'_>> = columns.map(|(plane, azimuth)| self.columns(azimuth, &stage, plane)).collect();
        let rows_len = BLOCK * self.grid.size[0] * self.column_len();
        Arc::make_mut(image).par_chunks_mut(rows_len).enumerate().try_for_each(|(j, rows)| {
            task.check()?;
            self.add_azimuths(&columns, rows, j * BLOCK);
            Ok::<_, Stopped>(())
        })?;
        self.planes = planes;
        Ok(())
    }

    fn volume_from_image(&self, image: &[f32], volume: &mut Volume) {
        let ([nx, ny, _], column_len) = (self.grid.size, self.column_len());
        volume.as_mut_slice().par_chunks_mut(BLOCK * nx * ny).enumerate().for_each(|(block, planes)| {
            for (y, columns) in image.chunks_exact(nx * column_len).enumerate() {
                for x_block in (0..nx).step_by(BLOCK) {
                    let end = (x_block + BLOCK).min(nx);
                    for (plane, z) in planes.chunks_exact_mut(nx * ny).zip(block * BLOCK..) {
                        let row = &mut plane[y * nx + x_block..y * nx + end];
                        row.iter_mut().zip(x_block..).for_each(|(voxel, x)| *voxel = columns[x * column_len + z]);
                    }
                }
            }
        });
    }

    fn image_index(&self, voxel: usize) -> usize {
        let [nx, ny, _] = self.grid.size;
        voxel % (nx * ny) * self.column_len() + voxel / (nx * ny)
    }

    fn scratch_bytes(&self, num_projections: usize, sampling: &PlaneSampling) -> u64 {
        let num_azimuths = (num_projections as f64).sqrt().ceil() as usize;
        let planes = 4 * num_azimuths * self.stage(sampling).num_points * self.column_len();
        (num_projections * 24 * sampling.num_points + planes) as u64
    }

    fn name(&self) -> &'static str {
        "multi-stage"
    }
}
