//! The window's end of a line: a thread that says there what the handle of a session is asked here, and feeds the handle's channels
//! with what comes back, so that whoever holds it need not know where the solver is.
//!
//! Where the line breaks it is begun again, after a while; orders and news go on where they stopped.

mod news;
mod orders;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, select, unbounded};

use super::framing::encode;
use super::images_in::ImagesIn;
use super::line::{Program, read_on_a_thread, write_on_a_thread};
use super::messages::{Order, ToServer, ToWindow};
use super::outbox::{Inbox, Outbox};
use super::remote::{RemoteAsk, Shared};
use super::{Dial, Line, LineState, Remote, WireError};
use crate::coded::Problem;
use crate::plan::Job;
use crate::session::frames::FrameSender;
use crate::session::history::History;
use crate::session::measurer::Query;
use crate::session::solver::Message;
use crate::session::{Command, Event, EventKind, RunId, Trace};
use crate::task::Task;

/// How long what belongs to an image waits for it to wake the window together: a frame drawn costs more than either.
const TOGETHER: Duration = Duration::from_millis(250);

/// How often the other end is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(1);

/// How long it may be silent.
const SILENCE: Duration = Duration::from_secs(20);

/// After how long a line that has broken is begun again, the first time and each after it.
const TRY_AGAIN_AFTER: [Duration; 5] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8), Duration::from_secs(15)];

/// How long a line must have held for the tries to be counted anew.
const HELD: Duration = Duration::from_secs(30);

/// What a session's handle gives the thread.
pub struct Ends {
    pub messages: Receiver<Message>,
    pub asks: Receiver<Query>,
    pub events: Sender<Event>,
    /// Whole images, and those of which slices have come.
    pub wholes: FrameSender,
    pub slices: FrameSender,
    pub history: History,
    pub trace: Trace,
}

/// Starts the thread, which calls `wake` after everything that comes; `host` is what the other machine is called until it has said its
/// name.
///
/// # Errors
/// The system refuses the thread.
pub fn start(
    host: String,
    dial: Dial,
    ends: Ends,
    wake: impl Fn() + Send + 'static,
) -> std::io::Result<(Remote, JoinHandle<()>)> {
    let (remote, client, inbox) = client(host, dial, ends, wake);
    let thread = Builder::new().name("line".into()).spawn(move || client.run(&inbox))?;
    Ok((remote, thread))
}

/// What the thread owns, and what it hears of whoever asks something of the machine.
pub(super) fn client(
    host: String,
    dial: Dial,
    ends: Ends,
    wake: impl Fn() + Send + 'static,
) -> (Remote, Client, Receiver<RemoteAsk>) {
    let (remote, shared, inbox) = Remote::new(host);
    let client = Client {
        dial,
        ends,
        shared,
        wake: Box::new(wake),
        heard: unbounded(),
        line: None,
        line_number: 0,
        left: Vec::new(),
        num_tries: 0,
        try_at: Some(Instant::now()),
        session: None,
        orders: Outbox::default(),
        news: Inbox::default(),
        images: ImagesIn::default(),
        jobs: BTreeMap::new(),
        look_at: [0; 3],
        ping: (0, Instant::now()),
        heard_at: Instant::now(),
        is_to_wake: false,
        wake_at: None,
        is_over: false,
    };
    (remote, client, inbox)
}

/// A line that was begun.
struct Open {
    output: Sender<Vec<u8>>,
    /// Since when the other end has said what it is.
    greeted_at: Option<Instant>,
    program: Option<Program>,
}

type Heard = (u64, Result<(ToWindow, Vec<u8>), WireError>);

pub(super) struct Client {
    dial: Dial,
    ends: Ends,
    shared: Arc<Shared>,
    wake: Box<dyn Fn() + Send>,
    heard: (Sender<Heard>, Receiver<Heard>),
    line: Option<Open>,
    line_number: u64,
    /// Programs whose lines have broken: one may be the solver's end itself, which can be taken up again.
    left: Vec<Program>,
    /// How often in a row the line could not be begun again, and when that is tried next.
    num_tries: usize,
    try_at: Option<Instant>,
    /// The session's name there, once the line has held.
    session: Option<String>,
    orders: Outbox,
    news: Inbox,
    images: ImagesIn,
    /// The jobs that were asked for, with their stop flags and progress.
    jobs: BTreeMap<RunId, (Job, Task)>,
    look_at: [usize; 3],
    /// The last ping, and when it was said.
    ping: (u64, Instant),
    heard_at: Instant,
    /// Whether something has come that is to be seen.
    is_to_wake: bool,
    /// When the window is woken for what need not be seen at once.
    wake_at: Option<Instant>,
    is_over: bool,
}

impl Client {
    fn run(mut self, inbox: &Receiver<RemoteAsk>) {
        loop {
            if self.try_at.is_some_and(|at| at <= Instant::now()) {
                self.begin_line();
            }
            let next = [self.try_at, self.wake_at].into_iter().flatten().min();
            let wait = next.map_or(PING_EVERY, |at| at.saturating_duration_since(Instant::now()).min(PING_EVERY));
            let (messages, asks, heard) = (self.ends.messages.clone(), self.ends.asks.clone(), self.heard.1.clone());
            let outcome = select! {
                recv(messages) -> message => match message {
                    Ok(message) if !matches!(message.command, Command::Quit) => self.pass_on(message),
                    _ => break,
                },
                recv(asks) -> ask => ask.map_or(Ok(()), |ask| self.pass_ask_on(ask)),
                recv(inbox) -> ask => ask.map_or(Ok(()), |ask| self.obey(ask)),
                recv(heard) -> heard => heard.map_or(Ok(()), |heard| self.hear_all(heard)),
                default(wait) => Ok(()),
            };
            if self.is_to_wake || self.wake_at.is_some_and(|at| at <= Instant::now()) {
                (self.is_to_wake, self.wake_at) = (false, None);
                (self.wake)();
            }
            if let Err(error) = outcome.and_then(|()| self.look_after_line()) {
                self.end_line(&error);
            }
        }
        self.say_goodbye();
    }

    /// Asks whether the other end is there, now and then.
    fn look_after_line(&mut self) -> Result<(), WireError> {
        if self.line.as_ref().is_none_or(|line| line.greeted_at.is_none()) || self.ping.1.elapsed() < PING_EVERY {
            return Ok(());
        }
        if self.heard_at.elapsed() > SILENCE {
            let secs = SILENCE.as_secs();
            return Err(WireError::Refused(format!("no data from the remote program for {secs} s")));
        }
        self.ping = (self.ping.0 + 1, Instant::now());
        self.say(&ToServer::Ping(self.ping.0))
    }

    /// Begins a line.
    fn begin_line(&mut self) {
        (self.try_at, self.line_number) = (None, self.line_number + 1);
        let number = self.line_number;
        let outcome = (self.dial)().and_then(|Line { input, output, program }| {
            let (heard, broken) = (self.heard.0.clone(), self.heard.0.clone());
            read_on_a_thread(input, false, move |said| heard.send((number, said)).is_ok())?;
            let output = write_on_a_thread(output, false, move |error| _ = broken.send((number, Err(error))))?;
            self.line = Some(Open { output, greeted_at: None, program });
            self.images.begin_line();
            self.say(&ToServer::Hello { session: self.session.clone(), num_news: self.news.0 })
        });
        if let Err(error) = outcome {
            self.end_line(&error);
        }
    }

    /// The line has broken, or was refused: what to do then.
    fn end_line(&mut self, error: &WireError) {
        let line = self.line.take();
        if line.as_ref().and_then(|line| line.greeted_at).is_some_and(|at| at.elapsed() > HELD) {
            self.num_tries = 0;
        }
        let mut reason = error.to_string();
        if let Some(mut program) = line.and_then(|line| line.program) {
            if matches!(error, WireError::Closed | WireError::Cut | WireError::Broken(_)) {
                reason = format!("{reason}; {}", program.text());
            }
            self.left.push(program);
        }
        if let Some(reason) = self.note_end(error, reason) {
            self.is_over = true;
            self.say_over(&reason);
        }
        // What it wakes may ask for the state at once.
        (self.wake)();
    }

    /// Notes that the line has ended, and when it is begun again; gives the reason where the session is over.
    fn note_end(&mut self, error: &WireError, reason: String) -> Option<String> {
        let mut state = self.shared.lock();
        state.latency = None;
        state.end_line();
        // What was refused, or never held, is not begun again by itself.
        if self.session.is_none() || matches!(error, WireError::Refused(_) | WireError::Version { .. }) && self.num_tries > 0 {
            let reason = format!("the connection to {} is over: {reason}", state.host);
            state.line = LineState::Over { reason: reason.clone() };
            return Some(reason);
        }
        if let Some(wait) = TRY_AGAIN_AFTER.get(self.num_tries) {
            state.line = LineState::Lost { reason };
            self.num_tries += 1;
            self.try_at = Some(Instant::now() + *wait);
        } else {
            state.line = LineState::Failed { reason };
        }
        None
    }

    /// The session is gone: nothing that runs there is heard of any more.
    fn say_over(&mut self, reason: &str) {
        self.shared.lock().give_up_opening(reason);
        if let Some(run) = self.jobs.keys().next_back() {
            let _ = self.ends.events.send(Event { run: *run, kind: EventKind::Failed(Problem::new("remote.lost", reason)) });
        }
    }

    /// Ends the session there, and the line.
    fn say_goodbye(&mut self) {
        let bye = encode(&ToServer::Order(self.orders.next(), Order::Bye), &[]);
        if let (Some(Open { output, program, .. }), Ok(bye)) = (self.line.take(), bye) {
            let _ = output.send(bye);
            // It ends by itself then.
            drop(output);
            self.left.extend(program);
        }
        Program::end_all(std::mem::take(&mut self.left));
    }

    /// Says something while the line holds.
    fn say(&self, message: &ToServer) -> Result<(), WireError> {
        if let Some(line) = &self.line {
            // Where it has broken its reader tells.
            let _ = line.output.send(encode(message, &[])?);
        }
        Ok(())
    }

    /// As if the other end had said what it is.
    #[cfg(test)]
    pub(super) fn greeted_for_tests(&mut self) {
        self.line = Some(Open { output: unbounded().0, greeted_at: Some(Instant::now()), program: None });
    }

    /// The number of the news that is to come next.
    #[cfg(test)]
    pub(super) fn next_news(&self) -> u64 {
        self.news.0 + 1
    }
}
