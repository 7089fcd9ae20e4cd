//! The one place that turns settings into an algorithm on a back end, after every check that can be made before.

pub mod counts;
pub mod events;
pub mod pairs;
pub mod prepared;
pub mod sweep;

use std::sync::Arc;

use self::prepared::Prepared;
use crate::operator::OperatorError;
use crate::plan::error::SetupError;
use crate::plan::job::{Job, StartInfo};
use crate::plan::list_mode::study::list_in_frame;
use crate::plan::platform::devices::or_on_cpu;
use crate::plan::platform::memory::{DeviceMemory, Forecast};
use crate::plan::simulation::cache::Cache;
use crate::task::Task;

/// [`prepare_with`] the tubes and matrices that are kept for the user.
///
/// # Errors
/// Those of [`prepare_with`].
pub fn prepare(job: &Job, task: &Task) -> Result<Prepared, SetupError> {
    prepare_with(&Cache::of_the_user(), job, task)
}

/// Checks data and settings, picks back end and projector, tells what the run will need, and makes its algorithm; before that
/// finds or makes the coarse set of tubes where the projector tubes is to go without others, the quick matrix where counts of pairs
/// of crystals come without one, or the sensitivity of a list of events: `task` tells how far that is. Where the
/// device was left open and the GPU has too little memory or breaks here, the processor is used and a notice says why.
///
/// # Errors
/// Data or settings that do not suit, a device that is not there, too little memory.
pub fn prepare_with(cache: &Cache, job: &Job, task: &Task) -> Result<Prepared, SetupError> {
    let (mut prepared, notice) = match job {
        Job::Counts { study, settings } => {
            let mut settings = counts::checked(&study.measured, settings)?;
            let notices = if settings.lacks_tubes() {
                let (tubes, notices) = cache.coarse_set(study.measured.geometry(), settings.device, task)?;
                settings.tubes = Some(Arc::new(tubes));
                notices
            } else {
                Vec::new()
            };
            let (mut prepared, notice) =
                or_on_cpu(settings.device, |device| counts::prepare_on(device, study, settings.clone(), task))?;
            prepared.notices.extend(notices);
            (prepared, notice)
        }
        Job::Sweep { study, settings } => or_on_cpu(settings.device, |device| sweep::prepare_on(device, study, settings, task))?,
        Job::Pairs { study, settings } => {
            pairs::check(&study.measured, settings)?;
            pairs::check_counts(&study.measured)?;
            let (matrix, notices) = match &settings.matrix {
                Some(matrix) => (Arc::clone(matrix), Vec::new()),
                None => {
                    let (matrix, notices) = cache.quick_matrix(&study.measured.ring, settings.device, task)?;
                    (Arc::new(matrix), notices)
                }
            };
            let (mut prepared, notice) =
                or_on_cpu(settings.device, |device| pairs::prepare_on(device, study, settings, &matrix, task))?;
            prepared.notices.extend(notices);
            (prepared, notice)
        }
        Job::Events { study, settings, growing } => {
            let growing = growing.as_ref();
            let frame = settings.frame_ms.clone().map(|frame_ms| list_in_frame(&study.measured, frame_ms, task)).transpose();
            let (frame, notices) = frame.map_err(OperatorError::from)?.unzip();
            let list = frame.as_ref().unwrap_or(&study.measured);
            let (mut prepared, notice) =
                or_on_cpu(settings.device, |device| events::prepare_on(cache, device, study, list, settings, growing, task))?;
            prepared.notices.extend(notices.unwrap_or_default());
            (prepared, notice)
        }
    };
    prepared.notices.extend(notice);
    Ok(prepared)
}

/// What a run of this job will need, without beginning it, counted as [`prepare`] does. `running` is the run whose memory is
/// given back when this one begins.
///
/// # Errors
/// What [`prepare`] would refuse, as far as it can be known without looking at the data.
pub fn forecast(job: &Job, running: Option<&StartInfo>) -> Result<Forecast, SetupError> {
    let given_back: &[DeviceMemory] = running.map_or(&[], |running| &running.memory);
    let (forecast, _) = match job {
        Job::Counts { study, settings } => {
            or_on_cpu(settings.device, |device| counts::forecast_on(device, &study.measured, settings, given_back))?
        }
        Job::Sweep { study, settings } => {
            or_on_cpu(settings.device, |device| sweep::forecast_on(device, &study.measured, settings, given_back))?
        }
        Job::Pairs { study, settings } => {
            or_on_cpu(settings.device, |device| pairs::forecast_on(device, &study.measured, settings, given_back))?
        }
        Job::Events { study, settings, growing } => or_on_cpu(settings.device, |device| {
            events::forecast_on(device, &study.measured, settings, growing.as_ref(), given_back)
        })?,
    };
    Ok(forecast)
}
