//! Shapes of lines in first-derivative spectra.

use std::f64::consts::{LN_2, PI, SQRT_2};
use std::sync::LazyLock;

use nalgebra::Complex;

/// Terms of the rational series of the complex error function: about 12 digits.
const NUM_TERMS: usize = 32;

/// Returns the derivative of a Lorentzian line of area 1 and this full width at half maximum, at a distance from its middle, mT; 1/mT².
pub fn lorentzian_derivative(distance_mt: f64, fwhm_mt: f64) -> f64 {
    let half = 0.5 * fwhm_mt;
    -2.0 * half * distance_mt / (PI * (distance_mt * distance_mt + half * half).powi(2))
}

/// Returns the derivative of a Voigt line of area 1, the convolution of a Lorentzian and a Gaussian of these full widths at half maximum, at
/// a distance from its middle, mT; 1/mT².
pub fn voigt_derivative(distance_mt: f64, lorentzian_mt: f64, gaussian_mt: f64) -> f64 {
    // σ√2 = G/(2√ln 2); V′ = −Re(2z w(z)) / (2√π σ²).
    let scale = gaussian_mt / (2.0 * LN_2.sqrt());
    let z = Complex::new(distance_mt, 0.5 * lorentzian_mt) / scale;
    -(2.0 * z * error_function(z)).re / (PI.sqrt() * scale * scale)
}

/// w(z) = exp(−z²) erfc(−iz) of the upper half plane (Weideman, SIAM J. Numer. Anal. 31:1497, 1994).
fn error_function(z: Complex<f64>) -> Complex<f64> {
    let i: Complex<f64> = Complex::i();
    let length = (NUM_TERMS as f64 / SQRT_2).sqrt();
    let below = length - i * z;
    let ratio = (length + i * z) / below;
    let sum = COEFFICIENTS.iter().rev().fold(Complex::new(0.0, 0.0), |sum, coefficient| sum * ratio + coefficient);
    2.0 * sum / (below * below) + 1.0 / (PI.sqrt() * below)
}

/// Coefficients of the series from the constant on.
static COEFFICIENTS: LazyLock<[f64; NUM_TERMS]> = LazyLock::new(|| {
    let length = (NUM_TERMS as f64 / SQRT_2).sqrt();
    let half = 2 * NUM_TERMS as i32;
    let term = |order: usize, k: i32| {
        let angle = f64::from(k) * PI / f64::from(half);
        let t = length * (0.5 * angle).tan();
        (-t * t).exp() * (length * length + t * t) * ((order + 1) as f64 * angle).cos() / f64::from(2 * half)
    };
    std::array::from_fn(|order| (1 - half..half).map(|k| term(order, k)).sum())
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derivative_has_the_integral_of_a_line() {
        let (step, fwhm) = (1e-3, 0.2);
        // The line itself, half its width from its middle, is half its height 2/(πΓ).
        let line = |to: i32| (-200_000..to).map(|k| lorentzian_derivative((f64::from(k) + 0.5) * step, fwhm) * step).sum::<f64>();
        let [middle, half] = [line(0), line(100)];
        assert!((middle - 2.0 / (PI * fwhm)).abs() < 1e-4 && (half / middle - 0.5).abs() < 1e-4, "{middle} {half}");
    }

    #[test]
    fn a_voigt_line_is_a_convolution() {
        // w(1 + i), Abramowitz and Stegun, table 7.9.
        let w = error_function(Complex::new(1.0, 1.0));
        assert!((w.re - 0.304_744_205_256_9).abs() < 1e-11 && (w.im - 0.208_218_938_202_8).abs() < 1e-11, "{w}");
        let (lorentzian, gaussian, step) = (0.15, 0.1, 2e-4);
        let sigma = gaussian / (8.0 * LN_2).sqrt();
        let gauss = |x: f64| (-0.5 * (x / sigma).powi(2)).exp() / (sigma * (2.0 * PI).sqrt());
        for distance in [0.0, 0.03, -0.08, 0.3] {
            let at = |k: i32| f64::from(k) * step;
            let sum: f64 =
                (-3000..=3000).map(|k| step * gauss(at(k)) * lorentzian_derivative(distance - at(k), lorentzian)).sum();
            let found = voigt_derivative(distance, lorentzian, gaussian);
            assert!((found - sum).abs() < 1e-8, "{distance}: {found} {sum}");
        }
        // Without a Gaussian it is the Lorentzian.
        let [found, expected] = [voigt_derivative(0.1, 0.2, 1e-4), lorentzian_derivative(0.1, 0.2)];
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    }
}
