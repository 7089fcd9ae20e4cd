//! Forecast of the memory and time of the next run, computed in the background while the form is edited.

use std::time::{Duration, Instant};

use super::forms::Forms;
use super::settings::SettingsForm;
use crate::plan::{self, Forecast, Job, RunSettings, StartInfo, forecast};
use crate::remote::Remote;
use crate::session::RunId;
use crate::task::{BackgroundTask, TaskFailure};
use crate::ui::run::live::LiveRun;
use crate::ui::widgets::words::in_window;

/// Input of a forecast.
#[derive(Clone, Debug, PartialEq)]
pub struct ForecastKey {
    pub forms: Forms,
    /// Number of the study, and number of its projections or sets of tubes.
    pub study: (usize, usize),
    /// Run whose memory the next run takes over.
    pub running: Option<RunId>,
}

/// Longest wait for a server: it answers at once, or after another request.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time after which an unknown forecast is requested again.
const RETRY_INTERVAL: Duration = Duration::from_millis(300);

/// Time after which a refusal is computed again: memory may have become free.
const REFUSAL_AGE: Duration = Duration::from_secs(1);

/// Forecast, or the reason of a refusal.
type Answer = Result<Forecast, String>;

/// Returns a forecast on this computer or the remote host; `None` if it is unknown, which is no refusal.
fn answer(job: &Job, running: Option<&StartInfo>, remote: Option<&Remote>, patience: Duration) -> Option<Answer> {
    let answer = match remote {
        Some(remote) => remote.forecast(job, patience)?,
        None => forecast(job, running).map_err(|error| error.to_string()),
    };
    Some(answer.map_err(|text| in_window(&text)))
}

/// Replaces a failed computation by a refusal.
fn received(outcome: Result<Option<Answer>, TaskFailure>) -> Option<Answer> {
    outcome.unwrap_or_else(|_| Some(Err("memory forecast failed: internal error".into())))
}

/// Forecast of the next run. It computes one at a time.
#[derive(Default)]
pub struct Forecaster {
    work: Option<(ForecastKey, BackgroundTask<Option<Answer>>)>,
    known: Option<(ForecastKey, Answer)>,
    /// Time of the known one.
    known_at: Option<Instant>,
}

impl Forecaster {
    /// Receives a forecast, and requests another one after a change of the input. Calls `wake` when it is ready.
    pub fn update(
        &mut self,
        key: ForecastKey,
        job: impl FnOnce() -> Result<Job, String>,
        running: Option<&StartInfo>,
        remote: Option<&Remote>,
        wake: impl FnOnce() + Send + 'static,
    ) {
        if let Some(outcome) = self.work.as_ref().and_then(|(_, work)| work.poll()) {
            self.known = self.work.take().and_then(|(of, _)| Some((of, received(outcome)?)));
            self.known_at = Some(Instant::now());
        }
        let is_new = || self.known_at.is_some_and(|at| at.elapsed() < REFUSAL_AGE);
        if self.work.is_some() || self.known.as_ref().is_some_and(|(known, answer)| *known == key && (answer.is_ok() || is_new()))
        {
            return;
        }
        match job() {
            Ok(job) => {
                let (running, remote) = (running.cloned(), remote.cloned());
                let work = move |_: &_| {
                    let answer = answer(&job, running.as_ref(), remote.as_ref(), PATIENCE);
                    if answer.is_none() {
                        std::thread::sleep(RETRY_INTERVAL);
                    }
                    answer
                };
                self.work = Some((key, BackgroundTask::start("forecast", wake, work)));
            }
            // The form is invalid.
            Err(reason) => (self.known, self.known_at) = (Some((key, Err(reason))), Some(Instant::now())),
        }
    }

    /// Returns the reason for which a run is refused, as far as it is known; the set-up of the run checks all again.
    pub fn refusal(&self, key: &ForecastKey) -> Option<&str> {
        let (_, answer) = self.known.as_ref().filter(|(known, _)| known == key)?;
        answer.as_ref().err().map(String::as_str)
    }

    /// Returns the newest forecast.
    pub fn known(&self) -> Option<&Result<Forecast, String>> {
        self.known.as_ref().map(|(_, answer)| answer)
    }
}

/// Returns the seconds per iteration of the next run, in proportion to the work of the last run with the same device and
/// projector.
pub fn secs_per_iteration(live: &LiveRun, next: &SettingsForm, forecast: &Forecast) -> Option<f64> {
    let info = live.info.as_ref()?;
    if info.device != forecast.device || info.projector != forecast.projector {
        return None;
    }
    let next = next.run_settings().ok()?;
    let [before, after] = [&info.job.settings, &next].map(RunSettings::num_replicates);
    let measured = live.stages.mean().map(|times| times.total_with_replicates(before, after).as_secs_f64());
    let of_trial = info.estimate.secs_per_iteration.map(|secs| secs * (1 + after) as f64 / (1 + before) as f64);
    let secs = measured.or(of_trial)?;
    if info.job.settings.inputs.matrix.is_some() {
        // All elements of the matrix, independent of the grid of displayed images.
        return Some(secs);
    }
    let counts = info.job.data().counts()?;
    let work = |settings: &RunSettings| {
        let rays = plan::rays_in_use(counts.geometry(), settings, &info.projector);
        let [nx, ny, nz] = settings.grid.size.map(|n| n as f64);
        // A path crosses about nx + ny columns. A single LOR crosses one voxel of each, and further ones between slices; all
        // planes together cross the whole column.
        let walks_voxels = plan::projector(&info.projector).is_some_and(|entry| entry.walks_voxels);
        let voxels = if walks_voxels { nx + ny + nz } else { (nx + ny) * nz };
        rays.map_or(1, |[tangential, axial]| tangential * axial) as f64 * voxels
    };
    Some(secs * work(&next) / work(&info.job.settings))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{Counts, Michelogram, Study};
    use crate::operator::Accumulation;
    use crate::plan::{DeviceChoice, REPLICATES, RunSettings, Values, default_settings};
    use crate::recon::{Estimate, Stage, StageTimes};
    use crate::scanner::find;
    use crate::session::{Event, EventKind, IterateReport};

    fn job() -> Job {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        let counts = vec![1.0; geometry.num_bins()];
        let study = Study::new("flat", Counts::new(Michelogram::new(geometry, counts).unwrap()));
        let settings = RunSettings { device: DeviceChoice::Cpu, ..default_settings(&study.measured).unwrap() };
        Job::of(&study, settings)
    }

    fn key() -> ForecastKey {
        ForecastKey { forms: Forms::default(), study: (1, 1), running: None }
    }

    #[test]
    fn a_run_is_not_refused_for_an_earlier_state() {
        let mut forecaster = Forecaster::default();
        let refused = |key: ForecastKey| Some((key, Err("too little memory".to_owned())));
        // A refusal of other settings does not count.
        forecaster.known = refused(ForecastKey { study: (2, 1), ..key() });
        assert_eq!(forecaster.refusal(&key()), None);
        // One of these settings does, until it is computed again.
        (forecaster.known, forecaster.known_at) = (refused(key()), Some(Instant::now()));
        forecaster.update(key(), || Ok(job()), None, None, || {});
        assert!(forecaster.work.is_none() && forecaster.refusal(&key()) == Some("too little memory"));
        forecaster.known_at = Some(Instant::now() - 2 * REFUSAL_AGE);
        let (answered, answers) = std::sync::mpsc::channel();
        forecaster.update(key(), || Ok(job()), None, None, move || answered.send(()).unwrap());
        answers.recv().unwrap();
        forecaster.update(key(), || Ok(job()), None, None, || {});
        assert!(forecaster.refusal(&key()).is_none() && matches!(forecaster.known(), Some(Ok(_))));
    }

    #[test]
    fn an_unknown_forecast_is_no_refusal_and_is_requested_again() {
        let mut forecaster = Forecaster { known: Some((key(), Err("too little memory".to_owned()))), ..Forecaster::default() };
        // The answer of a busy server to a request after another change.
        let changed = || ForecastKey { study: (1, 2), ..key() };
        let (answered, answers) = std::sync::mpsc::channel();
        let unknown = BackgroundTask::start("forecast", move || answered.send(()).unwrap(), |_| None);
        forecaster.work = Some((changed(), unknown));
        answers.recv().unwrap();
        forecaster.update(changed(), || Ok(job()), None, None, || {});
        assert!(forecaster.known().is_none() && forecaster.work.is_some(), "it is requested again");
        assert_eq!(forecaster.refusal(&changed()), None);
    }

    /// An iteration with these times of its stages, ms.
    fn iteration(stages: &[(Stage, u64)]) -> IterateReport {
        let mut times = StageTimes::default();
        stages.iter().for_each(|(stage, ms)| times[*stage] = Duration::from_millis(*ms));
        IterateReport {
            iteration: 1,
            subiteration: 1,
            subset: 0,
            completes_iteration: true,
            log_likelihood_of_subset: None,
            log_likelihood: None,
            residual: None,
            explained: None,
            num_events: None,
            accumulation: Accumulation::Atomic,
            race: None,
            ascent: None,
            stages: times,
            elapsed: times.total(),
            branch: 0,
            roi_sums: Vec::new(),
            roi_deviations: Vec::new(),
        }
    }

    #[test]
    fn the_time_of_the_next_run_follows_its_replicates() {
        let with = |replicates: Option<usize>| SettingsForm {
            parameters: Values::default().with_number(&REPLICATES, replicates.map(|num| num as f64)),
            ..SettingsForm::default()
        };
        let study = job().study;
        let after = |replicates, stages: &[(Stage, u64)]| {
            let mut live = LiveRun::requested(1, 0, &[], false);
            let job = Job { study: Arc::clone(&study), settings: Box::new(with(replicates).run_settings().unwrap()) };
            // 0.1 s for the run and for each replicate.
            let estimate = Estimate { secs_per_iteration: Some(0.1 * (1 + replicates.unwrap_or(0)) as f64), memory_bytes: 0 };
            live.info = Some(StartInfo {
                device: "Some device".into(),
                projector: "per-lor".into(),
                num_subsets: 1,
                accumulation: Accumulation::Atomic,
                accumulations: &[Accumulation::Atomic],
                estimate,
                memory: Vec::new(),
                job,
            });
            if !stages.is_empty() {
                live.apply(&Event { run: 1, kind: EventKind::Iterate(Box::new(iteration(stages))) });
            }
            live
        };
        let forecast = Forecast { memory_bytes: 0, device: "Some device".into(), projector: "per-lor".into(), free_bytes: None };
        let secs = |live: &LiveRun, next| secs_per_iteration(live, &with(next), &forecast).unwrap();
        let is = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
        is(secs(&after(None, &[]), Some(20)), 2.1);
        is(secs(&after(Some(20), &[]), None), 0.1);
        // Sensitivity and copies are those of the run alone.
        let shared = [(Stage::Sensitivity, 300), (Stage::Copy, 20)];
        let steps = [(Stage::Forward, 40), (Stage::Backprojection, 40)];
        is(secs(&after(None, &[shared, steps].concat()), Some(20)), 0.4 + 20.0 * 0.08);
        let of_replicates = [(Stage::Replicates, 1000)];
        is(secs(&after(Some(20), &[&shared[..], &steps, &of_replicates].concat()), Some(4)), 0.4 + 4.0 * 0.05);
        is(secs(&after(Some(20), &[&shared[..], &steps, &of_replicates].concat()), None), 0.4);
    }
}
