//! What a window knows of the machine that its session is on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::messages::{Order, ToServer};
use super::studies::{Settings, StudyHead};
use crate::plan::{Device, Forecast, Job, StudyFiles};
use crate::session::{Kept, RunId};
use crate::task::Task;

/// Images of the past that are held here after they were asked for.
const MAX_FETCHED: usize = 4;

/// How often a wait looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How it is with the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineState {
    /// It is being begun.
    Connecting,
    /// It holds.
    Connected,
    /// It has broken, and is begun again by itself.
    Lost {
        /// Why, as a sentence.
        reason: String,
    },
    /// It has broken, and is begun again when the user wants it.
    GivenUp {
        /// Why, as a sentence.
        reason: String,
    },
    /// The session is gone.
    Over {
        /// Why, as a sentence.
        reason: String,
    },
}

/// A session elsewhere; clones share it.
#[derive(Clone)]
pub struct Remote {
    shared: Arc<Shared>,
    asks: Sender<RemoteAsk>,
}

/// What is asked of the thread that holds the line.
pub(super) enum RemoteAsk {
    /// To be said, with the number of the order where it is one.
    Order(Order),
    /// To be said while the line holds.
    Say(ToServer),
    /// Begin the line again.
    TryAgain,
}

/// What that thread tells.
pub(super) struct Shared {
    state: Mutex<State>,
    pub opened: Sender<Result<Box<StudyHead>, String>>,
    heads: Receiver<Result<Box<StudyHead>, String>>,
}

/// The same, as it changes.
pub(super) struct State {
    pub host: String,
    pub line: LineState,
    pub latency: Option<Duration>,
    pub devices: Option<Vec<Device>>,
    pub past: BTreeMap<RunId, Vec<[usize; 2]>>,
    /// Images of the past that were asked for.
    pub fetched: VecDeque<Kept>,
    fetching: Option<(RunId, usize)>,
    /// The number of the last question about what a run would need, and its answer.
    foreseen: (u64, Option<Result<Forecast, String>>),
    look_at: [usize; 3],
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// An image that was asked for has come.
    pub fn fetched(&mut self, kept: Kept) {
        if self.fetching == Some((kept.run, kept.subiteration)) {
            self.fetching = None;
        }
        self.fetched.push_back(kept);
        if self.fetched.len() > MAX_FETCHED {
            self.fetched.pop_front();
        }
    }

    /// It was told what a run would need.
    pub fn foreseen(&mut self, number: u64, forecast: Result<Forecast, String>) {
        if number == self.foreseen.0 {
            self.foreseen.1 = Some(forecast);
        }
    }

    /// Another line: what was asked for may not have been heard.
    pub fn begin_line(&mut self) {
        self.fetching = None;
    }
}

impl Remote {
    /// A session on a machine of this name, and what the thread that holds the line gets.
    pub(super) fn new(host: String) -> (Self, Arc<Shared>, Receiver<RemoteAsk>) {
        let (asks, inbox) = unbounded();
        let (opened, heads) = unbounded();
        let state = State {
            host,
            line: LineState::Connecting,
            latency: None,
            devices: None,
            past: BTreeMap::new(),
            fetched: VecDeque::new(),
            fetching: None,
            foreseen: (0, None),
            look_at: [0; 3],
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), opened, heads });
        (Self { shared: Arc::clone(&shared), asks }, shared, inbox)
    }

    /// The machine's name, as it was asked for; once it has answered its own.
    pub fn host(&self) -> String {
        self.shared.lock().host.clone()
    }

    /// How it is with the line.
    pub fn line(&self) -> LineState {
        self.shared.lock().line.clone()
    }

    /// The time that a message and its answer took last.
    pub fn latency(&self) -> Option<Duration> {
        self.shared.lock().latency
    }

    /// Opens the study of files that are there, and waits until it is open.
    ///
    /// # Errors
    /// It cannot be opened, there is no line, or `task` was stopped, as a sentence.
    pub fn open(&self, files: &StudyFiles, task: &Task) -> Result<StudyHead, String> {
        self.shared.heads.try_iter().for_each(drop);
        self.order(Order::Open(files.clone()));
        loop {
            match self.shared.heads.recv_timeout(LOOK_EVERY) {
                Ok(head) => return head.map(|head| *head),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("the connection is over".into()),
            }
            if let LineState::Over { reason } | LineState::GivenUp { reason } = self.line() {
                return Err(reason);
            }
            task.check().map_err(|stopped| stopped.to_string())?;
        }
    }

    /// What can compute there; `None` while that is not known.
    pub fn devices(&self) -> Option<Vec<Device>> {
        self.shared.lock().devices.clone()
    }

    /// What a run would need there, and waits until that is told.
    ///
    /// # Errors
    /// Why it would be refused, or that there is no line, as a sentence.
    pub fn forecast(&self, job: &Job) -> Result<Forecast, String> {
        let (_, settings) =
            Settings::of(job).map_err(|reason| format!("this run cannot be done on {}: {reason}", self.host()))?;
        let number = {
            let mut state = self.shared.lock();
            state.foreseen = (state.foreseen.0 + 1, None);
            state.foreseen.0
        };
        let _ = self.asks.send(RemoteAsk::Say(ToServer::Foresee(number, settings)));
        loop {
            std::thread::sleep(LOOK_EVERY);
            let mut state = self.shared.lock();
            if state.line != LineState::Connected || state.foreseen.0 != number {
                return Err(format!("what it needs is not known: there is no connection to {}", state.host));
            }
            if let Some(forecast) = state.foreseen.1.take() {
                return forecast;
            }
        }
    }

    /// Tells which slices are on the screen: their voxel along x, y and z.
    pub fn look_at(&self, at: [usize; 3]) {
        let mut state = self.shared.lock();
        if state.look_at != at {
            state.look_at = at;
            let _ = self.asks.send(RemoteAsk::Say(ToServer::LookAt(at)));
        }
    }

    /// Begins the line again after it has broken.
    pub fn try_again(&self) {
        let _ = self.asks.send(RemoteAsk::TryAgain);
    }

    /// The images of a run's past that are kept there: full iterations and steps done of each.
    pub(in crate::session) fn past(&self, run: RunId) -> Vec<[usize; 2]> {
        self.shared.lock().past.get(&run).cloned().unwrap_or_default()
    }

    /// An image of the past, if it has come since it was asked for; else it is asked for.
    pub(in crate::session) fn fetch(&self, run: RunId, subiteration: usize) -> Option<Kept> {
        let mut state = self.shared.lock();
        let found = state.fetched.iter().find(|kept| (kept.run, kept.subiteration) == (run, subiteration)).cloned();
        if found.is_none() && state.fetching != Some((run, subiteration)) {
            state.fetching = Some((run, subiteration));
            let _ = self.asks.send(RemoteAsk::Say(ToServer::Fetch(run, subiteration)));
        }
        found
    }

    /// Has an order obeyed there.
    pub(in crate::session) fn order(&self, order: Order) {
        // Where the thread has ended the line is over, which was told.
        let _ = self.asks.send(RemoteAsk::Order(order));
    }
}
