//! The one place that turns settings into an algorithm on a back end, after every check that can be made before.

pub mod counts;
mod data_setup;
pub mod events;
mod gpu_trial;
pub mod images;
pub mod oximetry;
pub mod pairs;
pub mod prepared;
pub mod sweep;
mod variation;

use std::sync::Arc;

use self::data_setup::DataSetup;
use self::prepared::Prepared;
use crate::plan::algorithms::registry::AlgorithmChoice;
use crate::plan::algorithms::traits::{DataKind, Traits};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{DeviceMemory, Forecast};
use crate::plan::error::SetupError;
use crate::plan::job::data::Data;
use crate::plan::job::replicates::ReplicateSettings;
use crate::plan::job::{Job, StartInfo};
use crate::plan::platform::open::with_cpu_fallback;
use crate::plan::problem::SetupProblem;
use crate::plan::simulation::cache::Cache;
use crate::task::Task;

/// Returns the setup of data.
fn setup_of(data: &Data) -> &dyn DataSetup {
    match data {
        Data::Counts(counts) => counts,
        Data::Events(list) => list,
        Data::Pairs(pairs) => pairs,
        Data::Sweep(acquisition) => acquisition,
        Data::Oximetry(series) => series,
        Data::Images(series) => series,
    }
}

/// Calls [`prepare_with`] with the user's cache of tubes and matrices.
///
/// # Errors
/// Those of [`prepare_with`].
pub fn prepare(job: &Job, task: &Task) -> Result<Prepared, SetupError> {
    prepare_with(&Cache::of_the_user(), job, task)
}

/// Checks data and settings, chooses back end and projector, forecasts the memory, and makes the algorithm. Before that it finds
/// or makes missing inputs: the coarse set of tubes for the projector tubes, the default matrix for a crystal-pair histogram, or
/// the sensitivity of list-mode data; `task` counts the progress. With an automatic device, the processor takes over, with a
/// notice, if the GPU has too little memory or fails here.
///
/// # Errors
/// Data or settings that do not suit, a missing device, too little memory.
pub fn prepare_with(cache: &Cache, job: &Job, task: &Task) -> Result<Prepared, SetupError> {
    let mut job = job.checked()?;
    let study = Arc::clone(&job.study);
    let setup = setup_of(&study.measured);
    let found = setup.inputs(cache, &mut job.settings, task)?;
    let (automatic, notices_of_trial) = gpu_trial::device_of(cache, &job, setup, task)?;
    let device = |device| if device == DeviceChoice::Auto { automatic } else { device };
    let prepare_on = |chosen| setup.prepare_on(cache, device(chosen), &job, task);
    let (mut prepared, notice) = with_cpu_fallback(job.settings.device, prepare_on)?;
    let (maps, settings) = (job.data().attenuation_maps(), &job.settings);
    prepared.notices.extend(maps.first().and_then(|map| map.cover_notice(&settings.grid, settings.fov_radius_mm)));
    prepared.notices.extend(found);
    prepared.notices.extend(notices_of_trial);
    prepared.notices.extend(notice);
    Ok(prepared)
}

/// Returns the memory forecast of this job without starting it, counted as [`prepare`] does. The memory of the run `running` is
/// returned when this one begins.
///
/// # Errors
/// Errors of [`prepare`] that do not depend on the values of the data.
pub fn forecast(job: &Job, running: Option<&StartInfo>) -> Result<Forecast, SetupError> {
    let given_back: &[DeviceMemory] = running.map_or(&[], |running| &running.memory);
    let job = job.checked()?;
    let settings = &job.settings;
    let setup = setup_of(job.data());
    let automatic = gpu_trial::known_device_of(&Cache::of_the_user(), &job, setup);
    let device = |device| if device == DeviceChoice::Auto { automatic } else { device };
    let forecast_on = |chosen| setup.forecast_on(device(chosen), settings, given_back);
    let (forecast, _) = with_cpu_fallback(settings.device, forecast_on)?;
    Ok(forecast)
}

impl Job {
    /// Returns the job with one subset where the algorithm has none, and with the grid of images that are only shown.
    ///
    /// # Errors
    /// An algorithm for other kinds of data, a parameter that it does not have, no iterations.
    fn checked(&self) -> Result<Self, SetupProblem> {
        let mut job = self.clone();
        let (settings, data) = (&mut job.settings, Traits { kind: self.data().kind(), ..Traits::default() });
        let algorithm = settings.algorithm;
        if !(algorithm.entry().is_for)(&data) {
            let suitable = AlgorithmChoice::all_for(data).map(AlgorithmChoice::key).collect();
            return Err(SetupProblem::Algorithm { algorithm: algorithm.key(), suitable });
        }
        algorithm.check(&settings.parameters)?;
        let takes_experiments =
            algorithm.is_least_squares() && self.data().sweep().is_some_and(|acquisition| acquisition.is_over());
        if !settings.inputs.experiments.is_empty() && !takes_experiments {
            return Err(SetupProblem::Experiments);
        }
        if settings.psf.is_some() && !matches!(data.kind, DataKind::Projections | DataKind::Events) {
            return Err(SetupProblem::PsfWithoutVoxels);
        }
        if settings.num_iterations == 0 {
            return Err(SetupProblem::Iterations);
        }
        settings.num_subsets = settings.subsets_in_use();
        if let Some(replicates) = settings.replicates() {
            // (A duration of the settings is that of the whole scan.)
            let scan_secs = replicates.scan_secs.filter(|_| self.frame_ms().is_none());
            let replicates = ReplicateSettings { scan_secs, ..replicates };
            let checked =
                replicates.checked(algorithm, (data.kind, self.data().growing_list().is_some()), self.duration_secs())?;
            settings.parameters = ReplicateSettings::set(Some(checked), std::mem::take(&mut settings.parameters));
        }
        if let Some(grid) = self.data().images().and_then(|series| series.grid()) {
            settings.grid = grid.clone();
        }
        Ok(job)
    }
}
