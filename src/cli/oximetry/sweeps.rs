//! EPRI acquisitions in place of images: their reconstruction, and reconstructions of their noise drawn again.

use std::path::PathBuf;
use std::sync::Arc;

use rand_distr::{Distribution, StandardNormal};

use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::data::{Study, Sweep, Volume};
use crate::io::read_sweep;
use crate::plan::{
    Acquisition, AlgorithmRecord, DeviceChoice, FbpRecord, Job, Prepared, RunSettings, default_sweep_settings, prepare,
};
use crate::random;
use crate::task::Task;

/// Acquisitions with the settings of their reconstruction: filtered backprojection with the default settings, on the grid of the first.
pub struct Sweeps {
    sweeps: Vec<Sweep>,
    settings: Vec<RunSettings>,
}

impl Sweeps {
    /// Reads acquisitions, and prints their notices.
    ///
    /// # Errors
    /// An unreadable file.
    pub fn read(paths: &[PathBuf], device: DeviceChoice) -> CliResult<Self> {
        let (mut sweeps, mut settings) = (Vec::new(), Vec::<RunSettings>::new());
        for path in paths {
            let study = read_sweep(path, None)?;
            notices::print(&study.notices);
            let default = default_sweep_settings(&study.measured)?;
            let grid = settings.first().map_or(&default.grid, |first| &first.grid).clone();
            settings.push(RunSettings { device, grid, ..default });
            sweeps.push(study.measured);
        }
        Ok(Self { sweeps, settings })
    }

    /// Reconstructs all, with the record of the reconstruction.
    ///
    /// # Errors
    /// A failed or stopped reconstruction.
    pub fn images(&self, task: &Task) -> CliResult<(Vec<Volume>, Option<AlgorithmRecord>)> {
        let (mut images, mut record) = (Vec::new(), None);
        for (sweep, settings) in self.sweeps.iter().zip(&self.settings) {
            let (image, prepared) = image(sweep.clone(), settings, task)?;
            images.push(image);
            if record.is_none() {
                notices::print(&prepared.notices);
            }
            let program = prepared.info.projector;
            record.get_or_insert_with(|| AlgorithmRecord {
                name: settings.algorithm.entry().key.to_owned(),
                em: None,
                fbp: Some(FbpRecord { program, kernel: settings.research.kernel }),
                ascent: None,
                replicates: None,
                parameters: settings.parameters.clone(),
            });
        }
        Ok((images, record))
    }

    /// Reconstructs noise with the standard deviation 1 in place of the samples; the same numbers for the same seed and number of the draw.
    ///
    /// # Errors
    /// As [`Sweeps::images`].
    pub fn noise(&self, seed: u64, draw: usize, task: &Task) -> CliResult<Vec<Volume>> {
        let num = self.sweeps.len();
        let of_sweep = |(index, (sweep, settings)): (usize, (&Sweep, &RunSettings))| {
            let mut noise = sweep.clone();
            for (number, projection) in noise.projections.iter_mut().enumerate() {
                let mut random = random::stream(seed, (((draw * num + index) as u64) << 32) | number as u64);
                let mut sample = || -> f32 { StandardNormal.sample(&mut random) };
                projection.values = (0..sweep.num_points).map(|_| sample()).collect();
            }
            Ok(image(noise, settings, task)?.0)
        };
        self.sweeps.iter().zip(&self.settings).enumerate().map(of_sweep).collect()
    }
}

/// Reconstructs an acquisition; the image, and the algorithm with its description.
fn image(sweep: Sweep, settings: &RunSettings, task: &Task) -> CliResult<(Volume, Prepared)> {
    let study = Arc::new(Study::new(String::new(), Acquisition::complete(sweep)));
    let mut prepared = prepare(&Job::of(&study, settings.clone()), task)?;
    prepared.algorithm.iterate(task)?;
    let mut image = Volume::filled(settings.grid.clone(), 0.0);
    prepared.algorithm.volume_into(&mut image)?;
    Ok((image, prepared))
}
