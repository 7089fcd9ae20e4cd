//! Interface between the handle of a session and its solver, which is a thread of this process or a server.

use std::io;

use crossbeam_channel::Sender;

use super::frames::FrameSender;
use super::history::{History, HistoryChange};
use super::trace::Trace;
use super::{Command, CompareWith, Event, EventKind, PeakLine, RecoveryQuery, RoiSet, RunId, StoredIterate};
use crate::coded::Problem;
use crate::task::Task;

/// Command with its run and that run's stop flag.
pub struct Message {
    pub command: Command,
    /// Run that the command controls.
    pub run: RunId,
    pub task: Task,
}

/// Measurement of stored iterates, which runs in parallel with the solver.
pub enum Query {
    /// Sums of these regions on the iterates of a run.
    Rois(RunId, RoiSet),
    /// Comparison of the iterates of the latest run with a reference, also over these regions; `None` ends it.
    Compare(Option<CompareWith>, RoiSet),
    /// Widths of peaks along a line through the iterates of a run; `None` ends it.
    Peaks(RunId, Option<PeakLine>),
    /// Recovery coefficients of the iterates of a run after several post-filters; `None` ends it.
    Recovery(RunId, Option<RecoveryQuery>),
}

/// Connection of a session's handle to its solver. Dropping it waits for the solver's end, which [`Command::Quit`] requests.
pub trait Transport: Send + Sync {
    /// Sends a command; never waits.
    fn send(&self, message: Message);

    /// Sends a query; never waits.
    fn query(&self, query: Query);

    /// Returns a function that reports new data of a growing acquisition to the solver.
    fn on_arrival(&self) -> Box<dyn Fn() + Send> {
        Box::new(|| {})
    }

    /// Applies a change of the history also on the server.
    fn change_history(&self, _change: HistoryChange) {}

    /// Returns full iterations and steps of each iterate that the server stores, oldest first.
    fn stored(&self, _run: RunId) -> Vec<[usize; 2]> {
        Vec::new()
    }

    /// Returns an iterate of the server if it has arrived, else requests it.
    fn fetch(&self, _run: RunId, _subiteration: usize) -> Option<StoredIterate> {
        None
    }
}

/// Solver's ends of a session's channels.
pub struct SolverChannels {
    pub events: Sender<Event>,
    pub frames: FrameSender,
    pub history: History,
    pub trace: Trace,
}

/// Reports that the system refused `threads`.
pub fn report_refused(threads: &str, error: &io::Error, events: &Sender<Event>) {
    let text = format!("{threads} could not be started: {error}; close other programs and try again");
    let _ = events.send(Event { run: 0, kind: EventKind::Failed(Problem::new("threads", text)) });
}
