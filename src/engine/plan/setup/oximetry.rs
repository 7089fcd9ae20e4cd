//! Settings and pulse acquisitions at several times become reconstructions one after another, each as that of a single acquisition.

use std::sync::Arc;

use super::data_setup::DataSetup;
use super::prepared::Prepared;
use super::sweep;
use crate::coded::PassedOn;
use crate::data::{OxygenSeries, RelaxationRate, Sweep};
use crate::geometry::Grid;
use crate::plan::algorithms::total_variation::{LAMBDA, tv_settings};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{DeviceMemory, Forecast};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::job::acquisition::Acquisition;
use crate::plan::job::settings::RunSettings;
use crate::plan::problem::SetupProblem;
use crate::plan::simulation::cache::Cache;
use crate::recon::{PulseOximetry, ReconError, strength_by_noise};
use crate::task::Task;

/// Draws of the noise of a run in the window: a standard deviation between them is uncertain by 16 %.
pub const NUM_OXYGEN_DRAWS: usize = 20;

impl DataSetup for Arc<OxygenSeries> {
    fn prepare_on(&self, _: &Cache, device: DeviceChoice, job: &Job, task: &Task) -> Result<Prepared, SetupError> {
        check(self, &job.settings)?;
        let found = self.sweeps.first().map(|first| with_strength_by_noise(&job.settings, first)).transpose()?;
        let job = &Job { settings: found.map_or_else(|| job.settings.clone(), Box::new), ..job.clone() };
        let Prepared { algorithm, mut info, notices, .. } = prepare_one(device, job, self, 0, task)?;
        let of_next = (job.clone(), Arc::clone(self));
        let make = move |index: usize| {
            let (job, series) = &of_next;
            let prepared = prepare_one(device, job, series, index, &Task::new());
            prepared.map(|prepared| prepared.algorithm).map_err(|error| match error {
                SetupError::Recon(error) => error,
                error => ReconError::Setup(PassedOn::of(&error)),
            })
        };
        let RunSettings { grid, algorithm: choice, num_iterations, .. } = &*job.settings;
        let max_iterations = choice.default_iterations().map(|_| *num_iterations);
        let algorithm = PulseOximetry::new(Arc::clone(self), grid.clone(), algorithm, Box::new(make), max_iterations)?;
        info.num_subsets = self.sweeps.len();
        info.estimate.memory_bytes += bytes_of_maps(self, grid);
        Ok(Prepared { algorithm: Box::new(algorithm), info, notices, num_taken: 0 })
    }

    fn forecast_on(
        &self,
        device: DeviceChoice,
        settings: &RunSettings,
        given_back: &[DeviceMemory],
    ) -> Result<Forecast, SetupError> {
        check(self, settings)?;
        let forecast = sweep::forecast_on(device, &acquisition(self, 0)?, settings, given_back)?;
        Ok(Forecast { memory_bytes: forecast.memory_bytes + bytes_of_maps(self, &settings.grid), ..forecast })
    }
}

/// Returns settings with the strength λ by the noise of the first acquisition, where total variation finds it: images at all times need the
/// same one.
///
/// # Errors
/// An acquisition that the model of total variation lacks.
pub fn with_strength_by_noise(settings: &RunSettings, first: &Sweep) -> Result<RunSettings, SetupError> {
    let mut settings = settings.clone();
    if settings.algorithm.is_least_squares() && tv_settings(&settings.parameters).is_by_noise() {
        let strength = strength_by_noise(&[(first, &settings.inputs.radicals)], &settings.grid)?;
        settings.parameters = settings.parameters.with_number(&LAMBDA, strength.or(Some(1.0)));
    }
    Ok(settings)
}

/// Makes the algorithm of one of the acquisitions.
fn prepare_one(
    device: DeviceChoice,
    job: &Job,
    series: &OxygenSeries,
    index: usize,
    task: &Task,
) -> Result<Prepared, SetupError> {
    sweep::prepare_on(device, job, &acquisition(series, index)?, task)
}

/// Refuses positive images of a recovery.
fn check(series: &OxygenSeries, settings: &RunSettings) -> Result<(), SetupProblem> {
    let is_positive = settings.algorithm.is_least_squares() && tv_settings(&settings.parameters).is_positive;
    match series.calibration.rate {
        RelaxationRate::R1 if is_positive => Err(SetupProblem::PositiveRecovery),
        _ => Ok(()),
    }
}

fn acquisition(series: &OxygenSeries, index: usize) -> Result<Acquisition, SetupProblem> {
    let sweep: &Sweep = series.sweeps.get(index).ok_or(SetupProblem::NoProjections)?;
    Ok(Acquisition::complete(sweep.clone()))
}

/// Returns the bytes of the images, the fits and the maps, and those of draws of the noise, in the memory of the computer.
fn bytes_of_maps(series: &OxygenSeries, grid: &Grid) -> u64 {
    // Draws have two sets of images and one of fits at a time, and keep their maps.
    let (images, draws) = (4 * series.sweeps.len() as u64, 4 * NUM_OXYGEN_DRAWS as u64);
    (3 * images + 2 * PulseOximetry::BYTES_PER_FIT + draws) * grid.num_voxels() as u64
}
