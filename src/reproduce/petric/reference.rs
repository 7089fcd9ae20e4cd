//! The converged image of a data set.

use serde::{Deserialize, Serialize};

use crate::data::{Study, Volume};
use crate::plan::{AlgorithmChoice, Data, DeviceChoice, Job, RunSettings, SetupError, default_settings_of, prepare};
use crate::task::Task;

/// Epochs of the run for a reference.
const EPOCHS: usize = 400;
/// The run ends where all steps of an epoch change the image by less than this part of it.
const MAX_UPDATE: f64 = 1e-6;

/// Origin of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Made {
    /// The folder contains it.
    Given,
    /// By this many epochs of SVRG.
    BySvrg { epochs: usize },
}

/// Returns the settings of a study with the start of a penalised reconstruction on a device.
pub fn settings(study: &Study<Data>, device: DeviceChoice) -> Result<RunSettings, SetupError> {
    Ok(RunSettings { device, ..default_settings_of(&study.measured)?.with_preset(study) })
}

/// Returns the end of a long run of SVRG and its number of epochs, at most `max_epochs`.
///
/// # Errors
/// The run fails, or is stopped.
pub fn by_svrg(
    study: &std::sync::Arc<Study<Data>>,
    device: DeviceChoice,
    max_epochs: usize,
    task: &Task,
) -> Result<(Volume, usize), SetupError> {
    let settings = RunSettings { algorithm: AlgorithmChoice::SVRG, ..settings(study, device)? };
    let mut image = Volume::filled(settings.grid.clone(), 0.0);
    let num_subsets = settings.num_subsets;
    let mut algorithm = prepare(&Job::new(std::sync::Arc::clone(study), settings), task)?.algorithm;
    let mut epochs = 0;
    task.begin(max_epochs as u64);
    while epochs < max_epochs {
        let mut largest = 0.0f64;
        for _ in 0..num_subsets {
            let report = algorithm.step(task)?;
            largest = largest.max(report.ascent.map_or(f64::INFINITY, |ascent| ascent.update));
        }
        epochs += 1;
        task.advance(1);
        if largest < MAX_UPDATE {
            break;
        }
    }
    algorithm.volume_into(&mut image)?;
    Ok((image, epochs))
}

/// Returns the converged image of a study by a long run of SVRG.
///
/// # Errors
/// The run fails, or is stopped.
pub fn petric_reference<M: Clone + Into<Data>>(
    study: &Study<M>,
    device: DeviceChoice,
    task: &Task,
) -> Result<Volume, SetupError> {
    let study = std::sync::Arc::new(study.clone().map(M::into));
    Ok(by_svrg(&study, device, EPOCHS, task)?.0)
}
