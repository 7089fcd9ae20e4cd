//! Complex spectra, turned by the receiver's phase so that the signal is real: z → Re(z e^{−iφ}).
//!
//! The energy of the real part, Σ Re²(z e^{−iφ}) = ½ Σ|z|² + ½ Re(e^{−2iφ} Σ z²), is largest, and that of the imaginary part
//! smallest, at φ = ½ arg Σ z². Half a turn stays open; it is taken so that the absorption, the integral of the first
//! derivative, has a positive area A: Re(e^{−iφ} A) > 0, A = −Σ (j − middle) z_j over the samples on both sides of the line alike.
//!
//! Quadrature detection has the dispersion in the imaginary part, with the energy of the absorption: Σ z² is 0, and nothing follows
//! from it. The area of the dispersion is 0, and φ = arg A. Neither offset nor drift is signal: before these
//! sums a straight line through the means of the outer 5 % at either end is taken off each spectrum.

use std::f64::consts::PI;

use crate::data::Phase;

/// Part of the samples at each end whose mean the straight line goes through.
const END: f64 = 0.05;

/// Part of the energy in |Σ z²| below which the imaginary part is the dispersion.
const QUADRATURE: f64 = 0.2;

/// Sums over complex spectra.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// Σ z².
    square: [f64; 2],
    /// Σ |z|².
    energy: f64,
    /// −Σ (j − middle) z_j, about the middle of the energy.
    area: [f64; 2],
}

impl Moments {
    /// Adds a spectrum: real and imaginary parts in turn.
    pub fn add(&mut self, spectrum: &[f32]) {
        let measured: [Vec<f64>; 2] =
            [0, 1].map(|part| spectrum.iter().skip(part).step_by(2).map(|&value| f64::from(value)).collect());
        let [re, im] = measured.clone().map(without_line);
        let (mut energy, mut moment) = (0.0, 0.0);
        for (j, (re, im)) in re.iter().zip(&im).enumerate() {
            self.square[0] += re * re - im * im;
            self.square[1] += 2.0 * re * im;
            energy += re * re + im * im;
            moment += j as f64 * (re * re + im * im);
        }
        self.energy += energy;
        let middle = if energy > 0.0 { moment / energy } else { 0.0 };
        // As many samples on both sides, so that even tails make no drift.
        let reach = middle.min(re.len() as f64 - 1.0 - middle).max(0.0);
        let (first, last) = ((middle - reach).ceil() as usize, (middle + reach).floor() as usize);
        for (area, part) in self.area.iter_mut().zip(&measured) {
            let about = without_line(part.get(first..=last).unwrap_or_default().to_vec());
            *area -= about.iter().enumerate().map(|(j, value)| ((first + j) as f64 - middle) * value).sum::<f64>();
        }
    }

    /// Returns the requested phase, degrees, or the automatic one; `None` if there is no signal for it.
    pub fn phase(&self, requested: Option<f64>) -> Option<Phase> {
        let has_signal = self.energy.is_finite() && self.energy > 0.0;
        let phi = match requested {
            Some(degrees) => degrees.to_radians(),
            None if has_signal && self.square[0].hypot(self.square[1]) < QUADRATURE * self.energy => {
                self.area[1].atan2(self.area[0])
            }
            None if has_signal => {
                let phi = 0.5 * self.square[1].atan2(self.square[0]);
                let area = self.area[0] * phi.cos() + self.area[1] * phi.sin();
                if area >= 0.0 {
                    phi
                } else if phi > 0.0 {
                    phi - PI
                } else {
                    phi + PI
                }
            }
            None => return None,
        };
        let turned = self.square[0] * (2.0 * phi).cos() + self.square[1] * (2.0 * phi).sin();
        let remainder = if has_signal { (0.5 * (1.0 - turned / self.energy)).clamp(0.0, 1.0) } else { 0.0 };
        Some(Phase { degrees: requested.unwrap_or(phi.to_degrees()), is_automatic: requested.is_none(), remainder })
    }
}

/// Returns the samples without the line through the means of their ends.
fn without_line(mut samples: Vec<f64>) -> Vec<f64> {
    let len = samples.len();
    let num_end = ((END * len as f64).round() as usize).clamp(1, len.max(1));
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let (low, high) = (mean(&samples[..num_end.min(len)]), mean(&samples[len - num_end.min(len)..]));
    // Between the middles of the two ends.
    let reach = (len as f64 - num_end as f64).max(1.0);
    for (j, value) in samples.iter_mut().enumerate() {
        *value -= low + (high - low) * (j as f64 - 0.5 * (num_end as f64 - 1.0)) / reach;
    }
    samples
}

/// Returns the real parts of complex samples turned back by the phase.
pub fn turned(samples: &[f32], degrees: f64) -> Vec<f32> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    // A right angle has no part of the other component left.
    let [sin, cos] = [sin, cos].map(|value| if value.abs() < 1e-15 { 0.0 } else { value });
    samples.as_chunks::<2>().0.iter().map(|[re, im]| (f64::from(*re) * cos + f64::from(*im) * sin) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A derivative of a Gaussian line, high field to the right, turned by an angle; with a drift and an imaginary remainder.
    fn spectrum(degrees: f64, drift: [f64; 2], remainder: f64) -> Vec<f32> {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let sample = |j: i32| {
            let u = f64::from(j - 140) / 15.0;
            // The second one is orthogonal to the first one and as large.
            let (line, other) = (-u * (-0.5 * u * u).exp(), remainder * (-0.5 * u * u).exp() * 0.5f64.sqrt());
            let part = |value: f64, drift: f64| (value + drift * (0.3 + f64::from(j) / 300.0)) as f32;
            [part(line * cos - other * sin, drift[0]), part(line * sin + other * cos, drift[1])]
        };
        (0..300).flat_map(sample).collect()
    }

    fn automatic(spectrum: &[f32]) -> Phase {
        let mut moments = Moments::default();
        moments.add(spectrum);
        moments.phase(None).unwrap()
    }

    #[test]
    fn the_phase_of_a_turned_line_is_found_in_all_four_quadrants() {
        for degrees in [-170.0, -90.0, -37.5, 0.0, 12.0, 90.0, 135.0, 179.0] {
            let phase = automatic(&spectrum(degrees, [0.0; 2], 0.0));
            assert!((phase.degrees - degrees).abs() < 1e-4 && phase.is_automatic, "{degrees}: {phase:?}");
            assert!(phase.remainder < 1e-9, "{phase:?}");
            let phase = automatic(&spectrum(degrees, [20.0, -35.0], 0.0));
            assert!((phase.degrees - degrees).abs() < 1e-2, "{degrees} with a drift: {phase:?}");
        }
    }

    /// A Lorentzian line off the middle of the sweep, with its dispersion.
    #[test]
    fn dispersion_in_the_imaginary_part_leaves_the_phase() {
        for degrees in [-170.0, -45.0, 0.0, 89.0, 135.0f64] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let sample = |j: i32| {
                let u = f64::from(j - 230) / 6.0;
                let (line, other) = (-2.0 * u / (1.0 + u * u).powi(2), (1.0 - u * u) / (1.0 + u * u).powi(2));
                [(line * cos - other * sin) as f32, (line * sin + other * cos) as f32]
            };
            let phase = automatic(&(0..512).flat_map(sample).collect::<Vec<f32>>());
            assert!((phase.degrees - degrees).abs() < 0.5 && (phase.remainder - 0.5).abs() < 0.01, "{degrees}: {phase:?}");
        }
    }

    #[test]
    fn what_is_left_in_the_imaginary_part_is_measured() {
        let turned_line = spectrum(30.0, [0.0; 2], 0.5);
        let phase = automatic(&turned_line);
        assert!((phase.degrees - 30.0).abs() < 1e-3, "{phase:?}");
        // ∫ u² e^{−u²} = ½ √π and ½ ∫ e^{−u²} = ½ √π: a quarter of the energy of the line.
        assert!((phase.remainder - 0.2).abs() < 1e-3, "{phase:?}");
        let mut moments = Moments::default();
        moments.add(&turned_line);
        let requested = moments.phase(Some(120.0)).unwrap();
        assert_eq!((requested.degrees, requested.is_automatic), (120.0, false));
        assert!((requested.remainder - 0.8).abs() < 1e-3, "{requested:?}");
    }

    #[test]
    fn what_has_no_signal_has_no_phase() {
        let mut moments = Moments::default();
        moments.add(&[0.0; 20]);
        moments.add(&[]);
        moments.add(&[1.0]);
        assert_eq!(moments.phase(None), None);
        assert_eq!(moments.phase(Some(7.0)).map(|phase| phase.remainder), Some(0.0));
    }

    #[test]
    fn samples_are_turned_back() {
        assert_eq!(turned(&[1.0, 2.0, 3.0, 4.0], 0.0), [1.0, 3.0]);
        assert_eq!(turned(&[1.0, 2.0, 3.0, 4.0], 90.0), [2.0, 4.0]);
        assert_eq!(turned(&[1.0, 2.0, 3.0, 4.0], 180.0), [-1.0, -3.0]);
    }
}
