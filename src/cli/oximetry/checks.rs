//! Checks of a series of images: do they follow the model within their noise, and is the gain of all acquisitions the same?

use std::path::PathBuf;

use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::data::{Notice, OxygenCalibration, RelaxationRate, Volume};
use crate::measure::oximetry::{
    ChiSquare, FitsOnThreads, NoiseTrend, OxygenMaps, RateFitter, are_magnitudes, oxygen_maps, with_signs,
};
use crate::plan::{Provenance, PulseAcquisitions};
use crate::recon::is_negative;
use crate::task::Task;

/// Figures of the checks.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Checks {
    /// Residuals of the fits against the noise of the background, of images by filtered backprojection.
    pub chi_square: Option<ChiSquare>,
    /// Change of the noise over the acquisitions.
    pub noise_trend: Option<NoiseTrend>,
}

impl Checks {
    /// Measures the images of acquisitions or of files.
    pub fn of(
        acquisitions: Option<&PulseAcquisitions>,
        (files, images): (&[PathBuf], &[&Volume]),
        maps: &OxygenMaps,
        fitter: &RateFitter,
    ) -> Self {
        let is_by_backprojection = |(file, image): (&PathBuf, &&Volume)| {
            let (record, _) = Provenance::of_file(file, image);
            record.algorithm.is_some_and(|algorithm| algorithm.fbp.is_some())
        };
        let is_linear = match acquisitions {
            Some(acquisitions) => acquisitions.is_linear(),
            None => files.iter().zip(images).all(is_by_backprojection),
        };
        Self {
            chi_square: if is_linear { maps.chi_square(images, fitter) } else { None },
            noise_trend: acquisitions.and_then(|acquisitions| NoiseTrend::of(&acquisitions.sweeps, fitter, &maps.rate)),
        }
    }

    /// Prints the warnings.
    pub fn print_doubts(&self) {
        let doubts = [self.chi_square.and_then(|found| found.doubt()), self.noise_trend.and_then(|found| found.doubt())];
        notices::print(&doubts.into_iter().flatten().map(Notice::warning).collect::<Vec<_>>());
    }

    /// Returns the figures, a line each.
    pub fn lines(&self) -> Vec<String> {
        let of_fits =
            |found: ChiSquare| format!("reduced χ² {:.2} (median of the voxels, by the noise of the background)", found.median);
        let of_noise = |found: NoiseTrend| {
            let error = found.last_over_first * found.standard_error;
            format!("noise of the last acquisition {:.2} ± {error:.2} of that of the first", found.last_over_first)
        };
        self.chi_square.map(of_fits).into_iter().chain(self.noise_trend.map(of_noise)).collect()
    }
}

/// Prints that the image of the whole signal, after the longest delay or the shortest echo time, is negative: the mask is then of the background.
pub fn print_negative(images: &[Volume], fitter: &RateFitter) {
    let sign = if fitter.rate() == RelaxationRate::R1 { 1.0 } else { -1.0 };
    let timed = images.iter().zip(fitter.times_us());
    let Some((image, time)) = timed.max_by(|(_, a), (_, b)| (sign * **a).total_cmp(&(sign * **b))) else { return };
    if is_negative(image.as_slice().iter().map(|value| f64::from(*value)).filter(|value| value.is_finite())) {
        notices::print(&[Notice::warning(format!(
            "the image at {time} µs is negative: all images have the other sign, and the voxels of the map are not those of the object. Change the sign \
             of the images"
        ))]);
    }
}

/// Prints that images do not follow the model, and whether they do as magnitudes.
///
/// # Errors
/// Stopped.
pub fn print_misfit(
    maps: &OxygenMaps,
    (acquisitions, images): (Option<&PulseAcquisitions>, &[Volume]),
    (fitter, calibration): (&RateFitter, &OxygenCalibration),
    (is_magnitude, mask_fraction): (bool, f64),
) -> CliResult {
    let Some(mut text) = maps.doubt() else { return Ok(()) };
    if !is_magnitude && fitter.rate() == RelaxationRate::R1 {
        let samples = acquisitions.into_iter().flat_map(|of| of.sweeps.iter().flat_map(|sweep| &sweep.projections));
        let have_no_sign = acquisitions.is_some() && are_magnitudes(samples.map(|projection| &*projection.values));
        if have_no_sign || are_magnitudes_of_a_recovery(images, fitter, calibration, mask_fraction)? {
            text += ". They follow it as magnitudes: set --magnitude";
        }
    }
    notices::print(&[Notice::warning(text)]);
    Ok(())
}

/// Returns true if images follow the model with the signs of recoveries.
fn are_magnitudes_of_a_recovery(
    images: &[Volume],
    fitter: &RateFitter,
    calibration: &OxygenCalibration,
    mask_fraction: f64,
) -> CliResult<bool> {
    let signed = with_signs(images, fitter);
    let views: Vec<&Volume> = signed.iter().collect();
    let maps = oxygen_maps(&mut FitsOnThreads, &views, fitter, calibration, mask_fraction, &Task::new())?;
    Ok(maps.doubt().is_none())
}
