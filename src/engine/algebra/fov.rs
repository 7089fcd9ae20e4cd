//! The field of view: which voxels an operator sees.
//!
//! It is a set of voxels (centre within a radius of the axis), never a clip of the line at the circle itself: lines
//! that touch only the rim of a circle would leave rim voxels with tiny sensitivities and hot edges. A path may be cut
//! to anything that holds those voxels whole.

use crate::geometry::Grid;

/// The voxels whose centre lies within `radius_mm` of the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldOfView {
    /// Radius that voxel centres are compared with, mm.
    pub radius_mm: f64,
    /// Radius of a circle that holds every such voxel whole, mm.
    pub path_radius_mm: f64,
    /// For each row y the range of x inside.
    rows: Vec<(usize, usize)>,
}

impl FieldOfView {
    /// Makes the field of view of this radius on a grid.
    pub fn new(grid: &Grid, radius_mm: f64) -> Self {
        let [nx, ny, _] = grid.size;
        let rows = (0..ny)
            .map(|y| {
                let inside = |x: usize| {
                    let [px, py, _] = grid.mm_from_voxel([x as f64, y as f64, 0.0]);
                    px.hypot(py) <= radius_mm
                };
                let first = (0..nx).find(|&x| inside(x));
                let last = (0..nx).rev().find(|&x| inside(x));
                first.zip(last).map_or((0, 0), |(first, last)| (first, last + 1))
            })
            .collect();
        let half_diagonal = 0.5 * grid.voxel_mm[0].hypot(grid.voxel_mm[1]);
        Self { radius_mm, path_radius_mm: radius_mm + half_diagonal, rows }
    }

    /// Returns the x of row y that lie inside.
    pub fn row(&self, y: usize) -> std::ops::Range<usize> {
        let (first, end) = self.rows[y];
        first..end
    }

    /// Returns true if the voxel column (x, y) is inside.
    pub fn contains(&self, x: usize, y: usize) -> bool {
        self.row(y).contains(&x)
    }

    /// Returns the part of a line in the plane that can meet the field of view: parameters α of start + α (end − start), 0 to 1.
    pub fn clip(&self, start: [f64; 2], end: [f64; 2]) -> Option<(f64, f64)> {
        let d = [end[0] - start[0], end[1] - start[1]];
        let a = d[0] * d[0] + d[1] * d[1];
        let half_b = d[0] * start[0] + d[1] * start[1];
        let c = start[0] * start[0] + start[1] * start[1] - self.path_radius_mm * self.path_radius_mm;
        let discriminant = half_b * half_b - a * c;
        if a <= 0.0 || discriminant <= 0.0 {
            return None;
        }
        let root = discriminant.sqrt();
        let (enter, leave) = (((-half_b - root) / a).max(0.0), ((-half_b + root) / a).min(1.0));
        (enter < leave).then_some((enter, leave))
    }
}
