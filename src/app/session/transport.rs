//! Interface between the handle of a session and its solver, which is a thread of this process or a server.

use std::io;

use crossbeam_channel::Sender;

use super::frames::FrameSender;
use super::history::{History, StoredIterate};
use super::trace::Trace;
use super::{Command, Event, EventKind, RunId};
use crate::coded::Problem;
use crate::task::Task;

/// Command with its run and that run's stop flag.
pub struct Message {
    pub command: Command,
    /// Run that the command controls.
    pub run: RunId,
    pub task: Task,
}

/// Connection of a session's handle to its solver. Dropping it waits for the solver's end, which [`Command::Quit`] requests.
pub trait Transport: Send + Sync {
    /// Sends a command; never waits.
    fn send(&self, message: Message);

    /// Returns a function that reports new data of a growing acquisition to the solver.
    fn on_arrival(&self) -> Box<dyn Fn() + Send> {
        Box::new(|| {})
    }

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
