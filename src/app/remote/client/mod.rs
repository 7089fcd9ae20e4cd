//! Client of a remote session: a thread that forwards the requests of the session's handle, and passes events and images from the
//! server to the handle's channels. The handle's owner need not distinguish it from a local solver.
//!
//! After a lost connection the client connects again, and both ends resend requests and notifications.

pub mod handle;
mod notifications;
mod requests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use self::handle::{ConnectionState, Input, Remote, Shared};
use super::connection::threads::{spawn_reader, spawn_writer};
use super::connection::{Connection, Dialer, Program};
use super::images::incoming::IncomingImages;
use super::protocol::error::RemoteError;
use super::protocol::messages::{Request, ToServer};
use super::protocol::numbered::{Inbox, Outbox, Output, send};
use crate::coded::Problem;
use crate::plan::Job;
use crate::session::{
    Event, EventKind, Message, RunId, Session, SessionOptions, SolverChannels, StoredIterate, Transport, report_refused,
};
use crate::task::Task;

/// Time by which the data of an image may delay the wake-up of the window, so that one displayed frame shows them together.
const TOGETHER: Duration = Duration::from_millis(250);

const PING_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time without a message from the server.
const MAX_SILENCE: Duration = Duration::from_secs(20);

/// Waiting times before each attempt to connect again.
const RETRY_DELAYS: [Duration; 5] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8), Duration::from_secs(15)];

/// Duration of a connection after which attempts are counted anew.
const STABLE_TIME: Duration = Duration::from_secs(30);

/// Starts a session on a remote host. `dialer` begins a connection whenever there is none; `host` is the host's name until it has
/// sent its own. Events of the solver arrive completely, images as fast as the connection allows. `wake` is called after each.
///
/// A study is opened with [`Remote::open`]; runs of other studies are refused.
pub fn connect(host: &str, dialer: Dialer, options: &SessionOptions, wake: impl Fn() + Send + 'static) -> (Session, Remote) {
    let (sender, inbox) = unbounded();
    let (remote, shared) = Remote::new(host.to_owned(), sender.clone());
    let solver = remote.clone();
    let session = Session::connect(options, |channels| {
        let events = channels.events.clone();
        let client = Client::new(dialer, channels, Arc::clone(&shared), sender, Box::new(wake));
        let thread = Builder::new().name("line".into()).spawn(move || client.run(&inbox)).inspect_err(|error| {
            report_refused("the thread of the connection", error, &events);
            shared.lock().connection = ConnectionState::Closed { reason: error.to_string() };
        });
        RemoteSolver { remote: solver, thread: thread.ok() }
    });
    (session, remote)
}

/// Client as the solver of a session.
struct RemoteSolver {
    remote: Remote,
    thread: Option<JoinHandle<()>>,
}

impl Transport for RemoteSolver {
    fn send(&self, message: Message) {
        self.remote.send(Input::Message(message));
    }

    fn stored(&self, run: RunId) -> Vec<[usize; 2]> {
        self.remote.stored(run)
    }

    fn fetch(&self, run: RunId, subiteration: usize) -> Option<StoredIterate> {
        self.remote.fetch(run, subiteration)
    }
}

impl Drop for RemoteSolver {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // The panic of a thread was already printed.
            let _ = thread.join();
        }
    }
}

/// Current connection.
struct Open {
    output: Output,
    /// Time at which the server sent its first message.
    greeted_at: Option<Instant>,
    program: Option<Program>,
}

/// State of the thread.
pub(super) struct Client {
    dialer: Dialer,
    channels: SolverChannels,
    shared: Arc<Shared>,
    inputs: Sender<Input>,
    wake: Box<dyn Fn() + Send>,
    connection: Option<Open>,
    connection_number: u64,
    /// Programs of lost connections, perhaps the server itself, which can be resumed.
    programs: Vec<Program>,
    /// Number of consecutive failed attempts to connect.
    num_attempts: usize,
    retry_at: Option<Instant>,
    /// Name of the session on the server, after its first message.
    session: Option<String>,
    requests: Outbox,
    notifications: Inbox,
    images: IncomingImages,
    /// Jobs of the latest runs, with their stop flags and progress.
    jobs: BTreeMap<RunId, (Job, Task)>,
    slices_at: [usize; 3],
    /// Number and time of the last ping.
    ping: (u64, Instant),
    received_at: Instant,
    wake_at: Option<Instant>,
    /// True after the end of the session on the server.
    is_over: bool,
    /// True after the end of the session here.
    has_quit: bool,
}

impl Client {
    pub(super) fn new(
        dialer: Dialer,
        channels: SolverChannels,
        shared: Arc<Shared>,
        inputs: Sender<Input>,
        wake: Box<dyn Fn() + Send>,
    ) -> Self {
        let now = Instant::now();
        Self {
            dialer,
            channels,
            shared,
            inputs,
            wake,
            connection: None,
            connection_number: 0,
            programs: Vec::new(),
            num_attempts: 0,
            retry_at: Some(now),
            session: None,
            requests: Outbox::default(),
            notifications: Inbox::default(),
            images: IncomingImages::default(),
            jobs: BTreeMap::new(),
            slices_at: [0; 3],
            ping: (0, now),
            received_at: now,
            wake_at: None,
            is_over: false,
            has_quit: false,
        }
    }

    fn run(mut self, inbox: &Receiver<Input>) {
        while !self.has_quit {
            if self.retry_at.is_some_and(|at| at <= Instant::now()) {
                self.begin_connection();
            }
            let next = [self.retry_at, self.wake_at].into_iter().flatten().min();
            let wait = next.map_or(PING_INTERVAL, |at| at.saturating_duration_since(Instant::now()).min(PING_INTERVAL));
            let first = match inbox.recv_timeout(wait) {
                Err(RecvTimeoutError::Disconnected) => break,
                first => first.ok(),
            };
            let received = self.notifications.0;
            for input in first.into_iter().chain(inbox.try_iter()) {
                let outcome = self.handle(input);
                self.end_failed(outcome);
            }
            if self.wake_at.take_if(|at| *at <= Instant::now()).is_some() {
                (self.wake)();
            }
            let outcome = self.acknowledge(received).and_then(|()| self.check_connection());
            self.end_failed(outcome);
        }
        self.quit();
    }

    fn handle(&mut self, input: Input) -> Result<(), RemoteError> {
        match input {
            Input::Message(message) => self.forward(message),
            Input::Request(request) => self.request(request),
            Input::Send(message) => {
                if let ToServer::ShowSlices(at) = message {
                    self.slices_at = at;
                }
                send(self.greeted(), &message)
            }
            Input::Reconnect => {
                if self.connection.is_none() && !self.is_over {
                    (self.num_attempts, self.retry_at) = (1, Some(Instant::now()));
                }
                Ok(())
            }
            Input::Received(number, _) if number != self.connection_number || self.connection.is_none() => Ok(()),
            Input::Received(_, received) => {
                self.received_at = Instant::now();
                let (message, payload) = received?;
                self.handle_message(message, &payload)
            }
        }
    }

    /// Wakes the window after this time, together with what arrives meanwhile.
    fn wake_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.wake_at = Some(self.wake_at.map_or(at, |before| before.min(at)));
    }

    /// Reports notifications that have arrived since the one of this number.
    fn acknowledge(&self, before: u64) -> Result<(), RemoteError> {
        if self.notifications.0 == before {
            return Ok(());
        }
        send(self.output(), &ToServer::ReceivedNotifications(self.notifications.0))
    }

    /// Sends a ping regularly.
    fn check_connection(&mut self) -> Result<(), RemoteError> {
        if self.greeted().is_none() || self.ping.1.elapsed() < PING_INTERVAL {
            return Ok(());
        }
        if self.received_at.elapsed() > MAX_SILENCE {
            let secs = MAX_SILENCE.as_secs();
            return Err(RemoteError::Refused(format!("no data from the remote program for {secs} s")));
        }
        self.send_ping()
    }

    fn send_ping(&mut self) -> Result<(), RemoteError> {
        self.ping = (self.ping.0 + 1, Instant::now());
        send(self.output(), &ToServer::Ping(self.ping.0))
    }

    fn begin_connection(&mut self) {
        (self.retry_at, self.connection_number) = (None, self.connection_number + 1);
        let number = self.connection_number;
        let outcome = (self.dialer)().and_then(|Connection { input, output, program }| {
            let (received, failed) = (self.inputs.clone(), self.inputs.clone());
            spawn_reader(input, false, move |message| received.send(Input::Received(number, message)).is_ok())?;
            let output = spawn_writer(output, false, move |error| _ = failed.send(Input::Received(number, Err(error))))?;
            self.connection = Some(Open { output, greeted_at: None, program });
            self.images.begin_connection();
            send(self.output(), &ToServer::Hello { session: self.session.clone(), num_notifications: self.notifications.0 })
        });
        self.end_failed(outcome);
    }

    /// Ends the connection after an error, and decides whether to connect again.
    fn end_failed(&mut self, outcome: Result<(), RemoteError>) {
        let Err(error) = outcome else { return };
        let connection = self.connection.take();
        if connection.as_ref().and_then(|open| open.greeted_at).is_some_and(|at| at.elapsed() > STABLE_TIME) {
            self.num_attempts = 0;
        }
        let mut reason = error.to_string();
        if let Some(mut program) = connection.and_then(|open| open.program) {
            if error.is_lost() {
                reason = format!("{reason}; {}", program.text());
            }
            self.programs.push(program);
        }
        self.set_ended(&error, reason);
        // The window may ask for the state at once.
        (self.wake)();
    }

    /// Records the end of the connection and the time of the next attempt.
    fn set_ended(&mut self, error: &RemoteError, reason: String) {
        let mut state = self.shared.lock();
        state.end_connection();
        // A connection that was refused or never established is not retried automatically.
        let is_refused = matches!(error, RemoteError::Refused(_) | RemoteError::Version { .. }) && self.num_attempts > 0;
        if self.session.is_none() || is_refused {
            let reason = format!("the connection to {} is over: {reason}", state.host);
            state.connection = ConnectionState::Closed { reason: reason.clone() };
            state.fail_opening(&reason);
            self.is_over = true;
            // Nothing of a run on the server arrives any more.
            if let Some(run) = self.jobs.keys().next_back() {
                let kind = EventKind::Failed(Problem::new("remote", reason));
                let _ = self.channels.events.send(Event { run: *run, kind });
            }
        } else if let Some(delay) = RETRY_DELAYS.get(self.num_attempts) {
            state.connection = ConnectionState::Lost { reason };
            self.num_attempts += 1;
            self.retry_at = Some(Instant::now() + *delay);
        } else {
            state.connection = ConnectionState::Failed { reason };
        }
    }

    /// Ends the session on the server, and the connection.
    fn quit(mut self) {
        // A server without a connection ends after its waiting time.
        let output = self.output().cloned();
        let _ = self.requests.send(output.as_ref(), |number| ToServer::Request(number, Request::Quit));
        drop(output);
        // Without senders the writing thread ends after the last message.
        self.programs.extend(self.connection.take().and_then(|open| open.program));
        Program::end_all(self.programs);
    }

    /// Returns the output, if there is a connection.
    fn output(&self) -> Option<&Output> {
        self.connection.as_ref().map(|open| &open.output)
    }

    /// Returns the output after the server's first message.
    fn greeted(&self) -> Option<&Output> {
        self.connection.as_ref().filter(|open| open.greeted_at.is_some()).map(|open| &open.output)
    }

    /// Behaves as after the server's first message.
    #[cfg(test)]
    pub(super) fn greet_for_tests(&mut self) {
        self.connection = Some(Open { output: unbounded().0, greeted_at: Some(Instant::now()), program: None });
    }

    /// Returns the number of the next notification.
    #[cfg(test)]
    pub(super) fn next_notification(&self) -> u64 {
        self.notifications.0 + 1
    }
}
