//! The arithmetic of axial runs, for one in-plane path and all planes.
//!
//! With C_z(α) the integral of column values along the path up to α, and G_z = C_z − C_{z+1}, a LOR that crosses the
//! faces h₁, h₂, … at α₁, α₂, … has the exact Siddon sum
//!
//! ```text
//! Σ_i ± G_{h_i − 1}(α_i) + C_last(end),      + where z rises, − where it falls
//! ```
//!
//! since each crossing swaps C_before for C_after. G is piecewise linear in α: it is kept at the ends of the path's
//! steps, and interpolated. The backprojection is the exact adjoint, line by line in reverse.

use super::path::Path;
use super::table::{AxialTable, Family, Group, LANES, Layout};
use crate::algebra::prefetch;
use crate::operator::accumulate::ImageSink;

/// Steps ahead of which the image columns of a path are called into the cache: they lie far apart, in no order that the
/// processor could foresee.
const PREFETCH_STEPS: usize = 10;
/// Planes that a kernel keeps in registers, in chunks of [`LANES`].
const MAX_CHUNKS: usize = 4;

type Chunk = [f32; LANES];

/// Where a path crosses a voxel face in z: the place of the step's row, and how far through the step.
#[derive(Clone, Copy, Debug, Default)]
struct Crossing {
    row: u32,
    fraction: f32,
}

/// Working memory of one thread.
pub struct Scratch {
    /// The path; the caller traces it.
    pub path: Path,
    /// G (forward) or its adjoint (back) at the beginning of each step and at the path's end.
    rows: Vec<f32>,
    /// C (forward) or its adjoint (back) at the path's end.
    end: Vec<f32>,
    /// The bins of the transaxial LOR, with room for a chunk behind the last.
    pub bins: Vec<f32>,
    crossings: Vec<Crossing>,
    /// For each crossing the step that holds it, before rounding is put right.
    steps: Vec<i32>,
}

impl Scratch {
    /// Memory for any path of `path`'s capacity.
    pub fn new(path: Path, table: &AxialTable, num_planes: usize) -> Self {
        let row_len = table.layout.row_len();
        let padding = MAX_CHUNKS * LANES;
        Self {
            rows: vec![0.0; (path.columns.len() + 2) * row_len + padding],
            end: vec![0.0; row_len + padding],
            bins: vec![0.0; num_planes + LANES],
            crossings: vec![Crossing::default(); table.taus.len()],
            steps: vec![0; table.taus.len()],
            path,
        }
    }

    /// Places the crossings of a family that lie on the path at the front of `crossings`; gives their range among its own.
    #[inline(always)]
    fn locate_crossings(&mut self, table: &AxialTable, family: &Family) -> (usize, usize) {
        let (from, to) = crossings_on_path(family, &self.path);
        let (lor_mm, start_mm) = (self.path.lor_mm as f32, self.path.start_mm as f32);
        let row_len = table.layout.row_len() as u32;
        let taus = &table.taus[family.first_crossing + from..family.first_crossing + to];
        // Two loops: the first is arithmetic alone and can be done in vectors, the second looks things up.
        for (step, tau) in self.steps.iter_mut().zip(taus) {
            *step = self.path.crossings_before(tau * lor_mm - start_mm);
        }
        for ((crossing, step), tau) in self.crossings.iter_mut().zip(&self.steps).zip(taus) {
            let (step, fraction) = self.path.locate(*step, tau * lor_mm - start_mm);
            *crossing = Crossing { row: step as u32 * row_len, fraction };
        }
        (from, to)
    }
}

/// Which crossings of a family lie on the path: a range among its own.
#[inline(always)]
fn crossings_on_path(family: &Family, path: &Path) -> (usize, usize) {
    if family.num_crossings == 0 {
        return (0, 0);
    }
    let index =
        |mm: f64| ((mm / path.lor_mm - family.first_tau) / family.tau_step).ceil().clamp(0.0, family.num_crossings as f64);
    (index(path.start_mm) as usize, index(path.start_mm + path.length_mm) as usize)
}

/// Length of a line over its in-plane length.
#[inline(always)]
fn length_factor(slope: f64) -> f32 {
    (1.0 + slope * slope).sqrt() as f32
}

/// a·b + c, in one rounding where the processor has it.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The lanes from `at` on. Chunks are loaded whole, worked on as values and stored whole, so that the compiler sees that
/// nothing overlaps and keeps each in one register.
#[inline(always)]
fn load(values: &[f32], at: usize) -> Chunk {
    let mut lanes = [0.0; LANES];
    lanes.copy_from_slice(&values[at..at + LANES]);
    lanes
}

#[inline(always)]
fn store(values: &mut [f32], at: usize, lanes: Chunk) {
    values[at..at + LANES].copy_from_slice(&lanes);
}

/// factor · values + sum, lane by lane.
#[inline(always)]
fn add_multiple<const FUSED: bool>(factor: f32, values: Chunk, sum: Chunk) -> Chunk {
    let mut result = sum;
    for lane in 0..LANES {
        result[lane] = multiply_add::<FUSED>(factor, values[lane], sum[lane]);
    }
    result
}

#[inline(always)]
fn add(a: Chunk, b: Chunk) -> Chunk {
    let mut result = a;
    for lane in 0..LANES {
        result[lane] = a[lane] + b[lane];
    }
    result
}

#[inline(always)]
fn subtract(a: Chunk, b: Chunk) -> Chunk {
    let mut result = a;
    for lane in 0..LANES {
        result[lane] = a[lane] - b[lane];
    }
    result
}

/// The first `count` lanes, and zero in the others.
#[inline(always)]
fn first_lanes(values: Chunk, count: usize) -> Chunk {
    let mut result = values;
    for (lane, value) in result.iter_mut().enumerate() {
        *value = if lane < count { *value } else { 0.0 };
    }
    result
}

/// `scratch.bins` += integrals over the path. `x` has [`LANES`] values behind the last column.
#[inline(always)]
pub fn forward<const FUSED: bool>(table: &AxialTable, x: &[f32], share: f32, scratch: &mut Scratch) {
    integrate::<FUSED>(table, x, scratch);
    let row_len = table.layout.row_len();
    for family in &table.families {
        let (from, to) = scratch.locate_crossings(table, family);
        let crossings = &scratch.crossings[..to - from];
        for group in &family.groups {
            let scale = share * group.weight * length_factor(group.rise_mm / scratch.path.lor_mm);
            let end_row = &scratch.end[group.row_offsets[to] as usize..];
            let offsets = &group.offsets[from..to];
            for done in (0..group.num_planes).step_by(MAX_CHUNKS * LANES) {
                let left = (group.num_planes - done).min(MAX_CHUNKS * LANES);
                let (rows, end) = (&scratch.rows[done..], &end_row[done..]);
                let mut sums = [[0.0f32; LANES]; MAX_CHUNKS];
                match left.div_ceil(LANES) {
                    1 => gather::<1, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &mut sums),
                    2 => gather::<2, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &mut sums),
                    3 => gather::<3, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &mut sums),
                    _ => gather::<4, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &mut sums),
                }
                let at = group.first_plane + done * group.plane_step;
                if group.plane_step == 1 {
                    for (c, sum) in sums.iter().enumerate().take(left.div_ceil(LANES)) {
                        let (at, sum) = (at + c * LANES, first_lanes(*sum, left - c * LANES));
                        let bins = add_multiple::<FUSED>(scale, sum, load(&scratch.bins, at));
                        store(&mut scratch.bins, at, bins);
                    }
                } else {
                    for (k, sum) in sums.as_flattened().iter().enumerate().take(left) {
                        scratch.bins[at + k * group.plane_step] += scale * sum;
                    }
                }
            }
        }
    }
}

/// sums\[k\] = ± Σ_i G(α_i) + C_last(end) for C·LANES planes.
#[inline(always)]
fn gather<const C: usize, const FUSED: bool>(
    rows: &[f32],
    row_len: usize,
    crossings: &[Crossing],
    offsets: &[u32],
    sign: f32,
    end: &[f32],
    sums: &mut [Chunk; MAX_CHUNKS],
) {
    let mut before = [[0.0f32; LANES]; C];
    let mut after = [[0.0f32; LANES]; C];
    for (crossing, offset) in crossings.iter().zip(offsets) {
        let from = (crossing.row + offset) as usize;
        let this = &rows[from..from + C * LANES];
        let next = &rows[from + row_len..from + row_len + C * LANES];
        let (w1, w0) = (crossing.fraction, 1.0 - crossing.fraction);
        for c in 0..C {
            before[c] = add_multiple::<FUSED>(w0, load(this, c * LANES), before[c]);
            after[c] = add_multiple::<FUSED>(w1, load(next, c * LANES), after[c]);
        }
    }
    for c in 0..C {
        sums[c] = add_multiple::<FUSED>(sign, add(before[c], after[c]), load(end, c * LANES));
    }
}

/// Fills the rows with G along the path, and `end` with C at its end.
#[inline(always)]
fn integrate<const FUSED: bool>(table: &AxialTable, x: &[f32], scratch: &mut Scratch) {
    let layout = &table.layout;
    let (row_len, column_len, lanes, classes) = (layout.row_len(), layout.column_len(), layout.lanes, layout.num_classes);
    let last = layout.row_class(classes - 1);
    let path = &scratch.path;
    for class in 0..classes {
        let at = layout.row_class(class);
        scratch.rows[at..at + lanes].fill(0.0);
        scratch.end[at..at + lanes].fill(0.0);
    }
    if table.uses_row_below {
        scratch.rows[last - 1] = 0.0;
    }
    for step in 0..path.num_steps {
        let first = path.columns[step] as usize * column_len;
        let column = &x[first..first + column_len + LANES];
        if let Some(&ahead) = path.columns[..path.num_steps].get(step + PREFETCH_STEPS) {
            prefetch(&x[ahead as usize * column_len..][..column_len]);
        }
        let length = path.lengths[step];
        let (this, next) = scratch.rows[step * row_len..(step + 2) * row_len].split_at_mut(row_len);
        for class in 0..classes {
            let at = layout.row_class(class);
            let values = &column[class * lanes..(class + 1) * lanes];
            // The row above z: the next class, or the first class one lane on.
            let above_at = if class + 1 < classes { (class + 1) * lanes } else { 1 };
            let above = &column[above_at..above_at + lanes];
            let (lower, upper) = (&this[at..at + lanes], &mut next[at..at + lanes]);
            let end = &mut scratch.end[at..at + lanes];
            for lane in (0..lanes).step_by(LANES) {
                let value = load(values, lane);
                let g = subtract(value, load(above, lane));
                store(upper, lane, add_multiple::<FUSED>(length, g, load(lower, lane)));
                store(end, lane, add_multiple::<FUSED>(length, value, load(end, lane)));
            }
        }
        // The last lane lies above the grid, where the lane on would be another class's.
        next[last + lanes - 1] = 0.0;
        if table.uses_row_below {
            next[last - 1] = this[last - 1] - length * column[0];
        }
    }
}

/// Image += adjoint of [`forward`] applied to `scratch.bins`.
#[inline(always)]
pub fn backward<const FUSED: bool, S: ImageSink>(table: &AxialTable, share: f32, scratch: &mut Scratch, image: &mut S) {
    let row_len = table.layout.row_len();
    // A row of zeros behind the path's end, from which the sums begin.
    let used = (scratch.path.num_steps + 2) * row_len + MAX_CHUNKS * LANES;
    scratch.rows[..used].fill(0.0);
    scratch.end.fill(0.0);
    for family in &table.families {
        let (from, to) = scratch.locate_crossings(table, family);
        let crossings = &scratch.crossings[..to - from];
        for group in &family.groups {
            let scale = share * group.weight * length_factor(group.rise_mm / scratch.path.lor_mm);
            let offsets = &group.offsets[from..to];
            for done in (0..group.num_planes).step_by(MAX_CHUNKS * LANES) {
                let left = (group.num_planes - done).min(MAX_CHUNKS * LANES);
                let values = group_values(group, &scratch.bins, done, left, scale);
                let rows = &mut scratch.rows[done..];
                let end = &mut scratch.end[group.row_offsets[to] as usize + done..];
                match left.div_ceil(LANES) {
                    1 => scatter::<1, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &values),
                    2 => scatter::<2, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &values),
                    3 => scatter::<3, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &values),
                    _ => scatter::<4, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &values),
                }
            }
        }
    }
    spread::<FUSED, S>(&table.layout, scratch, image);
}

/// The scaled bins of `count` planes of a group from plane `done` on, zero behind the last.
#[inline(always)]
fn group_values(group: &Group, bins: &[f32], done: usize, count: usize, scale: f32) -> [Chunk; MAX_CHUNKS] {
    let mut values = [[0.0f32; LANES]; MAX_CHUNKS];
    let at = group.first_plane + done * group.plane_step;
    if group.plane_step == 1 {
        for (c, value) in values.iter_mut().enumerate().take(count.div_ceil(LANES)) {
            let bins = first_lanes(load(bins, at + c * LANES), count - c * LANES);
            *value = add_multiple::<false>(scale, bins, [0.0; LANES]);
        }
    } else {
        for (k, value) in values.as_flattened_mut().iter_mut().enumerate().take(count) {
            *value = scale * bins[at + k * group.plane_step];
        }
    }
    values
}

/// Adjoint of [`gather`].
#[inline(always)]
fn scatter<const C: usize, const FUSED: bool>(
    rows: &mut [f32],
    row_len: usize,
    crossings: &[Crossing],
    offsets: &[u32],
    sign: f32,
    end: &mut [f32],
    values: &[Chunk; MAX_CHUNKS],
) {
    for (c, value) in values.iter().enumerate().take(C) {
        store(end, c * LANES, add(*value, load(end, c * LANES)));
    }
    for (crossing, offset) in crossings.iter().zip(offsets) {
        let from = (crossing.row + offset) as usize;
        let w1 = sign * crossing.fraction;
        let w0 = sign - w1;
        let this = &mut rows[from..from + C * LANES];
        for (c, value) in values.iter().enumerate().take(C) {
            store(this, c * LANES, add_multiple::<FUSED>(w0, *value, load(this, c * LANES)));
        }
        let next = &mut rows[from + row_len..from + row_len + C * LANES];
        for (c, value) in values.iter().enumerate().take(C) {
            store(next, c * LANES, add_multiple::<FUSED>(w1, *value, load(next, c * LANES)));
        }
    }
}

/// Adjoint of [`integrate`]: what arrives at the end of a step goes to its column and to all steps before it.
#[inline(always)]
fn spread<const FUSED: bool, S: ImageSink>(layout: &Layout, scratch: &mut Scratch, image: &mut S) {
    let (row_len, column_len, lanes, classes) = (layout.row_len(), layout.column_len(), layout.lanes, layout.num_classes);
    let last = layout.row_class(classes - 1);
    let path = &scratch.path;
    for step in (0..path.num_steps).rev() {
        if let Some(ahead) = step.checked_sub(PREFETCH_STEPS) {
            image.prefetch_row(path.columns[ahead] as usize * column_len, column_len);
        }
        let length = path.lengths[step];
        let column = path.columns[step] as usize * column_len;
        let (sum, after) = scratch.rows[(step + 1) * row_len..].split_at_mut(row_len);
        sum[last - 1] += after[last - 1];
        // The row below the first class is the last class one lane back: its lanes are passed on in registers, since to
        // load across what was just stored would wait for the stores.
        let mut lane_below = sum[last - 1];
        for lane in (0..lanes).step_by(LANES) {
            let highest = add(load(sum, last + lane), load(after, last + lane));
            store(sum, last + lane, highest);
            let mut below = [lane_below; LANES];
            below[1..].copy_from_slice(&highest[..LANES - 1]);
            lane_below = highest[LANES - 1];
            for class in 0..classes {
                let at = layout.row_class(class) + lane;
                let row = if class + 1 == classes { highest } else { add(load(sum, at), load(after, at)) };
                store(sum, at, row);
                let value = add(load(&scratch.end, at), subtract(row, below));
                image.add_row(column + class * lanes + lane, &add_multiple::<FUSED>(length, value, [0.0; LANES]));
                below = row;
            }
        }
    }
}
