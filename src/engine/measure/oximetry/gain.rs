//! Change of the noise from one acquisition to the next, as a change of the gain makes it.
//!
//! A gain that falls slowly over the acquisitions changes the fitted rates and leaves no residuals. But it scales the noise, too. The noise of the
//! samples is found without their signal: second differences along a projection, at the times without the signals of a recovery or decay
//! ([`WithoutSignals`]). With the covariance S of the differences between the acquisitions, the diagonal of Q S Q has the expectation
//! Σ Q²ₖⱼ σⱼ², where σⱼ = σ exp(a j) is fitted. Signal that is left does not follow this form: the standard error of a grows with the χ² of the fit.

use nalgebra::{DMatrix, DVector, Matrix2, SymmetricEigen};

use super::fit::RateFitter;
use super::signals::WithoutSignals;
use crate::data::{Sweep, Volume};

/// Variance of a second difference of white noise, and the number of such differences that are as good as one independent number:
/// 1 + 2 (4/6)² + 2 (1/6)².
const VARIANCE: f64 = 6.0;
const CORRELATION: f64 = 1.0 + 2.0 * (16.0 + 1.0) / 36.0;

/// Part of the largest eigenvalue of a covariance that counts as 0.
const MIN_EIGENVALUE: f64 = 1e-6;

/// Steps of the fit.
const MAX_STEPS: usize = 30;

/// Change from the first to the last acquisition that is reported, and in standard errors.
const MAX_CHANGE: f64 = 0.05;
const MAX_ERRORS: f64 = 5.0;

/// Change of the noise of the samples over a series of acquisitions, as σ exp(a j).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct NoiseTrend {
    /// Standard deviation of the noise of a sample, geometric mean of the acquisitions, in the unit of the samples.
    pub noise: f64,
    /// Noise of the last acquisition over that of the first.
    pub last_over_first: f64,
    /// Standard error of its logarithm.
    pub standard_error: f64,
    /// Number of acquisitions.
    pub num_acquisitions: usize,
}

impl NoiseTrend {
    /// Returns that of acquisitions with the same samples and directions, in their order; `rates` is the map of their fitted rates. `None` of so few
    /// acquisitions that nothing is left beyond the signals and the two unknowns, and of samples without noise.
    pub fn of(sweeps: &[Sweep], fitter: &RateFitter, rates: &Volume) -> Option<Self> {
        let without = WithoutSignals::new(fitter, rates)?;
        let (covariance, num) = covariance_of_differences(sweeps)?;
        let q = &without.0;
        let (found, weights) = ((q * covariance * q).diagonal(), q.component_mul(q));
        let num_times = sweeps.len();
        let place = |time: usize| time as f64 - 0.5 * (num_times as f64 - 1.0);
        let variances = |[log, slope]: [f64; 2]| DVector::from_fn(num_times, |time, _| (log + 2.0 * slope * place(time)).exp());
        let mean = found.sum() / without.dimension() as f64;
        if !(mean > 0.0 && mean.is_finite()) {
            return None;
        }
        let mut parameters = [mean.ln(), 0.0];
        let mut fit = None;
        for _ in 0..MAX_STEPS {
            let now = variances(parameters);
            let (inverse, rank) = pseudo_inverse(of_diagonals(q, &now, num / CORRELATION));
            let freedom = rank.checked_sub(2).filter(|freedom| *freedom > 0)?;
            let columns =
                [now.clone(), DVector::from_fn(num_times, |time, _| 2.0 * place(time) * now[time])].map(|of| &weights * of);
            let residual = &found - &weights * &now;
            let product = |a: &DVector<f64>, b: &DVector<f64>| (a.transpose() * &inverse * b)[(0, 0)];
            let normal = Matrix2::from_fn(|i, j| product(&columns[i], &columns[j])).try_inverse()?;
            let right = [product(&columns[0], &residual), product(&columns[1], &residual)];
            let steps = [0, 1].map(|i| (normal[(i, 0)] * right[0] + normal[(i, 1)] * right[1]).clamp(-0.5, 0.5));
            fit = Some((normal[(1, 1)], product(&residual, &residual) / freedom as f64));
            parameters = [parameters[0] + steps[0], parameters[1] + steps[1]];
            if steps[1].abs() < 1e-9 {
                break;
            }
        }
        let (variance, chi_square) = fit?;
        let num_steps = num_times as f64 - 1.0;
        Some(Self {
            noise: (parameters[0].exp() / VARIANCE).sqrt(),
            last_over_first: (num_steps * parameters[1]).exp(),
            standard_error: num_steps * (variance * chi_square.max(1.0)).sqrt(),
            num_acquisitions: num_times,
        })
    }

    /// Returns true of a change that chance does not make.
    pub fn is_large(&self) -> bool {
        let change = self.last_over_first.ln().abs();
        change > MAX_CHANGE && change > MAX_ERRORS * self.standard_error
    }

    /// Returns the warning about a change.
    pub fn doubt(&self) -> Option<String> {
        self.is_large().then(|| {
            format!(
                "the noise of acquisition {} is {:.2} ± {:.2} of that of the first: another gain or number of averages. If the signal changes as \
                 much, the oxygen pressures are wrong, and the fits do not show it. Check the settings of the receiver",
                self.num_acquisitions,
                self.last_over_first,
                self.last_over_first * self.standard_error
            )
        })
    }
}

/// Returns the covariance of the second differences of acquisitions, and the number of differences of one.
fn covariance_of_differences(sweeps: &[Sweep]) -> Option<(DMatrix<f64>, f64)> {
    let num_times = sweeps.len();
    let num_projections = sweeps.iter().map(Sweep::num_complete).min()?;
    let num_points = sweeps.iter().map(|sweep| sweep.num_points).min()?;
    let mut sums = DMatrix::zeros(num_times, num_times);
    for index in 0..num_projections {
        let difference = |time: usize, sample: usize| {
            let values = &sweeps[time].projections[index].values[sample..];
            f64::from(values[0]) - 2.0 * f64::from(values[1]) + f64::from(values[2])
        };
        let differences = DMatrix::from_fn(num_times, num_points.saturating_sub(2), difference);
        sums += &differences * differences.transpose();
    }
    let num = (num_projections * num_points.saturating_sub(2)) as f64;
    (num > 0.0).then(|| (sums / num, num))
}

/// Returns the covariance of the diagonal of Q S Q: 2 (Q diag(σ²) Q)²ₖⱼ / n.
fn of_diagonals(q: &DMatrix<f64>, variances: &DVector<f64>, num: f64) -> DMatrix<f64> {
    let expected = q * DMatrix::from_diagonal(variances) * q;
    2.0 / num * expected.component_mul(&expected)
}

/// Returns the inverse of a covariance on the space where it is not 0, and the dimension of the space.
fn pseudo_inverse(covariance: DMatrix<f64>) -> (DMatrix<f64>, usize) {
    let SymmetricEigen { eigenvalues, eigenvectors } = SymmetricEigen::new(covariance);
    let limit = MIN_EIGENVALUE * eigenvalues.max();
    let inverse = eigenvalues.map(|value| if value > limit { value.recip() } else { 0.0 });
    let rank = eigenvalues.iter().filter(|value| **value > limit).count();
    (&eigenvectors * DMatrix::from_diagonal(&inverse) * eigenvectors.transpose(), rank)
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::super::signals::tests::{DELAYS, rates};
    use super::*;
    use crate::data::{GradientAxis, Projection, RelaxationRate, SweepKind, SweepMetadata, SweepSpace};
    use crate::random;

    /// 60 projections of 64 samples with an edge in each, at these delays; each acquisition has this gain over the one before.
    fn sweeps(delays: &[f64], noise: f64, gain: f64, seed: u64) -> Vec<Sweep> {
        let sweep = |(number, delay): (usize, &f64)| {
            let mut stream = random::stream(seed, number as u64);
            let mut projection = |index: usize| {
                let mut value = |sample: usize| {
                    let rate = 0.2 + 0.4 * (sample as f64 / 64.0);
                    let density = if sample.abs_diff(32) < 10 + index / 4 { 10.0 } else { 0.0 };
                    let signal = density * (1.0 - 1.8 * f64::exp(-rate * delay));
                    let factor = gain.powi(number as i32);
                    (factor * (signal + noise * Distribution::<f64>::sample(&StandardNormal, &mut stream))) as f32
                };
                Projection { direction: [1.0, 0.0, 0.0], weight: 1.0, values: (0..64).map(&mut value).collect() }
            };
            Sweep {
                kind: SweepKind::Pulse,
                space: SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]),
                num_points: 64,
                step_mm: 1.0,
                centre: 32.0,
                projections: (0..60).map(&mut projection).collect(),
                num_expected: Some(60),
                secs_per_projection: None,
                facts: SweepMetadata::default(),
            }
        };
        delays.iter().enumerate().map(sweep).collect()
    }

    fn trend(delays: &[f64], noise: f64, gain: f64, seed: u64) -> Option<NoiseTrend> {
        let fitter = RateFitter::new(RelaxationRate::R1, delays).unwrap();
        NoiseTrend::of(&sweeps(delays, noise, gain, seed), &fitter, &rates())
    }

    #[test]
    fn equal_gains_are_not_reported_and_falling_ones_are() {
        let some = [0usize, 2, 4, 5, 7].map(|index| DELAYS[index]);
        for delays in [&DELAYS[..], &some] {
            for noise in [0.5, 0.1, 0.01, 1e-6] {
                let num = (0..25).filter_map(|seed| trend(delays, noise, 1.0, seed)).filter(NoiseTrend::is_large).count();
                assert_eq!(num, 0, "{} delays, noise {noise}", delays.len());
            }
        }
        for (noise, gain) in [(0.5, 0.95), (0.1, 0.95), (0.5, 1.06), (0.1, 0.9)] {
            let found = trend(&DELAYS, noise, gain, 3).unwrap();
            let expected = f64::powi(gain, 7);
            println!("{noise} {gain}: {found:?}");
            assert!(found.doubt().is_some_and(|text| text.contains("of acquisition 8")), "{found:?}");
            assert!((found.last_over_first / expected).ln().abs() < 4.0 * found.standard_error, "{found:?}, expected {expected}");
            assert!((found.noise / (noise * f64::powf(gain, 3.5)) - 1.0).abs() < 0.1, "{found:?}");
        }
        // Beyond the signals of four delays nothing is left for two unknowns.
        assert_eq!(trend(&DELAYS[..4], 0.1, 1.0, 1), None);
    }
}
