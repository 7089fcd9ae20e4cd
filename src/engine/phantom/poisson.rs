//! Poisson-distributed counts, fast for small means.
//!
//! Most bins of a scan hold few counts. Below a mean of 16 the distribution function is inverted by a sum of its terms from one
//! uniform number of 32 bits (Devroye 1986, Non-uniform random variate generation, ch. X.3); events rarer than 2⁻³³ are never
//! drawn. Above, the rejection method of `rand_distr` (Ahrens and Dieter 1982).

use rand_distr::Distribution;
use rand_philox::{Philox, u32_to_unit_f64};

/// Mean from which on rejection is faster than going through the terms.
const INVERSION_BELOW: f64 = 16.0;

/// 1/k for the terms that inversion can reach.
const RECIPROCALS: [f64; 80] = {
    let mut table = [0.0; 80];
    let mut k = 1;
    while k < table.len() {
        table[k] = 1.0 / k as f64;
        k += 1;
    }
    table
};

/// Returns a Poisson-distributed number of this mean; 0 where the mean is not positive or not a number.
pub fn poisson(mean: f64, random: &mut Philox) -> f32 {
    if mean < INVERSION_BELOW {
        if mean > 0.0 { inversion(mean, (-mean).exp(), random) } else { 0.0 }
    } else {
        match rand_distr::Poisson::new(mean) {
            Ok(distribution) => distribution.sample(random) as f32,
            // Not a number, or above 1.8e19, where an f32 shows no noise.
            Err(_) if mean.is_finite() => mean as f32,
            Err(_) => 0.0,
        }
    }
}

/// Draws from the terms exp(−mean) mean^k / k!; `first_term` is the first.
fn inversion(mean: f64, first_term: f64, random: &mut Philox) -> f32 {
    let mut left = u32_to_unit_f64(random.next_u32());
    let mut term = first_term;
    let mut k = 0;
    while left > term && k + 1 < RECIPROCALS.len() {
        left -= term;
        k += 1;
        term *= mean * RECIPROCALS[k];
    }
    k as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, variance and share of zeros against the distribution's own, within five standard errors.
    #[test]
    fn the_numbers_have_the_moments_of_the_distribution() {
        const NUM: usize = 200_000;
        for (stream, mean) in [0.003, 0.2, 1.0, 3.7, 11.0, 15.99, 16.0, 40.0, 1e4].into_iter().enumerate() {
            let mut random = crate::random::stream(9, stream as u64);
            let draws: Vec<f64> = (0..NUM).map(|_| f64::from(poisson(mean, &mut random))).collect();
            let num = NUM as f64;
            let average = draws.iter().sum::<f64>() / num;
            let variance = draws.iter().map(|v| (v - average).powi(2)).sum::<f64>() / (num - 1.0);
            let zeros = draws.iter().filter(|v| **v == 0.0).count() as f64 / num;
            assert!((average - mean).abs() < 5.0 * (mean / num).sqrt(), "mean {average} for {mean}");
            // Var(s²) = (μ₄ − σ⁴)/n with μ₄ = mean + 3 mean².
            let error = ((mean + 2.0 * mean * mean) / num).sqrt();
            assert!((variance - mean).abs() < 5.0 * error, "variance {variance} for {mean}");
            let p = (-mean).exp();
            assert!((zeros - p).abs() <= 5.0 * (p * (1.0 - p) / num).sqrt() + 1e-9, "zeros {zeros} for {mean}");
        }
    }

    #[test]
    fn invalid_means_give_zero() {
        let mut random = crate::random::stream(1, 1);
        for mean in [0.0, -3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(poisson(mean, &mut random), 0.0);
        }
        assert_eq!(poisson(1e30, &mut random), 1e30);
    }
}
