//! Reconstructions: their times, and their images.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::plan::{Implementation, Plan};
use crate::data::{Counts, Study, TubeSet, Volume};
use crate::measure::median_and_spread;
use crate::plan::{AlgorithmKind, Job, Prepared, ProjectorChoice, RunSettings, default_settings, prepare};
use crate::recon::Algorithm;
use crate::reproduce::ReproduceError;
use crate::task::Task;

/// How long an iteration takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub device: String,
    /// Of one full iteration: median, and half of the interquartile range.
    pub iteration_s: [f64; 2],
    pub num_iterations: usize,
}

/// The data and the tubes.
#[derive(Clone)]
pub(super) struct Data {
    pub study: Arc<Study<Counts>>,
    pub tubes: Arc<TubeSet>,
}

/// OSEM by an implementation.
pub(super) fn settings(data: &Data, implementation: Implementation, num_subsets: usize) -> Result<RunSettings, ReproduceError> {
    Ok(RunSettings {
        algorithm: AlgorithmKind::Osem,
        num_subsets,
        projector: implementation.projector(),
        device: implementation.device(),
        tubes: Some(Arc::clone(&data.tubes)),
        ..default_settings(&data.study.measured)?
    })
}

/// Calls `f` with what reconstructs, on the implementation's number of threads.
fn with_algorithm<T: Send>(
    data: &Data,
    settings: RunSettings,
    num_threads: Option<usize>,
    f: impl FnOnce(&mut dyn Algorithm, String) -> Result<T, ReproduceError> + Send,
) -> Result<T, ReproduceError> {
    let count = num_threads.unwrap_or(0);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(count).build();
    let threads = threads.map_err(|error| ReproduceError::Threads { count, reason: error.to_string() })?;
    threads.install(|| {
        let job = Job::Counts { study: Arc::clone(&data.study), settings: Box::new(settings) };
        let Prepared { mut algorithm, info, .. } = prepare(&job, &Task::new())?;
        f(algorithm.as_mut(), info.device)
    })
}

/// Times full iterations; the first, which makes the sensitivities, is not counted.
pub(super) fn times(plan: &Plan, data: &Data, implementation: Implementation) -> Result<Times, ReproduceError> {
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

/// The image after each of some full iterations.
pub(super) fn images(data: &Data, settings: RunSettings, num_iterations: usize) -> Result<Vec<Volume>, ReproduceError> {
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

/// Siddon's lines in place of tubes.
pub(super) fn with_lines(settings: RunSettings) -> RunSettings {
    RunSettings { projector: ProjectorChoice::AXIAL_RUNS, tubes: None, ..settings }
}

/// Σ (a − b)² / Σ b², %.
pub(super) fn mean_square_difference(a: &Volume, b: &Volume) -> f64 {
    let square = |x: f64| x * x;
    let pairs = || a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    100.0 * pairs().map(|(a, b)| square(a - b)).sum::<f64>() / pairs().map(|(_, b)| square(b)).sum::<f64>()
}
