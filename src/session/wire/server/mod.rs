//! The solver's end of a line: a session whose orders come from a window elsewhere and whose news and images go there.
//!
//! Where the line breaks the run goes on, and for some time the session waits to be taken up again through another line.

mod handing_over;
mod orders;
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

use super::framing::{decode, encode, greet, read_greeting, read_message};
use super::images_out::ImagesOut;
use super::line::{read_on_a_thread, write_on_a_thread};
use super::messages::{News, StudyId, ToServer, ToWindow};
use super::outbox::{Inbox, Outbox};
use super::rendezvous::{Rendezvous, relay};
use super::{Line, WireError};
use crate::data::{MaskedRois, Study};
use crate::plan::{Data, Device, Forecast, StartInfo, StudyFiles, available_devices};
use crate::session::{RunId, Session};
use crate::task::Task;

/// How often the progress of a set-up is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Reads the scan of some files; those that it was read from come back.
pub type Opener = Arc<dyn Fn(&StudyFiles, &Task) -> Result<(Study<Data>, StudyFiles), String> + Send + Sync>;

/// How a session is served.
pub struct ServeOptions {
    /// How long it goes on without a line.
    pub linger: Duration,
    /// Told when it is to end; asked for once it has begun.
    pub stop: fn() -> Receiver<()>,
    /// Reads scans.
    pub open: Opener,
}

/// What comes to the hub.
pub(super) enum Input {
    /// Another line.
    Line(Hello),
    /// From the line of this number.
    Said(u64, Result<(ToServer, Vec<u8>), WireError>),
    Opened(StudyId, Box<Result<(Study<Data>, StudyFiles), String>>),
    Foreseen(u64, Result<Forecast, String>),
    Devices(Vec<Device>),
    Wake,
}

/// Serves one session to the window at the other end of a line, until that says goodbye, or has been gone for some time. A window
/// that had another session is put through to that. `start` makes the session, which calls what it is given after everything that
/// it has to say.
///
/// # Errors
/// What is at the other end is no window of this version, the session that it asks for is gone, or threads are refused.
pub fn serve(line: Line, options: ServeOptions, start: impl FnOnce(Box<dyn Fn() + Send>) -> Session) -> Result<(), WireError> {
    let hello = Hello::on(line)?;
    if let Some(name) = &hello.session {
        return relay(name, &hello.bytes, hello.line.input, hello.line.output);
    }
    let (sender, inputs) = unbounded();
    let pending = Arc::new(AtomicBool::new(false));
    let wake = {
        let (sender, pending) = (sender.clone(), Arc::clone(&pending));
        move || {
            // One is enough until it was obeyed.
            if !pending.swap(true, Ordering::AcqRel) {
                let _ = sender.send(Input::Wake);
            }
        }
    };
    let lines = sender.clone();
    let rendezvous = Rendezvous::open(move |name, line| {
        // Only who knows its name takes the session over: until then the line before holds.
        let (name, lines) = (name.to_owned(), lines.clone());
        let shake_hands = move || {
            let hello = Hello::on(line).ok().filter(|hello| hello.session.as_deref() == Some(&name));
            if let Some(hello) = hello {
                // A session that has ended takes nobody.
                let _ = lines.send(Input::Line(hello));
            }
        };
        // Without a thread it is as if nobody had called.
        drop(Builder::new().name("line".into()).spawn(shake_hands));
    });
    let devices = sender.clone();
    Builder::new().name("devices".into()).spawn(move || _ = devices.send(Input::Devices(available_devices())))?;
    let session = start(Box::new(wake));
    let mut hub = Hub::new(session, sender, pending, rendezvous, options);
    hub.begin_line(hello)?;
    hub.run(&inputs)
}

/// A line at whose other end is a window of this version, as it said first.
pub(super) struct Hello {
    line: Line,
    /// The message.
    bytes: Vec<u8>,
    /// The session that it had, and how much of its news it has.
    session: Option<String>,
    num_news: u64,
}

impl Hello {
    /// Greets the other end of a line, and hears what it is.
    fn on(mut line: Line) -> Result<Self, WireError> {
        greet(&mut line.output)?;
        read_greeting(&mut line.input)?;
        let bytes = read_message(&mut line.input)?;
        match decode(&bytes)?.0 {
            ToServer::Hello { session, num_news } => Ok(Self { line, bytes, session, num_news }),
            _ => Err(WireError::cannot_be("a request before the greeting")),
        }
    }
}

pub(super) struct Hub {
    session: Session,
    sender: Sender<Input>,
    /// Whether the session has something to say.
    pending: Arc<AtomicBool>,
    rendezvous: Rendezvous,
    linger: Duration,
    stop: Receiver<()>,
    open: Opener,
    /// The number of the line begun last, and what goes out over it while it holds.
    line_number: u64,
    line: Option<Sender<Vec<u8>>>,
    /// Since when there is no line.
    alone_since: Option<Instant>,
    is_over: bool,
    orders: Inbox,
    news: Outbox,
    images: ImagesOut,
    studies: Studies,
    /// The studies of the runs begun last.
    runs: BTreeMap<RunId, StudyId>,
    /// What the run begun last became, while its memory is in use.
    running: Option<Box<StartInfo>>,
    is_foreseeing: bool,
    rois: MaskedRois,
    latest: RunId,
    kept: BTreeSet<RunId>,
    /// What the window knows of each run's past, and of the set-up under way.
    past: BTreeMap<RunId, Vec<[usize; 2]>>,
    making: (u64, u64),
}

impl Hub {
    pub(super) fn new(
        session: Session,
        sender: Sender<Input>,
        pending: Arc<AtomicBool>,
        rendezvous: Rendezvous,
        options: ServeOptions,
    ) -> Self {
        Self {
            session,
            sender,
            pending,
            rendezvous,
            linger: options.linger,
            stop: (options.stop)(),
            open: options.open,
            line_number: 0,
            line: None,
            alone_since: None,
            is_over: false,
            orders: Inbox::default(),
            news: Outbox::default(),
            images: ImagesOut::default(),
            studies: Studies::default(),
            runs: BTreeMap::new(),
            running: None,
            is_foreseeing: false,
            rois: MaskedRois::default(),
            latest: 0,
            kept: BTreeSet::new(),
            past: BTreeMap::new(),
            making: (0, 0),
        }
    }

    fn run(&mut self, inputs: &Receiver<Input>) -> Result<(), WireError> {
        while !self.is_over {
            match inputs.recv_timeout(TICK) {
                Ok(input) => std::iter::once(input).chain(inputs.try_iter()).for_each(|input| self.take(input)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.hand_over()?;
            let is_long_alone = self.alone_since.is_some_and(|since| since.elapsed() >= self.linger);
            self.is_over |= is_long_alone || self.stop.try_recv().is_ok();
        }
        self.studies.stop();
        Ok(())
    }

    /// The number of the order that is to come next.
    #[cfg(test)]
    pub(super) fn next_order(&self) -> u64 {
        self.orders.0 + 1
    }

    /// As if a study of this number had been opened.
    #[cfg(test)]
    pub(super) fn open_for_tests(&mut self, study: StudyId, scan: Arc<Study<Data>>) {
        self.studies.begin(study).unwrap();
        self.studies.opened(study, scan);
    }

    /// Takes in what has come. What cannot be ends the line, not the session.
    fn take(&mut self, input: Input) {
        let outcome = match input {
            Input::Line(hello) => self.begin_line(hello),
            Input::Said(number, _) if number != self.line_number || self.line.is_none() => Ok(()),
            Input::Said(_, Ok((message, brings))) => self.hear(message, &brings),
            Input::Said(_, Err(error)) => Err(error),
            Input::Opened(study, outcome) => self.opened(study, *outcome),
            Input::Foreseen(number, forecast) => self.foreseen(number, forecast),
            Input::Devices(devices) => self.tell(News::Devices(devices)),
            Input::Wake => Ok(()),
        };
        if let Err(error) = outcome {
            self.end_line(&error);
        }
    }

    /// Goes on over a line.
    fn begin_line(&mut self, hello: Hello) -> Result<(), WireError> {
        self.line_number += 1;
        let (number, Line { input, output, .. }) = (self.line_number, hello.line);
        let (heard, broken) = (self.sender.clone(), self.sender.clone());
        read_on_a_thread(input, true, move |said| heard.send(Input::Said(number, said)).is_ok())?;
        let broken = move |error| _ = broken.send(Input::Said(number, Err(error)));
        self.line = Some(write_on_a_thread(output, true, broken)?);
        self.alone_since = None;
        self.welcome(hello.num_news)
    }

    /// The line is over; the other end is told why, where it still listens.
    fn end_line(&mut self, error: &WireError) {
        if !matches!(error, WireError::Closed | WireError::Cut | WireError::Broken(_)) {
            let _ = self.say(&ToWindow::Refused(error.to_string()));
        }
        self.line = None;
        self.alone_since = Some(Instant::now());
    }

    /// Says something that need not be said again over another line.
    fn say(&self, message: &ToWindow) -> Result<(), WireError> {
        if let Some(line) = &self.line {
            // Where the line has broken its reader tells.
            let _ = line.send(encode(message, &[])?);
        }
        Ok(())
    }

    /// Says something that must not be lost.
    fn tell(&mut self, news: News) -> Result<(), WireError> {
        let bytes = encode(&ToWindow::News(self.news.next(), news), &[])?;
        if let Some(line) = &self.line {
            let _ = line.send(bytes.clone());
        }
        self.news.push(bytes);
        Ok(())
    }

    /// The other end is a window that has so much of the news.
    pub(super) fn welcome(&mut self, num_news: u64) -> Result<(), WireError> {
        self.news.arrived(num_news)?;
        let session = self.rendezvous.name().to_owned();
        let host = System::host_name().unwrap_or_else(|_| "the remote host".into());
        self.say(&ToWindow::Welcome { session, host, num_orders: self.orders.0 })?;
        if let Some(line) = &self.line {
            self.news.under_way().for_each(|bytes| _ = line.send(bytes.clone()));
        }
        self.images.begin_line();
        (self.past, self.making) = (BTreeMap::new(), (0, 0));
        Ok(())
    }
}
