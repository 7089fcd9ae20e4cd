//! Reconstructions: their times, and their images.

use std::time::Instant;

use super::plan::{Implementation, Plan};
use crate::data::{Counts, Study, TubeSet};
use crate::plan::{AlgorithmChoice, Job, Prepared, ProjectorChoice, RunInputs, RunSettings, default_settings, prepare};
use crate::recon::Algorithm;
use crate::reproduce::prelude::*;
use crate::statistics::median_and_spread;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Times {
    pub device: String,
    /// Time of one full iteration: median, and half of the interquartile range.
    pub iteration_s: [f64; 2],
    pub num_iterations: usize,
}

#[derive(Clone)]
pub struct Data {
    pub study: Arc<Study<Counts>>,
    pub tubes: Arc<TubeSet>,
}

/// Returns the settings of OSEM by an implementation.
pub fn settings(data: &Data, implementation: Implementation, num_subsets: usize) -> Result<RunSettings, ReproduceError> {
    Ok(RunSettings {
        algorithm: AlgorithmChoice::OSEM,
        num_subsets,
        projector: implementation.projector(),
        device: implementation.device(),
        inputs: RunInputs { tubes: Some(Arc::clone(&data.tubes)), ..RunInputs::default() },
        ..default_settings(&data.study.measured)?
    })
}

/// Calls `f` with the algorithm and the device, on the implementation's number of threads.
fn with_algorithm<T: Send>(
    data: &Data,
    settings: RunSettings,
    num_threads: Option<usize>,
    f: impl FnOnce(&mut dyn Algorithm, String) -> Result<T, ReproduceError> + Send,
) -> Result<T, ReproduceError> {
    on_threads(num_threads, || {
        let job = Job::of(&data.study, settings);
        let Prepared { mut algorithm, info, .. } = prepare(&job, &Task::new())?;
        f(algorithm.as_mut(), info.device)
    })
}

/// Times full iterations; the first, which makes the sensitivities, is not counted.
pub fn times(plan: &Plan, data: &Data, implementation: Implementation) -> Result<Times, ReproduceError> {
    let settings = settings(data, implementation, plan.num_subsets)?;
    with_algorithm(data, settings, implementation.num_threads(), |algorithm, device| {
        algorithm.iterate(&Task::new())?;
        let [few, many] = plan.timed_iterations;
        let is_fast = matches!(implementation, Implementation::FastKernels(_));
        let num_iterations = if is_fast { many } else { few };
        let mut secs = Vec::new();
        for _ in 0..num_iterations {
            let start = Instant::now();
            algorithm.iterate(&Task::new())?;
            secs.push(start.elapsed().as_secs_f64());
        }
        let (median, spread) = median_and_spread(secs).unwrap_or_default();
        Ok(Times { device, iteration_s: [median, spread], num_iterations })
    })
}

/// Returns the image after each full iteration.
pub fn images(data: &Data, settings: RunSettings, num_iterations: usize) -> Result<Vec<Volume>, ReproduceError> {
    let grid = settings.grid.clone();
    with_algorithm(data, settings, None, |algorithm, _| {
        let mut images = Vec::new();
        for _ in 0..num_iterations {
            algorithm.iterate(&Task::new())?;
            let mut volume = Volume::filled(grid.clone(), 0.0);
            algorithm.volume_into(&mut volume)?;
            images.push(volume);
        }
        Ok(images)
    })
}

/// Returns the settings with Siddon's lines in place of tubes.
pub fn with_lines(settings: RunSettings) -> RunSettings {
    RunSettings { projector: ProjectorChoice::AXIAL_RUNS, inputs: RunInputs::default(), ..settings }
}
