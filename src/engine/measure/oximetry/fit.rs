//! Relaxation rate of a voxel by variable projection (Golub and Pereyra 1973; Kaufman 1975).
//!
//! With E = exp(−R τ) both models are a + b·E, a = 0 for a decay, and a and b follow from R by linear least squares. The search is in R
//! alone: the best entry of a dictionary of rates, spaced evenly in their logarithm, then Gauss–Newton steps with the derivative
//! g = P⊥ ∂(bE)/∂R. P⊥ projects out the part that a and b take over.
//!
//! ```text
//! δR = gᵀr / gᵀg        σ²(R) = σ² / gᵀg      r the residual, σ the noise of the images
//! ```
//!
//! gᵀg is the Schur complement of the normal matrix of all parameters, so that σ(R) is that of the full fit.

use super::super::outcomes::NoFit;
use super::error::OximetryError;
use crate::data::RelaxationRate;

/// Rates of the dictionary.
const NUM_ENTRIES: usize = 64;

/// Lowest rate × longest time, and highest rate × shortest step of time: beyond, the curve is a straight line or a step.
const MIN_DECAY: f64 = 0.02;
const MAX_DECAY: f64 = 8.0;

/// Limits of the search in a voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitLimits {
    /// Largest number of Gauss–Newton steps.
    pub max_steps: usize,
    /// Largest number of times that a step is halved.
    pub max_halvings: usize,
    /// Step that ends the search, relative to the rate.
    pub step_tolerance: f64,
    /// Growth of the sum of squared residuals that counts as rounding, relative to the sum of squares.
    pub rounding: f64,
    /// Largest factor between two rates of the search.
    pub max_factor: f64,
}

impl FitLimits {
    /// Those of every fit.
    pub const ALL: Self = Self { max_steps: 60, max_halvings: 20, step_tolerance: 1e-8, rounding: 1e-14, max_factor: 2.0 };
}

/// Rate of a voxel and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateFit {
    /// R, 1/µs.
    pub rate_per_us: f64,
    /// A, in the unit of the images.
    pub amplitude: f64,
    /// Efficiency of the inversion, 1 for a whole one; `None` for a decay.
    pub inversion: Option<f64>,
    /// Sum of squared residuals.
    pub residual: f64,
    /// gᵀg: squared noise over the variance of the rate, µs².
    pub information: f64,
}

impl RateFit {
    /// Returns the signal at a time, µs.
    pub fn value(&self, time_us: f64) -> f64 {
        let decay = (-self.rate_per_us * time_us).exp();
        self.amplitude * self.inversion.map_or(decay, |inversion| 1.0 - 2.0 * inversion * decay)
    }

    /// Returns the standard deviation of the rate, 1/µs, for images with this noise.
    pub fn rate_sd_per_us(&self, noise: f64) -> f64 {
        noise / self.information.sqrt()
    }
}

/// Fit of a relaxation rate to values at these times.
#[derive(Clone, Debug)]
pub struct RateFitter {
    rate: RelaxationRate,
    times_us: Vec<f64>,
    /// Ascending rates, 1/µs.
    rates: Vec<f64>,
    /// Curve of each rate, without its mean for a recovery, of length 1; in the order of the rates.
    curves: Vec<f64>,
}

/// The model at a rate.
struct State {
    rate_per_us: f64,
    constant: f64,
    factor: f64,
    residual: f64,
    information: f64,
    /// Step of Gauss and Newton, 1/µs.
    step: f64,
}

impl RateFitter {
    /// Returns the fit for images at these times, µs: delays after the inversion for R₁, echo times for R₂.
    ///
    /// # Errors
    /// Fewer times than parameters, negative or equal times.
    pub fn new(rate: RelaxationRate, times_us: &[f64]) -> Result<Self, OximetryError> {
        if let Some(index) = times_us.iter().position(|time| !(time.is_finite() && *time >= 0.0)) {
            return Err(OximetryError::Time { number: index + 1, time_us: times_us[index] });
        }
        let mut sorted = times_us.to_vec();
        sorted.sort_by(f64::total_cmp);
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(OximetryError::SameTimes(pair[0]));
        }
        let (found, needed) = (times_us.len(), num_parameters(rate));
        if found < needed {
            return Err(OximetryError::FewTimes { rate, found, needed });
        }
        let shortest = sorted.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        let [low, high] = [MIN_DECAY / sorted[found - 1], MAX_DECAY / shortest];
        let rates: Vec<f64> = (0..NUM_ENTRIES).map(|k| low * (high / low).powf(k as f64 / (NUM_ENTRIES as f64 - 1.0))).collect();
        let mut fitter = Self { rate, times_us: times_us.to_vec(), rates, curves: Vec::new() };
        for &rate_per_us in &fitter.rates {
            let mut curve: Vec<f64> = fitter.times_us.iter().map(|time| (-rate_per_us * time).exp()).collect();
            let mean = fitter.mean(&curve);
            curve.iter_mut().for_each(|value| *value -= mean);
            let length = curve.iter().map(|value| value * value).sum::<f64>().sqrt();
            fitter.curves.extend(curve.iter().map(|value| value / length));
        }
        Ok(fitter)
    }

    /// Refuses another number of images than of times.
    ///
    /// # Errors
    /// [`OximetryError::NumImages`].
    pub fn check_num_images(&self, num_images: usize) -> Result<(), OximetryError> {
        let num_times = self.times_us.len();
        if num_images == num_times { Ok(()) } else { Err(OximetryError::NumImages { num_images, num_times }) }
    }

    /// Returns the number of times beyond that of the parameters.
    pub fn degrees_of_freedom(&self) -> usize {
        self.times_us.len() - num_parameters(self.rate)
    }

    /// Returns the index of the image with the largest part of the signal: the longest delay, the shortest echo time.
    pub fn fullest(&self) -> usize {
        let order = |a: &usize, b: &usize| self.times_us[*a].total_cmp(&self.times_us[*b]);
        let indices = 0..self.times_us.len();
        let found = match self.rate {
            RelaxationRate::R1 => indices.max_by(order),
            RelaxationRate::R2 => indices.min_by(order),
        };
        found.unwrap_or(0)
    }

    /// Returns the times, µs.
    pub fn times_us(&self) -> &[f64] {
        &self.times_us
    }

    /// Returns the rate of the fit.
    pub fn rate(&self) -> RelaxationRate {
        self.rate
    }

    /// Returns the dictionary: ascending rates, 1/µs, and their curves at the times, one behind the other. A curve has length 1, of a
    /// recovery after its mean is removed.
    pub fn dictionary(&self) -> (&[f64], &[f64]) {
        (&self.rates, &self.curves)
    }

    /// Fits the values at the times. `scratch` is working memory.
    ///
    /// # Errors
    /// The reason why there is no rate.
    pub fn fit(&self, values: &[f64], scratch: &mut Vec<f64>) -> Result<RateFit, NoFit> {
        if !values.iter().all(|value| value.is_finite()) {
            return Err(NoFit::NotFinite);
        }
        let FitLimits { max_steps, max_halvings, step_tolerance, rounding, max_factor } = FitLimits::ALL;
        let squares: f64 = values.iter().map(|value| value * value).sum();
        let mut state = self.state(self.best_entry(values, rounding * squares.sqrt())?, values, scratch);
        let [low, high] = [self.rates[0], self.rates[NUM_ENTRIES - 1]];
        for _ in 0..max_steps {
            if !state.step.is_finite() {
                return Err(NoFit::OutOfRange);
            }
            if state.step.abs() <= step_tolerance * state.rate_per_us {
                return self.result(&state);
            }
            let now = state.rate_per_us;
            let mut next = (now + state.step).clamp(now / max_factor, now * max_factor).clamp(low, high);
            if next == now {
                return Err(NoFit::OutOfRange);
            }
            let limit = state.residual + rounding * squares;
            let mut tried = self.state(next, values, scratch);
            for _ in 0..max_halvings {
                if tried.residual <= limit {
                    break;
                }
                next = 0.5 * (now + next);
                tried = self.state(next, values, scratch);
            }
            state = tried;
        }
        Err(NoFit::NotConverged)
    }

    /// Returns the rate of the dictionary whose curve fits best, with the sign of the model: the signal grows after an inversion and falls
    /// with the echo time.
    /// Products up to `rounding` count as none.
    fn best_entry(&self, values: &[f64], rounding: f64) -> Result<f64, NoFit> {
        let sign = if self.rate == RelaxationRate::R1 { -1.0 } else { 1.0 };
        let (mut best, mut found) = (rounding, None);
        for (curve, &rate) in self.curves.chunks_exact(values.len()).zip(&self.rates) {
            let product = sign * curve.iter().zip(values).map(|(a, b)| a * b).sum::<f64>();
            if product > best {
                (best, found) = (product, Some(rate));
            }
        }
        found.ok_or(NoFit::OutOfRange)
    }

    /// Returns the mean of numbers at the times for a recovery, which has a constant, and 0 for a decay.
    fn mean(&self, numbers: &[f64]) -> f64 {
        match self.rate {
            RelaxationRate::R1 => numbers.iter().sum::<f64>() / numbers.len() as f64,
            RelaxationRate::R2 => 0.0,
        }
    }

    /// Returns the model at a rate.
    fn state(&self, rate_per_us: f64, values: &[f64], curve: &mut Vec<f64>) -> State {
        curve.clear();
        curve.extend(self.times_us.iter().map(|time| (-rate_per_us * time).exp()));
        let (mean_value, mean_curve) = (self.mean(values), self.mean(curve));
        let [mut square, mut product] = [0.0; 2];
        for (e, y) in curve.iter().zip(values) {
            square += (e - mean_curve).powi(2);
            product += (e - mean_curve) * (y - mean_value);
        }
        let factor = product / square;
        let constant = mean_value - factor * mean_curve;
        // ∂(bE)/∂R = −bτE, without its mean and its part along the curve.
        let derivative = |(time, e): (&f64, &f64)| -factor * time * e;
        let of_curve = || self.times_us.iter().zip(curve.iter());
        let mean = match self.rate {
            RelaxationRate::R1 => of_curve().map(derivative).sum::<f64>() / curve.len() as f64,
            RelaxationRate::R2 => 0.0,
        };
        let along = of_curve().map(|(time, e)| (e - mean_curve) * (derivative((time, e)) - mean)).sum::<f64>() / square;
        let [mut residual, mut information, mut slope] = [0.0; 3];
        for ((time, e), y) in of_curve().zip(values) {
            let g = derivative((time, e)) - mean - along * (e - mean_curve);
            let r = y - constant - factor * e;
            residual += r * r;
            information += g * g;
            slope += g * r;
        }
        State { rate_per_us, constant, factor, residual, information, step: slope / information }
    }

    fn result(&self, state: &State) -> Result<RateFit, NoFit> {
        let &State { rate_per_us, constant, factor, residual, information, .. } = state;
        let (amplitude, inversion) = match self.rate {
            RelaxationRate::R1 => (constant, Some(-0.5 * factor / constant)),
            RelaxationRate::R2 => (factor, None),
        };
        if amplitude > 0.0 {
            Ok(RateFit { rate_per_us, amplitude, inversion, residual, information })
        } else {
            Err(NoFit::OutOfRange)
        }
    }
}

/// Returns the number of parameters of the model.
fn num_parameters(rate: RelaxationRate) -> usize {
    match rate {
        RelaxationRate::R1 => 3,
        RelaxationRate::R2 => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAYS: [f64; 8] = [0.4, 0.8, 1.5, 2.6, 4.5, 8.0, 14.0, 30.0];

    fn recovery(amplitude: f64, inversion: f64, rate: f64) -> Vec<f64> {
        DELAYS.iter().map(|time| amplitude * (1.0 - 2.0 * inversion * (-rate * time).exp())).collect()
    }

    fn of(rate: RelaxationRate, times: &[f64], values: &[f64]) -> Result<RateFit, NoFit> {
        RateFitter::new(rate, times).unwrap().fit(values, &mut Vec::new())
    }

    #[test]
    fn exact_curves_give_their_parameters_back() {
        for rate in [0.1, 0.15, 0.181, 0.3, 0.728, 0.8, 1.5] {
            for inversion in [1.0, 0.9, 0.5, 0.2] {
                let fit = of(RelaxationRate::R1, &DELAYS, &recovery(3.0, inversion, rate)).unwrap();
                assert!((fit.rate_per_us / rate - 1.0).abs() < 1e-7, "{rate} {inversion}: {fit:?}");
                assert!((fit.amplitude - 3.0).abs() < 1e-6 && (fit.inversion.unwrap() - inversion).abs() < 1e-6, "{fit:?}");
                assert!(fit.residual < 1e-14);
            }
            let decay: Vec<f64> = DELAYS.iter().map(|time| 2.0 * (-rate * time).exp()).collect();
            let fit = of(RelaxationRate::R2, &DELAYS, &decay).unwrap();
            assert!((fit.rate_per_us / rate - 1.0).abs() < 1e-7 && (fit.amplitude - 2.0).abs() < 1e-6, "{fit:?}");
            assert_eq!(fit.inversion, None);
        }
        // As many times as parameters: through all points.
        let fit = of(RelaxationRate::R1, &DELAYS[2..5], &recovery(1.0, 0.9, 0.4)[2..5]).unwrap();
        assert!((fit.rate_per_us - 0.4).abs() < 1e-7, "{fit:?}");
    }

    /// gᵀg against the inverse of the whole normal matrix, whose derivatives are differences.
    #[test]
    fn the_deviation_is_that_of_the_whole_normal_matrix() {
        let parameters = [2.0, 0.85, 0.4];
        let curve = |p: [f64; 3]| nalgebra::DVector::from_vec(recovery(p[0], p[1], p[2]));
        let column = |k: usize| {
            let shifted = |by: f64| std::array::from_fn(|i| parameters[i] + if i == k { by } else { 0.0 });
            (curve(shifted(1e-6)) - curve(shifted(-1e-6))) / 2e-6
        };
        let jacobian = nalgebra::DMatrix::from_columns(&[column(0), column(1), column(2)]);
        let covariance = (jacobian.transpose() * jacobian).try_inverse().unwrap();
        let fit = of(RelaxationRate::R1, &DELAYS, &recovery(2.0, 0.85, 0.4)).unwrap();
        let expected = 0.04 * covariance[(2, 2)].sqrt();
        assert!((fit.rate_sd_per_us(0.04) / expected - 1.0).abs() < 1e-6, "{} {expected}", fit.rate_sd_per_us(0.04));
    }

    /// No point near the solution has a smaller sum of squares.
    #[test]
    fn noisy_values_end_at_the_minimum() {
        let fitter = RateFitter::new(RelaxationRate::R1, &DELAYS).unwrap();
        for seed in 0..200 {
            let mut random = crate::random::stream(7, seed);
            let noise = rand_distr::Normal::new(0.0, 0.1).unwrap();
            let rate = 0.15 + 0.65 * seed as f64 / 200.0;
            let values: Vec<f64> = recovery(1.0, 0.9, rate)
                .into_iter()
                .map(|value| value + rand_distr::Distribution::sample(&noise, &mut random))
                .collect();
            let fit = fitter.fit(&values, &mut Vec::new()).unwrap();
            for factor in [0.5, 0.9, 0.999, 1.001, 1.1, 2.0] {
                let other = fitter.state(factor * fit.rate_per_us, &values, &mut Vec::new());
                assert!(other.residual > fit.residual, "{seed} {factor}: {fit:?}");
            }
        }
    }

    #[test]
    fn values_without_a_rate_have_a_reason() {
        assert_eq!(of(RelaxationRate::R1, &DELAYS, &[1.0; 8]), Err(NoFit::OutOfRange));
        assert_eq!(of(RelaxationRate::R1, &DELAYS, &[0.0; 8]), Err(NoFit::OutOfRange));
        assert_eq!(of(RelaxationRate::R2, &DELAYS, &[0.0; 8]), Err(NoFit::OutOfRange));
        // A signal that falls after the inversion, one that grows with the echo time, one that grows as a line.
        let falling: Vec<f64> = recovery(1.0, 0.9, 0.3).iter().map(|value| -value).collect();
        assert_eq!(of(RelaxationRate::R1, &DELAYS, &falling), Err(NoFit::OutOfRange));
        let line: Vec<f64> = DELAYS.to_vec();
        assert_eq!(of(RelaxationRate::R1, &DELAYS, &line), Err(NoFit::OutOfRange));
        assert_eq!(of(RelaxationRate::R2, &DELAYS, &line), Err(NoFit::OutOfRange));
        let mut values = recovery(1.0, 0.9, 0.3);
        values[3] = f64::NAN;
        assert_eq!(of(RelaxationRate::R1, &DELAYS, &values), Err(NoFit::NotFinite));
    }

    #[test]
    fn times_that_give_no_rate_are_refused() {
        let refused = |rate, times: &[f64]| RateFitter::new(rate, times).unwrap_err();
        assert_eq!(refused(RelaxationRate::R1, &[0.4, 0.8, 0.4, 2.0]), OximetryError::SameTimes(0.4));
        assert_eq!(
            refused(RelaxationRate::R1, &[0.4, 0.8]).to_string(),
            "2 times for a fit of R1 with 3 parameters; add at least 1"
        );
        assert!(RateFitter::new(RelaxationRate::R2, &[0.0, 0.8]).is_ok());
        assert_eq!(refused(RelaxationRate::R2, &[-0.5, 0.8]), OximetryError::Time { number: 1, time_us: -0.5 });
        assert!(matches!(refused(RelaxationRate::R2, &[0.5, f64::NAN]), OximetryError::Time { number: 2, .. }));
    }
}
