//! The handle to a session: what the watcher (a window, a progress bar, a test) holds.

use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::frames::{FrameReceiver, frame_channel};
use super::history::History;
use super::measurer::{Measurer, Query};
use super::publisher::Publisher;
use super::solver::{Message, Solver};
use super::wire::messages::{Beside, Order};
use super::wire::{self, Dial, Remote};
use super::{Command, CompareWith, Event, EventKind, IterateUpdate, PeakLine, RoiSet, RunId, StoredIterate, Trace};
use crate::coded::Problem;
use crate::plan::{Cache, Job, Prepared, SetupError, prepare_with};
use crate::session::Control;
use crate::task::Task;

/// Makes the algorithm of a run; called on the solver thread, inside the run's pool of threads.
pub type Setup = Box<dyn FnMut(&Job, &Task) -> Result<Prepared, SetupError> + Send>;

/// Bytes of past iterates that a session keeps by default, of all its runs together.
const HISTORY_BYTES: u64 = 256 << 20;

/// How a session behaves, whatever it runs.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The solver's threads yield to others, so that a window drawn by the processor stays fluid.
    pub lower_priority: bool,
    /// Bytes of past iterates to keep, of all runs together; 0 keeps none.
    pub history_bytes: u64,
    /// Whether somebody looks at the volumes while a run goes on. Else only the last one before it holds or ends is
    /// copied, and those that the history keeps.
    pub is_watched: bool,
    /// Where tubes of response and matrices are kept.
    pub cache: Cache,
    /// Where the time line goes.
    pub trace: Trace,
}

impl Default for SessionOptions {
    fn default() -> Self {
        let cache = Cache::of_the_user();
        Self { lower_priority: false, history_bytes: HISTORY_BYTES, is_watched: true, cache, trace: Trace::off() }
    }
}

/// A solver thread, the thread that hands its volumes and events over, and the channels to them. Dropping it stops the
/// work inside its step and waits for both.
///
/// A watcher that wants the last volume of a run drains the events first and then takes the volume: every volume is
/// published before the event that tells of it.
pub struct Session {
    messages: Sender<Message>,
    events: Receiver<Event>,
    frames: FrameReceiver,
    history: History,
    trace: Trace,
    latest: Mutex<Latest>,
    asks: Sender<Query>,
    measurer: Option<Measurer>,
    thread: Option<JoinHandle<()>>,
    /// Where the solver is, if it is elsewhere, and the images of which only slices have come.
    elsewhere: Option<(Remote, FrameReceiver)>,
}

/// The run started last.
#[derive(Debug, Default)]
struct Latest {
    run: RunId,
    /// Its stop flag and progress.
    task: Task,
    /// Whether the run is a single step, so that a stop cancels it.
    is_one_step: bool,
}

impl Session {
    /// A session with the program's own back ends. `wake` is called, on a thread of the session, after everything that
    /// the solver says.
    pub fn start(wake: impl Fn() + Send + 'static) -> Self {
        Self::with_options(SessionOptions::default(), wake)
    }

    /// A session with these options.
    pub fn with_options(options: SessionOptions, wake: impl Fn() + Send + 'static) -> Self {
        let cache = options.cache.clone();
        Self::with_setup(options, Box::new(move |job, task| prepare_with(&cache, job, task)), wake)
    }

    /// A session whose runs are made by `setup`.
    pub fn with_setup(options: SessionOptions, setup: Setup, wake: impl Fn() + Send + 'static) -> Self {
        let (messages, inbox) = unbounded();
        let (event_sender, events) = unbounded();
        let (frame_sender, frames) = frame_channel();
        let history = History::new(options.history_bytes);
        let refused = event_sender.clone();
        let (kept, trace) = (history.clone(), options.trace.clone());
        let (asks, asked) = unbounded();
        let publisher = Publisher::start(event_sender, frame_sender, kept.clone(), wake, trace.clone(), asks.clone());
        let threads = publisher.and_then(|publisher| {
            let measurer = Measurer::start(asks.clone(), asked, kept.clone(), publisher.outlet())?;
            // The publisher ends when nobody can say anything through it any longer: where this thread is refused, the
            // measurer has to go first, so the solver is handed over only to a thread that is there.
            let (hand_over, handed) = bounded::<Solver>(1);
            let thread = Builder::new().name("solver".into()).spawn(move || _ = handed.recv().map(Solver::run))?;
            let _ = hand_over.send(Solver::new(setup, options, inbox, publisher, kept));
            Ok((measurer, thread))
        });
        if let Err(error) = &threads {
            let text = format!("the solver's threads could not be started: {error}; close other programs and try again");
            let _ = refused.send(Event { run: 0, kind: EventKind::Failed(Problem::new("threads", text)) });
        }
        let (measurer, thread) = threads.ok().unzip();
        Self { messages, asks, events, frames, history, trace, latest: Mutex::default(), measurer, thread, elsewhere: None }
    }

    /// A session on another machine: `dial` begins a line to it whenever there is none, and `host` is what the machine is called until it
    /// has said its name. The handle is as any other's; what its solver makes comes as the line allows: events all, images the newest.
    ///
    /// A scan is opened there with [`Remote::open`]; runs of anything else are refused.
    pub fn elsewhere(host: &str, dial: Dial, options: &SessionOptions, wake: impl Fn() + Send + 'static) -> Self {
        let (messages, inbox) = unbounded();
        let (event_sender, events) = unbounded();
        let (wholes, frames) = frame_channel();
        let (slices, sliced) = frame_channel();
        let (asks, asked) = unbounded();
        let (history, trace) = (History::new(options.history_bytes), options.trace.clone());
        let refused = event_sender.clone();
        let kept = history.clone();
        let ends = wire::Ends {
            messages: inbox,
            asks: asked,
            events: event_sender,
            wholes,
            slices,
            history: kept,
            trace: trace.clone(),
        };
        let started = wire::connect(host.to_owned(), dial, ends, wake);
        if let Err(error) = &started {
            let text = format!("the thread of the connection could not be started: {error}; close other programs and try again");
            let _ = refused.send(Event { run: 0, kind: EventKind::Failed(Problem::new("threads", text)) });
        }
        let (remote, thread) = started.ok().unzip();
        let elsewhere = remote.zip(Some(sliced));
        Self { messages, asks, events, frames, history, trace, latest: Mutex::default(), measurer: None, thread, elsewhere }
    }

    /// The machine that the session is on, where it is not this one.
    pub fn remote(&self) -> Option<&Remote> {
        self.elsewhere.as_ref().map(|(remote, _)| remote)
    }

    /// Has it done there too, where the solver is elsewhere.
    fn order(&self, order: Beside) {
        if let Some(remote) = self.remote() {
            remote.order(Order::Beside(order));
        }
    }

    /// Sends a command; never waits. The number of the run that it is about: for `Start` the new one, else the run
    /// started last (0 before any).
    pub fn send(&self, command: impl Into<Command>) -> RunId {
        let command = command.into();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let command = match command {
            Command::Control(Control::Stop) if latest.is_one_step => Control::Cancel.into(),
            command => command,
        };
        // The flag is raised before the command is sent: raised after it, the solver could have begun the next run.
        if matches!(command, Command::Start { .. } | Command::Control(Control::Cancel) | Command::Quit) {
            latest.task.stop();
        }
        if let Command::Start { job, .. } = &command {
            *latest = Latest { run: latest.run + 1, task: Task::new(), is_one_step: job.is_one_step() };
        }
        if let Command::SetRois(rois) = &command {
            self.measure(latest.run, rois.clone());
        }
        let _ = self.messages.send(Message { command, run: latest.run, task: latest.task.clone() });
        latest.run
    }

    /// Starts a run of this number, larger than those before it: it is the window's at the other end of a line.
    pub(super) fn start_as(&self, run: RunId, job: Job, rois: RoiSet, paused: bool) {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).run = run - 1;
        self.send(Command::Start { job, rois, paused });
    }

    /// What the solver says, in order. To be drained before [`Session::take_frame`].
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// The newest volume, if one was published since the last call; of a session elsewhere after it one of which slices have come,
    /// where one has.
    pub fn take_frame(&self) -> Option<IterateUpdate> {
        self.frames.take().or_else(|| self.elsewhere.as_ref()?.1.take())
    }

    /// Gives the buffer of a frame back once it is not needed.
    pub fn return_frame(&self, frame: IterateUpdate) {
        match &self.elsewhere {
            // Whole images are made of what arrives; buffers are needed for slices.
            Some((_, slices)) => slices.give_back(frame),
            None => self.frames.give_back(frame),
        }
    }

    /// Images of a run's past, oldest first, as far as the byte budget keeps them: of the latest run, and of those that are
    /// kept.
    pub fn history(&self, run: RunId) -> Vec<StoredIterate> {
        self.history.entries(run)
    }

    /// The images of a run's past that are kept, here or where the solver is: full iterations and steps done of each, oldest first.
    pub fn past(&self, run: RunId) -> Vec<[usize; 2]> {
        let here = || self.history(run).iter().map(|kept| [kept.id.iteration, kept.id.subiteration]).collect();
        self.remote().map(|remote| remote.past(run)).filter(|past| !past.is_empty()).unwrap_or_else(here)
    }

    /// An image of a run's past. One that is kept elsewhere is asked for, and is there when it has come.
    pub fn past_image(&self, run: RunId, subiteration: usize) -> Option<StoredIterate> {
        let here = self.history(run).into_iter().find(|kept| kept.id.subiteration == subiteration);
        here.or_else(|| self.remote()?.fetch(run, subiteration))
    }

    /// Bytes of the images of all pasts, and how many they may be.
    pub fn history_bytes(&self) -> [u64; 2] {
        self.history.bytes()
    }

    /// Holds at most so many bytes of images from now on.
    pub fn set_history_bytes(&self, bytes: u64) {
        self.history.set_budget(bytes);
        self.order(Beside::SetHistoryBytes(bytes));
    }

    /// Never thins the image of a run after so many steps out, or does so again.
    pub fn pin(&self, run: RunId, subiteration: usize, is_pinned: bool) {
        self.history.pin(run, subiteration, is_pinned);
        self.order(Beside::Pin(run, subiteration, is_pinned));
    }

    /// Keeps a run's past also when another starts; without this it goes then.
    pub fn keep(&self, run: RunId) {
        self.history.keep(run);
        self.order(Beside::Keep(run));
    }

    /// Keeps a run's past no longer. It goes at once; that of the latest run goes when another starts.
    pub fn let_go(&self, run: RunId) {
        self.history.let_go(run);
        self.order(Beside::LetGo(run));
    }

    /// Measures these regions on the images of a run's past, beside the solver, and tells of it with
    /// [`EventKind::Remeasured`]. What the solver itself measures is set by [`Command::SetRois`], which does this too.
    pub fn measure(&self, run: RunId, rois: RoiSet) {
        // Where the measurer could not be started, that was said.
        let _ = self.asks.send(Query::Rois(run, rois));
    }

    /// Compares every image that is kept of the run started last, from now on and of its past, with those of a run or with one
    /// image, beside the solver, and tells of it with [`EventKind::Compared`]. Images on different grids are not compared, nor is a
    /// run with itself. Keep a run that is the reference ([`Session::keep`]): else its images go when another run starts.
    pub fn compare_with(&self, reference: Option<CompareWith>) {
        // Where the measurer could not be started, that was said.
        let _ = self.asks.send(Query::Compare(reference));
    }

    /// Measures the peaks along a line through every image that is kept of a run, from now on and of its past, beside the solver, and
    /// tells of it with [`EventKind::Profiled`]; or no longer.
    pub fn measure_peaks(&self, run: RunId, line: Option<PeakLine>) {
        // Where the measurer could not be started, that was said.
        let _ = self.asks.send(Query::Peaks(run, line));
    }

    /// What a feed calls when an acquisition has grown: the run that reconstructs it goes on.
    pub fn on_arrival(&self) -> impl Fn() + Send + use<> {
        let (messages, trace) = (self.messages.clone(), self.trace.clone());
        move || {
            trace.record("data_arrived", &[]);
            let _ = messages.send(Message { command: Command::DataArrived, run: 0, task: Task::new() });
        }
    }

    /// The stop flag and the progress of the run started last.
    pub fn task(&self) -> Task {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).task.clone()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.send(Command::Quit);
        // It goes first: the publisher, which the solver waits for, lives as long as somebody can say something through it.
        self.measurer = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the solver thread itself was already printed.
            let _ = thread.join();
        }
    }
}
