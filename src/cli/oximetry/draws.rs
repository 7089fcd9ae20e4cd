//! The noise of acquisitions drawn again.

use super::sweeps::Sweeps;
use crate::cli::shared::error::CliResult;
use crate::data::{OxygenCalibration, Volume};
use crate::measure::oximetry::{OxygenMaps, RateFitter, noise_of, redrawn_po2, refitted_po2};
use crate::task::Task;

/// Maps of the oxygen pressure with other noise.
pub struct Draws<'a> {
    maps: &'a OxygenMaps,
    fitter: &'a RateFitter,
    calibration: &'a OxygenCalibration,
    seed: u64,
    noise: Noise,
}

/// Where the noise is added.
enum Noise {
    /// To the fitted images: a linear reconstruction of noise is the noise of the images.
    Images {
        /// Acquisitions without signal.
        acquisitions: Sweeps,
        /// Noise of the measured images.
        of_images: f64,
        /// Noise of the samples, from the first draw on.
        of_samples: Option<f64>,
    },
    /// To the projections of the images.
    Samples {
        /// Acquisitions of the images.
        acquisitions: Sweeps,
        /// Noise of the samples.
        of_samples: f64,
    },
}

impl<'a> Draws<'a> {
    /// Prepares draws for the maps of reconstructed images; `None` if the size of the noise is unknown.
    ///
    /// # Errors
    /// A failed projection.
    pub fn new(
        sweeps: &Sweeps,
        images: &[Volume],
        maps: &'a OxygenMaps,
        (fitter, calibration): (&'a RateFitter, &'a OxygenCalibration),
        seed: u64,
    ) -> CliResult<Option<Self>> {
        let noise = match (sweeps.is_linear(), maps.noise) {
            (true, None) => return Ok(None),
            (true, Some(of_images)) => Noise::Images { acquisitions: sweeps.without_signal(), of_images, of_samples: None },
            (false, _) => {
                let (acquisitions, of_samples) = sweeps.of_images(images)?;
                Noise::Samples { acquisitions, of_samples }
            }
        };
        Ok(Some(Self { maps, fitter, calibration, seed, noise }))
    }

    /// Returns the map of the draw of this number, from 0.
    ///
    /// # Errors
    /// A failed or stopped reconstruction or fit.
    pub fn po2(&mut self, draw: usize, task: &Task) -> CliResult<Volume> {
        let Self { maps, fitter, calibration, seed, .. } = *self;
        Ok(match &mut self.noise {
            Noise::Images { acquisitions, of_images, of_samples } => {
                let images = acquisitions.with_noise(1.0, seed, draw, task)?;
                // The noise of the samples is that whose images have the noise of the residuals.
                let factor = *of_samples.get_or_insert_with(|| *of_images / noise_of(maps, &images));
                redrawn_po2(maps, fitter, calibration, (&images, factor), task)?
            }
            Noise::Samples { acquisitions, of_samples } => {
                let images = acquisitions.with_noise(*of_samples, seed, draw, task)?;
                refitted_po2(maps, &images, fitter, calibration, task)?
            }
        })
    }
}
