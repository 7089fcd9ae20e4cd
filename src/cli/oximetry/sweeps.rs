//! EPRI acquisitions in place of images: their reconstruction, and reconstructions of their noise drawn again.

use std::sync::Arc;

use rand_distr::{Distribution, StandardNormal};

use super::options::OximetryOptions;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::data::{Study, Sweep, Volume};
use crate::io::read_sweep;
use crate::plan::{Acquisition, AlgorithmRecord, FbpRecord, Job, Prepared, RunSettings, default_sweep_settings, prepare};
use crate::random;
use crate::recon::{SweepModel, TvSettings};
use crate::task::Task;

/// Images with the record of their reconstruction.
#[derive(Default)]
pub struct Reconstructed {
    pub images: Vec<Volume>,
    pub record: Option<AlgorithmRecord>,
    /// Iterations of each; empty of filtered backprojection.
    pub iterations: Vec<usize>,
}

/// Acquisitions with the settings of their reconstruction, on the grid of the first.
pub struct Sweeps {
    sweeps: Vec<Sweep>,
    settings: Vec<RunSettings>,
}

impl Sweeps {
    /// Reads acquisitions, and prints their notices.
    ///
    /// # Errors
    /// An unreadable file, options that the algorithm lacks.
    pub fn read(options: &OximetryOptions) -> CliResult<Self> {
        let algorithm = options.algorithm()?;
        let suited = options.iterations.map(|num| num as usize).or(algorithm.default_iterations());
        let (mut sweeps, mut settings) = (Vec::new(), Vec::<RunSettings>::new());
        for path in &options.inputs {
            let study = read_sweep(path, None)?;
            notices::print(&study.notices);
            let default = default_sweep_settings(&study.measured)?;
            let grid = settings.first().map_or(&default.grid, |first| &first.grid).clone();
            let (mut parameters, num_iterations) = (default.parameters, suited.unwrap_or(default.num_iterations));
            parameters.keep(algorithm.entry().parameters);
            parameters.extend(options.parameters.values());
            settings.push(RunSettings { algorithm, parameters, num_iterations, device: options.device, grid, ..default });
            sweeps.push(study.measured);
        }
        Ok(Self { sweeps, settings })
    }

    /// Reconstructs all.
    ///
    /// # Errors
    /// A failed or stopped reconstruction.
    pub fn images(&self, task: &Task) -> CliResult<Reconstructed> {
        let (mut images, mut record, mut iterations) = (Vec::new(), None, Vec::new());
        for (sweep, settings) in self.sweeps.iter().zip(&self.settings) {
            let (image, prepared, num_iterations) = image(sweep.clone(), settings, task)?;
            images.push(image);
            iterations.extend(num_iterations);
            if record.is_none() {
                notices::print(&prepared.notices);
            }
            let (entry, program) = (settings.algorithm.entry(), prepared.info.projector);
            let is_fbp = settings.algorithm.stages().is_some();
            record.get_or_insert_with(|| AlgorithmRecord {
                name: entry.key.to_owned(),
                em: None,
                fbp: is_fbp.then_some(FbpRecord { program, kernel: settings.research.kernel }),
                ascent: None,
                replicates: None,
                parameters: settings.parameters.in_full(entry.parameters),
            });
        }
        Ok(Reconstructed { images, record, iterations })
    }

    /// Returns true if a sum of samples has the sum of their images.
    pub fn is_linear(&self) -> bool {
        self.settings.iter().all(|settings| settings.algorithm.stages().is_some())
    }

    /// Returns the acquisitions with all samples 0.
    pub fn without_signal(&self) -> Self {
        let silent = |sweep: &Sweep| with_samples(sweep, &vec![0.0; sweep.projections.len() * sweep.num_points]);
        Self { sweeps: self.sweeps.iter().map(silent).collect(), settings: self.settings.clone() }
    }

    /// Returns acquisitions with the projections of images in place of their samples; and the root of the mean square of the difference,
    /// which is the noise of the samples.
    ///
    /// # Errors
    /// An acquisition that the model of total variation lacks.
    pub fn of_images(&self, images: &[Volume]) -> CliResult<(Self, f64)> {
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
    /// As [`Sweeps::images`].
    pub fn with_noise(&self, deviation: f64, seed: u64, draw: usize, task: &Task) -> CliResult<Vec<Volume>> {
        let num = self.sweeps.len();
        let of_sweep = |(index, (sweep, settings)): (usize, (&Sweep, &RunSettings))| {
            let mut noisy = sweep.clone();
            for (number, projection) in noisy.projections.iter_mut().enumerate() {
                let mut random = random::stream(seed, (((draw * num + index) as u64) << 32) | number as u64);
                let mut sample = || -> f32 { StandardNormal.sample(&mut random) };
                projection.values = projection.values.iter().map(|value| value + deviation as f32 * sample()).collect();
            }
            Ok(image(noisy, settings, task)?.0)
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

/// Reconstructs an acquisition; the image, the algorithm with its description, and the number of iterations of total variation.
fn image(sweep: Sweep, settings: &RunSettings, task: &Task) -> CliResult<(Volume, Prepared, Option<usize>)> {
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
    let mut image = Volume::filled(settings.grid.clone(), 0.0);
    prepared.algorithm.volume_into(&mut image)?;
    Ok((image, prepared, num_iterations))
}
