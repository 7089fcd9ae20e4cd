//! What a window knows of the machine that its session is on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};

use super::WireError;
use super::messages::{Order, StudyId, ToServer};
use super::studies::{StudyHead, remote_settings};
use crate::plan::{Device, Forecast, Job, StudyFiles};
use crate::session::{RunId, StoredIterate};
use crate::task::Task;

/// Images of the past that are held here after they were asked for.
const MAX_FETCHED: usize = 4;

/// How often a wait looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

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
    Failed {
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
pub(super) struct Shared(Mutex<State>);

/// A study that was opened, or why not.
type Opened = Result<Box<StudyHead>, String>;

/// Memory forecast of a run, or why it would be refused; `None` where neither is known.
pub type MaybeForecast = Option<Result<Forecast, String>>;

/// Questions by their numbers, each with whoever waits for its answer.
struct Questions<T> {
    last: u64,
    waiting: BTreeMap<u64, Sender<T>>,
}

impl<T> Default for Questions<T> {
    fn default() -> Self {
        Self { last: 0, waiting: BTreeMap::new() }
    }
}

impl<T> Questions<T> {
    /// Number of a new question, and where its answer comes.
    fn ask(&mut self) -> (u64, Receiver<T>) {
        let (sender, answer) = bounded(1);
        self.last += 1;
        self.waiting.insert(self.last, sender);
        (self.last, answer)
    }

    /// Passes the answer to whoever still waits for it.
    ///
    /// # Errors
    /// There was no such question.
    fn answer(&mut self, number: u64, answer: T) -> Result<(), WireError> {
        if !(1..=self.last).contains(&number) {
            return Err(WireError::cannot_be(format!("the answer to question {number} of {}", self.last)));
        }
        if let Some(sender) = self.waiting.remove(&number) {
            let _ = sender.send(answer);
        }
        Ok(())
    }
}

/// The same, as it changes.
pub(super) struct State {
    pub host: String,
    pub line: LineState,
    pub latency: Option<Duration>,
    pub devices: Option<Vec<Device>>,
    pub past: BTreeMap<RunId, Vec<[usize; 2]>>,
    /// Images of the past that were asked for.
    pub fetched: VecDeque<StoredIterate>,
    fetching: Option<(RunId, usize)>,
    /// Studies that are being opened.
    opening: Questions<Opened>,
    forecasts: Questions<MaybeForecast>,
    look_at: [usize; 3],
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// An image that was asked for has come.
    pub fn fetched(&mut self, kept: StoredIterate) {
        if self.fetching == Some((kept.id.run, kept.id.subiteration)) {
            self.fetching = None;
        }
        self.fetched.push_back(kept);
        if self.fetched.len() > MAX_FETCHED {
            self.fetched.pop_front();
        }
    }

    /// The study of this number was opened, or not.
    ///
    /// # Errors
    /// Nobody asked for it.
    pub fn opened(&mut self, study: StudyId, outcome: Opened) -> Result<(), WireError> {
        self.opening.answer(study, outcome)
    }

    /// Answers all who wait for studies.
    pub fn give_up_opening(&mut self, reason: &str) {
        std::mem::take(&mut self.opening.waiting).into_values().for_each(|sender| _ = sender.send(Err(reason.to_owned())));
    }

    /// The answer to a question about what a run would need.
    ///
    /// # Errors
    /// There was no such question.
    pub fn foreseen(&mut self, number: u64, forecast: MaybeForecast) -> Result<(), WireError> {
        self.forecasts.answer(number, forecast)
    }

    /// The line has broken: what was asked for may not have been heard.
    pub fn end_line(&mut self) {
        self.fetching = None;
        self.forecasts.waiting.clear();
    }
}

impl Remote {
    /// A session on a machine of this name, and what the thread that holds the line gets.
    pub(super) fn new(host: String) -> (Self, Arc<Shared>, Receiver<RemoteAsk>) {
        let (asks, inbox) = unbounded();
        let state = State {
            host,
            line: LineState::Connecting,
            latency: None,
            devices: None,
            past: BTreeMap::new(),
            fetched: VecDeque::new(),
            fetching: None,
            opening: Questions::default(),
            forecasts: Questions::default(),
            look_at: [0; 3],
        };
        let shared = Arc::new(Shared(Mutex::new(state)));
        (Self { shared: Arc::clone(&shared), asks }, shared, inbox)
    }

    /// As if a study and a forecast had been asked for.
    #[cfg(test)]
    pub(super) fn ask_for_tests(&self) {
        let mut state = self.shared.lock();
        drop((state.opening.ask(), state.forecasts.ask()));
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
        let (study, answer) = {
            let mut state = self.shared.lock();
            let (study, answer) = state.opening.ask();
            // Within the lock: numbers are sent in their order.
            self.order(Order::Open(study, files.clone()));
            (study, answer)
        };
        let outcome = self.wait_for(&answer, task).map(|head| head.with_id(study));
        if outcome.is_err() {
            self.close(study);
        }
        outcome
    }

    fn wait_for(&self, answer: &Receiver<Opened>, task: &Task) -> Result<StudyHead, String> {
        loop {
            match answer.recv_timeout(POLL_INTERVAL) {
                // One that is not wanted any more is closed.
                Ok(head) => return task.check().map_err(|stopped| stopped.to_string()).and(head.map(|head| *head)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("the connection is over".into()),
            }
            if let LineState::Over { reason } | LineState::Failed { reason } = self.line() {
                return Err(reason);
            }
            task.check().map_err(|stopped| stopped.to_string())?;
        }
    }

    /// Closes a study there, or stops opening it: nothing will be asked of it any more.
    pub fn close(&self, study: StudyId) {
        self.shared.lock().opening.waiting.remove(&study);
        self.order(Order::Close(study));
    }

    /// What can compute there; `None` while that is not known.
    pub fn devices(&self) -> Option<Vec<Device>> {
        self.shared.lock().devices.clone()
    }

    /// Asks what a run would need there or why it would be refused, and waits for the answer, at most so long. `None` where the server
    /// is busy, the answer takes longer, or there is no connection.
    pub fn forecast(&self, job: &Job, patience: Duration) -> MaybeForecast {
        let (study, settings) = match remote_settings(job) {
            Ok(asked) => asked,
            Err(reason) => return Some(Err(format!("this run on {} failed: {reason}", self.host()))),
        };
        let (number, answer) = self.shared.lock().forecasts.ask();
        let _ = self.asks.send(RemoteAsk::Say(ToServer::Foresee { number, study, settings }));
        let begun = Instant::now();
        let answer = loop {
            match answer.recv_timeout(POLL_INTERVAL.min(patience)) {
                Ok(answer) => break answer,
                Err(RecvTimeoutError::Timeout) if self.line() == LineState::Connected && begun.elapsed() < patience => {}
                Err(_) => break None,
            }
        };
        self.shared.lock().forecasts.waiting.remove(&number);
        answer
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
    pub(in crate::session) fn fetch(&self, run: RunId, subiteration: usize) -> Option<StoredIterate> {
        let mut state = self.shared.lock();
        let found = state.fetched.iter().find(|kept| (kept.id.run, kept.id.subiteration) == (run, subiteration)).cloned();
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
