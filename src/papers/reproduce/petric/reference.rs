//! The converged image of a data set.

use serde::{Deserialize, Serialize};

use crate::data::{Study, Volume};
use crate::plan::{AlgorithmChoice, Data, DeviceChoice, Job, RunSettings, SetupError, prepare};
use crate::recon::ObjectiveValue;
use crate::task::Task;

/// Epochs of the run for a reference.
const EPOCHS: usize = 400;
/// The run ends where the optimality residual is at most this, and the objective changes by less than [`MAX_CHANGE`].
const TOLERANCE: f64 = 1e-6;
/// Relative change of the objective between two passes through all data.
pub const MAX_CHANGE: f64 = 1e-9;

/// Origin of a reference, and the maximum of the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// True if the folder contains the image.
    pub is_given: bool,
    pub maximum: Maximum,
}

/// A long run of SVRG.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Maximum {
    pub epochs: usize,
    /// Φ₀ at the start image.
    pub start: f64,
    /// Φ* at the end.
    pub end: f64,
    /// Last relative change of Φ between two passes through all data.
    pub change: f64,
}

impl Maximum {
    /// Returns (Φ* − Φ) / (Φ* − Φ₀).
    pub fn gap(&self, objective: f64) -> f64 {
        (self.end - objective) / (self.end - self.start)
    }
}

/// Returns the settings of a study with the start of a penalised reconstruction on a device.
pub fn settings(study: &Study<Data>, device: DeviceChoice) -> Result<RunSettings, SetupError> {
    Ok(RunSettings { device, ..study.measured.default_settings()?.with_preset(study) })
}

/// Returns the end of a long run of SVRG, at most `max_epochs`.
///
/// # Errors
/// The run fails, or is stopped.
pub fn by_svrg(
    study: &std::sync::Arc<Study<Data>>,
    device: DeviceChoice,
    max_epochs: usize,
    task: &Task,
) -> Result<(Volume, Maximum), SetupError> {
    let settings = RunSettings { algorithm: AlgorithmChoice::SVRG, ..settings(study, device)? };
    let mut image = Volume::filled(settings.grid.clone(), 0.0);
    let num_subsets = settings.num_subsets;
    let mut algorithm = prepare(&Job::new(std::sync::Arc::clone(study), settings), task)?.algorithm;
    let mut objectives: Vec<f64> = Vec::new();
    let change = |objectives: &[f64]| match objectives {
        [.., before, last] => (last - before).abs() / last.abs(),
        _ => f64::INFINITY,
    };
    let (mut epochs, mut residual) = (0, f64::INFINITY);
    task.begin(max_epochs as u64);
    while epochs < max_epochs {
        for _ in 0..num_subsets {
            let ascent = algorithm.step(task)?.ascent;
            objectives.extend(ascent.and_then(|ascent| ascent.objective).map(ObjectiveValue::total));
            residual = ascent.and_then(|ascent| ascent.optimality).map_or(residual, |residual| residual.0);
        }
        epochs += 1;
        task.advance(1);
        if residual <= TOLERANCE && change(&objectives) < MAX_CHANGE {
            break;
        }
    }
    objectives.extend(algorithm.objective(task)?.map(ObjectiveValue::total));
    algorithm.volume_into(&mut image)?;
    let [start, end] = [objectives.first(), objectives.last()].map(|value| value.copied().unwrap_or_default());
    Ok((image, Maximum { epochs, start, end, change: change(&objectives) }))
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
