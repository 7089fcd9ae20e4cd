//! Cut-off of the deconvolution of continuous-wave spectra by their noise, and the noise of the image.
//!
//! A projection's transform is that of the image along a line through the frequency 0 (Fourier slice theorem), times H. So a frequency takes
//! error off an image where its signal S, the mean power of the data without the noise P, is above the noise: the cut-off is where S = P. And
//! the noise of an image relative to its signal is
//!
//! r² = Σ ω^{d−1} W² P/|H|² / Σ ω^{d−1} W² S/|H|²
//!
//! over the frequencies of the filter's window W.

use std::f64::consts::{PI, TAU};

use super::noise::{Noise, mean_powers};
use crate::data::{Sweep, SweepKind};
use crate::recon::ReconError;
use crate::recon::reference::reference_spectrum_at;

/// Part of the largest |H| below which frequencies are left out.
pub(super) const MIN_SPECTRUM: f64 = 1e-3;

/// Part of the frequencies that has to be below noise for the signal to end: hyperfine lines have zeros between.
const GAP: f64 = 0.05;

/// Smallest cut-off.
const MIN_CUTOFF: f64 = 0.01;

/// Powers at the frequencies α ≥ 0 of a projection.
pub(super) struct Powers {
    pub omegas: Vec<f64>,
    pub signal: Vec<f64>,
    pub noise: Vec<f64>,
    /// |H|².
    pub spectrum: Vec<f64>,
}

impl Powers {
    /// Returns the powers of continuous-wave projections; `None` of others, and where noise or reference spectrum are not known.
    ///
    /// # Errors
    /// A reference spectrum that is not usable.
    pub fn of(sweep: &Sweep) -> Result<Option<Self>, ReconError> {
        let SweepKind::ContinuousWave { reference: Some(reference), step_mt, .. } = &sweep.kind else { return Ok(None) };
        let Some(noise) = Noise::of(sweep) else { return Ok(None) };
        let data = mean_powers(sweep);
        let omegas: Vec<f64> = (0..data.len()).map(|alpha| TAU * alpha as f64 / sweep.num_points as f64).collect();
        let spectrum = reference_spectrum_at(&omegas, reference, sweep, *step_mt)?.iter().map(|value| value.norm_sqr()).collect();
        let noise: Vec<f64> = omegas.iter().map(|omega| noise.power(*omega)).collect();
        let signal = data.iter().zip(&noise).map(|(data, noise)| (data - noise).max(0.0)).collect();
        Ok(Some(Self { omegas, signal, noise, spectrum }))
    }

    /// Returns true at the frequencies where the spectrum of the probe is more than almost 0.
    pub fn is_held(&self, alpha: usize) -> bool {
        let largest = self.spectrum.iter().copied().fold(0.0, f64::max);
        self.spectrum[alpha] > MIN_SPECTRUM.powi(2) * largest
    }
}

/// Returns the cut-off, a part of the Nyquist frequency, up to which the signal of continuous-wave projections is above their noise; `None`
/// of pulses, and where noise or reference spectrum are not known.
///
/// # Errors
/// A reference spectrum that is not usable.
pub fn cutoff_by_noise(sweep: &Sweep) -> Result<Option<f64>, ReconError> {
    let Some(powers) = Powers::of(sweep)? else { return Ok(None) };
    let num = powers.omegas.len();
    let gap = ((GAP * num as f64).round() as usize).max(3);
    // Of three neighbours together.
    let is_signal = |alpha: usize| {
        let near = alpha.saturating_sub(1)..(alpha + 2).min(num);
        let sum = |values: &[f64]| values[near.clone()].iter().sum::<f64>();
        powers.is_held(alpha) && sum(&powers.signal) > sum(&powers.noise)
    };
    let held: Vec<bool> = (0..num).map(|alpha| alpha > 0 && is_signal(alpha)).collect();
    let mut last = 0;
    for alpha in (0..num).filter(|alpha| held[*alpha]) {
        if alpha > last + gap {
            break;
        }
        last = alpha;
    }
    // Between this frequency and the next one; two digits suffice.
    let cutoff = (powers.omegas[last] + PI / num as f64 / 2.0) / PI;
    Ok((last > 0).then(|| rounded(cutoff.clamp(MIN_CUTOFF, 1.0))))
}

/// Rounds a part to a hundredth of its size.
fn rounded(part: f64) -> f64 {
    let digit = 10_f64.powi(part.log10().floor() as i32 - 1);
    // (A product with 0.001 has further digits.)
    ((part / digit).round() * digit * 1e6).round() / 1e6
}
