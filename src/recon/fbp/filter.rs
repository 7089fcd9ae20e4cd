//! Filters of 3D filtered backprojection: p″ in seven forms, as frequency responses and as kernels.
//!
//! ```text
//! f(x) = −1/(4π²) Σ_i w_i p_i″(x·n_i),   Σ w_i = 2π over half a sphere
//! ```
//!
//! Inverse 3D Radon transform, Qiao et al. 2015, eqs. 1–6; −p″ has the response k², a parabola. With samples d apart the
//! filters differ in what they make of it near the Nyquist frequency π/d. ω = k·d below; all kernels have length 2S − 1 for
//! S samples, so that zero padding to 2S leaves nothing that could wrap.

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

/// A form of −p″.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// (−1, 2, −1)/d²: (2 sin ω/2)².
    SecondDifference,
    /// The three-point derivative twice, (−1, 0, 2, 0, −1)/4d²: sin²ω. Calm where there is noise.
    #[default]
    ThreePoint,
    /// The five-point derivative (1, −8, 0, 8, −1)/12d twice: ((8 sin ω − sin 2ω)/6)².
    FivePoint,
    /// The parabola up to the Nyquist frequency: ω².
    Rectangular,
    /// The parabola under a sinc: ω² sinc(ω/2).
    Sinc,
    /// The parabola under a Hamming window: ω² (0.54 + 0.46 cos ω).
    Hamming,
    /// The ramp |ω| of 2D backprojection twice, each time on the samples that there are.
    TwoRamp,
}

impl Filter {
    /// All of them, in the order in which a menu shows them.
    pub const ALL: [Filter; 7] = [
        Filter::SecondDifference,
        Filter::ThreePoint,
        Filter::FivePoint,
        Filter::Rectangular,
        Filter::Sinc,
        Filter::Hamming,
        Filter::TwoRamp,
    ];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Filter::SecondDifference => "second-difference",
            Filter::ThreePoint => "three-point",
            Filter::FivePoint => "five-point",
            Filter::Rectangular => "rectangular",
            Filter::Sinc => "sinc",
            Filter::Hamming => "hamming",
            Filter::TwoRamp => "two-ramp",
        }
    }

    /// How many times [`Filter::kernel`] is applied, the samples being cut to the window after each.
    pub fn num_passes(self) -> usize {
        if self == Filter::TwoRamp { 2 } else { 1 }
    }

    /// Response of all passes at ω = k·d (0 … π) for unit sample distance; divide by d².
    pub fn response(self, omega: f64) -> f64 {
        match self {
            Filter::SecondDifference => (2.0 * (0.5 * omega).sin()).powi(2),
            Filter::ThreePoint => omega.sin().powi(2),
            Filter::FivePoint => ((8.0 * omega.sin() - (2.0 * omega).sin()) / 6.0).powi(2),
            Filter::Rectangular | Filter::TwoRamp => omega * omega,
            Filter::Sinc => 2.0 * omega * (0.5 * omega).sin(),
            Filter::Hamming => omega * omega * (0.54 + 0.46 * omega.cos()),
        }
    }

    /// Weight of the sample `n` away in one pass for unit sample distance: the inverse transform of the response.
    pub fn kernel(self, n: usize) -> f64 {
        let stencil = |weights: &[f64]| weights.get(n).copied().unwrap_or(0.0);
        match self {
            Filter::SecondDifference => stencil(&[2.0, -1.0]),
            Filter::ThreePoint => stencil(&[0.5, 0.0, -0.25]),
            // (1, −8, 0, 8, −1)/12 convolved with itself, its sign turned.
            Filter::FivePoint => stencil(&[130.0, -16.0, -64.0, 16.0, -1.0]) / 144.0,
            Filter::Rectangular => parabola_kernel(n as f64),
            Filter::Sinc => {
                let n = n as f64;
                4.0 / PI * alternating(n) * ((2.0 * n + 1.0).powi(-2) + (2.0 * n - 1.0).powi(-2))
            }
            Filter::Hamming => {
                let n = n as f64;
                0.54 * parabola_kernel(n) + 0.23 * (parabola_kernel(n - 1.0) + parabola_kernel(n + 1.0))
            }
            Filter::TwoRamp => ramp_kernel(n as f64),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Filter::ALL.into_iter().find(|filter| filter.name() == text).ok_or_else(|| {
            let names = Filter::ALL.map(Filter::name).join(", ");
            format!("'{text}' is not a filter; use one of {names}")
        })
    }
}

/// (−1)ⁿ.
fn alternating(n: f64) -> f64 {
    if n.rem_euclid(2.0) == 0.0 { 1.0 } else { -1.0 }
}

/// (1/2π) ∫ ω² cos nω dω over −π … π.
fn parabola_kernel(n: f64) -> f64 {
    if n == 0.0 { PI * PI / 3.0 } else { 2.0 * alternating(n) / (n * n) }
}

/// (1/2π) ∫ |ω| cos nω dω over −π … π.
fn ramp_kernel(n: f64) -> f64 {
    match alternating(n) {
        _ if n == 0.0 => PI / 2.0,
        sign if sign < 0.0 => -2.0 / (PI * n * n),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_the_transforms_of_the_responses() {
        const STEPS: usize = 200_000;
        for filter in Filter::ALL {
            for n in [0, 1, 2, 3, 4, 5, 8, 33] {
                // Midpoint rule over 0 … π; the response of one pass is the root of that of two.
                let one_pass = |omega: f64| filter.response(omega).powf(1.0 / filter.num_passes() as f64);
                let at = |k: usize| PI * (k as f64 + 0.5) / STEPS as f64;
                let sum: f64 = (0..STEPS).map(|k| one_pass(at(k)) * (n as f64 * at(k)).cos()).sum();
                let expected = sum / STEPS as f64;
                assert!((filter.kernel(n) - expected).abs() < 1e-8, "{filter}, {n}: {} is not {expected}", filter.kernel(n));
            }
        }
    }

    #[test]
    fn every_filter_is_the_second_derivative_where_the_samples_are_dense() {
        for filter in Filter::ALL {
            let omega = 0.02;
            assert!((filter.response(omega) / (omega * omega) - 1.0).abs() < 2e-4, "{filter}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for filter in Filter::ALL {
            assert_eq!(filter.name().parse(), Ok(filter));
        }
        assert!("boxcar".parse::<Filter>().unwrap_err().contains("second-difference, three-point"));
    }
}
