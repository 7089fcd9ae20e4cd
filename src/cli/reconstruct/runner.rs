//! Jobs one after the other in one session.

use std::time::Duration;

use crossbeam_channel::{Receiver, never, select, tick};

use super::options::ReconstructOptions;
use super::reference_image::ReferenceImage;
use super::uptake::quantity::Uptake;
use super::work::{Observer, Work};
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
use crate::cli::shared::{notices, signals};
use crate::data::{ImageSpace, Notice, Roi};
use crate::io::measurements::MeasurementWriter;
use crate::io::{SweepFollower, read_regions, rois};
use crate::plan::Job;
use crate::session::{Command, Control, Feed, RoiSet, Session, SessionOptions, Trace};

/// Interval between looks at the progress of a run of one step.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub(in crate::cli) enum Ended {
    /// All outputs are complete.
    #[strum(serialize = "done")]
    Complete,
    /// The outputs were already up to date.
    #[strum(serialize = "skipped")]
    UpToDate,
    /// A signal stopped the job.
    #[strum(serialize = "stopped")]
    Interrupted,
    /// An output contains less than was requested, or values that are not finite.
    #[strum(serialize = "in part")]
    Partial,
}

impl From<Ended> for Done {
    fn from(ended: Ended) -> Self {
        if matches!(ended, Ended::Complete | Ended::UpToDate) { Done::Complete } else { Done::Partial }
    }
}

/// A session for jobs one after the other.
pub(in crate::cli) struct JobRunner {
    pub session: Session,
    pub rois: Vec<Roi>,
    pub requests: Receiver<()>,
    pub uptake: Uptake,
}

impl JobRunner {
    /// Checks the measurements of the options, and opens the session; `job` = the first one.
    pub(in crate::cli) fn open(options: &ReconstructOptions, job: &Job, trace: Trace) -> CliResult<Self> {
        options.check_calibration(job.iteration_scheme().unit)?;
        let uptake = Uptake::new(options, job)?;
        trace.record("study_ready", &[]);
        let space = ImageSpace { grid: job.grid(), placement: None, names: None };
        let rois = options.rois.as_deref().map(|path| read_regions(path, Some(&space))).transpose()?;
        let rois = rois.map(notices::printed).unwrap_or_default();
        notices::print(rois::notice(&rois).as_slice());
        let rules = options.stop.rules(&rois)?;
        // Until here there is nothing to save: a signal ends the program at once, also in the middle of a file.
        let requests = signals::keep();
        // Intermediate volumes have no viewer, and no history is needed.
        let session_options = SessionOptions { history_bytes: 0, is_watched: false, trace, ..SessionOptions::default() };
        let session = Session::with_options(session_options, || {});
        session.send(Control::SetStopRules(rules));
        Ok(Self { session, rois, requests, uptake })
    }

    /// Runs a job, and writes the requested files.
    pub(in crate::cli) fn run(
        &self,
        options: &ReconstructOptions,
        job: Job,
        follower: Option<SweepFollower>,
        num_expected: Option<usize>,
    ) -> CliResult<Ended> {
        self.run_observed(options, job, follower, num_expected, None)
    }

    /// Runs a job, and passes the image of every full iteration to a receiver, if there is one, in place of writing images.
    pub(in crate::cli) fn run_observed<'a>(
        &self,
        options: &'a ReconstructOptions,
        job: Job,
        follower: Option<SweepFollower>,
        num_expected: Option<usize>,
        observer: Option<Observer<'a>>,
    ) -> CliResult<Ended> {
        let Self { session, rois, requests, uptake } = self;
        let _lock = observer.is_none().then(|| options.lock_output()).transpose()?;
        let reference = options
            .reference_image
            .as_deref()
            .map(|path| ReferenceImage::open(path, options.read_image(), job.grid(), rois))
            .transpose()?;
        let table = options.csv.as_deref().map(MeasurementWriter::create).transpose()?;
        let work = Work::new(options, &job, num_expected, rois.clone(), table, reference, uptake.of(&job)?);
        let mut work = work.observed_by(observer);
        let mut feed = match (job.data().sweep(), follower) {
            (Some(acquisition), Some(follower)) => Some(Feed::follow(follower, acquisition.clone(), session.on_arrival())?),
            _ => None,
        };
        let ticks = if job.is_one_step() { tick(POLL_INTERVAL) } else { never() };
        let job = job.until(work.next_halt(0));
        session.send(Command::Start { job, rois: RoiSet { branch: 0, rois: rois.clone().into() }, paused: false });
        let mut new_notices: Receiver<Notice> = feed.as_ref().map_or_else(never, |feed| feed.notices().clone());
        loop {
            select! {
                recv(session.events()) -> event => {
                    let event = event.map_err(|_| CliError::failed(Failure::Internal, "the solver's thread has ended without a result"))?;
                    if let Some(done) = work.handle(session, event)? {
                        return Ok(match done {
                            Done::Complete => Ended::Complete,
                            Done::Partial if work.interrupted => Ended::Interrupted,
                            Done::Partial => Ended::Partial,
                        });
                    }
                }
                recv(ticks) -> _ => work.progress.inside(session.task().progress()),
                recv(new_notices) -> notice => match notice {
                    Ok(notice) => notices::print(&[notice]),
                    Err(_) => new_notices = never(),
                },
                recv(requests) -> _ => {
                    work.interrupted = true;
                    // Without its feed an acquisition is complete with its present projections.
                    match feed.take() {
                        Some(feed) => notices::print(&feed.stop()),
                        None => _ = session.send(Control::Cancel),
                    }
                }
            }
        }
    }
}
