//! The arithmetic of axial runs, for one in-plane path and all planes.
//!
//! With C_z(α) the integral of column values along the path up to α, and G_z = C_z − C_{z+1}, a LOR that crosses the
//! faces h₁, h₂, … at α₁, α₂, … has the exact Siddon sum
//!
//! ```text
//! Σ_i ± G_{h_i − 1}(α_i) + C_last(end),      + where z rises, − where it falls
//! ```
//!
//! since each crossing swaps C_before for C_after. G is piecewise linear in α: it is stored at the ends of the path's steps, and
//! interpolated. The backprojection is the exact adjoint, line by line in reverse.

use std::ops::Range;

use super::path::TracedPath;
use super::table::{AxialTable, Family, Group, Layout};
use super::tof::TofRuns;
use crate::algebra::prefetch;
use crate::operator::accumulate::ImageSink;
use crate::operator::chunk::{Chunk, LANES, add, add_multiple, load, store};
use crate::operator::{MAX_MIRRORED, MirroredColumns};

/// Steps that are taken together, with the lanes of a class in registers.
const STEPS_PER_BLOCK: usize = 16;
/// Steps by which the prefetch of image columns is ahead: they lie far apart, in no order that the processor could foresee.
const PREFETCH_STEPS: usize = 16;
/// Planes that a kernel keeps in registers, in chunks of [`LANES`].
const MAX_CHUNKS: usize = 4;

/// Half the distance of neighbouring f32 between 1 and 2: the rounding of an operation, relative to its result.
const ROUNDING: f32 = f32::EPSILON / 2.0;

/// Where a path crosses a voxel face in z: the place of the step's row, and how far through the step.
#[derive(Clone, Copy, Debug, Default)]
struct Crossing {
    row: u32,
    fraction: f32,
}

/// Working memory of one thread: a path with what all LORs of a set share on it, and what each has for itself.
pub struct Scratch {
    /// The path; the caller traces it.
    pub path: TracedPath,
    /// The crossings of all families, where they lie on the path.
    crossings: Vec<Crossing>,
    /// For each crossing of a family the step that holds it, before rounding is put right.
    steps: Vec<i32>,
    /// For each family which of its crossings lie on the path.
    on_path: Vec<Range<usize>>,
    /// For each group, family by family, what its sums count for in a bin.
    scales: Vec<f32>,
    /// The sums along the path, one part after the other.
    parts: PathParts,
    /// For each step the image column of the LOR in hand.
    columns: Vec<u32>,
    /// G (forward) or its adjoint (back) at the beginning of each step and at the path's end.
    rows: Vec<f32>,
    /// C (forward) or its adjoint (back) at the path's end.
    end: Vec<f32>,
    /// The bins of each LOR of a set as its planes lie along the path, with room for a chunk behind the last.
    bins: Vec<f32>,
    bins_per_lor: usize,
    /// Bound of the rounding of a bin on the path, for a largest row integral of 1.
    rounding: f32,
    /// Bound of the rounding of the bins of each LOR of a set, by time-of-flight bin: (steps + crossings) 2⁻²⁴ · the largest row
    /// integral.
    bounds: Vec<f32>,
}

/// Parts of a path, for each bin of time of flight: steps with a weight each. Without time of flight one part, the path.
#[derive(Debug, Default)]
struct PathParts {
    /// The parts.
    parts: Vec<PathPart>,
    /// Number of those in use.
    num: usize,
    /// For each part the weighted lengths of its steps.
    lengths: Vec<f32>,
}

/// Successive steps of a path that count for one bin of time of flight.
#[derive(Clone, Debug, Default)]
struct PathPart {
    /// The steps.
    steps: Range<usize>,
    /// Where their lengths begin.
    first_length: usize,
    /// For each family which of its crossings lie in them.
    on_part: Vec<Range<usize>>,
    /// For each group, family by family, what its sums count for in a bin.
    scales: Vec<f32>,
    /// The time-of-flight bin.
    tof: usize,
}

impl PathParts {
    fn parts(&self) -> &[PathPart] {
        &self.parts[..self.num]
    }

    /// Returns the weighted lengths of a part's steps.
    fn lengths(&self, part: &PathPart) -> &[f32] {
        &self.lengths[part.first_length..][..part.steps.len()]
    }

    fn clear(&mut self) {
        self.num = 0;
        self.lengths.clear();
    }

    /// Adds steps for a bin, whose lengths come next.
    fn push(&mut self, steps: Range<usize>, tof: usize, lengths: impl Iterator<Item = f32>) -> &mut PathPart {
        if self.num == self.parts.len() {
            self.parts.push(PathPart::default());
        }
        let part = &mut self.parts[self.num];
        self.num += 1;
        part.on_part.clear();
        part.scales.clear();
        (part.steps, part.tof, part.first_length) = (steps, tof, self.lengths.len());
        self.lengths.extend(lengths);
        part
    }
}

impl Scratch {
    /// Memory for any path of `path`'s capacity, and for `num_tof` bins of time of flight.
    pub fn new(path: TracedPath, table: &AxialTable, num_planes: usize, num_tof: usize) -> Self {
        let row_len = table.layout.row_len();
        let padding = MAX_CHUNKS * LANES;
        let bins_per_lor = num_tof * num_planes + LANES;
        Self {
            crossings: vec![Crossing::default(); table.taus.len()],
            steps: vec![0; table.taus.len()],
            on_path: vec![0..0; table.families.len()],
            scales: Vec::with_capacity(table.families.iter().map(|family| family.groups.len()).sum()),
            parts: PathParts::default(),
            columns: vec![0; path.max_steps()],
            rows: vec![0.0; (path.max_steps() + 1) * row_len + padding],
            end: vec![0.0; row_len + padding],
            bins: vec![0.0; MAX_MIRRORED * bins_per_lor],
            bins_per_lor,
            rounding: 0.0,
            bounds: vec![0.0; MAX_MIRRORED * num_tof],
            path,
        }
    }

    /// Returns the bins of LOR number `member` of a set.
    #[inline(always)]
    pub fn bins(&mut self, member: usize) -> &mut [f32] {
        &mut self.bins[member * self.bins_per_lor..][..self.bins_per_lor]
    }

    /// Bounds of the rounding of the bins of LOR number `member`, by time-of-flight bin.
    #[inline(always)]
    pub fn bounds(&mut self, member: usize) -> &mut [f32] {
        let num_tof = self.bounds.len() / MAX_MIRRORED;
        &mut self.bounds[member * num_tof..][..num_tof]
    }

    /// Computes, after the path was traced, all that does not depend on its columns; `share` = weight of the path in a bin.
    #[inline(always)]
    pub fn prepare(&mut self, table: &AxialTable, tof: Option<&TofRuns>, share: f32) {
        self.prepare_crossings(table, share);
        self.parts.clear();
        let Some(tof) = tof else {
            let part = self.parts.push(0..self.path.num_steps, 0, self.path.lengths[..self.path.num_steps].iter().copied());
            part.on_part.extend_from_slice(&self.on_path);
            part.scales.extend_from_slice(&self.scales);
            return;
        };
        let row_len = table.layout.row_len();
        for node in 0..tof.num_nodes() {
            for (bin, steps, lengths) in tof.weighted_lengths(&self.path, node) {
                let part = self.parts.push(steps.clone(), bin, lengths);
                let [first, end] = [steps.start, steps.end].map(|step| (step * row_len) as u32);
                for (family, on_path) in table.families.iter().zip(&self.on_path) {
                    let crossings = &self.crossings[family.first_crossing..][on_path.clone()];
                    let before = |row: u32| on_path.start + crossings.partition_point(|crossing| crossing.row < row);
                    part.on_part.push(before(first)..before(end));
                }
                let groups = table.families.iter().flat_map(|family| &family.groups);
                let share = |(group, scale): (&Group, &f32)| scale * tof.share(node, group.rise_mm, self.path.lor_mm);
                part.scales.extend(groups.zip(&self.scales).map(share));
            }
        }
    }

    /// Finds the crossings on the path, and what each group counts for.
    #[inline(always)]
    fn prepare_crossings(&mut self, table: &AxialTable, share: f32) {
        let (lor_mm, start_mm) = (self.path.lor_mm as f32, self.path.start_mm as f32);
        let row_len = table.layout.row_len() as u32;
        self.scales.clear();
        let (mut most_crossings, mut longest) = (0, 1.0f32);
        for (family, on_path) in table.families.iter().zip(&mut self.on_path) {
            *on_path = crossings_on_path(family, &self.path);
            let range = family.first_crossing + on_path.start..family.first_crossing + on_path.end;
            let taus = &table.taus[range.clone()];
            // Two loops: the first is arithmetic alone and can be done in vectors, the second looks things up.
            for (step, tau) in self.steps.iter_mut().zip(taus) {
                *step = self.path.crossings_before(tau * lor_mm - start_mm);
            }
            for ((crossing, step), tau) in self.crossings[range].iter_mut().zip(&self.steps).zip(taus) {
                let (step, fraction) = self.path.locate(*step, tau * lor_mm - start_mm);
                *crossing = Crossing { row: step as u32 * row_len, fraction };
            }
            most_crossings = most_crossings.max(on_path.len());
            for group in &family.groups {
                let factor = length_factor(group.rise_mm / self.path.lor_mm);
                longest = longest.max(factor);
                self.scales.push(share * group.weight * factor);
            }
        }
        self.rounding = share * longest * (self.path.num_steps + most_crossings) as f32 * ROUNDING;
    }
}

/// Which crossings of a family lie on the path: a range among its own.
#[inline(always)]
fn crossings_on_path(family: &Family, path: &TracedPath) -> Range<usize> {
    if family.num_crossings == 0 {
        return 0..0;
    }
    let index =
        |mm: f64| ((mm / path.lor_mm - family.first_tau) / family.tau_step).ceil().clamp(0.0, family.num_crossings as f64);
    index(path.start_mm) as usize..index(path.start_mm + path.length_mm) as usize
}

/// Returns the length of a line over its in-plane length.
#[inline(always)]
fn length_factor(slope: f64) -> f32 {
    (1.0 + slope * slope).sqrt() as f32
}

#[inline(always)]
fn subtract(a: Chunk, b: Chunk) -> Chunk {
    let mut result = a;
    for lane in 0..LANES {
        result[lane] = a[lane] - b[lane];
    }
    result
}

/// Returns the first `count` lanes, and zero in the others.
#[inline(always)]
fn first_lanes(values: Chunk, count: usize) -> Chunk {
    let mut result = values;
    for (lane, value) in result.iter_mut().enumerate() {
        *value = if lane < count { *value } else { 0.0 };
    }
    result
}

/// The bins of LOR number `member` of a set += integrals over the path that was prepared, in the LOR's own columns. `x` has
/// [`LANES`] values behind the last column.
#[inline(always)]
pub fn forward<const FUSED: bool>(
    table: &AxialTable,
    x: &[f32],
    columns: &MirroredColumns,
    member: usize,
    num_planes: usize,
    scratch: &mut Scratch,
) {
    let Scratch { path, parts, columns: of_path, rows, end, bins, bins_per_lor, crossings, rounding, bounds, .. } = scratch;
    path.mirrored(columns, of_path);
    let row_len = table.layout.row_len();
    let num_tof = bounds.len() / MAX_MIRRORED;
    for part in parts.parts() {
        let first_row = part.steps.start * row_len;
        integrate::<FUSED>(table, x, &of_path[part.steps.clone()], parts.lengths(part), &mut rows[first_row..], end);
        let largest = end.iter().fold(0.0f32, |largest, value| if *value > largest { *value } else { largest });
        bounds[member * num_tof + part.tof] += *rounding * largest;
        let bins = &mut bins[member * *bins_per_lor + part.tof * num_planes..][..num_planes + LANES];
        let mut scales = part.scales.iter();
        for (family, on_part) in table.families.iter().zip(&part.on_part) {
            let crossings = &crossings[family.first_crossing..][on_part.clone()];
            for (group, &scale) in family.groups.iter().zip(&mut scales) {
                if scale == 0.0 {
                    continue;
                }
                let end_row = &end[group.row_offsets[on_part.end] as usize..];
                let offsets = &group.offsets[on_part.clone()];
                for done in (0..group.num_planes).step_by(MAX_CHUNKS * LANES) {
                    let left = (group.num_planes - done).min(MAX_CHUNKS * LANES);
                    let (rows, end) = (&rows[done..], &end_row[done..]);
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
                            let sum = add_multiple::<FUSED>(scale, sum, load(bins, at));
                            store(bins, at, sum);
                        }
                    } else {
                        for (k, sum) in sums.as_flattened().iter().enumerate().take(left) {
                            bins[at + k * group.plane_step] += scale * sum;
                        }
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

/// Fills `rows` with G along successive steps of a path, from its beginning on, and `end` with C behind the last.
#[inline(always)]
fn integrate<const FUSED: bool>(
    table: &AxialTable,
    x: &[f32],
    columns: &[u32],
    lengths: &[f32],
    all_rows: &mut [f32],
    end: &mut [f32],
) {
    let layout = &table.layout;
    let (row_len, column_len, lanes, classes) = (layout.row_len(), layout.column_len(), layout.lanes, layout.num_classes);
    let below = layout.row_class(classes - 1) - 1;
    all_rows[..row_len].fill(0.0);
    end.fill(0.0);
    let blocks = columns.chunks(STEPS_PER_BLOCK).zip(lengths.chunks(STEPS_PER_BLOCK));
    for (block, (block_columns, lengths)) in blocks.enumerate() {
        for &ahead in columns.iter().skip(block * STEPS_PER_BLOCK + PREFETCH_STEPS).take(STEPS_PER_BLOCK) {
            prefetch(&x[ahead as usize * column_len..][..column_len]);
        }
        let rows = &mut all_rows[block * STEPS_PER_BLOCK * row_len..];
        for class in 0..classes {
            for lane in (0..lanes).step_by(MAX_CHUNKS * LANES) {
                let left = (lanes - lane).min(MAX_CHUNKS * LANES);
                let at = layout.row_class(class) + lane;
                // The row above z: the next class, or the first class one lane on.
                let value_at = class * lanes + lane;
                let above_at = if class + 1 < classes { value_at + lanes } else { lane + 1 };
                // The last lane lies above the grid, where the lane on would be another class's.
                let is_top = class + 1 == classes && lane + left == lanes;
                let steps = Steps { columns: block_columns, lengths, column_len, row_len };
                let (rows, end) = (&mut rows[at..], &mut end[at..]);
                match left / LANES {
                    1 => steps.integrate::<1, FUSED>(x, value_at, above_at, rows, end, is_top),
                    2 => steps.integrate::<2, FUSED>(x, value_at, above_at, rows, end, is_top),
                    3 => steps.integrate::<3, FUSED>(x, value_at, above_at, rows, end, is_top),
                    _ => steps.integrate::<4, FUSED>(x, value_at, above_at, rows, end, is_top),
                }
            }
        }
        if table.uses_row_below {
            for (step, (&column, length)) in block_columns.iter().zip(lengths).enumerate() {
                let at = step * row_len + below;
                rows[at + row_len] = rows[at] - length * x[column as usize * column_len];
            }
        }
    }
}

/// Steps of a path that follow each other.
#[derive(Clone, Copy)]
struct Steps<'a> {
    columns: &'a [u32],
    lengths: &'a [f32],
    column_len: usize,
    row_len: usize,
}

impl Steps<'_> {
    /// Integrates C·LANES lanes: `rows` begins where they lie in the row before the first step, and `end` where they lie in C.
    #[inline(always)]
    fn integrate<const C: usize, const FUSED: bool>(
        self,
        x: &[f32],
        value_at: usize,
        above_at: usize,
        rows: &mut [f32],
        end: &mut [f32],
        is_top: bool,
    ) {
        let mut g = [[0.0f32; LANES]; C];
        let mut sum = [[0.0f32; LANES]; C];
        for c in 0..C {
            g[c] = load(rows, c * LANES);
            sum[c] = load(end, c * LANES);
        }
        let mut row = self.row_len;
        for (&column, &length) in self.columns.iter().zip(self.lengths) {
            let first = column as usize * self.column_len;
            let values = &x[first + value_at..][..C * LANES];
            let above = &x[first + above_at..][..C * LANES];
            let next = &mut rows[row..row + C * LANES];
            for c in 0..C {
                let value = load(values, c * LANES);
                sum[c] = add_multiple::<FUSED>(length, value, sum[c]);
                g[c] = add_multiple::<FUSED>(length, subtract(value, load(above, c * LANES)), g[c]);
                store(next, c * LANES, g[c]);
            }
            if is_top {
                next[C * LANES - 1] = 0.0;
            }
            row += self.row_len;
        }
        for (c, sum) in sum.iter().enumerate() {
            store(end, c * LANES, *sum);
        }
    }

    /// The adjoint: `rows` begins where the lanes lie in the row before the first step, `below` where the lanes below them do;
    /// `sums` contains the sums of later steps.
    #[inline(always)]
    fn spread<const C: usize, const FUSED: bool, S: ImageSink>(
        self,
        image: &mut S,
        value_at: usize,
        rows: &[f32],
        below: &[f32],
        sums: &mut [f32],
    ) {
        let mut sum = [[0.0f32; LANES]; C];
        for (c, sum) in sum.iter_mut().enumerate() {
            *sum = load(sums, c * LANES);
        }
        let mut row = self.columns.len() * self.row_len;
        for (&column, &length) in self.columns.iter().zip(self.lengths).rev() {
            let (here, below) = (&rows[row..row + C * LANES], &below[row..row + C * LANES]);
            let mut values = [[0.0f32; LANES]; C];
            for c in 0..C {
                sum[c] = add(sum[c], subtract(load(here, c * LANES), load(below, c * LANES)));
                values[c] = add_multiple::<FUSED>(length, sum[c], values[c]);
            }
            image.add_row(column as usize * self.column_len + value_at, values.as_flattened());
            row -= self.row_len;
        }
        for (c, sum) in sum.iter().enumerate() {
            store(sums, c * LANES, *sum);
        }
    }
}

/// Image += adjoint of [`forward`] applied to the bins of LOR number `member`.
#[inline(always)]
pub fn backward<const FUSED: bool, S: ImageSink>(
    table: &AxialTable,
    columns: &MirroredColumns,
    member: usize,
    num_planes: usize,
    scratch: &mut Scratch,
    image: &mut S,
) {
    let Scratch { path, parts, columns: of_path, rows, end, bins, bins_per_lor, crossings, .. } = scratch;
    path.mirrored(columns, of_path);
    let row_len = table.layout.row_len();
    for part in parts.parts() {
        let first_row = part.steps.start * row_len;
        let used = (part.steps.len() + 1) * row_len + MAX_CHUNKS * LANES;
        rows[first_row..][..used].fill(0.0);
        end.fill(0.0);
        let bins = &bins[member * *bins_per_lor + part.tof * num_planes..][..num_planes + LANES];
        let mut scales = part.scales.iter();
        for (family, on_part) in table.families.iter().zip(&part.on_part) {
            let crossings = &crossings[family.first_crossing..][on_part.clone()];
            for (group, &scale) in family.groups.iter().zip(&mut scales) {
                if scale == 0.0 {
                    continue;
                }
                let offsets = &group.offsets[on_part.clone()];
                for done in (0..group.num_planes).step_by(MAX_CHUNKS * LANES) {
                    let left = (group.num_planes - done).min(MAX_CHUNKS * LANES);
                    let values = group_values(group, bins, done, left, scale);
                    let rows = &mut rows[done..];
                    let end = &mut end[group.row_offsets[on_part.end] as usize + done..];
                    match left.div_ceil(LANES) {
                        1 => scatter::<1, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &values),
                        2 => scatter::<2, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &values),
                        3 => scatter::<3, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &values),
                        _ => scatter::<4, FUSED>(rows, row_len, crossings, offsets, group.sign, end, &values),
                    }
                }
            }
        }
        let (columns, lengths) = (&of_path[part.steps.clone()], parts.lengths(part));
        spread::<FUSED, S>(&table.layout, columns, lengths, &rows[first_row..], end, image);
    }
}

/// Returns the scaled bins of `count` planes of a group from plane `done` on, zero behind the last.
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
fn spread<const FUSED: bool, S: ImageSink>(
    layout: &Layout,
    columns: &[u32],
    lengths: &[f32],
    all_rows: &[f32],
    end: &mut [f32],
    image: &mut S,
) {
    let (row_len, column_len, lanes, classes) = (layout.row_len(), layout.column_len(), layout.lanes, layout.num_classes);
    let blocks = columns.chunks(STEPS_PER_BLOCK).zip(lengths.chunks(STEPS_PER_BLOCK));
    for (block, (block_columns, lengths)) in blocks.enumerate().rev() {
        let before = (block * STEPS_PER_BLOCK).saturating_sub(PREFETCH_STEPS);
        for &ahead in columns[before..].iter().take(STEPS_PER_BLOCK).rev() {
            image.prefetch_row(ahead as usize * column_len, column_len);
        }
        let rows = &all_rows[block * STEPS_PER_BLOCK * row_len..];
        for class in 0..classes {
            // The row below z: the class before, or the last class one lane back.
            let below_at = if class > 0 { layout.row_class(class - 1) } else { layout.row_class(classes - 1) - 1 };
            for lane in (0..lanes).step_by(MAX_CHUNKS * LANES) {
                let left = (lanes - lane).min(MAX_CHUNKS * LANES);
                let (at, value_at) = (layout.row_class(class) + lane, class * lanes + lane);
                let steps = Steps { columns: block_columns, lengths, column_len, row_len };
                let (here, below, sums) = (&rows[at..], &rows[below_at + lane..], &mut end[at..]);
                match left / LANES {
                    1 => steps.spread::<1, FUSED, S>(image, value_at, here, below, sums),
                    2 => steps.spread::<2, FUSED, S>(image, value_at, here, below, sums),
                    3 => steps.spread::<3, FUSED, S>(image, value_at, here, below, sums),
                    _ => steps.spread::<4, FUSED, S>(image, value_at, here, below, sums),
                }
            }
        }
    }
}
