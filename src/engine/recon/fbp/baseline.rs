//! The baseline of continuous-wave spectra: a polynomial fitted by least squares to the outer 5 % at each end of a projection,
//! where the object is not seen, and taken off all of it.
//!
//! With polynomials p_j that are orthonormal over the samples of the ends, Σ_ends p_i p_j = δ_ij (Gram–Schmidt from 1, u,
//! u², u³ with u = −1 … 1 across the projection), the fit is b = Σ_j (Σ_ends y p_j) p_j: nothing has to be solved.

use crate::named::named;

/// Part of the samples at each end that the polynomial is fitted to.
const END: f64 = 0.05;

/// A polynomial whose remainder after the others is this part of it is no new one: there are too few samples.
const DEGENERATE: f64 = 1e-9;

named! {
    "a baseline (none, or the order of a polynomial)";
    /// Baseline that is fitted to the ends of a projection and subtracted.
    #[derive(Default)]
    pub enum Baseline {
        /// Nothing.
        #[default]
        None,
        /// A constant.
        #[serde(rename = "0")]
        #[strum(serialize = "0")]
        Constant,
        /// A straight line.
        #[serde(rename = "1")]
        #[strum(serialize = "1")]
        Line,
        /// A parabola.
        #[serde(rename = "2")]
        #[strum(serialize = "2")]
        Parabola,
        /// A cubic polynomial.
        #[serde(rename = "3")]
        #[strum(serialize = "3")]
        Cubic,
    }
}

impl Baseline {
    /// Returns its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Baseline::None => "none",
            Baseline::Constant => "constant (0)",
            Baseline::Line => "line (1)",
            Baseline::Parabola => "parabola (2)",
            Baseline::Cubic => "cubic (3)",
        }
    }

    /// Returns the coefficients of the polynomial.
    fn num_terms(self) -> usize {
        self as usize
    }
}

/// A fit made for projections of one length.
pub(in crate::recon) struct BaselineFit {
    /// Samples at each end.
    num_end: usize,
    /// The polynomials at every sample, orthonormal over those of the ends.
    polynomials: Vec<Vec<f64>>,
}

impl BaselineFit {
    /// For projections of `num_points` samples.
    pub(in crate::recon) fn new(baseline: Baseline, num_points: usize) -> Self {
        let num_end = ((END * num_points as f64).round() as usize).max(baseline.num_terms().div_ceil(2)).min(num_points / 2);
        let mut fit = Self { num_end, polynomials: Vec::new() };
        let last = num_points.saturating_sub(1).max(1) as f64;
        for order in 0..baseline.num_terms() {
            let mut next: Vec<f64> = (0..num_points).map(|i| (2.0 * i as f64 / last - 1.0).powi(order as i32)).collect();
            let size = fit.product(&next, &next).sqrt();
            for before in &fit.polynomials {
                let along = fit.product(&next, before);
                next.iter_mut().zip(before).for_each(|(value, other)| *value -= along * other);
            }
            let rest = fit.product(&next, &next).sqrt();
            if rest > DEGENERATE * size {
                next.iter_mut().for_each(|value| *value /= rest);
                fit.polynomials.push(next);
            }
        }
        fit
    }

    /// Takes the baseline off a projection.
    pub(in crate::recon) fn subtract(&self, row: &mut [f64]) {
        let coefficients: Vec<f64> = self.polynomials.iter().map(|polynomial| self.product(row, polynomial)).collect();
        for (polynomial, coefficient) in self.polynomials.iter().zip(coefficients) {
            row.iter_mut().zip(polynomial).for_each(|(value, p)| *value -= coefficient * p);
        }
    }

    /// Σ a·b over the samples of the ends.
    fn product(&self, a: &[f64], b: &[f64]) -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| a * b);
        let after = a.len().saturating_sub(self.num_end);
        products.enumerate().filter(|(i, _)| *i < self.num_end || *i >= after).map(|(_, product)| product).sum()
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    fn polynomial(i: usize, order: usize) -> f64 {
        let x = i as f64 / 100.0;
        [300.0, -40.0, 7.0, 2.5].iter().take(order + 1).enumerate().map(|(k, c)| c * x.powi(k as i32)).sum()
    }

    #[test]
    fn a_polynomial_is_taken_off_whole_and_what_lies_between_the_ends_stays() {
        for (order, baseline) in [Baseline::Constant, Baseline::Line, Baseline::Parabola, Baseline::Cubic].into_iter().enumerate()
        {
            for num_points in [40, 500, 2001] {
                let object = |i: usize| if (num_points / 4..num_points / 2).contains(&i) { (i as f64).sin() } else { 0.0 };
                let mut row: Vec<f64> = (0..num_points).map(|i| polynomial(i, order) + object(i)).collect();
                BaselineFit::new(baseline, num_points).subtract(&mut row);
                let size = polynomial(num_points, order).abs().max(1.0);
                let worst = row.iter().enumerate().map(|(i, value)| (value - object(i)).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-11 * size, "{baseline} of {num_points}: {worst:e}");
            }
        }
    }

    /// Against the normal equations of a straight line, with noise and an object at the ends.
    #[test]
    fn a_line_is_the_one_of_least_squares() {
        let values: Vec<f64> = (0..60).map(|i| (f64::from(i) * 12.9898).sin() * 3.0 + f64::from(i)).collect();
        let ends: Vec<(f64, f64)> = [0, 1, 2, 57, 58, 59].map(|i| (i as f64, values[i])).into();
        let sum = |term: &dyn Fn(f64, f64) -> f64| ends.iter().map(|&(x, y)| term(x, y)).sum::<f64>();
        let (n, sx, sy) = (6.0, sum(&|x, _| x), sum(&|_, y| y));
        let slope = (n * sum(&|x, y| x * y) - sx * sy) / (n * sum(&|x, _| x * x) - sx * sx);
        let constant = (sy - slope * sx) / n;
        let mut row = values.clone();
        BaselineFit::new(Baseline::Line, 60).subtract(&mut row);
        for (i, (value, row)) in values.iter().zip(&row).enumerate() {
            assert!((value - constant - slope * i as f64 - row).abs() < 1e-12, "{i}");
        }
    }

    #[test]
    fn none_changes_nothing_and_few_samples_are_no_trouble() {
        for &baseline in Baseline::VARIANTS {
            assert_eq!(baseline.name().parse(), Ok(baseline));
            for num_points in 0..9 {
                let mut row: Vec<f64> = (0..num_points).map(|i| f64::from(i) - 1.0).collect();
                let before = row.clone();
                BaselineFit::new(baseline, num_points as usize).subtract(&mut row);
                assert!(row.iter().all(|value| value.is_finite()), "{baseline} of {num_points}");
                assert!(baseline != Baseline::None || row == before);
            }
        }
        assert!("4".parse::<Baseline>().unwrap_err().contains("none, 0, 1, 2 or 3"));
    }
}
