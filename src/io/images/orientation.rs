//! Order of voxels: files' axes into those of the world.

use std::path::Path;

use crate::geometry::{Grid, Point};
use crate::io::bytes::zeroed;
use crate::io::error::IoError;

/// Largest part of a voxel axis that may point along another world axis.
pub const OBLIQUE_TOLERANCE: f64 = 1e-4;

/// Orientation of a file's voxel axes in the world.
pub struct Orientation {
    /// World axis of each voxel axis.
    pub world_axis: [usize; 3],
    /// Signed pitch along it, our world, mm.
    pub step_mm: [f64; 3],
    /// Our world position of the file's first voxel, mm.
    pub first_mm: Point,
}

/// Returns the world axis of a voxel axis, and its step along it; `None` if it is oblique.
pub fn main_direction(column: [f64; 3]) -> Option<(usize, f64)> {
    let (main, &step) = column.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let stray = column.iter().enumerate().filter(|&(axis, _)| axis != main).map(|(_, value)| value.abs()).fold(0.0, f64::max);
    (stray <= OBLIQUE_TOLERANCE * step.abs()).then_some((main, step))
}

/// Returns our grid, and the values in its order `[z, y, x]`.
pub fn reorder(path: &Path, orientation: &Orientation, sides: [usize; 3], values: Vec<f32>) -> Result<(Grid, Vec<f32>), IoError> {
    let mut size = [1; 3];
    let mut voxel_mm = [1.0; 3];
    let mut origin_mm = orientation.first_mm;
    // Where our voxel (0, 0, 0) lies in the file, and how far a step along each of our axes goes there.
    let mut first = 0isize;
    let mut stride = [0isize; 3];
    let mut file_stride = 1isize;
    for ((side, step), world) in sides.into_iter().zip(orientation.step_mm).zip(orientation.world_axis) {
        let reach = side as isize - 1;
        size[world] = side;
        voxel_mm[world] = step.abs();
        stride[world] = file_stride;
        if step < 0.0 {
            origin_mm[world] += reach as f64 * step;
            first += reach * file_stride;
            stride[world] = -file_stride;
        }
        file_stride *= side as isize;
    }
    let grid = Grid::new(size, voxel_mm, origin_mm).map_err(|source| IoError::Grid(path.to_owned(), source))?;
    let [nx, ny, nz] = size.map(|n| n as isize);
    if stride == [1, nx, nx * ny] {
        return Ok((grid, values));
    }
    let mut ours = zeroed(path, values.len())?;
    let rows = (0..nz).flat_map(|z| (0..ny).map(move |y| (z, y)));
    for ((z, y), row) in rows.zip(ours.chunks_exact_mut(size[0])) {
        let start = first + z * stride[2] + y * stride[1];
        for (x, value) in (0..nx).zip(row) {
            *value = values[(start + x * stride[0]) as usize];
        }
    }
    Ok((grid, ours))
}
