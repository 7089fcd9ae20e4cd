//! Distribution of an event on its line by its time of flight: a Gaussian about the measured d, truncated where it is nearly
//! nothing and normalised to the sum 1.
//!
//! With Φ the cumulative Gaussian between ±[`REACH_SIGMAS`] σ, an event whose d lies between a and b weighs a point l (mm from
//! the line's middle towards the second crystal, as d is) by (Φ((b − l)/σ) − Φ((a − l)/σ)) / (b − a), 1/mm; without width by the
//! density itself.

use std::f64::consts::{PI, SQRT_2};

use crate::data::TofBins;

/// Where the kernel ends, σ.
pub const REACH_SIGMAS: f64 = 3.0;

/// σ of a full width at half maximum.
const SIGMA_PER_FWHM: f64 = 0.424_660_900_144_009_5;

/// Terms of the polynomials: single precision for a reach of 3 σ.
pub const NUM_TERMS: usize = 12;

/// The uncertainty of d.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TofKernel {
    sigma_mm: f64,
    reach: f64,
}

impl TofKernel {
    /// An interval of less, in σ, counts as its middle: the error is of the size of single precision's in the difference of Φ.
    pub const MIN_WIDTH: f64 = 0.01;

    /// Makes the kernel of a full width at half maximum, mm.
    pub fn new(fwhm_mm: f64) -> Self {
        Self { sigma_mm: SIGMA_PER_FWHM * fwhm_mm, reach: REACH_SIGMAS }
    }

    /// Truncates it at `reach` σ; only [`TofKernel::weight`] supports others than [`REACH_SIGMAS`].
    pub fn with_reach(self, reach: f64) -> Self {
        Self { reach, ..self }
    }

    /// Standard deviation of d, mm.
    pub fn sigma_mm(&self) -> f64 {
        self.sigma_mm
    }

    /// Returns the l, mm, from which an event with d in this interval can come.
    pub fn reach_mm(&self, [low, high]: [f64; 2]) -> [f64; 2] {
        let reach_mm = self.reach * self.sigma_mm;
        [low - reach_mm, high + reach_mm]
    }

    /// Returns the weight of the point `l` for an event with d in this interval, 1/mm.
    pub fn weight(&self, [low, high]: [f64; 2], l: f64) -> f64 {
        let t = |d: f64| (d - l) / self.sigma_mm;
        if high > low {
            let [a, b] = [low, high].map(|d| self.cumulative(t(d).clamp(-self.reach, self.reach)));
            (b - a) / (high - low)
        } else {
            let t = t(low);
            if t.abs() <= self.reach { self.density(t) / self.sigma_mm } else { 0.0 }
        }
    }

    /// Calls `visit(bin, weight)` for the bins that an event from the point `l` can be in, with the part of its counts there.
    pub fn for_each_bin(&self, bins: &TofBins, l: f64, mut visit: impl FnMut(usize, f64)) {
        let [low, high] = self.reach_mm([l, l]);
        let (first, last) = (bins.bin_of(low).max(0.0), bins.bin_of(high).min(bins.num as f64 - 1.0));
        if first > last {
            return;
        }
        let up_to = |edge: f64| self.cumulative(((edge - l) / self.sigma_mm).clamp(-self.reach, self.reach));
        let (first, last) = (first as usize, last as usize);
        let mut before = up_to(bins.edges_mm(first)[0]);
        for bin in first..=last {
            let behind = up_to(bins.edges_mm(bin)[1]);
            visit(bin, behind - before);
            before = behind;
        }
    }

    /// Returns the part of a Gaussian within the truncation.
    fn normalisation(&self) -> f64 {
        libm::erf(self.reach / SQRT_2)
    }

    /// Φ(t) − ½ within the reach.
    fn cumulative(&self, t: f64) -> f64 {
        0.5 * libm::erf(t / SQRT_2) / self.normalisation()
    }

    fn density(&self, t: f64) -> f64 {
        (-0.5 * t * t).exp() / ((2.0 * PI).sqrt() * self.normalisation())
    }

    /// Returns the kernel in single precision.
    pub fn terms(&self) -> TofTerms {
        let t_of = |v: f64| self.reach * (0.5 * (v + 1.0)).max(0.0).sqrt();
        let slope = |v: f64| if t_of(v) > 1e-6 { self.cumulative(t_of(v)) / t_of(v) } else { self.density(0.0) };
        TofTerms {
            reach: self.reach as f32,
            scale: (2.0 / (self.reach * self.reach)) as f32,
            per_sigma: (1.0 / self.sigma_mm) as f32,
            cumulative: polynomial(slope),
            density: polynomial(|v| self.density(t_of(v)) / self.sigma_mm),
        }
    }

    /// Returns the ends of an interval of d relative to the point `l`, in σ, and the factor of its weights. The ends of a
    /// negligible interval are equal.
    pub fn in_sigma_from(&self, [low, high]: [f64; 2], l: f64) -> ([f32; 2], f64) {
        let width = high - low;
        let is_wide = width > Self::MIN_WIDTH * self.sigma_mm;
        let [low, high] = if is_wide { [low, high] } else { [0.5 * (low + high); 2] };
        ([low, high].map(|d| ((d - l) / self.sigma_mm) as f32), if is_wide { 1.0 / width } else { 1.0 })
    }
}

/// Polynomials in v = 2 t²/reach² − 1 for Φ(t) − ½ = t·cumulative(v) and for the density, 1/mm. `TofTerms` of the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TofTerms {
    /// Where the kernel ends, σ.
    pub reach: f32,
    /// 2/reach².
    pub scale: f32,
    /// 1/σ, 1/mm.
    pub per_sigma: f32,
    /// Coefficients, the constant first.
    pub cumulative: [f32; NUM_TERMS],
    /// Likewise.
    pub density: [f32; NUM_TERMS],
}

impl TofTerms {
    /// Φ(t) − ½.
    #[inline(always)]
    pub fn cumulative(&self, t: f32) -> f32 {
        let t = t.max(-self.reach).min(self.reach);
        t * value(&self.cumulative, t * t * self.scale - 1.0)
    }

    /// Returns the density at t, which is within reach, 1/mm.
    #[inline(always)]
    pub fn density(&self, t: f32) -> f32 {
        value(&self.density, t * t * self.scale - 1.0)
    }
}

#[inline(always)]
fn value(terms: &[f32; NUM_TERMS], v: f32) -> f32 {
    terms.iter().rev().fold(0.0, |sum, term| sum * v + term)
}

/// The polynomial that is a function at Chebyshev's points of −1 … 1.
fn polynomial(of: impl Fn(f64) -> f64) -> [f32; NUM_TERMS] {
    const N: usize = NUM_TERMS;
    let angle = |k: usize| PI * (k as f64 + 0.5) / N as f64;
    let values: [f64; N] = std::array::from_fn(|k| of(angle(k).cos()));
    // Powers of v in Chebyshev's polynomial of each degree: T₀ = 1, T₁ = v, T_n = 2 v T_(n−1) − T_(n−2).
    let (mut before, mut powers) = ([0.0; N], [0.0; N]);
    powers[0] = 1.0;
    let mut terms = [0.0; N];
    for degree in 0..N {
        let sum: f64 = (0..N).map(|k| values[k] * (degree as f64 * angle(k)).cos()).sum();
        let coefficient = sum * if degree == 0 { 1.0 } else { 2.0 } / N as f64;
        (0..N).for_each(|power| terms[power] += coefficient * powers[power]);
        let factor = if degree == 0 { 1.0 } else { 2.0 };
        let next = std::array::from_fn(|power| if power > 0 { factor * powers[power - 1] } else { 0.0 } - before[power]);
        before = std::mem::replace(&mut powers, next);
    }
    terms.map(|term| term as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_bins_are_the_tabulated_ones() {
        // FWHM 60 mm, bins of 60 mm: worked out in double precision elsewhere, for a Gaussian that is not cut off.
        let table = [
            (0.0, [0.000_206_03, 0.119_309_91, 0.760_968_11, 0.119_309_91, 0.000_206_03]),
            (20.0, [0.000_007_90, 0.024_852_97, 0.627_783_64, 0.344_350_99, 0.003_004_33]),
            (75.0, [0.0, 0.000_018_87, 0.038_669_41, 0.683_282_14, 0.276_407_10]),
        ];
        let kernel = TofKernel::new(60.0).with_reach(8.0);
        assert!((kernel.sigma_mm() - 25.479_654).abs() < 1e-6);
        for (l, expected) in table {
            for (bin, expected) in expected.into_iter().enumerate() {
                let low = -150.0 + 60.0 * bin as f64;
                let found = 60.0 * kernel.weight([low, low + 60.0], l);
                assert!((found - expected).abs() < 1e-6, "{l} {bin}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn the_kernel_sums_to_one_whatever_its_bins() {
        let kernel = TofKernel::new(60.0);
        for (width, l) in [(60.0, 3.0), (7.5, -41.0), (400.0, 77.0)] {
            let sum: f64 = (-50..50).map(|bin| width * kernel.weight([width * bin as f64, width * (bin + 1) as f64], l)).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
        let step = 0.01;
        let density: f64 = (-20_000..20_000).map(|i| step * kernel.weight([step * (f64::from(i) + 0.5); 2], 5.0)).sum();
        assert!((density - 1.0).abs() < 1e-4, "{density}");
        assert_eq!(kernel.weight([0.0, 0.0], 3.01 * kernel.sigma_mm()), 0.0);
    }

    #[test]
    fn polynomials_are_the_kernel() {
        let kernel = TofKernel::new(60.0);
        let terms = kernel.terms();
        let largest = kernel.weight([0.0, 0.0], 0.0);
        for l in (-76..=76).map(f64::from) {
            for interval in [[0.0, 0.0], [0.0, 0.2], [-3.0, 2.0], [-30.0, 30.0], [10.0, 70.0]] {
                let (seen, factor) = kernel.in_sigma_from(interval, l);
                let fast = if seen[1] > seen[0] {
                    f64::from(terms.cumulative(seen[1]) - terms.cumulative(seen[0])) * factor
                } else {
                    f64::from(terms.density(seen[0])) * factor
                };
                let [exact, error] = [kernel.weight(interval, l), 1e-5 * largest];
                assert!((fast - exact).abs() < error, "{interval:?} {l}: {fast:e}, not {exact:e}");
            }
        }
    }
}
