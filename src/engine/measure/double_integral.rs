//! Double integral of a first-derivative spectrum, with its standard error: the area of the absorption.
//!
//! −Σ B h ΔB over a whole sweep of N samples with noise σ has the standard error ΔB² σ √(N³/12): mostly noise far from the line. So the sum is over a
//! window ±w about the middle of the line, and the samples beyond are fitted by an offset, a slope and the tail −k/B³ of a Lorentzian, which has
//! the area 2k/w; a Gaussian has none. The integral is linear in the samples, so that its standard error follows from the noise of a sample:
//! the residuals beyond the window, at low frequencies where the noise is coloured.
//!
//! The window begins where noise and tail, of a Lorentzian of the same extent, together give the smallest error.

use std::f64::consts::PI;

use nalgebra::{Matrix3, Vector3};

use crate::data::ReferenceSpectrum;

/// Part of the samples at each end that show the noise and no line.
const END: f64 = 0.05;

/// Fewest samples of an end.
const MIN_END: usize = 4;

/// Part of the squares of a line within its extent.
const ENERGY: f64 = 0.95;

/// Half width of a Lorentzian at half maximum, in parts of its extent: the squares of a derivative beyond u half widths are (1/5)u⁻⁵ of 0.098.
const HALF_WIDTH: f64 = 1.0 / 2.1;

/// Smallest window, in extents of the line: the tail of a Lorentzian is a third there.
const MIN_WINDOW: f64 = 2.0;

/// Largest window, of the distance to the nearer end, that leaves enough samples for a slope.
const WITH_SLOPE: f64 = 0.5;

/// Windows that are compared.
const NUM_WINDOWS: usize = 30;

/// Samples whose mean shows the noise at low frequencies, and the fewest such means.
const BLOCK: usize = 8;
const MIN_BLOCKS: usize = 10;

/// Double integral of a spectrum.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct DoubleIntegral {
    /// Area of the absorption, in the values' unit · mT².
    pub value: f64,
    /// Standard error, in the same unit: noise, and the error of the tails.
    pub standard_error: f64,
    /// Half width of the window about the middle of the line, mT.
    pub half_width_mt: f64,
    /// Part of the area in the tails beyond the window, by their fit.
    pub tails: f64,
    /// Part of the absorption beyond the sweep: that of a Lorentzian of the same extent, times the part that the tails have of its tails.
    pub beyond_sweep: f64,
}

impl DoubleIntegral {
    /// Returns that of a spectrum. `None` of a spectrum without a line above its noise, or with an area that is not above 0.
    pub fn of(spectrum: &ReferenceSpectrum) -> Option<Self> {
        let samples: Vec<f64> = spectrum.values.iter().map(|value| f64::from(*value)).collect();
        let line = Line::of(&samples)?;
        let windows = line.windows();
        let tried = windows.filter_map(|half_width| Integral::of(&samples, &line, half_width));
        let half_width = HALF_WIDTH * line.extent;
        let of_lorentzian = |window: f64| 4.0 / PI * half_width / window;
        let cost = |integral: &Integral| {
            let tails = of_lorentzian(integral.half_width);
            (integral.norm * line.variance.sqrt() / integral.value).powi(2) + tails.powi(4)
        };
        let best = tried.min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        // (The next term of a Lorentzian's tail is the square of its part, that of a multiplet the square of its extent.)
        let tails = best.tail / best.value;
        let of_tails = best.tail.abs() * tails.abs().max((line.extent / best.half_width).powi(2)).min(1.0);
        let unit = spectrum.step_mt.powi(2);
        Some(Self {
            value: best.value * unit,
            standard_error: (best.norm * best.deviation).hypot(of_tails) * unit,
            half_width_mt: best.half_width * spectrum.step_mt,
            tails,
            beyond_sweep: (tails / of_lorentzian(best.half_width)).clamp(0.0, 1.0) * (2.0 / PI * (half_width / line.room).atan()),
        })
    }

    /// Returns the standard error relative to the value.
    pub fn relative_error(&self) -> f64 {
        self.standard_error / self.value
    }
}

/// Place and extent of a line, in samples.
struct Line {
    /// Middle.
    middle: f64,
    /// Half width that contains [`ENERGY`] of the squares.
    extent: f64,
    /// Distance of the middle from the nearer end.
    room: f64,
    /// Samples of an end.
    num_end: usize,
    /// Variance of the noise, by the ends.
    variance: f64,
}

impl Line {
    fn of(samples: &[f64]) -> Option<Self> {
        let num = samples.len();
        let num_end = ((END * num as f64).round() as usize).max(MIN_END);
        if num < 4 * num_end {
            return None;
        }
        let (offset, variance) = noise_of_ends(samples, num_end);
        let energies: Vec<f64> = samples.iter().map(|value| (value - offset).powi(2) - variance).collect();
        let is_line = |(_, energy): &(usize, &f64)| **energy > 3.0 * variance;
        let above = || energies.iter().enumerate().filter(is_line);
        let middle = above().map(|(i, energy)| i as f64 * energy).sum::<f64>() / above().map(|(_, energy)| energy).sum::<f64>();
        let all: f64 = energies.iter().sum();
        if !middle.is_finite() || all <= 0.0 {
            return None;
        }
        let mut by_distance: Vec<(f64, f64)> =
            energies.iter().enumerate().map(|(i, energy)| ((i as f64 - middle).abs(), *energy)).collect();
        by_distance.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        let is_enough = |(_, energy): &&(f64, f64)| {
            sum += energy;
            sum >= ENERGY * all
        };
        let extent = by_distance.iter().find(is_enough)?.0 + 0.5;
        Some(Self { middle, extent, room: middle.min(num as f64 - 1.0 - middle), num_end, variance })
    }

    /// Returns the half widths that are tried, ascending.
    fn windows(&self) -> impl Iterator<Item = f64> {
        let largest = self.room - self.num_end as f64;
        let low = (MIN_WINDOW * self.extent).min(largest);
        let high = (WITH_SLOPE * self.room).clamp(low, largest.max(low));
        (0..NUM_WINDOWS).map(move |k| low * (high / low).powf(k as f64 / (NUM_WINDOWS as f64 - 1.0)))
    }
}

/// Returns the mean of the samples at both ends, and the variance of their noise about a straight line through them.
fn noise_of_ends(samples: &[f64], num_end: usize) -> (f64, f64) {
    let middle = 0.5 * (samples.len() as f64 - 1.0);
    let ends = || (0..num_end).chain(samples.len() - num_end..samples.len()).map(|i| (i as f64 - middle, samples[i]));
    let num = 2.0 * num_end as f64;
    let offset = ends().map(|(_, value)| value).sum::<f64>() / num;
    let slope = ends().map(|(x, value)| x * value).sum::<f64>() / ends().map(|(x, _)| x * x).sum::<f64>();
    let squares: f64 = ends().map(|(x, value)| (value - offset - slope * x).powi(2)).sum();
    (offset, squares / (num - 2.0))
}

/// Double integral by a window, in samples².
struct Integral {
    half_width: f64,
    value: f64,
    /// Its part in the tails.
    tail: f64,
    /// Root of the sum of the squared weights of the samples.
    norm: f64,
    /// Standard deviation of the noise of a sample, at low frequencies.
    deviation: f64,
}

impl Integral {
    /// Returns the integral over a window with the tails beyond it; `None` without enough samples beyond it, and of values that are not above 0.
    fn of(samples: &[f64], line: &Line, half_width: f64) -> Option<Self> {
        let places: Vec<f64> = (0..samples.len()).map(|i| i as f64 - line.middle).collect();
        let has_slope = half_width <= WITH_SLOPE * line.room;
        // Offset, tail −(w/x)³ and slope at a place beyond the window.
        let columns = |x: f64| Vector3::new(1.0, -(half_width / x).powi(3), if has_slope { x / line.room } else { 0.0 });
        let is_inside = |x: f64| x.abs() <= half_width;
        let outside = || places.iter().zip(samples).filter(|(x, _)| !is_inside(**x));
        let mut normal = outside().map(|(x, _)| columns(*x) * columns(*x).transpose()).sum::<Matrix3<f64>>();
        if !has_slope {
            normal[(2, 2)] = 1.0;
        }
        let inverse = normal.try_inverse()?;
        let fitted = inverse * outside().map(|(x, value)| columns(*x) * *value).sum::<Vector3<f64>>();
        // The integral of each column: those of offset and slope inside are subtracted, that of the tail outside is added.
        let inside = || places.iter().copied().filter(|x| is_inside(*x));
        let edge = inside().map(f64::abs).fold(0.0, f64::max) + 0.5;
        let of_columns = Vector3::new(
            inside().sum(),
            2.0 * half_width.powi(3) / edge,
            if has_slope { inside().map(|x| x * x).sum::<f64>() / line.room } else { 0.0 },
        );
        let tail = of_columns[1] * fitted[1];
        let weights = inverse * of_columns;
        let squares: f64 = places.iter().map(|x| if is_inside(*x) { x * x } else { weights.dot(&columns(*x)).powi(2) }).sum();
        let value =
            of_columns.dot(&fitted) - places.iter().zip(samples).filter(|(x, _)| is_inside(**x)).map(|(x, v)| x * v).sum::<f64>();
        let (below, above): (Vec<_>, Vec<_>) = outside().partition(|(x, _)| **x < 0.0);
        let residuals = |of: Vec<(&f64, &f64)>| of.into_iter().map(|(x, v)| v - fitted.dot(&columns(*x))).collect::<Vec<f64>>();
        let deviation = deviation(&residuals(below), &residuals(above), if has_slope { 3 } else { 2 })?;
        (value > 0.0).then(|| Self { half_width, value, tail, norm: squares.sqrt(), deviation })
    }
}

/// Returns the standard deviation of the noise by the residuals on each side of a line: that of a sample, or the larger one at low frequencies, by
/// the means of blocks.
fn deviation(below: &[f64], above: &[f64], num_parameters: usize) -> Option<f64> {
    let both = || below.iter().chain(above);
    let freedom = both().count().checked_sub(num_parameters).filter(|freedom| *freedom > 0)?;
    let white = both().map(|value| value * value).sum::<f64>() / freedom as f64;
    let means: Vec<f64> = (below.chunks_exact(BLOCK).chain(above.chunks_exact(BLOCK)))
        .map(|block| block.iter().sum::<f64>() / BLOCK as f64)
        .collect();
    let low = match means.len() {
        0..MIN_BLOCKS => 0.0,
        num => BLOCK as f64 * means.iter().map(|mean| mean * mean).sum::<f64>() / (num - num_parameters) as f64,
    };
    Some(white.max(low).sqrt())
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::data::{lorentzian_derivative, voigt_derivative};
    use crate::random;

    const NUM: usize = 512;
    const STEP_MT: f64 = 6.0 / NUM as f64;

    /// A spectrum of this shape over 6 mT, with noise, a part of its largest value.
    fn spectrum(shape: &dyn Fn(f64) -> f64, noise: f64, seed: u64) -> ReferenceSpectrum {
        let mut stream = random::stream(11, seed);
        let values: Vec<f64> = (0..NUM).map(|i| shape((i as f64 - 256.0) * STEP_MT)).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let mut draw = || noise * largest * Distribution::<f64>::sample(&StandardNormal, &mut stream);
        ReferenceSpectrum { values: values.iter().map(|value| (value + draw()) as f32).collect(), step_mt: STEP_MT }
    }

    /// A first derivative at a field.
    type Shape = fn(f64) -> f64;

    #[test]
    fn lines_have_their_area_within_two_standard_errors() {
        let shapes: [(&str, Shape); 6] = [
            ("narrow", |b| lorentzian_derivative(b, 0.1)),
            ("broad", |b| lorentzian_derivative(b, 0.4)),
            ("off the middle", |b| lorentzian_derivative(b + 1.2, 0.1)),
            ("Gaussian", |b| voigt_derivative(b, 1e-3, 0.25)),
            ("triplet", |b| [-1.6, 0.0, 1.6].map(|at| lorentzian_derivative(b - at, 0.14)).iter().sum::<f64>() / 3.0),
            ("baseline", |b| lorentzian_derivative(b, 0.1) + 0.4 + 0.5 * b),
        ];
        for (name, shape) in &shapes {
            for noise in [0.0, 0.003, 0.01, 0.05] {
                let num = if noise == 0.0 { 1 } else { 100 };
                let found: Vec<_> = (0..num).filter_map(|seed| DoubleIntegral::of(&spectrum(shape, noise, seed))).collect();
                let usable: Vec<_> = found.iter().filter(|found| found.relative_error() < 0.2).collect();
                let errors = || usable.iter().map(|found| (found.value - 1.0).abs());
                let num_far =
                    (usable.iter().zip(errors())).filter(|(found, error)| *error > 2.0 * found.standard_error + 1e-3).count();
                let (largest, typical) = (errors().fold(0.0, f64::max), usable.first().map(|found| found.relative_error()));
                println!(
                    "{name}, noise {noise}: {} of {num} usable, {num_far} beyond 2, largest error {largest:.3}, ± {typical:?}",
                    usable.len()
                );
                assert!(num_far as f64 <= 0.13 * usable.len() as f64, "{name}, {noise}: {num_far}");
            }
        }
        // Without noise nearly nothing is missing: −Σ B h ΔB has 0.98.
        let narrow = DoubleIntegral::of(&spectrum(&shapes[0].1, 0.0, 0)).unwrap();
        assert!((narrow.value - 1.0).abs() < 2e-3 && narrow.tails > 0.01 && narrow.relative_error() < 0.01, "{narrow:?}");
    }

    #[test]
    fn coloured_noise_has_a_larger_error() {
        let shape = |b: f64| lorentzian_derivative(b, 0.1);
        let smooth = |seed: u64| {
            let white = spectrum(&|_| 0.0, 0.0, seed);
            let mut stream = random::stream(5, seed);
            let mut before = 0.0;
            let mut noise = || {
                before = 0.8 * before + 0.6 * Distribution::<f64>::sample(&StandardNormal, &mut stream);
                before
            };
            let value = |i: usize| (shape((i as f64 - 256.0) * STEP_MT) + 0.4 * noise()) as f32;
            ReferenceSpectrum { values: (0..NUM).map(value).collect(), ..white }
        };
        let found: Vec<_> = (0..100).filter_map(|seed| DoubleIntegral::of(&smooth(seed))).collect();
        let num_far = found.iter().filter(|found| (found.value - 1.0).abs() > 2.0 * found.standard_error).count();
        println!("{num_far} of {}", found.len());
        assert!(found.len() > 90 && num_far <= 10, "{num_far} of {}", found.len());
    }

    #[test]
    fn noise_alone_and_a_negative_line_have_no_integral() {
        assert_eq!(DoubleIntegral::of(&spectrum(&|b| -lorentzian_derivative(b, 0.1), 0.0, 0)), None);
        assert_eq!(DoubleIntegral::of(&spectrum(&|_| 0.0, 0.0, 0)), None);
        let short = ReferenceSpectrum { values: vec![0.0, 1.0, -1.0].into(), step_mt: 0.1 };
        assert_eq!(DoubleIntegral::of(&short), None);
        let few = (0..50).filter_map(|seed| {
            let mut stream = random::stream(3, seed);
            let values = (0..NUM).map(|_| Distribution::<f32>::sample(&StandardNormal, &mut stream)).collect();
            DoubleIntegral::of(&ReferenceSpectrum { values, step_mt: STEP_MT })
        });
        assert_eq!(few.filter(|found| found.relative_error() < 0.2).count(), 0);
    }
}
