//! Runs of one after the other in one session.

use std::time::Duration;

use crossbeam_channel::{Receiver, never, select, tick};

use super::options::ReconstructOptions;
use super::reference_image::ReferenceImage;
use super::work::Work;
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
use crate::cli::shared::{notices, signals};
use crate::data::{Notice, Roi};
use crate::io::measurements::MeasurementWriter;
use crate::io::{SweepFollower, rois};
use crate::plan::Job;
use crate::session::{Command, Control, Feed, RoiSet, Session, SessionOptions, Trace};

/// How often the progress of a run in one step is looked at.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How a job ended.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Ended {
    pub done: Done,
    /// Whether a signal asked for the end.
    pub is_interrupted: bool,
    /// Whether nothing was to do, because all was there.
    pub was_there: bool,
}

impl Ended {
    /// A signal came first.
    pub const NOT_BEGUN: Self = Self { done: Done::InPart, is_interrupted: true, was_there: false };

    /// All was there.
    pub const WAS_THERE: Self = Self { done: Done::Wholly, is_interrupted: false, was_there: true };
}

/// Where jobs are worked off one after the other.
pub(in crate::cli) struct Desk {
    pub session: Session,
    pub rois: Vec<Roi>,
    pub requests: Receiver<()>,
}

impl Desk {
    /// Looks at what is to be measured, and opens; `job` = the first one.
    pub(in crate::cli) fn open(options: &ReconstructOptions, job: &Job, trace: Trace) -> CliResult<Self> {
        options.check_units(job.course().unit)?;
        trace.record("study_ready", &[]);
        let rois = options.rois.as_deref().map(rois::read_rois).transpose()?.unwrap_or_default();
        notices::print(rois::notice(&rois).as_slice());
        let rules = options.stop.rules(&rois)?;
        // Until here there is nothing to keep: a signal ends the program at once, also in the middle of a file.
        let requests = signals::keep();
        // Nobody looks at the volumes on the way, and no history is needed.
        let session_options = SessionOptions { history_bytes: 0, is_watched: false, trace, ..SessionOptions::default() };
        let session = Session::with_options(session_options, || {});
        session.send(Control::SetStopRules(rules));
        Ok(Self { session, rois, requests })
    }

    /// Does a job, and writes what `options` asks for.
    pub(in crate::cli) fn run(
        &self,
        options: &ReconstructOptions,
        job: Job,
        follower: Option<SweepFollower>,
        num_expected: Option<usize>,
    ) -> CliResult<Ended> {
        let Self { session, rois, requests } = self;
        let reference = options.reference_image.as_deref().map(|path| ReferenceImage::open(path, job.grid())).transpose()?;
        let table = options.csv.as_deref().map(MeasurementWriter::create).transpose()?;
        let mut work = Work::new(options, &job, num_expected, rois.clone(), table, reference);
        let mut feed = match (job.data().sweep(), follower) {
            (Some(acquisition), Some(follower)) => Some(Feed::follow(follower, acquisition.clone(), session.on_arrival())?),
            _ => None,
        };
        let looks = if job.is_one_step() { tick(POLL_INTERVAL) } else { never() };
        let job = job.until(work.next_halt(0));
        session.send(Command::Start { job, rois: RoiSet { branch: 0, rois: rois.clone().into() }, paused: false });
        let mut news: Receiver<Notice> = feed.as_ref().map_or_else(never, |feed| feed.notices().clone());
        loop {
            select! {
                recv(session.events()) -> event => {
                    let event = event.map_err(|_| CliError::failed(Failure::Internal, "the solver's thread has ended without a result"))?;
                    if let Some(done) = work.obey(session, event)? {
                        return Ok(Ended { done, is_interrupted: work.interrupted, was_there: false });
                    }
                }
                recv(looks) -> _ => work.progress.inside(session.task().progress()),
                recv(news) -> notice => match notice {
                    Ok(notice) => notices::print(&[notice]),
                    Err(_) => news = never(),
                },
                recv(requests) -> _ => {
                    work.interrupted = true;
                    // Without its feed an acquisition is over, and the run complete with what it has.
                    match feed.take() {
                        Some(feed) => notices::print(&feed.stop()),
                        None => _ = session.send(Control::Cancel),
                    }
                }
            }
        }
    }
}
