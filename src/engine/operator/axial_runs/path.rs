//! The in-plane path that all planes of a transaxial LOR share: which voxel columns it crosses, and where.

use crate::algebra::FieldOfView;
use crate::geometry::Grid;
use crate::operator::MirroredColumns;
use crate::operator::in_plane::{InPlanePath, Sides};
use crate::scanner::TransaxialLor;

/// Where along a path, and how steeply, the crossings of one axis lie (in mm from the path's start).
#[derive(Clone, Copy, Debug)]
struct AxisCrossings {
    /// First crossing after the start.
    first: f32,
    /// Crossings per mm.
    per_mm: f32,
}

impl Default for AxisCrossings {
    /// An axis that is never crossed.
    fn default() -> Self {
        Self { first: f32::MAX, per_mm: 1.0 }
    }
}

/// One step of a path: the part of it that lies in one voxel column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathStep {
    /// Column along x and along y.
    pub column: [i32; 2],
    /// Distance of its beginning from the path's start, mm.
    pub from_mm: f32,
    /// Its length.
    pub length_mm: f32,
}

/// The columns that a transaxial LOR crosses inside the field of view. Distances in mm, in-plane, from the path's start.
#[derive(Debug, Default)]
pub struct TracedPath {
    /// Number of steps n.
    pub num_steps: usize,
    /// For each step the column that it lies in, along x and along y.
    xs: Vec<i32>,
    ys: Vec<i32>,
    /// For each step its length.
    pub lengths: Vec<f32>,
    /// For each step where it begins, and the inverse of its length (0 for an empty step).
    knots: Vec<[f32; 2]>,
    /// Where the path begins on the LOR, mm from the LOR's start.
    pub start_mm: f64,
    /// Length of the path.
    pub length_mm: f64,
    /// Length of the whole LOR.
    pub lor_mm: f64,
    axes: [AxisCrossings; 2],
}

impl TracedPath {
    /// Memory for any path across a grid.
    pub fn new(grid: &Grid) -> Self {
        let most = grid.size[0] + grid.size[1] + 4;
        let (places, lengths, knots) = (vec![0; most], vec![0.0; most], vec![[0.0; 2]; most]);
        Self { xs: places.clone(), ys: places, lengths, knots, ..Self::default() }
    }

    /// Most steps that there is memory for.
    pub fn max_steps(&self) -> usize {
        self.lengths.len()
    }

    /// Traces path number `path` of a LOR; `false` where it misses the field of view.
    #[inline(always)]
    pub fn trace(&mut self, grid: &Grid, fov: &FieldOfView, lor: &TransaxialLor, sides: &Sides, path: usize) -> bool {
        self.num_steps = 0;
        let Some(start) = InPlanePath::new(grid, fov, lor, sides, path) else { return false };
        self.follow(grid, &start)
    }

    /// Follows a path from its start; `false` if it has no steps.
    #[inline(always)]
    pub fn follow(&mut self, grid: &Grid, start: &InPlanePath) -> bool {
        self.axes = std::array::from_fn(|a| {
            let crossed = start.pitch[a] > 0.0;
            let axis = AxisCrossings { first: start.next[a] as f32, per_mm: (1.0 / start.pitch[a]) as f32 };
            if crossed { axis } else { AxisCrossings::default() }
        });
        self.start_mm = start.start_mm;
        self.length_mm = start.length_mm;
        self.lor_mm = start.lor_mm;
        self.merge(start, grid.size[0], grid.size[1])
    }

    /// Merges the crossings of both axes into steps, without branches that depend on the data.
    #[inline(always)]
    fn merge(&mut self, start: &InPlanePath, nx: usize, ny: usize) -> bool {
        let most = self.max_steps();
        let (xs, ys) = (&mut self.xs[..most], &mut self.ys[..most]);
        let (lengths, knots) = (&mut self.lengths[..most], &mut self.knots[..most]);
        let (pitch, mut next) = (start.pitch, start.next);
        let (mut x, mut y) = ((start.column % nx) as i32, (start.column / nx) as i32);
        let forwards = start.stride.map(|stride| stride.signum() as i32);
        let mut from = 0.0f64;
        let mut n = 0;
        while from < self.length_mm && n < most && (0..nx as i32).contains(&x) && (0..ny as i32).contains(&y) {
            let x_first = next[0] <= next[1];
            let to = if x_first { next[0] } else { next[1] };
            let end = to.min(self.length_mm);
            let length = (end - from) as f32;
            (xs[n], ys[n]) = (x, y);
            lengths[n] = length;
            knots[n] = [from as f32, if length > 0.0 { 1.0 / length } else { 0.0 }];
            x += if x_first { forwards[0] } else { 0 };
            y += if x_first { 0 } else { forwards[1] };
            next[0] += if x_first { pitch[0] } else { 0.0 };
            next[1] += if x_first { 0.0 } else { pitch[1] };
            from = end;
            n += 1;
        }
        self.num_steps = n;
        n > 0
    }

    /// Returns the steps in order.
    pub fn steps(&self) -> impl Iterator<Item = PathStep> + '_ {
        let columns = self.xs.iter().zip(&self.ys).take(self.num_steps);
        columns.zip(self.knots.iter().zip(&self.lengths)).map(|((&x, &y), (&[from_mm, _], &length_mm))| PathStep {
            column: [x, y],
            from_mm,
            length_mm,
        })
    }

    /// Returns where the middles of the steps lie, mm in the plane from the middle of the LOR towards its end.
    pub fn middles_mm(&self) -> impl Iterator<Item = f64> + '_ {
        let first_mm = self.start_mm - 0.5 * self.lor_mm;
        let steps = self.knots.iter().zip(&self.lengths).take(self.num_steps);
        steps.map(move |([from_mm, _], length_mm)| first_mm + f64::from(*from_mm) + 0.5 * f64::from(*length_mm))
    }

    /// The columns of the path's steps under a mirror, at the front of `columns`.
    #[inline(always)]
    pub fn mirrored(&self, mirrored: &MirroredColumns, columns: &mut [u32]) {
        let (first, [along_x, along_y]) = (mirrored.first as i32, mirrored.strides.map(|stride| stride as i32));
        for ((column, x), y) in columns[..self.num_steps].iter_mut().zip(&self.xs).zip(&self.ys) {
            *column = (first + x * along_x + y * along_y) as u32;
        }
    }

    /// Returns the number of voxel faces in x and y before a point of the path: they follow each other at regular distances.
    #[inline(always)]
    pub fn crossings_before(&self, at_mm: f32) -> i32 {
        let passed = |axis: &AxisCrossings| ((at_mm - axis.first) * axis.per_mm + 1.0).max(0.0) as i32;
        passed(&self.axes[0]) + passed(&self.axes[1])
    }

    /// Returns the step that holds a point of the path with `crossed` faces before it, and how far through the step, 0 to 1.
    /// Where rounding gave the neighbouring step, the point is held at that step's end.
    #[inline(always)]
    pub fn locate(&self, crossed: i32, at_mm: f32) -> (usize, f32) {
        let step = (crossed as usize).min(self.num_steps - 1);
        let [from, inverse] = self.knots[step];
        (step, ((at_mm - from) * inverse).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::InPlanePaths;
    use crate::scanner::find;

    #[test]
    fn steps_lead_from_the_start_to_the_end_through_neighbouring_columns() {
        let geometry = find("small").unwrap().geometry.clone();
        let grid = geometry.default_grid().unwrap();
        let fov = FieldOfView::new(&grid, grid.inscribed_radius_mm());
        let paths = InPlanePaths::of_all(&geometry, &grid, &fov, 1);
        let mut traced = TracedPath::new(&grid);
        assert!(!paths.paths.is_empty());
        for (path, _) in &paths.paths {
            assert!(traced.follow(&grid, path));
            let steps: Vec<PathStep> = traced.steps().collect();
            assert_eq!(steps.len(), traced.num_steps);
            assert!(steps.len() <= paths.max_steps());
            assert_eq!(steps[0].from_mm, 0.0);
            let [x, y] = steps[0].column;
            assert_eq!(x as usize + y as usize * grid.size[0], path.column);
            let tolerance_mm = 1e-6 * path.length_mm as f32;
            for pair in steps.windows(2) {
                let moved: i32 = (0..2).map(|a| (pair[1].column[a] - pair[0].column[a]).abs()).sum();
                assert_eq!(moved, 1);
                assert!((pair[0].from_mm + pair[0].length_mm - pair[1].from_mm).abs() <= tolerance_mm);
            }
            let end = steps[steps.len() - 1];
            assert!((f64::from(end.from_mm + end.length_mm) - path.length_mm).abs() <= f64::from(tolerance_mm));
        }
    }
}
