//! The definition, and the "CS" program of Qiao et al. 2015: one thread, double precision, for each voxel a loop over the
//! projections with the pseudo-code's operations in its order (section 2; K.9–K.18 of the kernel).

use super::{FilteredProjections, HALF_WAY, Interpolation, PlaneBackprojector, PlaneSampling, is_inside};
use crate::algebra::{Host, HostArray, Image};
use crate::data::Direction;
use crate::geometry::Grid;
use crate::operator::OperatorError;
use crate::task::Task;

/// out += Σ_i q_i(x·n_i) over the voxels of `grid`, `[z, y, x]`.
///
/// # Errors
/// Stopped (the planes done so far have been added), wrong length.
pub fn backproject(grid: &Grid, projections: &FilteredProjections, out: &mut [f64], task: &Task) -> Result<(), OperatorError> {
    let (expected, found) = (grid.num_voxels(), out.len());
    if found != expected {
        return Err(OperatorError::Length { what: "the image", expected, found });
    }
    match projections.interpolation {
        Interpolation::Nearest => backproject_with(nearest, grid, projections, out, task),
        Interpolation::Linear => backproject_with(linear, grid, projections, out, task),
        Interpolation::Cubic => backproject_with(cubic, grid, projections, out, task),
    }
}

fn backproject_with(
    read: impl Fn(&[f64], f64) -> f64,
    grid: &Grid,
    projections: &FilteredProjections,
    out: &mut [f64],
    task: &Task,
) -> Result<(), OperatorError> {
    let PlaneSampling { step_mm, centre, .. } = projections.sampling;
    let [nx, ny, _] = grid.size;
    for (k, plane) in out.chunks_exact_mut(nx * ny).enumerate() {
        task.check()?;
        for (n, row) in plane.chunks_exact_mut(nx).enumerate() {
            for (m, voxel) in row.iter_mut().enumerate() {
                let position = grid.mm_from_voxel([m as f64, n as f64, k as f64]);
                for (direction, values) in projections.iter() {
                    *voxel += read(values, address(position, direction) / step_mm + centre);
                }
            }
        }
    }
    Ok(())
}

/// t = x·n, mm.
fn address([x, y, z]: [f64; 3], [gx, gy, gz]: &Direction) -> f64 {
    x * gx + y * gy + z * gz
}

/// Returns the sample nearest to `t0` (in samples).
fn nearest(row: &[f64], t0: f64) -> f64 {
    let last = row.len() as f64 - 1.0;
    if is_inside(t0, last) { row[(t0 + HALF_WAY).floor().clamp(0.0, last) as usize] } else { 0.0 }
}

/// Between the two samples about `t0`.
fn linear(row: &[f64], t0: f64) -> f64 {
    let last = row.len() as f64 - 1.0;
    if is_inside(t0, last) {
        let t0 = t0.clamp(0.0, last);
        let t1 = t0.floor();
        let t2 = t0.ceil();
        let value1 = row[t1 as usize];
        let value2 = row[t2 as usize];
        value1 + (value2 - value1) * (t0 - t1)
    } else {
        0.0
    }
}

/// Returns the spline whose coefficients the row holds.
fn cubic(row: &[f64], t0: f64) -> f64 {
    let last = row.len() as f64 - 1.0;
    if is_inside(t0, last) {
        let t0 = t0.clamp(0.0, last);
        // From the last sample to the one before.
        let t1 = t0.floor().min(last - 1.0).max(0.0);
        let [c0, c1, c2, c3] = polynomial(row, t1 as usize);
        let u = t0 - t1;
        c0 + u * (c1 + u * (c2 + u * c3))
    } else {
        0.0
    }
}

/// Returns the spline between samples i and i + 1 as a polynomial in the distance from i. Without curvature at the ends, the
/// coefficient beyond an end continues the straight line of the last two. A single sample is a constant.
pub(super) fn polynomial(row: &[f64], i: usize) -> [f64; 4] {
    if row.len() == 1 {
        return [row[0], 0.0, 0.0, 0.0];
    }
    let before = if i == 0 { 2.0 * row[0] - row[1] } else { row[i - 1] };
    let (here, next) = (row[i], row[i + 1]);
    let after = if i + 2 == row.len() { 2.0 * next - here } else { row[i + 2] };
    [
        (before + 4.0 * here + next) / 6.0,
        (next - before) / 2.0,
        (before - 2.0 * here + next) / 2.0,
        (after - before + 3.0 * (here - next)) / 6.0,
    ]
}

/// [`backproject`] for the host's arrays: sums in double precision, rounded once for each block of projections.
pub struct PlainPlanes {
    grid: Grid,
    sums: Vec<f64>,
}

impl PlainPlanes {
    /// For images of this grid.
    pub fn new(grid: Grid) -> Self {
        Self { grid, sums: Vec::new() }
    }
}

impl PlaneBackprojector<Host> for PlainPlanes {
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
        self.sums.clear();
        self.sums.extend(image.iter().map(|&value| f64::from(value)));
        backproject(&self.grid, projections, &mut self.sums, task)?;
        for (value, sum) in image.values_mut().iter_mut().zip(&self.sums) {
            *value = *sum as f32;
        }
        Ok(())
    }

    fn scratch_bytes(&self, _: usize, _: &PlaneSampling) -> u64 {
        8 * self.grid.num_voxels() as u64
    }

    fn name(&self) -> &'static str {
        "single-stage, one thread, double precision"
    }
}
