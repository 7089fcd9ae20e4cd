//! Kernels of penalties on the host: f32, vectors of voxels, each pair of voxels once, the same bits for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::{PairWeights, Penalty, PenaltyKernels, Potential};
use crate::algebra::{BackendError, Host, HostArray, Image, Simd, VoxelPlaces};

/// The length of a row is a multiple of it: vectors have no remainder.
const LANES: usize = 8;
/// Largest number of slabs, in which threads share an image.
const MAX_SLABS: usize = 32;
/// Planes of a slab, at least. Their number is even: so they lie together in every order of voxels.
const MIN_PLANES: usize = 4;

/// The voxels of an image in rows along the axis whose neighbours lie next to each other. A row has a value before its first voxel and
/// at least one behind its last, all 0.
pub struct HostNeighbours {
    places: VoxelPlaces,
    /// The axes from plane to plane, from row to row of a plane, and that of a row.
    axes: [usize; 3],
    /// Values of a row.
    row_len: usize,
    weights: PairWeights,
    /// κ of the voxels in rows; `None` = 1.
    kappa: Option<Vec<f32>>,
    /// 1 for each voxel of a row, 0 for the values before and behind them.
    is_voxel: Vec<f32>,
    /// For each row the voxels in the field of view.
    views: Vec<Range<usize>>,
}

/// The voxels whose sums are complete.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    All,
    FieldOfView,
}

/// The rows of a plane.
struct Plane {
    values: Vec<f32>,
    /// Σ w κ′ term(x, x′) over the pairs so far.
    sums: Vec<f32>,
}

/// The voxels of a row, or their neighbours one further on or back.
#[derive(Clone, Copy)]
struct Row<'a> {
    values: &'a [f32],
    kappa: &'a [f32],
}

impl HostNeighbours {
    fn new(places: VoxelPlaces, weights: PairWeights, kappa: Option<&[f32]>) -> Self {
        // Planes lie behind each other, in the order of a volume along z, else along y.
        let axes = match places.order {
            Some([2, 1, 0]) => [2, 1, 0],
            _ if places.size[2] >= LANES => [1, 0, 2],
            _ => [1, 2, 0],
        };
        let [num_planes, num_rows, num] = axes.map(|axis| places.size[axis]);
        let row_len = num.next_multiple_of(LANES) + 2;
        let [nx, ny, _] = places.size;
        let mut new = Self {
            is_voxel: (0..row_len).map(|at| if (1..=num).contains(&at) { 1.0 } else { 0.0 }).collect(),
            kappa: None,
            views: Vec::new(),
            places,
            axes,
            row_len,
            weights,
        };
        new.views = (0..num_planes * num_rows).map(|row| new.view(row / num_rows, row % num_rows)).collect();
        new.kappa = kappa.map(|kappa| {
            let mut rows = vec![0.0; num_planes * num_rows * row_len];
            for (row, values) in rows.chunks_exact_mut(row_len).enumerate() {
                for (at, value) in values[1..=num].iter_mut().enumerate() {
                    let [x, y, z] = new.voxel([row / num_rows, row % num_rows, at]);
                    *value = kappa[(z * ny + y) * nx + x];
                }
            }
            rows
        });
        new
    }

    /// Returns the voxel (x, y, z) by its plane, its row and its place in the row.
    fn voxel(&self, at: [usize; 3]) -> [usize; 3] {
        let mut voxel = [0; 3];
        self.axes.into_iter().zip(at).for_each(|(axis, at)| voxel[axis] = at);
        voxel
    }

    /// Returns the voxels of a row in the field of view.
    fn view(&self, plane: usize, row: usize) -> Range<usize> {
        let [x, y, _] = self.voxel([plane, row, 0]);
        let [from, to] = self.places.fov_rows[y].map(|x| x as usize);
        match self.axes[2] {
            0 => from..to,
            _ if self.places.is_seen(x, y) => 0..self.places.size[2],
            _ => 0..0,
        }
    }

    fn num_planes(&self) -> usize {
        self.places.size[self.axes[0]]
    }

    /// Rows of a plane.
    fn num_rows(&self) -> usize {
        self.places.size[self.axes[1]]
    }

    /// Returns the planes of each slab: the same for any number of threads.
    fn slabs(&self) -> Vec<Range<usize>> {
        let num = self.num_planes();
        let planes = num.div_ceil(MAX_SLABS).next_multiple_of(2).max(MIN_PLANES);
        (0..num).step_by(planes).map(|first| first..(first + planes).min(num)).collect()
    }

    /// Returns the places of a row's voxels in an array.
    fn places_of_row(&self, plane: usize, row: usize) -> impl Iterator<Item = usize> {
        let [outer, middle, along] = self.axes;
        let first = self.places.along[outer][plane] + self.places.along[middle][row];
        self.places.along[along].iter().map(move |at| (first + at) as usize)
    }

    /// Returns the values of a row from `first` on, less the two before and behind the voxels.
    fn range(&self, row: usize, first: usize) -> Range<usize> {
        let start = row * self.row_len + first;
        start..start + self.row_len - 2
    }

    fn plane(&self) -> Plane {
        let zeros = || vec![0.0; self.num_rows() * self.row_len];
        Plane { values: zeros(), sums: zeros() }
    }

    /// Copies the values of a plane. Its sums begin at 0.
    fn load(&self, x: &[f32], number: usize, plane: &mut Plane) {
        plane.sums.fill(0.0);
        for (row, values) in plane.values.chunks_exact_mut(self.row_len).enumerate() {
            values[1..].iter_mut().zip(self.places_of_row(number, row)).for_each(|(value, place)| *value = x[place]);
        }
    }

    /// κ of a row of a plane.
    fn kappa_of(&self, plane: usize, row: usize) -> &[f32] {
        let row = plane * self.num_rows() + row;
        self.kappa.as_ref().map_or(&self.is_voxel, |kappa| &kappa[row * self.row_len..][..self.row_len])
    }

    /// Calls `visit(plane, row, sums)` for each row of a slab; sums = κ Σ w κ′ term(x, x′) of its voxels. `term` returns the terms of a
    /// pair's first and second voxel. A slab computes its pairs with the plane before it again and needs no other slab.
    fn for_rows_of_slab(
        &self,
        slab: Range<usize>,
        extent: Extent,
        x: &[f32],
        term: &impl Fn(f32, f32) -> [f32; 2],
        mut visit: impl FnMut(usize, usize, &[f32]),
    ) {
        let [mut plane, mut next] = [self.plane(), self.plane()];
        let mut own_sums = vec![0.0; self.row_len - 2];
        let first = slab.start.saturating_sub(1);
        self.load(x, first, &mut plane);
        for number in first..slab.end {
            if number + 1 < self.num_planes() {
                self.load(x, number + 1, &mut next);
            }
            for row in 0..self.num_rows() {
                own_sums.fill(0.0);
                self.add_pairs_of_row([number, row], extent, [&mut plane, &mut next], &mut own_sums, term);
            }
            for row in (0..self.num_rows()).filter(|_| slab.contains(&number)) {
                let sums = &mut plane.sums[self.range(row, 1)];
                sums.iter_mut().zip(&self.kappa_of(number, row)[1..]).for_each(|(sum, kappa)| *sum *= kappa);
                visit(number, row, sums);
            }
            std::mem::swap(&mut plane, &mut next);
        }
    }

    /// Adds the pairs of a row's voxels with those behind them, in this plane and the next one, to the sums of both.
    fn add_pairs_of_row(
        &self,
        [number, row]: [usize; 2],
        extent: Extent,
        [plane, next]: [&mut Plane; 2],
        own_sums: &mut [f32],
        term: &impl Fn(f32, f32) -> [f32; 2],
    ) {
        let own_range = self.range(row, 1);
        let own = Row { values: &plane.values[own_range.clone()], kappa: &self.kappa_of(number, row)[self.range(0, 1)] };
        let is_needed = |plane: usize, row: usize| extent == Extent::All || !self.views[plane * self.num_rows() + row].is_empty();
        for (of_plane, of_row, along) in [(0, 0, 1..=1), (0, 1, -1..=1), (1, -1, -1..=1), (1, 0, -1..=1), (1, 1, -1..=1)] {
            let other_number = Some(number + of_plane).filter(|number| *number < self.num_planes());
            let other_row = row.checked_add_signed(of_row).filter(|row| *row < self.num_rows());
            let (Some(other_number), Some(other_row)) = (other_number, other_row) else { continue };
            if !is_needed(number, row) && !is_needed(other_number, other_row) {
                continue;
            }
            let (values, sums) = match of_plane {
                0 => (&plane.values, &mut plane.sums),
                _ => (&next.values, &mut next.sums),
            };
            for along in along {
                let first = if along < 0 { 0 } else { 1 + along as usize };
                let range = self.range(other_row, first);
                let kappa = &self.kappa_of(other_number, other_row)[self.range(0, first)];
                let other = Row { values: &values[range.clone()], kappa };
                let mut step = [0; 3];
                self.axes.into_iter().zip([of_plane as isize, of_row, along]).for_each(|(axis, by)| step[axis] = by);
                add_pairs(self.weights.of(step) as f32, [own, other], [own_sums, &mut sums[range]], term);
            }
        }
        // (Not before: a row has pairs with itself.)
        plane.sums[own_range].iter_mut().zip(own_sums).for_each(|(sum, own)| *sum += *own);
    }

    /// `out` += scale · κ Σ w κ′ term(x, x′) in the field of view.
    fn add(&self, scale: f32, x: &[f32], term: impl Fn(f32, f32) -> [f32; 2] + Sync, out: &mut [f32]) {
        let (mut slabs, mut before) = (Vec::new(), out);
        for slab in self.slabs().into_iter().rev() {
            // (Voxel 0 may lie behind padding.)
            let start = if slab.start == 0 { 0 } else { self.places.along[self.axes[0]][slab.start] as usize };
            let (rest, out) = before.split_at_mut(start);
            before = rest;
            slabs.push((slab, start, out));
        }
        slabs.into_par_iter().for_each(|(slab, start, out)| {
            self.for_rows_of_slab(slab, Extent::FieldOfView, x, &term, |plane, row, sums| {
                let view = self.views[plane * self.num_rows() + row].clone();
                let voxels = self.places_of_row(plane, row).zip(sums).take(view.end).skip(view.start);
                voxels.for_each(|(place, sum)| out[place - start] += scale * sum);
            });
        });
    }

    /// ½ Σ κ Σ w κ′ term(x, x′) over all voxels: the sums of both voxels have each pair.
    fn half_sum(&self, x: &[f32], term: impl Fn(f32, f32) -> [f32; 2] + Sync) -> f64 {
        let of_slab = |slab: Range<usize>| -> f64 {
            let mut total = 0.0;
            self.for_rows_of_slab(slab, Extent::All, x, &term, |_, _, sums| {
                total += sums.iter().map(|sum| f64::from(*sum)).sum::<f64>();
            });
            total
        };
        let sums: Vec<f64> = self.slabs().into_par_iter().map(of_slab).collect();
        0.5 * sums.into_iter().sum::<f64>()
    }

    fn expect_len(&self, array: &HostArray<Image>) -> Result<(), BackendError> {
        let (expected, found) = (self.places.len, array.len());
        if expected == found { Ok(()) } else { Err(BackendError::Length { expected, found }) }
    }
}

/// Adds the pairs of the voxels of two rows to the sums of both, with the processor's vector instructions.
#[allow(unsafe_code)]
fn add_pairs(weight: f32, rows: [Row<'_>; 2], sums: [&mut [f32]; 2], term: &impl Fn(f32, f32) -> [f32; 2]) {
    #[cfg(target_arch = "x86_64")]
    if Simd::detect() >= Simd::Avx2 {
        // SAFETY: the processor has the instructions.
        return unsafe { add_pairs_avx2(weight, rows, sums, term) };
    }
    add_pairs_lanes(weight, rows, sums, term);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn add_pairs_avx2(weight: f32, rows: [Row<'_>; 2], sums: [&mut [f32]; 2], term: &impl Fn(f32, f32) -> [f32; 2]) {
    add_pairs_lanes(weight, rows, sums, term);
}

/// The same in a loop that the compiler vectorises.
#[inline(always)]
fn add_pairs_lanes(weight: f32, [own, other]: [Row<'_>; 2], sums: [&mut [f32]; 2], term: &impl Fn(f32, f32) -> [f32; 2]) {
    let [own_sums, other_sums] = sums;
    let len = own_sums.len();
    let other_sums = &mut other_sums[..len];
    let [(x, kappa), (other_x, other_kappa)] = [own, other].map(|row| (&row.values[..len], &row.kappa[..len]));
    for at in 0..len {
        let [of_own, of_other] = term(x[at], other_x[at]);
        own_sums[at] += weight * other_kappa[at] * of_own;
        other_sums[at] += weight * kappa[at] * of_other;
    }
}

impl PenaltyKernels for Host {
    type Neighbours = HostNeighbours;

    fn neighbours(&mut self, penalty: &Penalty, places: VoxelPlaces, voxel_mm: [f64; 3]) -> Result<HostNeighbours, BackendError> {
        let kappa = penalty.kappa_of(&places)?;
        Ok(HostNeighbours::new(places, PairWeights::new(voxel_mm), kappa))
    }

    fn subtract_penalty_gradient(
        &mut self,
        penalty: &Penalty,
        neighbours: &HostNeighbours,
        x: &HostArray<Image>,
        out: &mut HostArray<Image>,
    ) -> Result<(), BackendError> {
        neighbours.expect_len(x)?;
        neighbours.expect_len(out)?;
        let (scale, out) = (-penalty.strength as f32, out.values_mut());
        match penalty.potential.in_f32() {
            Pair::RelativeDifference(pair) => neighbours.add(scale, x, |x, other| pair.slopes(x, other), out),
            Pair::Quadratic => neighbours.add(scale, x, |x, other| [x - other, other - x], out),
            Pair::LogCosh(pair) => neighbours.add(scale, x, |x, other| pair.slopes(x, other), out),
        }
        Ok(())
    }

    fn penalty_value(
        &mut self,
        penalty: &Penalty,
        neighbours: &HostNeighbours,
        x: &HostArray<Image>,
    ) -> Result<f64, BackendError> {
        neighbours.expect_len(x)?;
        let sum = match penalty.potential.in_f32() {
            Pair::RelativeDifference(pair) => neighbours.half_sum(x, |x, other| [pair.value(x, other); 2]),
            Pair::Quadratic => neighbours.half_sum(x, |x, other| [0.5 * (x - other) * (x - other); 2]),
            Pair::LogCosh(pair) => neighbours.half_sum(x, |x, other| [pair.value(x, other); 2]),
        };
        Ok(penalty.strength * sum)
    }

    fn add_penalty_curvature(
        &mut self,
        penalty: &Penalty,
        neighbours: &HostNeighbours,
        x: &HostArray<Image>,
        out: &mut HostArray<Image>,
    ) -> Result<(), BackendError> {
        neighbours.expect_len(x)?;
        neighbours.expect_len(out)?;
        let (scale, out) = (penalty.strength as f32, out.values_mut());
        match penalty.potential.in_f32() {
            Pair::RelativeDifference(pair) => neighbours.add(scale, x, |x, other| pair.curvatures(x, other), out),
            Pair::Quadratic => neighbours.add(scale, x, |_, _| [1.0; 2], out),
            Pair::LogCosh(pair) => neighbours.add(scale, x, |x, other| pair.curvatures(x, other), out),
        }
        Ok(())
    }
}

/// ψ in f32, without branches. Kernels on GPUs have the same formulas.
enum Pair {
    RelativeDifference(RelativeDifference),
    Quadratic,
    LogCosh(LogCosh),
}

impl Potential {
    fn in_f32(self) -> Pair {
        match self {
            Potential::RelativeDifference { gamma, epsilon } => {
                Pair::RelativeDifference(RelativeDifference { gamma: gamma as f32, epsilon: epsilon as f32 })
            }
            Potential::Quadratic => Pair::Quadratic,
            Potential::LogCosh { delta } => Pair::LogCosh(LogCosh { delta: delta as f32, inverse: (1.0 / delta) as f32 }),
        }
    }
}

#[derive(Clone, Copy)]
struct RelativeDifference {
    gamma: f32,
    epsilon: f32,
}

impl RelativeDifference {
    /// Returns the difference and 1 / (x + x′ + γ |x − x′| + ε), 0 of two zeros without an ε.
    #[inline(always)]
    fn parts(self, x: f32, other: f32) -> [f32; 2] {
        let difference = x - other;
        let divisor = x + other + self.gamma * difference.abs() + self.epsilon;
        [difference, if divisor > 0.0 { 1.0 / divisor } else { 0.0 }]
    }

    #[inline(always)]
    fn value(self, x: f32, other: f32) -> f32 {
        let [difference, inverse] = self.parts(x, other);
        difference * (difference * inverse)
    }

    #[inline(always)]
    fn slopes(self, x: f32, other: f32) -> [f32; 2] {
        let [difference, inverse] = self.parts(x, other);
        let ratio = difference * inverse;
        let slope = |ratio: f32, other: f32| ratio * (1.0 + (2.0 * other + self.epsilon) * inverse);
        [slope(ratio, other), slope(-ratio, x)]
    }

    #[inline(always)]
    fn curvatures(self, x: f32, other: f32) -> [f32; 2] {
        let [_, inverse] = self.parts(x, other);
        [other, x].map(|other| inverse * (1.0 + (2.0 * other + self.epsilon) * inverse))
    }
}

#[derive(Clone, Copy)]
struct LogCosh {
    delta: f32,
    /// 1 / δ.
    inverse: f32,
}

impl LogCosh {
    /// Returns t = |x − x′| / δ and e^(−2t).
    #[inline(always)]
    fn parts(self, x: f32, other: f32) -> [f32; 2] {
        let t = (x - other).abs() * self.inverse;
        [t, exp(-2.0 * t)]
    }

    #[inline(always)]
    fn value(self, x: f32, other: f32) -> f32 {
        let [t, exp] = self.parts(x, other);
        // ln cosh t = 2 artanh(tanh² (t / 2)), and for large t = t − ln 2 + ln(1 + e^(−2t)).
        let half = tanh_of_small(0.5 * t);
        let ln_cosh = if t <= 1.0 {
            2.0 * artanh_of_small(half * half)
        } else {
            t - std::f32::consts::LN_2 + 2.0 * artanh_of_small(exp / (2.0 + exp))
        };
        self.delta * (self.delta * ln_cosh)
    }

    #[inline(always)]
    fn slopes(self, x: f32, other: f32) -> [f32; 2] {
        let [t, exp] = self.parts(x, other);
        let tanh = if t <= 1.0 { tanh_of_small(t) } else { (1.0 - exp) / (1.0 + exp) };
        let slope = self.delta * if x < other { -tanh } else { tanh };
        [slope, -slope]
    }

    #[inline(always)]
    fn curvatures(self, x: f32, other: f32) -> [f32; 2] {
        let [t, exp] = self.parts(x, other);
        [if t <= 1.0 { tanh_over_small(t) } else { (1.0 - exp) / (t * (1.0 + exp)) }; 2]
    }
}

/// tanh t for t from 0 to 1, to 6e-8.
#[inline(always)]
fn tanh_of_small(t: f32) -> f32 {
    t * tanh_over_small(t)
}

/// tanh t / t for t from 0 to 1: its continued fraction with five terms.
#[inline(always)]
fn tanh_over_small(t: f32) -> f32 {
    let t2 = t * t;
    (945.0 + t2 * (105.0 + t2)) / (945.0 + t2 * (420.0 + 15.0 * t2))
}

/// artanh u for u from 0 to 0.22, to 2e-8: its series.
#[inline(always)]
fn artanh_of_small(u: f32) -> f32 {
    let u2 = u * u;
    u * (1.0 + u2 * (1.0 / 3.0 + u2 * (1.0 / 5.0 + u2 * (1.0 / 7.0 + u2 * (1.0 / 9.0)))))
}

/// eˣ for x up to 0, to 2e-7, in arithmetic that the compiler vectorises: 2ⁿ eʳ with n the integer nearest to x / ln 2.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding it rounds to an integer, which the last bits contain.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN_2_HIGH - n * LN_2_LOW;
    let series = 1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0))));
    let power = f32::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits() - 127) << 23);
    power * (1.0 + r * (1.0 + r * (0.5 + r * series)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_f32_are_those_of_the_definition() {
        let steps = [0.0f32, 1e-7, 1e-4, 3e-3, 0.04, 0.3, 0.49, 0.51, 0.9, 1.0, 1.1, 2.0, 5.0, 13.0, 40.0, 300.0];
        let potentials = [
            Potential::RelativeDifference { gamma: 2.0, epsilon: 0.01 },
            Potential::RelativeDifference { gamma: 0.0, epsilon: 0.0 },
            Potential::LogCosh { delta: 0.5 },
            Potential::LogCosh { delta: 1.0 },
        ];
        for (potential, base) in potentials.into_iter().flat_map(|potential| [(potential, 0.0f32), (potential, 0.25)]) {
            for (x, other) in steps.into_iter().flat_map(|step| [(base + step, base), (base, base + step)]) {
                let exact = potential.terms(x.into(), other.into());
                let of_other = potential.terms(other.into(), x.into());
                let found = match potential.in_f32() {
                    Pair::RelativeDifference(pair) => (pair.value(x, other), pair.slopes(x, other), pair.curvatures(x, other)),
                    Pair::LogCosh(pair) => (pair.value(x, other), pair.slopes(x, other), pair.curvatures(x, other)),
                    Pair::Quadratic => continue,
                };
                let (value, [slope, other_slope], [curvature, other_curvature]) = found;
                let found = [value, slope, other_slope, curvature, other_curvature];
                let exact = [exact.value, exact.slope, of_other.slope, exact.above, of_other.above];
                for (found, exact) in found.into_iter().zip(exact) {
                    let error = (f64::from(found) - exact).abs();
                    assert!(error <= 5e-7 * exact.abs() + 1e-15, "{potential:?} {x} {other}: {found} {exact}");
                }
            }
        }
    }

    #[test]
    fn the_fast_exponential_is_the_exponential() {
        for x in (0..8700).map(|i| -0.01 * i as f32) {
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) - exact).abs() <= 2e-7 * exact, "{x}");
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(f32::NAN).is_nan());
    }
}
