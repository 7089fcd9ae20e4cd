//! Server of a remote session: a session whose requests come from a window on another host, and whose notifications and images go
//! there.
//!
//! After a lost connection the run continues, and the session can be resumed for some time through another connection.

mod outgoing;
mod requests;
mod studies;
mod study;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use studies::Studies;
use sysinfo::System;

use super::connection::Connection;
use super::connection::rendezvous::{Rendezvous, relay};
use super::connection::threads::{Received, spawn_reader, spawn_writer};
use super::images::outgoing::OutgoingImages;
use super::protocol::error::RemoteError;
use super::protocol::framing::{decode, greet, read_greeting, read_message};
use super::protocol::messages::{Notification, ToClient, ToServer};
use super::protocol::numbered::{Inbox, Outbox, Output, send};
use super::protocol::study::StudyId;
use crate::data::{MaskedRois, Study};
use crate::plan::{Data, Device, Forecast, StartInfo, StudyFiles, available_devices};
use crate::session::{RunId, Session};
use crate::task::Task;

/// Interval at which the progress of a set-up is checked.
const TICK: Duration = Duration::from_millis(100);

/// Study, with the files that it was read from; or the reason of the failure.
pub type ReadOutcome = Result<(Study<Data>, StudyFiles), String>;

/// Function that reads the study of some files.
pub type Opener = Arc<dyn Fn(&StudyFiles, &Task) -> ReadOutcome + Send + Sync>;

pub struct ServeOptions {
    /// Waiting time without a connection.
    pub linger: Duration,
    /// Returns the channel that ends the server; called after the start.
    pub stop: fn() -> Receiver<()>,
    pub open: Opener,
}

/// Message to the server's loop.
pub(super) enum Input {
    Connection(Hello),
    /// Message through the connection of this number.
    Received(u64, Received<ToServer>),
    Opened(StudyId, Box<ReadOutcome>),
    Forecast(u64, Result<Forecast, String>),
    Devices(Vec<Device>),
    Wake,
}

/// Serves one session to the window at the other end of a connection, until the window ends it or its waiting time ends. The
/// connection of a window that resumes another session is forwarded. `start` makes the session, which calls its argument after
/// each event.
///
/// # Errors
/// The other end is no window of this version, its session is gone, or the system refuses threads.
pub fn serve(
    connection: Connection,
    options: ServeOptions,
    start: impl FnOnce(Box<dyn Fn() + Send>) -> Session,
) -> Result<(), RemoteError> {
    let hello = Hello::receive(connection)?;
    if let Some(name) = &hello.session {
        return relay(name, &hello.bytes, hello.connection.input, hello.connection.output);
    }
    let (sender, inputs) = unbounded();
    let is_pending = Arc::new(AtomicBool::new(false));
    let wake = {
        let (sender, is_pending) = (sender.clone(), Arc::clone(&is_pending));
        move || {
            // One wake-up suffices until it was handled.
            if !is_pending.swap(true, Ordering::AcqRel) {
                let _ = sender.send(Input::Wake);
            }
        }
    };
    let connections = sender.clone();
    let rendezvous = Rendezvous::open(move |name, connection| {
        // The session's name is the right to take it over: until then the previous connection remains.
        let (name, connections) = (name.to_owned(), connections.clone());
        let receive = move || {
            let hello = Hello::receive(connection).ok().filter(|hello| hello.session.as_deref() == Some(&name));
            if let Some(hello) = hello {
                // A session that has ended ignores it.
                let _ = connections.send(Input::Connection(hello));
            }
        };
        // Without a thread the connection is closed.
        drop(Builder::new().name("line".into()).spawn(receive));
    });
    let devices = sender.clone();
    Builder::new().name("devices".into()).spawn(move || _ = devices.send(Input::Devices(available_devices())))?;
    let session = start(Box::new(wake));
    let mut server = ServerSession::new(session, sender, is_pending, rendezvous, options);
    server.begin_connection(hello)?;
    server.run(&inputs)
}

/// Connection to a window of this version, with its first message.
pub(super) struct Hello {
    connection: Connection,
    /// First message.
    bytes: Vec<u8>,
    /// Session to resume, and number of its notifications that have arrived.
    session: Option<String>,
    num_notifications: u64,
}

impl Hello {
    /// Exchanges greetings, and receives the first message.
    fn receive(mut connection: Connection) -> Result<Self, RemoteError> {
        greet(&mut connection.output)?;
        read_greeting(&mut connection.input)?;
        let bytes = read_message(&mut connection.input)?;
        let ToServer::Hello { session, num_notifications } = decode(&bytes)?.0 else {
            return Err(RemoteError::invalid("a request before the greeting"));
        };
        Ok(Self { connection, bytes, session, num_notifications })
    }
}

/// Session on a server, with its connection.
pub(super) struct ServerSession {
    session: Session,
    sender: Sender<Input>,
    /// True if the session has events or images to send.
    is_pending: Arc<AtomicBool>,
    rendezvous: Rendezvous,
    linger: Duration,
    stop: Receiver<()>,
    open: Opener,
    /// Number of the latest connection.
    connection_number: u64,
    /// Channel to the connection's writing thread, while there is a connection.
    output: Option<Output>,
    disconnected_at: Option<Instant>,
    is_over: bool,
    requests: Inbox,
    notifications: Outbox,
    images: OutgoingImages,
    studies: Studies,
    /// Studies of the latest runs.
    runs: BTreeMap<RunId, StudyId>,
    /// Set-up of the latest run, while its memory is in use.
    running: Option<Box<StartInfo>>,
    is_forecasting: bool,
    rois: MaskedRois,
    latest: RunId,
    retained: BTreeSet<RunId>,
    /// Stored iterates of each run that the window has received.
    stored: BTreeMap<RunId, Vec<[usize; 2]>>,
    /// Set-up progress that the window has received.
    progress: (u64, u64),
}

impl ServerSession {
    pub(super) fn new(
        session: Session,
        sender: Sender<Input>,
        is_pending: Arc<AtomicBool>,
        rendezvous: Rendezvous,
        options: ServeOptions,
    ) -> Self {
        Self {
            session,
            sender,
            is_pending,
            rendezvous,
            linger: options.linger,
            stop: (options.stop)(),
            open: options.open,
            connection_number: 0,
            output: None,
            disconnected_at: None,
            is_over: false,
            requests: Inbox::default(),
            notifications: Outbox::default(),
            images: OutgoingImages::default(),
            studies: Studies::default(),
            runs: BTreeMap::new(),
            running: None,
            is_forecasting: false,
            rois: MaskedRois::default(),
            latest: 0,
            retained: BTreeSet::new(),
            stored: BTreeMap::new(),
            progress: (0, 0),
        }
    }

    fn run(&mut self, inputs: &Receiver<Input>) -> Result<(), RemoteError> {
        while !self.is_over {
            match inputs.recv_timeout(TICK) {
                Ok(input) => std::iter::once(input).chain(inputs.try_iter()).for_each(|input| self.handle(input)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.send_news()?;
            let is_expired = self.disconnected_at.is_some_and(|at| at.elapsed() >= self.linger);
            self.is_over |= is_expired || self.stop.try_recv().is_ok();
        }
        self.studies.stop();
        Ok(())
    }

    /// Returns the number of the next request.
    #[cfg(test)]
    pub(super) fn next_request(&self) -> u64 {
        self.requests.0 + 1
    }

    /// Adds a study as if it had been opened.
    #[cfg(test)]
    pub(super) fn open_for_tests(&mut self, number: StudyId, study: Arc<Study<Data>>) {
        self.studies.begin(number).unwrap();
        self.studies.opened(number, study);
    }

    /// Handles an input. An invalid message ends the connection, not the session.
    fn handle(&mut self, input: Input) {
        let outcome = match input {
            Input::Connection(hello) => self.begin_connection(hello),
            Input::Received(number, _) if number != self.connection_number || self.output.is_none() => Ok(()),
            Input::Received(_, Ok((message, _))) => self.handle_message(message),
            Input::Received(_, Err(error)) => Err(error),
            Input::Opened(study, outcome) => self.opened(study, *outcome),
            Input::Forecast(number, forecast) => self.send_forecast(number, forecast),
            Input::Devices(devices) => self.notify(Notification::Devices(devices)),
            Input::Wake => Ok(()),
        };
        if let Err(error) = outcome {
            // The window receives the reason if the connection still exists.
            if !error.is_lost() {
                let _ = self.send(&ToClient::Refused(error.to_string()));
            }
            (self.output, self.disconnected_at) = (None, Some(Instant::now()));
        }
    }

    /// Continues through a new connection.
    fn begin_connection(&mut self, hello: Hello) -> Result<(), RemoteError> {
        self.connection_number += 1;
        let (number, Connection { input, output, .. }) = (self.connection_number, hello.connection);
        let (received, failed) = (self.sender.clone(), self.sender.clone());
        spawn_reader(input, true, move |message| received.send(Input::Received(number, message)).is_ok())?;
        let output = spawn_writer(output, true, move |error| _ = failed.send(Input::Received(number, Err(error))))?;
        (self.output, self.disconnected_at) = (Some(output), None);
        self.welcome(hello.num_notifications)
    }

    /// Sends a message if there is a connection.
    fn send(&self, message: &ToClient) -> Result<(), RemoteError> {
        send(self.output.as_ref(), message)
    }

    /// Sends a notification, now or with the next connection.
    fn notify(&mut self, notification: Notification) -> Result<(), RemoteError> {
        self.notifications.send(self.output.as_ref(), |number| ToClient::Notification(number, notification))
    }

    /// Welcomes a window that has received this number of notifications.
    pub(super) fn welcome(&mut self, num_notifications: u64) -> Result<(), RemoteError> {
        self.notifications.received(num_notifications)?;
        let session = self.rendezvous.name().to_owned();
        let host = System::host_name().unwrap_or_else(|_| "the remote host".into());
        self.send(&ToClient::Welcome { session, host, num_requests: self.requests.0 })?;
        if let Some(output) = &self.output {
            self.notifications.resend(output);
        }
        self.images.begin_connection();
        (self.stored, self.progress) = (BTreeMap::new(), (0, 0));
        Ok(())
    }
}
