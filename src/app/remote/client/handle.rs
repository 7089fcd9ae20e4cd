//! Handle to the server of a session, which the window holds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::plan::{Device, Forecast, Job, StudyFiles};
use crate::remote::connection::threads::Received;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::messages::{Request, ToClient, ToServer};
use crate::remote::protocol::study::{StudyId, StudyMetadata, remote_settings};
use crate::session::{Message, RunId, StoredIterate};
use crate::task::Task;

/// Maximum number of requested iterates that are stored here.
const MAX_FETCHED: usize = 4;

/// Interval at which a wait checks for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConnectionState {
    #[default]
    Connecting,
    Connected,
    /// The connection was lost, and is retried automatically.
    Lost {
        /// Reason, as a sentence.
        reason: String,
    },
    /// The connection was lost, and is retried when the user requests it.
    Failed {
        /// Reason, as a sentence.
        reason: String,
    },
    /// The session is over.
    Closed {
        /// Reason, as a sentence.
        reason: String,
    },
}

/// Handle to the server of a session; clones share it.
#[derive(Clone)]
pub struct Remote {
    shared: Arc<Shared>,
    inputs: Sender<Input>,
}

/// Message to the client's thread.
pub enum Input {
    Message(Message),
    /// Request, which must arrive.
    Request(Request),
    /// Message that is sent only while connected.
    Send(ToServer),
    Reconnect,
    /// Message through the connection of this number.
    Received(u64, Received<ToClient>),
}

/// State that the client's thread shares with the handle.
#[derive(Default)]
pub struct Shared(Mutex<State>);

/// Opened study, or the reason of the failure.
type Opened = Result<Box<StudyMetadata>, String>;

/// Memory forecast of a run, or the reason of its refusal; `None` if neither is known.
pub type MaybeForecast = Option<Result<Forecast, String>>;

/// Numbered questions that await an answer.
pub struct Questions<T> {
    last: u64,
    waiting: BTreeMap<u64, Sender<T>>,
}

impl<T> Default for Questions<T> {
    fn default() -> Self {
        Self { last: 0, waiting: BTreeMap::new() }
    }
}

impl<T> Questions<T> {
    /// Returns the number of a new question, and the channel of its answer.
    pub fn ask(&mut self) -> (u64, Receiver<T>) {
        let (sender, answer) = bounded(1);
        self.last += 1;
        self.waiting.insert(self.last, sender);
        (self.last, answer)
    }

    /// Sends the answer to the waiting thread.
    ///
    /// # Errors
    /// There was no such question.
    pub fn answer(&mut self, number: u64, answer: T) -> Result<(), RemoteError> {
        if !(1..=self.last).contains(&number) {
            return Err(RemoteError::invalid(format!("the answer to question {number} of {}", self.last)));
        }
        if let Some(sender) = self.waiting.remove(&number) {
            let _ = sender.send(answer);
        }
        Ok(())
    }
}

#[derive(Default)]
pub struct State {
    pub host: String,
    pub connection: ConnectionState,
    pub latency: Option<Duration>,
    pub devices: Option<Vec<Device>>,
    /// Iterates that the server stores, of each run.
    pub stored: BTreeMap<RunId, Vec<[usize; 2]>>,
    /// Requested iterates that have arrived.
    fetched: VecDeque<StoredIterate>,
    fetching: Option<(RunId, usize)>,
    /// Studies that are being opened.
    pub studies: Questions<Opened>,
    pub forecasts: Questions<MaybeForecast>,
    slices_at: [usize; 3],
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub fn add_fetched(&mut self, image: StoredIterate) {
        self.fetching.take_if(|fetching| *fetching == (image.id.run, image.id.subiteration));
        self.fetched.push_back(image);
        if self.fetched.len() > MAX_FETCHED {
            self.fetched.pop_front();
        }
    }

    /// Sends the failure to all threads that wait for studies.
    pub fn fail_opening(&mut self, reason: &str) {
        std::mem::take(&mut self.studies.waiting).into_values().for_each(|sender| _ = sender.send(Err(reason.to_owned())));
    }

    /// Forgets questions that may not have arrived through a lost connection.
    pub fn end_connection(&mut self) {
        (self.latency, self.fetching) = (None, None);
        self.forecasts.waiting.clear();
    }
}

impl Remote {
    /// Returns a handle to a host of this name, whose client receives `inputs`.
    pub(in crate::remote) fn new(host: String, inputs: Sender<Input>) -> (Self, Arc<Shared>) {
        let shared = Arc::new(Shared(Mutex::new(State { host, ..State::default() })));
        (Self { shared: Arc::clone(&shared), inputs }, shared)
    }

    /// Asks for a study and a forecast without a thread that waits.
    #[cfg(test)]
    pub(in crate::remote) fn ask_for_tests(&self) {
        let mut state = self.shared.lock();
        drop((state.studies.ask(), state.forecasts.ask()));
    }

    /// Sends an input to the client. After the client's end the connection is over, which was reported.
    pub(super) fn send(&self, input: Input) {
        let _ = self.inputs.send(input);
    }

    /// Returns the host's name: as given by the user until the host has sent its own.
    pub fn host(&self) -> String {
        self.shared.lock().host.clone()
    }

    pub fn connection(&self) -> ConnectionState {
        self.shared.lock().connection.clone()
    }

    /// Returns the last time between a message and its answer.
    pub fn latency(&self) -> Option<Duration> {
        self.shared.lock().latency
    }

    /// Opens the study of files on the server, and waits until it is open.
    ///
    /// # Errors
    /// Opening failed, there is no connection, or `task` was stopped, as a sentence.
    pub fn open(&self, files: &StudyFiles, task: &Task) -> Result<StudyMetadata, String> {
        let (study, answer) = {
            let mut state = self.shared.lock();
            let (study, answer) = state.studies.ask();
            // Within the lock: numbers are sent in order.
            self.send(Input::Request(Request::Open(study, Box::new(files.clone()))));
            (study, answer)
        };
        let outcome = self.wait_for(&answer, task).map(|metadata| metadata.with_id(study));
        if outcome.is_err() {
            self.close(study);
        }
        outcome
    }

    fn wait_for(&self, answer: &Receiver<Opened>, task: &Task) -> Result<StudyMetadata, String> {
        loop {
            match answer.recv_timeout(POLL_INTERVAL) {
                // A study that is not wanted any more is closed.
                Ok(opened) => return task.check().map_err(|stopped| stopped.to_string()).and(opened.map(|opened| *opened)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("the connection is over".into()),
            }
            if let ConnectionState::Closed { reason } | ConnectionState::Failed { reason } = self.connection() {
                return Err(reason);
            }
            task.check().map_err(|stopped| stopped.to_string())?;
        }
    }

    /// Closes a study on the server, or stops opening it: nothing uses it any more.
    pub fn close(&self, study: StudyId) {
        self.shared.lock().studies.waiting.remove(&study);
        self.send(Input::Request(Request::Close(study)));
    }

    /// Returns the devices of the server; `None` if unknown.
    pub fn devices(&self) -> Option<Vec<Device>> {
        self.shared.lock().devices.clone()
    }

    /// Requests a memory forecast or the reason of a refusal, and waits for it at most `patience`. `None` if the server is busy,
    /// the answer takes longer, or there is no connection.
    pub fn forecast(&self, job: &Job, patience: Duration) -> MaybeForecast {
        let (study, settings) = match remote_settings(job) {
            Ok(settings) => settings,
            Err(reason) => return Some(Err(format!("this run on {} failed: {reason}", self.host()))),
        };
        let (number, answer) = self.shared.lock().forecasts.ask();
        self.send(Input::Send(ToServer::Forecast { number, study, settings }));
        let start = Instant::now();
        let answer = loop {
            match answer.recv_timeout(POLL_INTERVAL.min(patience)) {
                Ok(answer) => break answer,
                Err(RecvTimeoutError::Timeout)
                    if self.connection() == ConnectionState::Connected && start.elapsed() < patience => {}
                Err(_) => break None,
            }
        };
        self.shared.lock().forecasts.waiting.remove(&number);
        answer
    }

    /// Reports the voxel (x, y, z) whose slices are displayed.
    pub fn show_slices(&self, at: [usize; 3]) {
        if std::mem::replace(&mut self.shared.lock().slices_at, at) != at {
            self.send(Input::Send(ToServer::ShowSlices(at)));
        }
    }

    pub fn reconnect(&self) {
        self.send(Input::Reconnect);
    }

    /// Returns full iterations and steps of each iterate that the server stores of a run.
    pub(super) fn stored(&self, run: RunId) -> Vec<[usize; 2]> {
        self.shared.lock().stored.get(&run).cloned().unwrap_or_default()
    }

    /// Returns a stored iterate of the server if it has arrived, else requests it.
    pub(super) fn fetch(&self, run: RunId, subiteration: usize) -> Option<StoredIterate> {
        let mut state = self.shared.lock();
        let found = state.fetched.iter().find(|image| (image.id.run, image.id.subiteration) == (run, subiteration)).cloned();
        if found.is_none() && state.fetching.replace((run, subiteration)) != Some((run, subiteration)) {
            self.send(Input::Send(ToServer::FetchImage(run, subiteration)));
        }
        found
    }
}
