//! The noise of an image by filtered backprojection, predicted from that of its projections.

use super::cutoff::Powers;
use super::filtering::{FilterSettings, ProjectionFilter};
use crate::data::Sweep;
use crate::recon::ReconError;

/// Returns the noise of an image with these settings relative to its signal, r, as far as the projections show it; `None` as
/// [`cutoff_by_noise`](super::cutoff_by_noise), and without signal.
///
/// # Errors
/// Data or settings that do not suit.
pub fn image_noise(sweep: &Sweep, settings: &FilterSettings) -> Result<Option<f64>, ReconError> {
    let Some(powers) = Powers::of(sweep)? else { return Ok(None) };
    let filter = ProjectionFilter::new(sweep, settings)?;
    let power = if sweep.space.is_slice() { 1 } else { 2 };
    let sum = |values: &[f64]| -> f64 {
        let of = |alpha: usize| {
            let omega = powers.omegas[alpha];
            omega.powi(power) * filter.window(omega).powi(2) * values[alpha] / powers.spectrum[alpha]
        };
        (1..values.len()).filter(|alpha| powers.is_held(*alpha)).map(of).sum()
    };
    let [signal, noise] = [&powers.signal, &powers.noise].map(|values| sum(values));
    Ok((signal > 0.0).then(|| (noise / signal).sqrt()))
}
