//! The noise of pulse acquisitions drawn again: how uncertain the oxygen of a region is ([`crate::measure::oximetry`] on the method).

use std::sync::Arc;

use rand_distr::{Distribution, StandardNormal};

use super::error::SetupError;
use super::job::Job;
use super::job::acquisition::Acquisition;
use super::job::settings::RunSettings;
use super::setup::prepare;
use super::setup::prepared::Prepared;
use crate::coded::coded;
use crate::data::{OxygenCalibration, Study, Sweep, Volume};
use crate::measure::oximetry::{OximetryError, OxygenMaps, RateFitter, noise_of, redrawn_po2, refitted_po2};
use crate::random;
use crate::recon::{SweepModel, TvSettings};
use crate::task::Task;

/// Failed draw of the noise.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum OxygenDrawError {
    /// A reconstruction that failed or was stopped.
    #[error(transparent)]
    Reconstruction(#[from] SetupError),
    /// A fit that failed or was stopped.
    #[error(transparent)]
    Fit(#[from] OximetryError),
}

coded!(OxygenDrawError; Reconstruction, Fit);

/// Image of one acquisition.
pub struct SingleImage {
    /// The image.
    pub volume: Volume,
    /// Its algorithm, with the description.
    pub prepared: Prepared,
    /// Number of iterations; `None` of filtered backprojection.
    pub num_iterations: Option<usize>,
}

impl SingleImage {
    /// Reconstructs an acquisition.
    ///
    /// # Errors
    /// A failed or stopped reconstruction.
    pub fn of(sweep: Sweep, settings: &RunSettings, task: &Task) -> Result<Self, SetupError> {
        let study = Arc::new(Study::new(String::new(), Acquisition::complete(sweep)));
        let mut prepared = prepare(&Job::of(&study, settings.clone()), task)?;
        let mut num_iterations = None;
        if settings.algorithm.default_iterations().is_none() {
            prepared.algorithm.iterate(task)?;
        } else {
            let mut num_done = 0;
            while num_done < settings.num_iterations && prepared.algorithm.converged().is_none() {
                num_done = prepared.algorithm.step(task)?.iteration;
            }
            num_iterations = Some(num_done);
        }
        let mut volume = Volume::filled(settings.grid.clone(), 0.0);
        prepared.algorithm.volume_into(&mut volume)?;
        Ok(Self { volume, prepared, num_iterations })
    }
}

/// Acquisitions at several times with the settings of their reconstruction, on one grid.
#[derive(Clone)]
pub struct PulseAcquisitions {
    /// Acquisitions, in the order of the times.
    pub sweeps: Vec<Sweep>,
    /// Settings of each.
    pub settings: Vec<RunSettings>,
}

impl PulseAcquisitions {
    /// Returns true if a sum of samples has the sum of their images.
    pub fn is_linear(&self) -> bool {
        self.settings.iter().all(|settings| settings.algorithm.stages().is_some())
    }

    /// Returns the acquisitions with all samples 0.
    fn without_signal(&self) -> Self {
        let silent = |sweep: &Sweep| with_samples(sweep, &vec![0.0; sweep.projections.len() * sweep.num_points]);
        Self { sweeps: self.sweeps.iter().map(silent).collect(), settings: self.settings.clone() }
    }

    /// Returns acquisitions with the projections of images in place of their samples; and the root of the mean square of the difference,
    /// which is the noise of the samples.
    ///
    /// # Errors
    /// An acquisition that the model of total variation lacks.
    fn of_images(&self, images: &[&Volume]) -> Result<(Self, f64), SetupError> {
        let (mut sweeps, mut squares, mut num) = (Vec::new(), 0.0, 0);
        for (sweep, image) in self.sweeps.iter().zip(images) {
            let model = SweepModel::new(sweep, &[], &image.grid, TvSettings::default().transform_tolerance)?;
            let projected = model.project(&[image.as_slice().iter().map(|value| f64::from(*value)).collect()]);
            let measured = sweep.projections.iter().flat_map(|projection| projection.values.iter());
            squares += measured.zip(&projected).map(|(sample, of_image)| (f64::from(*sample) - of_image).powi(2)).sum::<f64>();
            num += projected.len();
            sweeps.push(with_samples(sweep, &projected));
        }
        Ok((Self { sweeps, settings: self.settings.clone() }, (squares / num as f64).sqrt()))
    }

    /// Reconstructs the samples with noise of this standard deviation; the same numbers for the same seed and number of the draw.
    ///
    /// # Errors
    /// A failed or stopped reconstruction.
    fn with_noise(&self, deviation: f64, seed: u64, draw: usize, task: &Task) -> Result<Vec<Volume>, SetupError> {
        let num = self.sweeps.len();
        let of_sweep = |(index, (sweep, settings)): (usize, (&Sweep, &RunSettings))| {
            let mut noisy = sweep.clone();
            for (number, projection) in noisy.projections.iter_mut().enumerate() {
                let mut random = random::stream(seed, (((draw * num + index) as u64) << 32) | number as u64);
                let mut sample = || -> f32 { StandardNormal.sample(&mut random) };
                projection.values = projection.values.iter().map(|value| value + deviation as f32 * sample()).collect();
            }
            Ok(SingleImage::of(noisy, settings, task)?.volume)
        };
        self.sweeps.iter().zip(&self.settings).enumerate().map(of_sweep).collect()
    }
}

/// Returns an acquisition with other samples, `[projection][sample]`.
fn with_samples(sweep: &Sweep, samples: &[f64]) -> Sweep {
    let mut other = sweep.clone();
    for (projection, samples) in other.projections.iter_mut().zip(samples.chunks_exact(sweep.num_points)) {
        projection.values = samples.iter().map(|sample| *sample as f32).collect();
    }
    other
}

/// Maps of the oxygen pressure with other noise.
pub struct OxygenDraws<'a> {
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
        acquisitions: PulseAcquisitions,
        /// Noise of the measured images.
        of_images: f64,
        /// Noise of the samples, from the first draw on.
        of_samples: Option<f64>,
    },
    /// To the projections of the images.
    Samples {
        /// Acquisitions of the images.
        acquisitions: PulseAcquisitions,
        /// Noise of the samples.
        of_samples: f64,
    },
}

impl<'a> OxygenDraws<'a> {
    /// Prepares draws for the maps of reconstructed images; `None` if the size of the noise is unknown.
    ///
    /// # Errors
    /// A failed projection.
    pub fn new(
        acquisitions: &PulseAcquisitions,
        images: &[&Volume],
        maps: &'a OxygenMaps,
        (fitter, calibration): (&'a RateFitter, &'a OxygenCalibration),
        seed: u64,
    ) -> Result<Option<Self>, OxygenDrawError> {
        let noise = match (acquisitions.is_linear(), maps.noise) {
            (true, None) => return Ok(None),
            (true, Some(of_images)) => Noise::Images { acquisitions: acquisitions.without_signal(), of_images, of_samples: None },
            (false, _) => {
                let (acquisitions, of_samples) = acquisitions.of_images(images)?;
                Noise::Samples { acquisitions, of_samples }
            }
        };
        Ok(Some(Self { maps, fitter, calibration, seed, noise }))
    }

    /// Returns the map of the draw of this number, from 0.
    ///
    /// # Errors
    /// A failed or stopped reconstruction or fit.
    pub fn po2(&mut self, draw: usize, task: &Task) -> Result<Volume, OxygenDrawError> {
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
