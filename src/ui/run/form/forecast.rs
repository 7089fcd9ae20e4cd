//! What the next start will need, worked out on a thread of its own while the form is edited.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::forms::Forms;
use super::settings::SettingsForm;
use crate::plan::{self, Forecast, Job, RunSettings, StartInfo, forecast};
use crate::session::RunId;
use crate::session::wire::Remote;
use crate::ui::run::live::LiveRun;

/// What a forecast was made for.
#[derive(Clone, Debug, PartialEq)]
pub struct ForecastKey {
    /// The settings.
    pub forms: Forms,
    /// Which study, and how many projections or sets of tubes it has got.
    pub study: (usize, usize),
    /// The run whose memory is given back.
    pub running: Option<RunId>,
}

/// How long the answer of a server is waited for: it comes at once, or with the answer to another question before it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same while the window stands still for it.
const SHORT_PATIENCE: Duration = Duration::from_millis(500);

/// After how long a question is asked again whose answer was unknown.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(300);

/// A job, the run whose memory it gets, and where it is to be done if not here.
type Question = (ForecastKey, Job, Option<Box<StartInfo>>, Option<Remote>);

/// Makes a forecast; `None` where it is unknown, which is no refusal.
fn make(job: &Job, running: Option<&StartInfo>, remote: Option<&Remote>, patience: Duration) -> Option<Result<Forecast, String>> {
    let made = catch_unwind(AssertUnwindSafe(|| match remote {
        Some(remote) => remote.forecast(job, patience),
        None => Some(forecast(job, running).map_err(|error| error.to_string())),
    }));
    made.unwrap_or_else(|_| Some(Err("memory forecast failed: internal error".into())))
}

/// A thread that makes one forecast at a time.
pub struct Forecaster {
    questions: Sender<Question>,
    answers: Receiver<(ForecastKey, Option<Result<Forecast, String>>)>,
    under_way: bool,
    known: Option<(ForecastKey, Result<Forecast, String>)>,
}

impl Forecaster {
    /// Starts the thread; `wake` is called after each forecast.
    pub fn start(wake: impl Fn() + Send + 'static) -> Self {
        let (questions, inbox) = bounded::<Question>(1);
        let (outbox, answers) = unbounded();
        // Without a thread nothing is foretold; a start is refused all the same where memory does not suffice.
        let _ = std::thread::Builder::new().name("forecast".into()).spawn(move || {
            for (asked, job, running, remote) in inbox {
                let answer = make(&job, running.as_deref(), remote.as_ref(), PATIENCE);
                if answer.is_none() {
                    std::thread::sleep(ASK_AGAIN_AFTER);
                }
                if outbox.send((asked, answer)).is_err() {
                    return;
                }
                wake();
            }
        });
        Self { questions, answers, under_way: false, known: None }
    }

    /// Takes an answer in, and asks again where the question has changed since.
    pub fn update(&mut self, asked: ForecastKey, job: Result<Job, String>, running: Option<&StartInfo>, remote: Option<&Remote>) {
        if let Some(answer) = self.answers.try_iter().last() {
            self.under_way = false;
            self.known = answer.1.map(|forecast| (answer.0, forecast));
        }
        let is_known = self.known.as_ref().is_some_and(|(known, _)| *known == asked);
        match job {
            _ if is_known || self.under_way => {}
            Ok(job) => {
                let question = (asked, job, running.cloned().map(Box::new), remote.cloned());
                self.under_way = self.questions.try_send(question).is_ok();
            }
            // The form itself makes no sense.
            Err(reason) => self.known = Some((asked, Err(reason))),
        }
    }

    /// Why a start would be refused. A refusal that is known is looked at anew: memory may have become free since.
    pub fn refusal(
        &mut self,
        asked: ForecastKey,
        job: &Job,
        running: Option<&StartInfo>,
        remote: Option<&Remote>,
    ) -> Option<String> {
        let is_refused = self.known.as_ref().is_some_and(|(known, forecast)| *known == asked && forecast.is_err());
        if !is_refused {
            return None;
        }
        self.known = make(job, running, remote, SHORT_PATIENCE).map(|forecast| (asked, forecast));
        self.known.as_ref().and_then(|(_, forecast)| forecast.as_ref().err().cloned())
    }

    /// The newest forecast, and what it was made for.
    pub fn known(&self) -> Option<&(ForecastKey, Result<Forecast, String>)> {
        self.known.as_ref()
    }
}

/// Seconds of an iteration of the next start: those of the run before in proportion to the work, if it has the same device
/// and projector.
pub fn secs_per_iteration(live: &LiveRun, next: &SettingsForm, forecast: &Forecast) -> Option<f64> {
    let info = live.info.as_ref()?;
    if info.device != forecast.device || info.projector != forecast.projector {
        return None;
    }
    let measured = live.last.as_ref().filter(|last| last.iteration > 0 && last.completes_iteration);
    let measured = measured.map(|last| last.elapsed.as_secs_f64() / last.iteration as f64);
    let secs = measured.or(info.estimate.secs_per_iteration)?;
    if info.job.settings.matrix.is_some() {
        // All elements of the matrix, whatever the grid on which images are shown.
        return Some(secs);
    }
    let counts = info.job.data().counts()?;
    let next = next.run_settings().ok()?;
    let work = |settings: &RunSettings| {
        let rays = plan::rays_in_use(counts.geometry(), settings, &info.projector);
        let [nx, ny, nz] = settings.grid.size.map(|n| n as f64);
        // A path crosses about as many columns as the image is wide and high. A single LOR meets one voxel at each, and as many
        // more as it crosses slices; all planes together meet the whole column.
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
    use crate::plan::{DeviceChoice, RunSettings, default_settings};
    use crate::scanner::find;

    fn job() -> Job {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        let counts = vec![1.0; geometry.num_bins()];
        let study = Study::new("flat", Counts::new(Michelogram::new(geometry, counts).unwrap()));
        let settings = RunSettings { device: DeviceChoice::Cpu, ..default_settings(&study.measured).unwrap() };
        Job::of(&study, settings)
    }

    fn asked() -> ForecastKey {
        ForecastKey { forms: Forms::default(), study: (1, 1), running: None }
    }

    #[test]
    fn a_start_is_not_refused_for_what_was_so_before() {
        let mut forecaster = Forecaster::start(|| {});
        let refused = |asked: ForecastKey| Some((asked, Err("too little memory".to_owned())));
        forecaster.known = refused(asked());
        assert_eq!(forecaster.refusal(asked(), &job(), None, None), None);
        assert!(matches!(forecaster.known(), Some((_, Ok(_)))), "it is known anew");
        // A refusal of other settings is none of these.
        forecaster.known = refused(ForecastKey { study: (2, 1), ..asked() });
        assert_eq!(forecaster.refusal(asked(), &job(), None, None), None);
        // What would still be refused is.
        let Job { study, settings } = job();
        let wrong = Job::of(&study, RunSettings { num_subsets: 10_000, ..*settings });
        forecaster.known = refused(asked());
        assert!(forecaster.refusal(asked(), &wrong, None, None).unwrap().contains("10000 subsets"));
    }

    #[test]
    fn what_is_unknown_is_no_refusal_and_is_asked_again() {
        let mut forecaster = Forecaster::start(|| {});
        let (sender, answers) = unbounded();
        forecaster.answers = answers;
        forecaster.known = Some((asked(), Err("too little memory".to_owned())));
        // As if a question had gone to a server that was busy.
        let changed = || ForecastKey { study: (1, 2), ..asked() };
        forecaster.under_way = true;
        sender.send((changed(), None)).unwrap();
        forecaster.update(changed(), Ok(job()), None, None);
        assert!(forecaster.known().is_none() && forecaster.under_way, "it is asked again");
        assert_eq!(forecaster.refusal(changed(), &job(), None, None), None);
    }
}
