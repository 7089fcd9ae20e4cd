//! Noise of the samples of projections, by frequency.
//!
//! Continuous-wave spectra: the outer 5 % at each end of a projection, or 8 samples of at least 64, where the object is not seen. Noise of lock-in amplifiers is
//! coloured: their low-pass filter leaves little at high frequencies, so that these do not show the noise where the signal is. The power at a
//! frequency is |Σ x g|² / Σ |g|², with g = exp(−iωk) under a Hann window and without its straight line over the samples x of an end, and of
//! all ends the median over ln 2, the median of the exponential distribution: it does not see ends with signal.
//!
//! Pulses, and spectra with too few samples there: the median power of the top tenth of the frequencies, for all frequencies.

use std::f64::consts::{LN_2, PI, TAU};

use rayon::prelude::*;

use super::Baseline;
use super::baseline::BaselineFit;
use crate::data::{Projection, Sweep};
use crate::fft::{Complex, Number};
use crate::statistics::median;

/// Part of the samples at each end of continuous-wave spectra.
const END: f64 = 0.05;

/// Fewest samples of an end whose spectrum is computed.
const MIN_END: usize = 8;

/// Largest part of the samples at an end.
const MAX_END: f64 = 0.125;

/// Fewest samples of a projection whose high frequencies show its noise.
const MIN_SAMPLES: usize = 16;

/// Part of the frequencies that are the top ones.
const TOP: f64 = 0.1;

/// Noise of the samples of projections.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// E|Σ n exp(−iωk)|² / N of N samples, at frequencies ω from 0 to π at equal distances: of white noise its variance.
    powers: Vec<f64>,
}

impl Noise {
    /// Returns the noise of the projections in `sweep`; `None` of projections that are too short, and without projections.
    pub fn of(sweep: &Sweep) -> Option<Self> {
        let num_end = ((END * sweep.num_points as f64).round() as usize).max(MIN_END);
        let has_ends = num_end as f64 <= MAX_END * sweep.num_points as f64;
        if sweep.projections.is_empty() || sweep.num_points < MIN_SAMPLES {
            return None;
        }
        match sweep.is_continuous_wave() && has_ends {
            true => Some(Self { powers: of_ends(&sweep.projections, num_end) }),
            false => Some(Self { powers: vec![of_high_frequencies(sweep); 2] }),
        }
    }

    /// Returns the power at a frequency, 0 to π.
    pub fn power(&self, omega: f64) -> f64 {
        let last = self.powers.len() - 1;
        let position = (omega.abs() / PI).min(1.0) * last as f64;
        let below = (position as usize).min(last.saturating_sub(1));
        let [low, high] = [below, last.min(below + 1)].map(|index| self.powers[index]);
        low + (position - below as f64) * (high - low)
    }

    /// Returns the variance σ² of a sample: the mean power.
    pub fn variance(&self) -> f64 {
        let [first, .., last] = self.powers[..] else { return self.powers.iter().sum() };
        (self.powers.iter().sum::<f64>() - 0.5 * (first + last)) / (self.powers.len() - 1) as f64
    }
}

/// Returns the powers of the noise at the ends of projections.
fn of_ends(projections: &[Projection], num_end: usize) -> Vec<f64> {
    let window = |k: usize| 0.5 - 0.5 * (TAU * (k as f64 + 0.5) / num_end as f64).cos();
    let num_powers = num_end / 2;
    let power = |j: usize| {
        let omega = PI * j as f64 / num_powers as f64;
        let wave = |part: fn(f64) -> f64| without_line((0..num_end).map(|k| window(k) * part(omega * k as f64)).collect());
        let [cosine, sine] = [wave(f64::cos), wave(f64::sin)];
        let norm: f64 = cosine.iter().chain(&sine).map(|value| value * value).sum();
        let product = |samples: &[f32], wave: &[f64]| samples.iter().zip(wave).map(|(x, g)| f64::from(*x) * g).sum::<f64>();
        let of_end = |samples: &[f32]| product(samples, &cosine).powi(2) + product(samples, &sine).powi(2);
        let of_both =
            |Projection { values, .. }: &Projection| [&values[..num_end], &values[values.len() - num_end..]].map(of_end);
        median(projections.iter().flat_map(of_both).collect()).unwrap_or(0.0) / (norm * LN_2)
    };
    // Without its line an end has little at 0, and a wave at π has no sine.
    let inner: Vec<f64> = (1..num_powers).into_par_iter().map(power).collect();
    let at = |value: Option<&f64>| [value.copied().unwrap_or(0.0)];
    [&at(inner.first())[..], &inner, &at(inner.last())[..]].concat()
}

/// Returns values without their straight line of least squares.
fn without_line(mut values: Vec<f64>) -> Vec<f64> {
    let middle = 0.5 * (values.len() as f64 - 1.0);
    let [mut sum, mut moment, mut norm] = [0.0; 3];
    for (k, value) in values.iter().enumerate() {
        let u = k as f64 - middle;
        (sum, moment, norm) = (sum + value, moment + u * value, norm + u * u);
    }
    let mean = sum / values.len() as f64;
    values.iter_mut().enumerate().for_each(|(k, value)| *value -= mean + moment / norm * (k as f64 - middle));
    values
}

/// Returns the power of the top frequencies.
fn of_high_frequencies(sweep: &Sweep) -> f64 {
    let num_points = sweep.num_points;
    let baseline = BaselineFit::new(if sweep.is_continuous_wave() { Baseline::Line } else { Baseline::None }, num_points);
    let num_top = ((TOP * 0.5 * num_points as f64).round() as usize).max(1);
    // (That at the Nyquist frequency is real, and of another distribution.)
    let end = num_points.div_ceil(2);
    let forward = f64::forward(num_points);
    let of_projection = |projection: &Projection| {
        let mut values: Vec<f64> = projection.values.iter().map(|value| f64::from(*value)).collect();
        baseline.subtract(&mut values);
        let mut spectrum: Vec<Complex<f64>> = values.into_iter().map(Complex::from).collect();
        forward.process(&mut spectrum);
        spectrum[end - num_top..end].iter().map(|value| value.norm_sqr() / num_points as f64).collect::<Vec<f64>>()
    };
    median(sweep.projections.par_iter().map(of_projection).collect::<Vec<_>>().concat()).unwrap_or(0.0) / LN_2
}

/// Mean power of a damaged projection at the top frequencies, over the median of the projections.
const DAMAGED: f64 = 10.0;

/// Returns the mean of |Σ s exp(−iωk)|² / N over the projections, at the frequencies from 0 on, after a straight baseline; without projections
/// whose top frequencies are far above those of the others, as by a spike.
pub(in crate::recon) fn mean_powers(sweep: &Sweep) -> Vec<f64> {
    let num_points = sweep.num_points;
    let baseline = if sweep.is_continuous_wave() { Baseline::Line } else { Baseline::None };
    let baseline = BaselineFit::new(baseline, num_points);
    let forward = f64::forward(num_points);
    let of_projection = |values: &[f32]| {
        let mut row: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        baseline.subtract(&mut row);
        let mut spectrum: Vec<Complex<f64>> = row.into_iter().map(Complex::from).collect();
        forward.process(&mut spectrum);
        spectrum[..num_points.div_ceil(2)].iter().map(|value| value.norm_sqr() / num_points as f64).collect::<Vec<f64>>()
    };
    let powers: Vec<Vec<f64>> = sweep.projections.par_iter().map(|projection| of_projection(&projection.values)).collect();
    let num_top = ((TOP * 0.5 * num_points as f64).round() as usize).clamp(1, num_points.div_ceil(2).max(1));
    let top = |of: &Vec<f64>| of[of.len() - num_top..].iter().sum::<f64>();
    let limit = DAMAGED * median(powers.iter().map(top).collect()).unwrap_or(0.0);
    let sound: Vec<&Vec<f64>> = powers.iter().filter(|of| top(of) <= limit).collect();
    let mean = |alpha: usize| sound.iter().map(|of| of[alpha]).sum::<f64>() / sound.len().max(1) as f64;
    (0..num_points.div_ceil(2)).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::data::{SweepKind, SweepMetadata, SweepSpace};
    use crate::random;

    /// Noise of σ = 2 under a low-pass filter of two neighbours, with a line of a thousand times its size in the middle.
    fn sweep(num_points: usize, is_pulse: bool, is_coloured: bool) -> Sweep {
        let mut stream = random::stream(7, 0);
        let mut projection = |_| {
            let white: Vec<f64> =
                (0..=num_points).map(|_| 2.0 * Distribution::<f64>::sample(&StandardNormal, &mut stream)).collect();
            let value = |i: usize| {
                let noise = if is_coloured { 0.5 * (white[i] + white[i + 1]) } else { white[i] };
                let place = (i as f64 - 0.5 * num_points as f64) / (0.02 * num_points as f64);
                (noise + 2000.0 * (-0.5 * place * place).exp()) as f32
            };
            Projection { direction: [1.0, 0.0, 0.0], weight: 1.0, values: (0..num_points).map(value).collect() }
        };
        let projections: Vec<Projection> = (0..60).map(&mut projection).collect();
        let kind = match is_pulse {
            true => SweepKind::Pulse,
            false => SweepKind::ContinuousWave { step_mt: 0.01, gradient_mt_per_mm: 0.1, reference: None },
        };
        Sweep {
            kind,
            space: SweepSpace::Volume,
            num_points,
            step_mm: 0.1,
            centre: (num_points / 2) as f64,
            num_expected: Some(projections.len()),
            projections,
            secs_per_projection: None,
            facts: SweepMetadata::default(),
        }
    }

    #[test]
    fn white_noise_has_its_variance_at_all_frequencies() {
        for (num_points, is_pulse) in [(512, false), (300, false), (128, false), (128, true)] {
            let noise = Noise::of(&sweep(num_points, is_pulse, false)).unwrap();
            assert!((noise.variance() / 4.0 - 1.0).abs() < 0.1, "{num_points}, {is_pulse}: {}", noise.variance());
            for omega in [0.0, 0.1, 1.0, 2.0, PI] {
                assert!((noise.power(omega) / 4.0 - 1.0).abs() < 0.4, "{num_points}, {omega}: {}", noise.power(omega));
            }
        }
    }

    /// Power 4 cos²(ω/2).
    #[test]
    fn coloured_noise_has_its_power_where_the_signal_is() {
        let noise = Noise::of(&sweep(512, false, true)).unwrap();
        assert!((noise.variance() / 2.0 - 1.0).abs() < 0.15, "{}", noise.variance());
        for (omega, expected) in [(0.0, 4.0), (0.5 * PI, 2.0), (PI, 0.0)] {
            assert!((noise.power(omega) - expected).abs() < 0.8, "{omega}: {}", noise.power(omega));
        }
    }

    #[test]
    fn few_samples_have_no_noise() {
        assert_eq!(Noise::of(&sweep(15, true, false)), None);
        assert_eq!(Noise::of(&sweep(64, true, false).without_projections()), None);
    }
}
