//! What the next start will need, worked out on a thread of its own while the form is edited.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::forms::Forms;
use super::live::LiveRun;
use super::settings::SettingsForm;
use crate::plan::{self, Forecast, Job, RunSettings, StartInfo, forecast};
use crate::session::RunId;
use crate::session::wire::Remote;

/// What a forecast was made for.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The settings.
    pub forms: Forms,
    /// Which study, and how many projections or sets of tubes it has got.
    pub study: (usize, usize),
    /// The run whose memory is given back.
    pub running: Option<RunId>,
}

/// A job, the run whose memory it gets, and where it is to be done if not here.
type Question = (Asked, Job, Option<Box<StartInfo>>, Option<Remote>);

/// A thread that makes one forecast at a time.
pub struct Forecaster {
    questions: Sender<Question>,
    answers: Receiver<(Asked, Result<Forecast, String>)>,
    under_way: bool,
    known: Option<(Asked, Result<Forecast, String>)>,
}

impl Forecaster {
    /// Starts the thread; `wake` is called after each forecast.
    pub fn start(wake: impl Fn() + Send + 'static) -> Self {
        let (questions, inbox) = bounded::<Question>(1);
        let (outbox, answers) = unbounded();
        // Without a thread nothing is foretold; a start is refused all the same where memory does not suffice.
        let _ = std::thread::Builder::new().name("forecast".into()).spawn(move || {
            for (asked, job, running, remote) in inbox {
                let made = catch_unwind(AssertUnwindSafe(|| match &remote {
                    Some(remote) => remote.forecast(&job),
                    None => forecast(&job, running.as_deref()).map_err(|error| error.to_string()),
                }));
                let mistake = |_| Err("what it needs cannot be told: the program made a mistake".to_owned());
                let answer = made.unwrap_or_else(mistake);
                if outbox.send((asked, answer)).is_err() {
                    return;
                }
                wake();
            }
        });
        Self { questions, answers, under_way: false, known: None }
    }

    /// Takes an answer in, and asks again where the question has changed since.
    pub fn update(&mut self, asked: Asked, job: Result<Job, String>, running: Option<&StartInfo>, remote: Option<&Remote>) {
        if let Some(answer) = self.answers.try_iter().last() {
            self.under_way = false;
            self.known = Some(answer);
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

    /// Forgets the newest forecast, so that it is made anew.
    pub fn forget(&mut self) {
        self.known = None;
    }

    /// The newest forecast, and what it was made for.
    pub fn known(&self) -> Option<&(Asked, Result<Forecast, String>)> {
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
    let (study, settings) = match &info.job {
        Job::Counts { study, settings } => (study, settings),
        // All elements of the matrix, whatever the grid on which images are shown.
        Job::Pairs { .. } => return Some(secs),
        Job::Sweep { .. } | Job::Events { .. } => return None,
    };
    let next = next.run_settings().ok()?;
    let work = |settings: &RunSettings| {
        let rays = plan::rays_in_use(study.measured.geometry(), settings, &info.projector);
        let [nx, ny, nz] = settings.grid.size.map(|n| n as f64);
        // A path crosses about as many columns as the image is wide and high. A single LOR meets one voxel at each, and as many
        // more as it crosses slices; all planes together meet the whole column.
        let walks_voxels = plan::projector(&info.projector).is_some_and(|entry| entry.walks_voxels);
        let voxels = if walks_voxels { nx + ny + nz } else { (nx + ny) * nz };
        rays.map_or(1, |[tangential, axial]| tangential * axial) as f64 * voxels
    };
    Some(secs * work(&next) / work(settings))
}
