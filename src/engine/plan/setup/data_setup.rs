//! Setup of runs with data of each kind. Another kind of data implements [`DataSetup`] in a file of this
//! folder, and has a line in [`super::setup_of`].

use super::prepared::Prepared;
use crate::data::Notice;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{DeviceMemory, Forecast};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::job::settings::RunSettings;
use crate::plan::simulation::cache::Cache;
use crate::task::Task;

/// Setup of runs with data of one kind.
pub(super) trait DataSetup {
    /// Finds or makes missing inputs, after every check of data and settings that can be made before.
    fn inputs(&self, _cache: &Cache, _settings: &mut RunSettings, _task: &Task) -> Result<Vec<Notice>, SetupError> {
        Ok(Vec::new())
    }

    /// Makes the algorithm on one device, or on several of one kind.
    fn prepare_on(&self, cache: &Cache, device: DeviceChoice, job: &Job, task: &Task) -> Result<Prepared, SetupError>;

    /// Returns the memory forecast of a run on a device, after the end of a run that uses `given_back`.
    ///
    /// # Errors
    /// Those of [`DataSetup::prepare_on`] that do not depend on the values of the data.
    fn forecast_on(
        &self,
        device: DeviceChoice,
        settings: &RunSettings,
        given_back: &[DeviceMemory],
    ) -> Result<Forecast, SetupError>;

    /// Returns a text of all that a trial of a GPU with these settings depends on; `None` without such trials.
    fn trial_size(&self, _settings: &RunSettings) -> Option<String> {
        None
    }

    /// Returns the seconds of a trial on a device; `None` where it took too long, or is not possible.
    fn trial_secs(&self, _device: DeviceChoice, _settings: &RunSettings, _task: &Task) -> Result<Option<f64>, SetupError> {
        Ok(None)
    }
}
