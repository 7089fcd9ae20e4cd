//! Handle of a session, which the watcher (a window, a progress bar, a test) holds.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, unbounded};

use super::frames::{FrameReceiver, frame_channel};
use super::history::{History, StoredIterate};
use super::local::LocalSolver;
use super::measurements::RoiSet;
use super::transport::{Message, SolverChannels, Transport};
use super::{Command, Control, Event, IterateId, IterateUpdate, RunId, Trace, Volumes};
use crate::plan::{Cache, Job, Prepared, SetupError, prepare_with};
use crate::task::Task;

/// Function that makes the algorithm of a run, called on the solver thread inside the run's thread pool.
pub type Setup = Box<dyn FnMut(&Job, &Task) -> Result<Prepared, SetupError> + Send>;

/// Default memory limit of the history of all runs, bytes.
const HISTORY_BYTES: u64 = 256 << 20;

#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// True if the solver's threads yield to others, so that a window drawn by the processor stays fluid.
    pub lower_priority: bool,
    /// Memory limit of the history of all runs, bytes; 0 stores no iterate.
    pub history_bytes: u64,
    /// True if images are displayed during a run. Else only the last image before a pause or an end, and those of the history,
    /// are copied.
    pub is_watched: bool,
    /// Cache of tubes of response and matrices.
    pub cache: Cache,
    pub trace: Trace,
}

impl Default for SessionOptions {
    fn default() -> Self {
        let cache = Cache::of_the_user();
        Self { lower_priority: false, history_bytes: HISTORY_BYTES, is_watched: true, cache, trace: Trace::off() }
    }
}

/// Solver with the channels to it. Dropping it stops the solver inside its step and waits for its end.
///
/// Each image is published before the event that reports it: a watcher drains the events first and then takes the image.
pub struct Session {
    solver: Box<dyn Transport>,
    events: Receiver<Event>,
    frames: FrameReceiver,
    history: History,
    trace: Trace,
    latest: Mutex<Latest>,
}

#[derive(Debug, Default)]
struct Latest {
    run: RunId,
    /// Stop flag and progress.
    task: Task,
    /// True if the run is a single step, so that a stop cancels it.
    is_one_step: bool,
}

impl Session {
    /// Starts a session with the program's back ends. A thread of the session calls `wake` after each event.
    pub fn start(wake: impl Fn() + Send + 'static) -> Self {
        Self::with_options(SessionOptions::default(), wake)
    }

    pub fn with_options(options: SessionOptions, wake: impl Fn() + Send + 'static) -> Self {
        let cache = options.cache.clone();
        Self::with_setup(options, Box::new(move |job, task| prepare_with(&cache, job, task)), wake)
    }

    /// Starts a session whose runs are made by `setup`.
    pub fn with_setup(options: SessionOptions, setup: Setup, wake: impl Fn() + Send + 'static) -> Self {
        Self::connect(&options.clone(), |channels| LocalSolver::start(options, setup, channels, wake))
    }

    /// Returns the handle of a session whose solver `start` begins or connects to.
    pub fn connect<T: Transport + 'static>(options: &SessionOptions, start: impl FnOnce(SolverChannels) -> T) -> Self {
        let ((event_sender, events), (frame_sender, frames)) = (unbounded(), frame_channel());
        let (history, trace) = (History::new(options.history_bytes), options.trace.clone());
        let channels =
            SolverChannels { events: event_sender, frames: frame_sender, history: history.clone(), trace: trace.clone() };
        Self { solver: Box::new(start(channels)), events, frames, history, trace, latest: Mutex::default() }
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a command; never waits. Returns the number of its run: for `Start` the new one, else the latest (0 before any).
    pub fn send(&self, command: impl Into<Command>) -> RunId {
        let mut latest = self.latest();
        let command = match command.into() {
            Command::Control(Control::Stop) if latest.is_one_step => Control::Cancel.into(),
            command => command,
        };
        // The flag is raised before the command is sent: later the solver could have begun the next run.
        if matches!(command, Command::Start { .. } | Command::Control(Control::Cancel) | Command::Quit) {
            latest.task.stop();
        }
        if let Command::Start { job, .. } = &command {
            *latest = Latest { run: latest.run + 1, task: Task::new(), is_one_step: job.is_one_step() };
        }
        if let Command::Control(Control::ChangeHistory(change)) = command {
            self.history.apply(change);
        }
        self.solver.send(Message { command, run: latest.run, task: latest.task.clone() });
        latest.run
    }

    /// Starts a run with the number of a remote window, which is larger than those before.
    pub fn start_as(&self, run: RunId, job: Job, rois: RoiSet, paused: bool) {
        self.latest().run = run - 1;
        self.send(Command::Start { job, rois, paused });
    }

    /// Returns the channel of events, in order. The watcher drains it before [`Session::take_frame`].
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// Returns the newest image since the last call: a whole one, else one whose slices have arrived from a server.
    pub fn take_frame(&self) -> Option<IterateUpdate> {
        self.frames.take()
    }

    /// Returns the newest volumes of each kind ([`EventKind::Volumes`](super::EventKind::Volumes)) since the last call.
    pub fn take_volumes(&self) -> Vec<Volumes> {
        self.frames.take_volumes()
    }

    /// Returns the buffer of an image to the solver.
    pub fn return_frame(&self, frame: IterateUpdate) {
        self.frames.give_back(frame);
    }

    /// Returns the iterates of a run that this process stores, oldest first: of the latest run and of retained ones.
    pub fn history(&self, run: RunId) -> Vec<StoredIterate> {
        self.history.entries(run)
    }

    /// Returns full iterations and steps of each stored iterate of a run, oldest first: of the server if it stores any.
    pub fn stored(&self, run: RunId) -> Vec<[usize; 2]> {
        let local = || self.history(run).iter().map(|stored| [stored.id.iteration, stored.id.subiteration]).collect();
        Some(self.solver.stored(run)).filter(|stored| !stored.is_empty()).unwrap_or_else(local)
    }

    /// Returns a stored iterate of a run. One of a server is requested, and returned after it has arrived.
    pub fn stored_image(&self, run: RunId, subiteration: usize) -> Option<StoredIterate> {
        let local = self.history(run).into_iter().find(|stored| stored.id.subiteration == subiteration);
        local.or_else(|| self.solver.fetch(run, subiteration))
    }

    /// Returns the last stored iterate of a run for which `is_wanted` holds, else its first one.
    pub fn last_stored(&self, run: RunId, is_wanted: impl Fn(IterateId) -> bool) -> Option<StoredIterate> {
        self.history.last(run, is_wanted)
    }

    /// Returns the bytes of all stored iterates and their limit.
    pub fn history_bytes(&self) -> [u64; 2] {
        self.history.bytes()
    }

    /// Returns the function that a feed calls when its acquisition has grown: the run continues.
    pub fn on_arrival(&self) -> impl Fn() + Send + use<> {
        let (notify, trace) = (self.solver.on_arrival(), self.trace.clone());
        move || {
            trace.record("data_arrived", &[]);
            notify();
        }
    }

    /// Returns the stop flag and the progress of the latest run.
    pub fn task(&self) -> Task {
        self.latest().task.clone()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.send(Command::Quit);
    }
}
