//! Order of voxels: files' axes into those of the world.

use std::path::Path;

use nalgebra::{Matrix3, Vector3};

use crate::data::{Notice, Placement};
use crate::geometry::{Grid, GridError, Point};
use crate::io::bytes::zeroed;
use crate::io::error::IoError;
use crate::io::notice;

/// Largest part of a voxel axis that may point along another world axis.
const OBLIQUE_TOLERANCE: f64 = 1e-4;

/// Orientation of a file's voxel axes in the world.
pub struct Orientation {
    /// World axis of each voxel axis.
    pub world_axis: [usize; 3],
    /// Signed pitch along it, our world, mm.
    pub step_mm: [f64; 3],
    /// Our world position of the file's first voxel, mm.
    pub first_mm: Point,
}

/// Returns the orientation of voxels with these orthogonal unit vectors, distances, sides and first position in our world, and the
/// position of the image if it follows no axes of the world.
pub fn placed(
    axes: [Vector3<f64>; 3],
    steps_mm: [f64; 3],
    sides: [usize; 3],
    first_mm: Point,
) -> (Orientation, Option<Placement>) {
    let world_axis = nearest_axes(&axes);
    let sign = |axis: usize| axes[axis][world_axis[axis]].signum();
    let step_mm: [f64; 3] = std::array::from_fn(|axis| sign(axis) * steps_mm[axis]);
    let stray = (0..3).flat_map(|axis| (0..3).map(move |world| (axis, world))).filter(|&(axis, world)| world != world_axis[axis]);
    if stray.map(|(axis, world)| axes[axis][world].abs()).fold(0.0, f64::max) <= OBLIQUE_TOLERANCE {
        return (Orientation { world_axis, step_mm, first_mm }, None);
    }
    let reach_mm: [f64; 3] = std::array::from_fn(|axis| 0.5 * (sides[axis] as f64 - 1.0) * steps_mm[axis]);
    let middle = (0..3).fold(Vector3::from(first_mm), |middle, axis| middle + axes[axis] * reach_mm[axis]);
    let (mut own_first_mm, mut rotation) = ([0.0; 3], Matrix3::zeros());
    for axis in 0..3 {
        let world = world_axis[axis];
        own_first_mm[world] = middle[world] - sign(axis) * reach_mm[axis];
        rotation.set_column(world, &(axes[axis] * sign(axis)));
    }
    let rotation = std::array::from_fn(|row| std::array::from_fn(|column| rotation[(row, column)]));
    (Orientation { world_axis, step_mm, first_mm: own_first_mm }, Some(Placement { middle_mm: middle.into(), rotation }))
}

/// Returns a different axis of the world for each direction: those that are nearest in sum.
fn nearest_axes(axes: &[Vector3<f64>; 3]) -> [usize; 3] {
    let orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]];
    let nearness = |order: &[usize; 3]| (0..3).map(|axis| axes[axis][order[axis]].abs()).sum::<f64>();
    orders.into_iter().max_by(|a, b| nearness(a).total_cmp(&nearness(b))).unwrap_or([0, 1, 2])
}

/// Returns the notice on an oblique image.
pub fn oblique_notice(path: &Path, placement: &Placement) -> Notice {
    notice::info(path, format!("oblique by {}; shown along the axes of the image", placement.angle_text()))
}

impl Orientation {
    /// Returns our grid of a file's voxels.
    ///
    /// # Errors
    /// Sides or distances that make no grid.
    pub fn grid(&self, sides: [usize; 3]) -> Result<Grid, GridError> {
        let (mut size, mut voxel_mm, mut origin_mm) = ([1; 3], [1.0; 3], self.first_mm);
        for ((side, step), world) in sides.into_iter().zip(self.step_mm).zip(self.world_axis) {
            size[world] = side;
            voxel_mm[world] = step.abs();
            origin_mm[world] += (side as f64 - 1.0) * step.min(0.0);
        }
        Grid::new(size, voxel_mm, origin_mm)
    }

    /// Returns our indices of a file's voxel.
    pub fn voxel(&self, sides: [usize; 3], voxel: [usize; 3]) -> [usize; 3] {
        let mut ours = [0; 3];
        for axis in 0..3 {
            let is_reversed = self.step_mm[axis] < 0.0;
            ours[self.world_axis[axis]] = if is_reversed { sides[axis] - 1 - voxel[axis] } else { voxel[axis] };
        }
        ours
    }
}

/// Returns our grid, and the values in its order `[z, y, x]`.
pub fn reorder(path: &Path, orientation: &Orientation, sides: [usize; 3], values: Vec<f32>) -> Result<(Grid, Vec<f32>), IoError> {
    let grid = orientation.grid(sides).map_err(|source| IoError::Grid(path.to_owned(), source))?;
    // Where our voxel (0, 0, 0) lies in the file, and how far a step along each of our axes goes there.
    let mut first = 0isize;
    let mut stride = [0isize; 3];
    let mut file_stride = 1isize;
    for ((side, step), world) in sides.into_iter().zip(orientation.step_mm).zip(orientation.world_axis) {
        stride[world] = file_stride;
        if step < 0.0 {
            first += (side as isize - 1) * file_stride;
            stride[world] = -file_stride;
        }
        file_stride *= side as isize;
    }
    let [nx, ny, nz] = grid.size.map(|n| n as isize);
    if stride == [1, nx, nx * ny] {
        return Ok((grid, values));
    }
    let mut ours = zeroed(path, values.len())?;
    let rows = (0..nz).flat_map(|z| (0..ny).map(move |y| (z, y)));
    for ((z, y), row) in rows.zip(ours.chunks_exact_mut(grid.size[0])) {
        let start = first + z * stride[2] + y * stride[1];
        for (x, value) in (0..nx).zip(row) {
            *value = values[(start + x * stride[0]) as usize];
        }
    }
    Ok((grid, ours))
}
