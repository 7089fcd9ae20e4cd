//! Space: millimetres, voxel grids and lines.
//!
//! World coordinates are scanner coordinates in mm: the origin lies on the axis at the axial middle, and for a
//! patient lying head-first supine +x points to the patient's left, +y to posterior and +z to inferior.
//! Points are `[x, y, z]`; arrays of voxels are `[z, y, x]` with x fastest.

mod grid;
mod line;
mod nearest;

pub use grid::{Grid, GridError, LENGTHS_MM};
pub use line::{FACE_TOLERANCE_VOXELS, Line, Row, face_or_row, perpendicular_rows};
pub use nearest::Directions;

/// A point or vector in mm, `[x, y, z]`.
pub type Point = [f64; 3];

/// The same with an algebra: `Vector::from(point)`, and back with `into()`.
pub type Vector = nalgebra::Vector3<f64>;

/// Returns the scalar product.
pub fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns a × b.
pub fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
