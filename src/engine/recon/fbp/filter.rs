//! Filters of filtered backprojection in seven forms, as frequency responses and as kernels.
//!
//! ```text
//! volume  f(x) = −1/(4π²) Σ_i w_i p_i″(x·n_i),     Σ w_i = 2π over half a sphere    response k²
//! slice   f(x) =  1/(2π)  Σ_i w_i (p_i * r)(x·n_i),  Σ w_i = π over half a circle     response |k|
//! ```
//!
//! Inverse Radon transforms; of a volume −p″ has the response k², a parabola (Qiao et al. 2015, eqs. 1–6), of a slice there is
//! one power of k less, the ramp |k| of computed tomography (Ramachandran and Lakshminarayanan 1971), the derivative once with a
//! Hilbert transform. With samples d apart the filters differ near the Nyquist frequency π/d. ω = k·d below. Those that are made
//! of a derivative stencil take it twice for a volume and once for a slice, those that are windows multiply the parabola or the
//! ramp: second-difference and sinc are then the same, the filter of Shepp and Logan 1974. All kernels have length 2S − 1 for S
//! samples, so that zero padding to 2S leaves nothing that could wrap.
//!
//! A cut-off c leaves the frequencies above c·π out. The windows sinc and Hamming end there, as functions of ω/c, at 2/π and
//! 0.08: the smaller the cut-off the smoother the image, and the three windows differ at any cut-off. A stencil belongs to the
//! samples and not to the cut-off: it stays the same and is cut off hard.

use std::f64::consts::PI;

use crate::data::SweepSpace;
use crate::named::named;

named! {
    "a filter";
    /// A form of the parabola or the ramp.
    #[derive(Default)]
    pub enum Filter {
        /// (−1, 2, −1)/d²: (2 sin ω/2)².
        SecondDifference,
        /// The three-point derivative twice, (−1, 0, 2, 0, −1)/4d²: sin²ω. Calm where there is noise.
        #[default]
        ThreePoint,
        /// The five-point derivative (1, −8, 0, 8, −1)/12d twice: ((8 sin ω − sin 2ω)/6)².
        FivePoint,
        /// The parabola up to the cut-off: ω².
        Rectangular,
        /// The parabola under a sinc: ω² sinc(ω/2c).
        Sinc,
        /// The parabola under a Hamming window: ω² (0.54 + 0.46 cos ω/c).
        Hamming,
        /// The ramp |ω| of 2D backprojection twice, each time on the samples that there are; a slice takes one, so that it is
        /// the rectangular filter there.
        TwoRamp,
    }
}

impl Filter {
    /// Returns true for a window on the parabola or the ramp, which ends at the cut-off.
    pub fn is_window(self) -> bool {
        matches!(self, Filter::Sinc | Filter::Hamming)
    }

    /// Returns the number of times that [`Filter::kernel`] is applied; the samples are cut to the window after each.
    pub fn num_passes(self, space: SweepSpace) -> usize {
        if self == Filter::TwoRamp && !space.is_slice() { 2 } else { 1 }
    }

    /// Response of all passes at ω = k·d (0 … π) with the cut-off c (1 = none), for unit sample distance; divide by d², for a
    /// slice by d.
    pub fn response(self, space: SweepSpace, omega: f64, cutoff: f64) -> f64 {
        if omega > cutoff * PI * (1.0 + 1e-12) {
            return 0.0;
        }
        // From a derivative or the ramp to the factor of the inverse transform.
        let form = |once: f64| if space.is_slice() { once } else { once * once };
        match self {
            Filter::SecondDifference => form(2.0 * (0.5 * omega).sin()),
            Filter::ThreePoint => form(omega.sin()),
            Filter::FivePoint => form((8.0 * omega.sin() - (2.0 * omega).sin()) / 6.0),
            Filter::Rectangular | Filter::TwoRamp => form(omega),
            // ω sinc(ω/2c) = 2c sin(ω/2c), once more ω for a volume.
            Filter::Sinc => 2.0 * cutoff * (0.5 * omega / cutoff).sin() * if space.is_slice() { 1.0 } else { omega },
            Filter::Hamming => form(omega) * (0.54 + 0.46 * (omega / cutoff).cos()),
        }
    }

    /// Weight of the sample `n` away in one pass for unit sample distance, without a cut-off: the inverse transform of the
    /// response.
    pub fn kernel(self, space: SweepSpace, n: usize) -> f64 {
        if space.is_slice() { self.slice_kernel(n) } else { self.volume_kernel(n) }
    }

    fn volume_kernel(self, n: usize) -> f64 {
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

    /// (1/2π) ∫ |sin mω| cos nω dω = 2m/π(m² − n²) where m + n is odd and sin mω does not change its sign.
    fn slice_kernel(self, n: usize) -> f64 {
        let n = n as f64;
        match self {
            // m = ½, twice.
            Filter::SecondDifference | Filter::Sinc => 4.0 / (PI * (1.0 - 4.0 * n * n)),
            Filter::ThreePoint => sine_kernel(1.0, n),
            Filter::FivePoint => (8.0 * sine_kernel(1.0, n) - sine_kernel(2.0, n)) / 6.0,
            Filter::Rectangular | Filter::TwoRamp => ramp_kernel(n),
            Filter::Hamming => 0.54 * ramp_kernel(n) + 0.23 * (ramp_kernel(n - 1.0) + ramp_kernel(n + 1.0)),
        }
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

/// (1/π) ∫ sin mω cos nω dω over 0 … π, m and n whole.
fn sine_kernel(m: f64, n: f64) -> f64 {
    if alternating(m + n) < 0.0 { 2.0 * m / (PI * (m * m - n * n)) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;
    use crate::data::GradientAxis;

    const SPACES: [SweepSpace; 2] = [SweepSpace::Volume, SweepSpace::Slice([GradientAxis::X, GradientAxis::Y])];

    #[test]
    fn kernels_are_the_transforms_of_the_responses() {
        const STEPS: usize = 200_000;
        for (space, filter) in SPACES.into_iter().flat_map(|space| Filter::VARIANTS.iter().map(move |&filter| (space, filter))) {
            for n in [0, 1, 2, 3, 4, 5, 8, 33] {
                // Midpoint rule over 0 … π; the response of one pass is the root of that of two.
                let one_pass = |omega: f64| filter.response(space, omega, 1.0).powf(1.0 / filter.num_passes(space) as f64);
                let at = |k: usize| PI * (k as f64 + 0.5) / STEPS as f64;
                let sum: f64 = (0..STEPS).map(|k| one_pass(at(k)) * (n as f64 * at(k)).cos()).sum();
                let (found, expected) = (filter.kernel(space, n), sum / STEPS as f64);
                assert!((found - expected).abs() < 1e-8, "{space:?}, {filter}, {n}: {found} is not {expected}");
            }
        }
    }

    #[test]
    fn every_filter_is_the_parabola_or_the_ramp_where_the_samples_are_dense() {
        for &filter in Filter::VARIANTS {
            for cutoff in [1.0, 0.1] {
                let (omega, power) = (0.02 * cutoff, [2, 1]);
                for (space, power) in SPACES.into_iter().zip(power) {
                    let ratio = filter.response(space, omega, cutoff) / omega.powi(power);
                    assert!((ratio - 1.0).abs() < 2e-4, "{space:?}, {filter}");
                }
            }
        }
    }

    #[test]
    fn windows_end_at_the_cut_off_and_stencils_are_cut_off() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} is not {b}");
        for cutoff in [0.1, 0.5, 1.0] {
            for (space, power) in SPACES.into_iter().zip([2, 1]) {
                let (edge, middle) = (cutoff * PI, 0.5 * cutoff * PI);
                let at = |filter: Filter, omega: f64| filter.response(space, omega, cutoff);
                near(at(Filter::Rectangular, edge), edge.powi(power));
                near(at(Filter::Sinc, edge), edge.powi(power) * 2.0 / PI);
                near(at(Filter::Hamming, edge), edge.powi(power) * 0.08);
                near(at(Filter::Sinc, middle), middle.powi(power) * 8f64.sqrt() / PI);
                near(at(Filter::Hamming, middle), middle.powi(power) * 0.54);
                near(at(Filter::ThreePoint, edge), edge.sin().powi(power));
                assert!(Filter::VARIANTS.iter().all(|filter| at(*filter, 1.001 * edge) == 0.0));
            }
        }
    }

    #[test]
    fn names_are_read_back() {
        for &filter in Filter::VARIANTS {
            assert_eq!(filter.name().parse(), Ok(filter));
        }
        assert!("boxcar".parse::<Filter>().unwrap_err().contains("second-difference, three-point"));
    }
}
