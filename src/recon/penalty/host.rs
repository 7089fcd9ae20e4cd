//! Kernels of penalties on the host: f32, eight voxels at a time, the same bits for any number of threads.

use rayon::prelude::*;

use super::{PairWeights, Penalty, PenaltyKernels, Potential};
use crate::algebra::{BackendError, CHUNK, Host, HostArray, Image, Simd, VoxelPlaces};

/// Voxels at a time.
const LANES: usize = 8;

/// Number of a value of an array that is no voxel in the field of view.
const NO_VOXEL: u32 = u32::MAX;

/// The voxels of an image in rows along the axis whose neighbours lie next to each other. A row has a value before its first voxel and
/// at least one behind its last, all 0.
pub struct HostNeighbours {
    places: VoxelPlaces,
    /// The axes from row to row, slowest first, and that of a row.
    axes: [usize; 3],
    /// Values of a row.
    row_len: usize,
    /// Number of each value of an array among those of the rows.
    numbers: Vec<u32>,
    weights: PairWeights,
    /// κ of the voxels in rows; `None` = 1.
    kappa: Option<Vec<f32>>,
    /// 1 for each voxel of a row, 0 for the values before and behind them.
    is_voxel: Vec<f32>,
}

/// A neighbouring row as a voxel's block of a row meets it.
struct OtherRow<'a> {
    /// From the neighbour of the row's first voxel on.
    values: &'a [f32],
    kappa: &'a [f32],
    weight: f32,
}

impl HostNeighbours {
    fn new(places: VoxelPlaces, weights: PairWeights, kappa: Option<&[f32]>) -> Self {
        let axes = if places.z_is_fastest() && places.size[2] >= LANES { [1, 0, 2] } else { [2, 1, 0] };
        let num = places.size[axes[2]];
        let row_len = num.next_multiple_of(LANES) + 2;
        let mut new = Self {
            numbers: vec![NO_VOXEL; places.len],
            is_voxel: (0..row_len).map(|at| if (1..=num).contains(&at) { 1.0 } else { 0.0 }).collect(),
            kappa: None,
            places,
            axes,
            row_len,
            weights,
        };
        for row in 0..new.num_rows() {
            for at in 0..num {
                let voxel = new.voxel(row, at);
                if new.places.is_seen(voxel[0], voxel[1]) {
                    new.numbers[new.places.of(voxel)] = (row * row_len + 1 + at) as u32;
                }
            }
        }
        let [nx, ny, _] = new.places.size;
        new.kappa = kappa.map(|kappa| new.in_rows(|[x, y, z]| kappa[(z * ny + y) * nx + x]));
        new
    }

    fn num_rows(&self) -> usize {
        self.places.size[self.axes[0]] * self.places.size[self.axes[1]]
    }

    /// The voxel (x, y, z) of a row.
    fn voxel(&self, row: usize, at: usize) -> [usize; 3] {
        let num_middle = self.places.size[self.axes[1]];
        let mut voxel = [0; 3];
        (voxel[self.axes[0]], voxel[self.axes[1]], voxel[self.axes[2]]) = (row / num_middle, row % num_middle, at);
        voxel
    }

    /// Returns values of all voxels in rows.
    fn in_rows(&self, value: impl Fn([usize; 3]) -> f32 + Sync) -> Vec<f32> {
        let num = self.places.size[self.axes[2]];
        let mut rows = vec![0.0; self.num_rows() * self.row_len];
        rows.par_chunks_mut(self.row_len).enumerate().for_each(|(row, values)| {
            values[1..=num].iter_mut().enumerate().for_each(|(at, to)| *to = value(self.voxel(row, at)));
        });
        rows
    }

    /// κ of a row.
    fn kappa_of(&self, row: usize) -> &[f32] {
        self.kappa.as_ref().map_or(&self.is_voxel, |kappa| &kappa[row * self.row_len..][..self.row_len])
    }

    /// Puts κ Σ w κ′ term(x, x′) of the voxels of a row into `sums`; `rows` = the values of all rows.
    fn sums_of_row(&self, rows: &[f32], row: usize, term: &(impl Fn(f32, f32) -> f32 + Sync), sums: &mut [f32]) {
        let [outer, middle, along] = self.axes;
        let [num_outer, num_middle] = [outer, middle].map(|axis| self.places.size[axis] as isize);
        let place = [row as isize / num_middle, row as isize % num_middle];
        let others: Vec<OtherRow<'_>> = PairWeights::steps()
            .filter_map(|step| {
                let [of_outer, of_middle] = [place[0] + step[outer], place[1] + step[middle]];
                let is_inside = (0..num_outer).contains(&of_outer) && (0..num_middle).contains(&of_middle);
                let other = usize::try_from(of_outer * num_middle + of_middle).ok().filter(|_| is_inside)?;
                let first = 1usize.checked_add_signed(step[along])?;
                Some(OtherRow {
                    values: &rows[other * self.row_len..][first..self.row_len],
                    kappa: &self.kappa_of(other)[first..],
                    weight: self.weights.of(step) as f32,
                })
            })
            .collect();
        row_sums(&rows[row * self.row_len + 1..][..sums.len()], &others, term, sums);
        sums.iter_mut().zip(&self.kappa_of(row)[1..]).for_each(|(sum, kappa)| *sum *= kappa);
    }

    /// `out` += scale · κ Σ w κ′ term(x, x′) in the field of view.
    fn add(&self, scale: f32, x: &[f32], term: impl Fn(f32, f32) -> f32 + Sync, out: &mut [f32]) {
        let rows = self.in_rows(|voxel| x[self.places.of(voxel)]);
        let mut sums = vec![0.0; rows.len()];
        sums.par_chunks_mut(self.row_len).enumerate().for_each(|(row, sums)| {
            self.sums_of_row(&rows, row, &term, &mut sums[1..self.row_len - 1]);
        });
        out.par_chunks_mut(CHUNK).zip(self.numbers.par_chunks(CHUNK)).for_each(|(out, numbers)| {
            for (out, &number) in out.iter_mut().zip(numbers).filter(|(_, number)| **number != NO_VOXEL) {
                *out += scale * sums[number as usize];
            }
        });
    }

    /// ½ Σ κ Σ w κ′ term(x, x′) over all voxels: each pair is met from both sides.
    fn half_sum(&self, x: &[f32], term: impl Fn(f32, f32) -> f32 + Sync) -> f64 {
        let rows = self.in_rows(|voxel| x[self.places.of(voxel)]);
        let of_row = |row: usize| -> f64 {
            let mut sums = vec![0.0; self.row_len - 2];
            self.sums_of_row(&rows, row, &term, &mut sums);
            sums.iter().map(|sum| f64::from(*sum)).sum()
        };
        let sums: Vec<f64> = (0..self.num_rows()).into_par_iter().map(of_row).collect();
        0.5 * sums.into_iter().sum::<f64>()
    }

    fn expect_len(&self, array: &HostArray<Image>) -> Result<(), BackendError> {
        let (expected, found) = (self.places.len, array.len());
        if expected == found { Ok(()) } else { Err(BackendError::Length { expected, found }) }
    }
}

/// Σ w κ′ term(x, x′) of the voxels of a row over the neighbouring rows, with the processor's vector instructions.
#[allow(unsafe_code)]
fn row_sums(own: &[f32], others: &[OtherRow<'_>], term: &impl Fn(f32, f32) -> f32, out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if Simd::detect() >= Simd::Avx2 {
        // SAFETY: the processor has the instructions.
        return unsafe { row_sums_avx2(own, others, term, out) };
    }
    row_sums_lanes(own, others, term, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn row_sums_avx2(own: &[f32], others: &[OtherRow<'_>], term: &impl Fn(f32, f32) -> f32, out: &mut [f32]) {
    row_sums_lanes(own, others, term, out);
}

/// The same in blocks that the compiler keeps in registers.
#[inline(always)]
fn row_sums_lanes(own: &[f32], others: &[OtherRow<'_>], term: &impl Fn(f32, f32) -> f32, out: &mut [f32]) {
    for (block, (own, out)) in own.as_chunks::<LANES>().0.iter().zip(out.as_chunks_mut::<LANES>().0).enumerate() {
        let at = block * LANES;
        let mut sums = [0.0f32; LANES];
        for OtherRow { values, kappa, weight } in others {
            let (Some(values), Some(kappa)) = (values[at..].first_chunk::<LANES>(), kappa[at..].first_chunk::<LANES>()) else {
                continue;
            };
            for lane in 0..LANES {
                sums[lane] += weight * kappa[lane] * term(own[lane], values[lane]);
            }
        }
        *out = sums;
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
            Pair::RelativeDifference(pair) => neighbours.add(scale, x, |x, other| pair.slope(x, other), out),
            Pair::Quadratic => neighbours.add(scale, x, |x, other| x - other, out),
            Pair::LogCosh(pair) => neighbours.add(scale, x, |x, other| pair.slope(x, other), out),
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
            Pair::RelativeDifference(pair) => neighbours.half_sum(x, |x, other| pair.value(x, other)),
            Pair::Quadratic => neighbours.half_sum(x, |x, other| 0.5 * (x - other) * (x - other)),
            Pair::LogCosh(pair) => neighbours.half_sum(x, |x, other| pair.value(x, other)),
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
            Pair::RelativeDifference(pair) => neighbours.add(scale, x, |x, other| pair.curvature(x, other), out),
            Pair::Quadratic => neighbours.add(scale, x, |_, _| 1.0, out),
            Pair::LogCosh(pair) => neighbours.add(scale, x, |x, other| pair.curvature(x, other), out),
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
    fn slope(self, x: f32, other: f32) -> f32 {
        let [difference, inverse] = self.parts(x, other);
        difference * inverse * (1.0 + (2.0 * other + self.epsilon) * inverse)
    }

    #[inline(always)]
    fn curvature(self, x: f32, other: f32) -> f32 {
        let [_, inverse] = self.parts(x, other);
        let ratio = (2.0 * other + self.epsilon) * inverse;
        2.0 * ratio * ratio * inverse
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
    fn slope(self, x: f32, other: f32) -> f32 {
        let [t, exp] = self.parts(x, other);
        let tanh = if t <= 1.0 { tanh_of_small(t) } else { (1.0 - exp) / (1.0 + exp) };
        self.delta * if x < other { -tanh } else { tanh }
    }

    #[inline(always)]
    fn curvature(self, x: f32, other: f32) -> f32 {
        let [t, exp] = self.parts(x, other);
        let tanh = tanh_of_small(t);
        if t <= 1.0 { 1.0 - tanh * tanh } else { 4.0 * exp / ((1.0 + exp) * (1.0 + exp)) }
    }
}

/// tanh t for t from 0 to 1, to 6e-8: its continued fraction with five terms.
#[inline(always)]
fn tanh_of_small(t: f32) -> f32 {
    let t2 = t * t;
    t * (945.0 + t2 * (105.0 + t2)) / (945.0 + t2 * (420.0 + 15.0 * t2))
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
                let found = match potential.in_f32() {
                    Pair::RelativeDifference(pair) => [pair.value(x, other), pair.slope(x, other), pair.curvature(x, other)],
                    Pair::LogCosh(pair) => [pair.value(x, other), pair.slope(x, other), pair.curvature(x, other)],
                    Pair::Quadratic => continue,
                };
                for (found, exact) in found.into_iter().zip([exact.value, exact.slope, exact.curvature]) {
                    // (In f64 a curvature far out is a difference of ones.)
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
