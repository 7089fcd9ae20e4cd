//! The in-plane path that all planes of a transaxial LOR share: which voxel columns it crosses, and where.

use crate::geometry::{Grid, perpendicular_rows};
use crate::operator::FieldOfView;
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

/// The columns that a transaxial LOR crosses inside the field of view. Distances in mm, in-plane, from the path's start.
#[derive(Debug, Default)]
pub struct Path {
    /// Number of steps n.
    pub num_steps: usize,
    /// For each step its column index (y·nx + x).
    pub columns: Vec<u32>,
    /// For each step its length.
    pub lengths: Vec<f32>,
    /// For each step where it begins, and the inverse of its length (0 for an empty step).
    pub knots: Vec<[f32; 2]>,
    /// Where the path begins on the LOR, mm from the LOR's start.
    pub start_mm: f64,
    /// Length of the path.
    pub length_mm: f64,
    /// Length of the whole LOR.
    pub lor_mm: f64,
    axes: [AxisCrossings; 2],
}

/// Rows in which a LOR runs along x or y: none, one, or the two on both sides of a face.
#[derive(Clone, Copy, Debug)]
pub struct Sides {
    rows: [Option<([isize; 2], usize)>; 2],
    u0: [f64; 2],
    u1: [f64; 2],
}

impl Sides {
    /// The sides of a LOR on a grid.
    pub fn new(grid: &Grid, lor: &TransaxialLor) -> Self {
        let voxel = |point: [f64; 2], a: usize| (point[a] - grid.origin_mm[a]) / grid.voxel_mm[a] + 0.5;
        let u0 = [voxel(lor.start, 0), voxel(lor.start, 1)];
        let u1 = [voxel(lor.end, 0), voxel(lor.end, 1)];
        Self { rows: std::array::from_fn(|a| perpendicular_rows(u0[a], u1[a])), u0, u1 }
    }

    /// Number of paths that the LOR splits into, each with an equal share.
    pub fn num_paths(&self) -> usize {
        self.rows.iter().flatten().map(|(_, n)| *n).product()
    }

    /// The row that path number `path` stays in along an axis.
    fn fixed(&self, axis: usize, path: usize) -> Option<isize> {
        // A LOR runs along one axis at most, so the path number chooses the side there.
        self.rows[axis].map(|(rows, _)| rows[path])
    }
}

impl Path {
    /// Memory for any path across a grid.
    pub fn new(grid: &Grid) -> Self {
        let most = grid.size[0] + grid.size[1] + 4;
        Self { columns: vec![0; most], lengths: vec![0.0; most], knots: vec![[0.0; 2]; most], ..Self::default() }
    }

    /// Traces path number `path` of a LOR; `false` where it misses the field of view.
    #[inline(always)]
    pub fn trace(&mut self, grid: &Grid, fov: &FieldOfView, lor: &TransaxialLor, sides: &Sides, path: usize) -> bool {
        self.num_steps = 0;
        let Some((mut enter, mut leave)) = fov.clip(lor.start, lor.end) else { return false };
        let (u0, u1) = (sides.u0, sides.u1);
        let mut inverse = [0.0f64; 2];
        for a in 0..2 {
            if let Some(row) = sides.fixed(a, path) {
                if row < 0 || row >= grid.size[a] as isize {
                    return false;
                }
            } else {
                inverse[a] = 1.0 / (u1[a] - u0[a]);
                let (low, high) = (-u0[a] * inverse[a], (grid.size[a] as f64 - u0[a]) * inverse[a]);
                enter = enter.max(low.min(high));
                leave = leave.min(low.max(high));
            }
        }
        if enter >= leave {
            return false;
        }
        let lor_mm = (lor.end[0] - lor.start[0]).hypot(lor.end[1] - lor.start[1]);
        let start_mm = enter * lor_mm;
        let length_mm = (leave - enter) * lor_mm;
        let strides = [1isize, grid.size[0] as isize];
        let mut column = 0isize;
        let mut next = [f64::INFINITY; 2];
        let mut pitch = [0.0f64; 2];
        let mut stride = [0isize; 2];
        self.axes = [AxisCrossings::default(); 2];
        for a in 0..2 {
            if let Some(row) = sides.fixed(a, path) {
                column += row * strides[a];
                continue;
            }
            let du = u1[a] - u0[a];
            let forwards = du > 0.0;
            let mut row = ((u0[a] + enter * du).floor() as isize).clamp(0, grid.size[a] as isize - 1);
            let face = (row + isize::from(forwards)) as f64;
            next[a] = (face - u0[a]) * inverse[a] * lor_mm - start_mm;
            pitch[a] = inverse[a].abs() * lor_mm;
            // Rounding at the entry can leave the row one behind.
            while next[a] <= 0.0 {
                row += if forwards { 1 } else { -1 };
                next[a] += pitch[a];
            }
            stride[a] = if forwards { strides[a] } else { -strides[a] };
            column += row * strides[a];
            self.axes[a] = AxisCrossings { first: next[a] as f32, per_mm: (1.0 / pitch[a]) as f32 };
        }
        self.start_mm = start_mm;
        self.length_mm = length_mm;
        self.lor_mm = lor_mm;
        self.merge(column, next, pitch, stride, grid.size[0] * grid.size[1])
    }

    /// Merges the crossings of both axes into steps, without branches that depend on the data.
    #[inline(always)]
    fn merge(&mut self, mut column: isize, mut next: [f64; 2], pitch: [f64; 2], stride: [isize; 2], num_columns: usize) -> bool {
        let most = self.columns.len();
        let (columns, lengths, knots) = (&mut self.columns[..most], &mut self.lengths[..most], &mut self.knots[..most]);
        let mut from = 0.0f64;
        let mut n = 0;
        while from < self.length_mm && n < most && (0..num_columns as isize).contains(&column) {
            let x_first = next[0] <= next[1];
            let to = if x_first { next[0] } else { next[1] };
            let end = to.min(self.length_mm);
            let length = (end - from) as f32;
            columns[n] = column as u32;
            lengths[n] = length;
            knots[n] = [from as f32, if length > 0.0 { 1.0 / length } else { 0.0 }];
            column += if x_first { stride[0] } else { stride[1] };
            next[0] += if x_first { pitch[0] } else { 0.0 };
            next[1] += if x_first { 0.0 } else { pitch[1] };
            from = end;
            n += 1;
        }
        self.num_steps = n;
        n > 0
    }

    /// How many voxel faces in x and y lie before a point of the path: they follow each other at regular distances.
    #[inline(always)]
    pub fn crossings_before(&self, at_mm: f32) -> i32 {
        let passed = |axis: &AxisCrossings| ((at_mm - axis.first) * axis.per_mm + 1.0).max(0.0) as i32;
        passed(&self.axes[0]) + passed(&self.axes[1])
    }

    /// The step that holds a point of the path with `crossed` faces before it, and how far through the step, 0 to 1.
    /// Where rounding gave the neighbouring step, the point is held at that step's end.
    #[inline(always)]
    pub fn locate(&self, crossed: i32, at_mm: f32) -> (usize, f32) {
        let step = (crossed as usize).min(self.num_steps - 1);
        let [from, inverse] = self.knots[step];
        (step, ((at_mm - from) * inverse).clamp(0.0, 1.0))
    }
}
