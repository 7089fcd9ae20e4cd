//! Penalties on the differences of neighbouring voxels:
//!
//! ```text
//! β R(x) = β Σ over pairs of neighbours w κ κ′ ψ(x, x′),   w = Δx / distance
//! ```
//!
//! The 26 neighbours of a voxel, each pair once, with the true voxel sizes (Δx along x); pairs that leave the image do not count.
//!
//! The relative difference prior is Nuyts et al. 2002, IEEE Trans Nucl Sci 49:56.
//!
//! [`Penalty::terms`] is the definition, in f64. Runs use [`PenaltyKernels`], in f32 on the device that holds the image.

mod host;
mod kernels;
mod pairs;

use std::sync::Arc;

use rayon::prelude::*;

use crate::algebra::{BackendError, VoxelPlaces};
use crate::data::Volume;
use crate::geometry::Grid;
use crate::named::named;
pub use kernels::PenaltyKernels;
pub use pairs::PairWeights;

/// ψ of a pair of voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Potential {
    /// (x − x′)² / (x + x′ + γ |x − x′| + ε).
    RelativeDifference {
        /// γ: how little a large difference costs. At 2 edges of any height cost about the same.
        gamma: f64,
        /// ε, in units of the image: below it the penalty is quadratic.
        epsilon: f64,
    },
    /// (x − x′)² / 2.
    Quadratic,
    /// δ² ln cosh((x − x′) / δ).
    LogCosh {
        /// δ, in units of the image: from here on a difference costs in proportion.
        delta: f64,
    },
}

named! {
    "a prior";
    /// A penalty by its name.
    #[derive(Default)]
    pub enum Prior {
        /// [`Potential::RelativeDifference`].
        #[default]
        #[serde(rename = "rdp")]
        #[strum(serialize = "rdp")]
        RelativeDifference,
        /// [`Potential::Quadratic`].
        Quadratic,
        /// [`Potential::LogCosh`].
        LogCosh,
    }
}

named! {
    "a kind of κ";
    /// Weights κ of the voxels by their name.
    #[derive(Default)]
    pub enum Kappa {
        /// √(H · 1) at the start image, H = −∂² log-likelihood / ∂x²: then β acts alike where few and where many counts are
        /// measured.
        #[default]
        Auto,
        /// 1.
        None,
        /// Those of an image, or of the study.
        File,
    }
}

/// A penalty by its parameters. Those in units of the image follow from the start image where they are not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PenaltySpec {
    /// Which one.
    pub prior: Prior,
    /// β, from 0; `None` = [`proposed_strength`] at the start image.
    pub strength: Option<f64>,
    /// γ of relative differences.
    pub gamma: f64,
    /// ε of relative differences; `None` = a thousandth of the start image's largest value.
    pub epsilon: Option<f64>,
    /// δ of log-cosh; `None` = a hundredth of the start image's largest value.
    pub delta: Option<f64>,
    /// κ.
    pub kappa: Kappa,
}

impl PenaltySpec {
    /// No penalty.
    pub const NONE: Self = Self {
        prior: Prior::RelativeDifference,
        strength: Some(0.0),
        gamma: 2.0,
        epsilon: None,
        delta: None,
        kappa: Kappa::Auto,
    };

    /// Returns the penalty of a run whose start image has this largest value, with κ = 1; `None` without strength.
    pub fn from_start(self, largest: f64) -> Option<Penalty> {
        let strength = self.strength.filter(|strength| *strength > 0.0)?;
        Some(Penalty { potential: self.potential(largest), strength, kappa: None })
    }

    /// Returns ψ of a run whose start image has this largest value.
    pub fn potential(self, largest: f64) -> Potential {
        match self.prior {
            Prior::RelativeDifference => {
                Potential::RelativeDifference { gamma: self.gamma, epsilon: self.epsilon.unwrap_or(1e-3 * largest) }
            }
            Prior::Quadratic => Potential::Quadratic,
            // (An image of zeros has no differences.)
            Prior::LogCosh => {
                Potential::LogCosh { delta: self.delta.unwrap_or(1e-2 * largest).max(f64::from(f32::MIN_POSITIVE)) }
            }
        }
    }
}

/// Part of the second derivatives of the data term, summed over all voxels, that those of a penalty of the proposed strength have.
const PROPOSED_SHARE: f64 = 0.1;

/// Returns the strength with which the second derivatives of a penalty with κ = √(H·1) are a tenth of those of the data term where the
/// image has this level: 0.1 / (ψ″ Σw). Of relative differences ψ″ is 1 / level, and the strength about 0.5 % of the level. 0 where the
/// image is empty.
pub fn proposed_strength(potential: Potential, level: f64, voxel_mm: [f64; 3]) -> f64 {
    let weights = PairWeights::new(voxel_mm);
    let sum_of_weights: f64 = PairWeights::steps().map(|step| weights.of(step)).sum();
    let strength = PROPOSED_SHARE / (sum_of_weights * potential.terms(level, level).curvature);
    if strength.is_finite() { strength } else { 0.0 }
}

/// ψ of a pair with its derivatives by the first value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairTerms {
    /// ψ.
    pub value: f64,
    /// ∂ψ/∂x.
    pub slope: f64,
    /// ∂²ψ/∂x².
    pub curvature: f64,
    /// ∂²ψ/∂x∂x′.
    pub mixed: f64,
    /// ∂ψ/∂x / (x − x′): the curvature of the parabola in x − x′ that touches ψ. If ψ depends on the difference alone and grows
    /// more slowly than its square, the parabola lies above ψ (Huber 1981, Robust Statistics, 7.8), also across a bend, where ∂²ψ/∂x²
    /// on one side is far too small.
    pub above: f64,
}

impl Potential {
    /// Returns the number of the potential in kernels on GPUs, with their two parameters.
    pub(crate) fn numbers(self) -> (u32, [f32; 2]) {
        match self {
            Potential::RelativeDifference { gamma, epsilon } => (0, [gamma as f32, epsilon as f32]),
            Potential::Quadratic => (1, [0.0; 2]),
            Potential::LogCosh { delta } => (2, [delta as f32, (1.0 / delta) as f32]),
        }
    }

    /// Returns ψ and its derivatives at x, next to x′ = `other`.
    pub fn terms(self, x: f64, other: f64) -> PairTerms {
        let difference = x - other;
        match self {
            Potential::RelativeDifference { gamma, epsilon } => {
                let size = gamma * difference.abs();
                let divisor = x + other + size + epsilon;
                // Two zeros without an ε.
                if divisor <= 0.0 {
                    return PairTerms::default();
                }
                let [of_x, of_other] = [2.0 * x + epsilon, 2.0 * other + epsilon];
                let cube = divisor * divisor * divisor;
                PairTerms {
                    value: difference * difference / divisor,
                    slope: difference * (size + x + 3.0 * other + 2.0 * epsilon) / (divisor * divisor),
                    curvature: 2.0 * of_other * of_other / cube,
                    mixed: -2.0 * of_x * of_other / cube,
                    above: (size + x + 3.0 * other + 2.0 * epsilon) / (divisor * divisor),
                }
            }
            Potential::Quadratic => {
                PairTerms { value: 0.5 * difference * difference, slope: difference, curvature: 1.0, mixed: -1.0, above: 1.0 }
            }
            Potential::LogCosh { delta } => {
                let t = difference / delta;
                let tanh = t.tanh();
                let ln_cosh = t.abs() + (-2.0 * t.abs()).exp().ln_1p() - std::f64::consts::LN_2;
                let curvature = 1.0 - tanh * tanh;
                let above = if t == 0.0 { 1.0 } else { tanh / t };
                PairTerms { value: delta * delta * ln_cosh, slope: delta * tanh, curvature, mixed: -curvature, above }
            }
        }
    }
}

/// A penalty of images on one grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Penalty {
    /// ψ.
    pub potential: Potential,
    /// β, from 0.
    pub strength: f64,
    /// κ of each voxel, `[z, y, x]`; `None` = 1.
    pub kappa: Option<Arc<Volume>>,
}

/// β R of an image with its derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct PenaltyTerms {
    /// β R.
    pub value: f64,
    /// β ∂R/∂x, `[z, y, x]`.
    pub gradient: Vec<f64>,
    /// The diagonal of β R's second derivatives, `[z, y, x]`.
    pub curvature: Vec<f64>,
    /// β Σ w κ κ′ of [`PairTerms::above`], `[z, y, x]`.
    pub above: Vec<f64>,
}

impl Penalty {
    /// Returns β R of an image with its derivatives; `x` = its voxels, `[z, y, x]`, none below 0. The same bits for any number of
    /// threads.
    pub fn terms<T: Copy + Into<f64> + Sync>(&self, grid: &Grid, x: &[T]) -> PenaltyTerms {
        let nx = grid.size[0];
        let mut gradient = vec![0.0; x.len()];
        let mut curvature = vec![0.0; x.len()];
        let mut above = vec![0.0; x.len()];
        let rows = gradient.par_chunks_mut(nx).zip(curvature.par_chunks_mut(nx).zip(above.par_chunks_mut(nx))).enumerate();
        let values: Vec<f64> = rows
            .map(|(row, (gradient, (curvature, above)))| {
                let mut value = 0.0;
                self.for_pairs_of_row(grid, row, |from, to, weight| {
                    let terms = self.potential.terms(x[from].into(), x[to].into());
                    // Each pair is met from both sides.
                    value += 0.5 * weight * terms.value;
                    gradient[from - row * nx] += weight * terms.slope;
                    curvature[from - row * nx] += weight * terms.curvature;
                    above[from - row * nx] += weight * terms.above;
                });
                value
            })
            .collect();
        PenaltyTerms { value: values.into_iter().sum(), gradient, curvature, above }
    }

    /// Returns the product of β R's second derivatives at an image with a direction, both `[z, y, x]`.
    pub fn times_hessian<T: Copy + Into<f64> + Sync>(&self, grid: &Grid, x: &[T], direction: &[f64]) -> Vec<f64> {
        let nx = grid.size[0];
        let mut product = vec![0.0; x.len()];
        product.par_chunks_mut(nx).enumerate().for_each(|(row, product)| {
            self.for_pairs_of_row(grid, row, |from, to, weight| {
                let PairTerms { curvature, mixed, .. } = self.potential.terms(x[from].into(), x[to].into());
                product[from - row * nx] += weight * (curvature * direction[from] + mixed * direction[to]);
            });
        });
        product
    }

    /// Returns κ of the voxels, `[z, y, x]`; `None` = 1.
    ///
    /// # Errors
    /// It has another number of voxels.
    pub(crate) fn kappa_of(&self, places: &VoxelPlaces) -> Result<Option<&[f32]>, BackendError> {
        let Some(kappa) = &self.kappa else { return Ok(None) };
        let (expected, found) = (places.size.iter().product(), kappa.as_slice().len());
        if expected == found { Ok(Some(kappa.as_slice())) } else { Err(BackendError::Length { expected, found }) }
    }

    /// Calls `visit(voxel, neighbour, β w κ κ′)` for all neighbours of a row of voxels along x.
    fn for_pairs_of_row(&self, grid: &Grid, row: usize, mut visit: impl FnMut(usize, usize, f64)) {
        let [nx, ny, nz] = grid.size;
        let [y, z] = [row % ny, row / ny];
        let kappa = self.kappa.as_ref().map(|kappa| kappa.as_slice());
        let of_pair = |from: usize, to: usize| kappa.map_or(1.0, |kappa| f64::from(kappa[from]) * f64::from(kappa[to]));
        let weights = PairWeights::new(grid.voxel_mm);
        for step in PairWeights::steps() {
            let (Some(other_y), Some(other_z)) = (moved(y, step[1], ny), moved(z, step[2], nz)) else { continue };
            let (first, first_other) = (row * nx, (other_z * ny + other_y) * nx);
            for at in 0..nx {
                let Some(other) = moved(at, step[0], nx) else { continue };
                let (from, to) = (first + at, first_other + other);
                visit(from, to, self.strength * weights.of(step) * of_pair(from, to));
            }
        }
    }
}

/// Returns the place `step` further on, if it is one of `num`.
fn moved(at: usize, step: isize, num: usize) -> Option<usize> {
    at.checked_add_signed(step).filter(|moved| *moved < num)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(size: [usize; 3]) -> Grid {
        Grid::centred(size, [2.0, 2.0, 3.0]).unwrap()
    }

    fn relative(gamma: f64, epsilon: f64) -> Potential {
        Potential::RelativeDifference { gamma, epsilon }
    }

    fn of(potential: Potential, strength: f64) -> Penalty {
        Penalty { potential, strength, kappa: None }
    }

    /// Computed independently, in double precision.
    #[test]
    fn the_relative_differences_of_eight_voxels_are_those_of_an_independent_computation() {
        let x: Vec<f64> = (1..=8).map(f64::from).collect();
        let gradient = [-2.26676981, -1.26800172, -0.57847389, 0.04322517, 0.01206281, 0.48598486, 0.85261352, 1.15826418];
        let curvature = [0.59298299, 0.49221395, 0.43818477, 0.35303679, 0.35925957, 0.30322409, 0.23885036, 0.16676412];
        let found = of(relative(2.0, 0.01), 1.0).terms(&grid([2, 2, 2]), &x);
        assert!((found.value - 11.837531553296).abs() < 1e-10 * found.value, "{}", found.value);
        for at in 0..8 {
            assert!((found.gradient[at] - gradient[at]).abs() < 6e-9, "{at}: {}", found.gradient[at]);
            assert!((found.curvature[at] - curvature[at]).abs() < 6e-9, "{at}: {}", found.curvature[at]);
        }
        // Volumes hold f32.
        let rounded: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        assert_eq!(of(relative(2.0, 0.01), 1.0).terms(&grid([2, 2, 2]), &rounded), found);
        let doubled = of(relative(2.0, 0.01), 2.0).terms(&grid([2, 2, 2]), &x);
        assert!((doubled.value - 2.0 * found.value).abs() < 1e-12);
    }

    #[test]
    fn derivatives_are_the_limits_of_differences() {
        let grid = grid([4, 3, 3]);
        let mut next = 7u32;
        let mut random = || {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(next >> 8) / f64::from(1 << 24)
        };
        let x: Vec<f64> = (0..36).map(|_| 0.2 + random()).collect();
        let kappa = Volume::from_vec(grid.clone(), (0..36).map(|_| random() as f32).collect(), Default::default()).map(Arc::new);
        for potential in [relative(2.0, 0.01), relative(0.0, 0.3), Potential::Quadratic, Potential::LogCosh { delta: 0.3 }] {
            for kappa in [None, kappa.clone()] {
                let penalty = Penalty { potential, strength: 0.7, kappa };
                let found = penalty.terms(&grid, &x);
                let step = 1e-5;
                for at in 0..x.len() {
                    let [below, above] = [-step, step].map(|step| {
                        let mut x = x.clone();
                        x[at] += step;
                        penalty.terms(&grid, &x)
                    });
                    let gradient = (above.value - below.value) / (2.0 * step);
                    let curvature = (above.gradient[at] - below.gradient[at]) / (2.0 * step);
                    assert!((gradient - found.gradient[at]).abs() < 1e-7, "{potential:?} {at}");
                    // (Where two values are equal the second derivative of the relative difference has a kink.)
                    assert!((curvature - found.curvature[at]).abs() < 1e-5 * found.curvature[at].max(1.0), "{potential:?} {at}");
                }
            }
        }
    }

    #[test]
    fn the_product_with_the_second_derivatives_is_the_limit_of_differences_of_gradients() {
        let grid = grid([4, 3, 3]);
        let mut next = 11u32;
        let mut random = || {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(next >> 8) / f64::from(1 << 24)
        };
        let x: Vec<f64> = (0..36).map(|_| 0.2 + random()).collect();
        let direction: Vec<f64> = (0..36).map(|_| random() - 0.5).collect();
        let kappa = Volume::from_vec(grid.clone(), (0..36).map(|_| random() as f32).collect(), Default::default()).map(Arc::new);
        for potential in [relative(2.0, 0.01), relative(0.0, 0.3), Potential::Quadratic, Potential::LogCosh { delta: 0.3 }] {
            for kappa in [None, kappa.clone()] {
                let penalty = Penalty { potential, strength: 0.7, kappa };
                let product = penalty.times_hessian(&grid, &x, &direction);
                let step = 1e-5;
                let [below, above] = [-step, step].map(|step| {
                    let moved: Vec<f64> = x.iter().zip(&direction).map(|(x, direction)| x + step * direction).collect();
                    penalty.terms(&grid, &moved).gradient
                });
                let largest = product.iter().fold(0.0f64, |most, value| most.max(value.abs()));
                for at in 0..x.len() {
                    let expected = (above[at] - below[at]) / (2.0 * step);
                    assert!((product[at] - expected).abs() <= 1e-5 * largest, "{potential:?} {at}: {} {expected}", product[at]);
                }
                // Of a single voxel it is the diagonal.
                let mut one = vec![0.0; 36];
                one[17] = 1.0;
                let column = penalty.times_hessian(&grid, &x, &one);
                assert!((column[17] - penalty.terms(&grid, &x).curvature[17]).abs() <= 1e-12 * largest);
            }
        }
    }

    #[test]
    fn zeros_flat_images_single_slices_and_voxels_without_kappa_cost_nothing() {
        let single = grid([3, 3, 1]);
        let zeros = [0.0f32; 9];
        let found = of(relative(2.0, 0.0), 1.0).terms(&single, &zeros);
        assert_eq!((found.value, &found.gradient[..], &found.curvature[..]), (0.0, &[0.0; 9][..], &[0.0; 9][..]));
        for potential in [relative(2.0, 0.1), Potential::Quadratic, Potential::LogCosh { delta: 1.0 }] {
            let found = of(potential, 1.0).terms(&single, &[3.0f32; 9]);
            assert_eq!((found.value, &found.gradient[..]), (0.0, &[0.0; 9][..]), "{potential:?}");
            // The middle voxel has eight neighbours in its slice: four at Δx, four at √2 Δx.
            if potential == Potential::Quadratic {
                assert!((found.curvature[4] - (4.0 + 4.0 / 2f64.sqrt())).abs() < 1e-12);
                assert!((found.curvature[0] - (2.0 + 1.0 / 2f64.sqrt())).abs() < 1e-12);
            }
            let mut kappa = Volume::filled(single.clone(), 1.0);
            kappa.as_mut_slice()[4] = 0.0;
            let mut peak = [1.0f32; 9];
            peak[4] = 100.0;
            let found = Penalty { potential, strength: 1.0, kappa: Some(Arc::new(kappa)) }.terms(&single, &peak);
            assert_eq!((found.value, found.curvature[4]), (0.0, 0.0));
        }
        let far = Potential::LogCosh { delta: 1e-3 }.terms(1e6, 0.0);
        assert!((far.value - 1e3).abs() < 1e-5 && far.slope == 1e-3 && far.curvature == 0.0, "{far:?}");
    }
}
