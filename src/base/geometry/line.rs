//! Lines of response, and what happens to a line that runs along a voxel face.

use super::{Point, Vector};

/// A line segment from `start` to `end`, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// First end point.
    pub start: Point,
    /// Second end point.
    pub end: Point,
}

impl Line {
    /// Returns the way from start to end, mm.
    pub fn way(&self) -> Vector {
        Vector::from(self.end) - Vector::from(self.start)
    }

    /// Returns the length in mm.
    pub fn length_mm(&self) -> f64 {
        self.way().norm()
    }
}

/// Maximum distance, in voxels, of a coordinate from a voxel face that counts as lying in it, and maximum shift of a line along
/// an axis, over its whole length, that counts as perpendicular to it. Far above the rounding of any geometry in f64 and far
/// below the resolution of any scanner; every projector uses this one rule.
pub const FACE_TOLERANCE_VOXELS: f64 = 1e-6;

/// Where a line perpendicular to an axis lies along that axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// Inside the voxel row of this index.
    Inside(isize),
    /// In the face between this row and the next higher one: each row takes half of the line's length.
    Face(isize),
}

/// Returns the row, or the face between two rows, that continuous voxel coordinate `u` lies in (voxel i spans i ± ½).
pub fn face_or_row(u: f64) -> Row {
    let shifted = u + 0.5;
    let nearest = shifted.round();
    if (shifted - nearest).abs() <= FACE_TOLERANCE_VOXELS {
        Row::Face(nearest as isize - 1)
    } else {
        Row::Inside(shifted.floor() as isize)
    }
}

/// Returns the rows of a line from `u0` to `u1` along one axis (coordinates in which voxel i spans i … i + 1): the one row, or
/// the two on both sides of a face, and their number. `None` if it crosses rows.
pub fn perpendicular_rows(u0: f64, u1: f64) -> Option<([isize; 2], usize)> {
    ((u1 - u0).abs() < FACE_TOLERANCE_VOXELS).then(|| match face_or_row(0.5 * (u0 + u1) - 0.5) {
        Row::Inside(row) => ([row, row], 1),
        Row::Face(row) => ([row, row + 1], 2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinate_lies_in_a_row_or_in_a_face() {
        assert_eq!(face_or_row(0.0), Row::Inside(0));
        assert_eq!(face_or_row(0.5), Row::Face(0));
        assert_eq!(face_or_row(-0.5), Row::Face(-1));
        assert_eq!(face_or_row(-0.5 + 1e-9), Row::Face(-1));
        assert_eq!(face_or_row(2.49), Row::Inside(2));
    }
}
