//! The window's end of a line: a thread that says there what the handle of a session is asked here, and feeds the handle's channels
//! with what comes back, so that whoever holds it need not know where the solver is.
//!
//! Where the line breaks it is begun again, after a while; orders and news go on where they stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, select, unbounded};

use super::framing::encode;
use super::image::pack;
use super::images_in::ImagesIn;
use super::line::{Program, read_on_a_thread, write_on_a_thread};
use super::messages::{ImageHead, News, Order, Rois, ToServer, ToWindow};
use super::outbox::{Inbox, Outbox};
use super::remote::{RemoteAsk, Shared};
use super::{Dial, Line, LineState, Remote, WireError};
use crate::plan::Job;
use crate::session::frames::FrameSender;
use crate::session::history::History;
use crate::session::measurer::Ask;
use crate::session::solver::Message;
use crate::session::{Command, CompareWith, Event, EventKind, Frame, IterateReport, Kept, RunId, Trace};
use crate::task::Task;

/// How often the other end is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(1);

/// How long it may be silent.
const SILENCE: Duration = Duration::from_secs(20);

/// After how long a line that has broken is begun again, the first time and each after it.
const TRY_AGAIN_AFTER: [Duration; 5] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8), Duration::from_secs(15)];

/// How long a line must have held for the tries to be counted anew.
const HELD: Duration = Duration::from_secs(30);

/// Longest time that a step or a run can have taken.
const MAX_TIME: Duration = Duration::from_secs(10 * 365 * 86_400);

/// What a session's handle gives the thread.
pub struct Ends {
    pub messages: Receiver<Message>,
    pub asks: Receiver<Ask>,
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
    is_over: bool,
}

impl Client {
    fn run(mut self, inbox: &Receiver<RemoteAsk>) {
        loop {
            if self.try_at.is_some_and(|at| at <= Instant::now()) {
                self.begin_line();
            }
            let wait = self.try_at.map_or(PING_EVERY, |at| at.saturating_duration_since(Instant::now()).min(PING_EVERY));
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
            return Err(WireError::Refused(format!("the other end has said nothing for {secs} s")));
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
            self.shared.lock().begin_line();
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
                reason = format!("{reason}; {}", program.words());
            }
            self.left.push(program);
        }
        let mut state = self.shared.lock();
        state.latency = None;
        let host = state.host.clone();
        // What was refused, or never held, is not begun again by itself.
        if self.session.is_none() || matches!(error, WireError::Refused(_) | WireError::Version { .. }) && self.num_tries > 0 {
            let reason = format!("the connection to {host} is over: {reason}");
            state.line = LineState::Over { reason: reason.clone() };
            drop(state);
            self.is_over = true;
            self.say_over(&reason);
        } else if let Some(wait) = TRY_AGAIN_AFTER.get(self.num_tries) {
            state.line = LineState::Lost { reason };
            self.num_tries += 1;
            self.try_at = Some(Instant::now() + *wait);
        } else {
            state.line = LineState::GivenUp { reason };
        }
        (self.wake)();
    }

    /// The session is gone: nothing that runs there is heard of any more.
    fn say_over(&mut self, reason: &str) {
        let _ = self.shared.opened.send(Err(reason.to_owned()));
        if let Some(run) = self.jobs.keys().next_back() {
            let _ = self.ends.events.send(Event { run: *run, kind: EventKind::Failed(reason.to_owned()) });
        }
    }

    /// Ends the session there, and the line.
    fn say_goodbye(&mut self) {
        let bye = encode(&ToServer::Order(self.orders.next(), Order::Bye), &[]);
        if let (Some(Open { output, program, .. }), Ok(bye)) = (self.line.take(), bye) {
            let _ = output.send(bye);
            // It ends by itself then; those before it have nothing left to wait for.
            drop(output);
            drop(program);
        }
    }

    /// Says something while the line holds.
    fn say(&self, message: &ToServer) -> Result<(), WireError> {
        if let Some(line) = &self.line {
            // Where it has broken its reader tells.
            let _ = line.output.send(encode(message, &[])?);
        }
        Ok(())
    }

    /// Has something done there, whenever the line holds.
    fn order(&mut self, order: Order, brings: &[u8]) -> Result<(), WireError> {
        let bytes = encode(&ToServer::Order(self.orders.next(), order), brings)?;
        if let Some(line) = self.line.as_ref().filter(|line| line.greeted_at.is_some()) {
            let _ = line.output.send(bytes.clone());
        }
        self.orders.push(bytes);
        Ok(())
    }

    fn obey(&mut self, ask: RemoteAsk) -> Result<(), WireError> {
        match ask {
            RemoteAsk::Order(order) => self.order(order, &[]),
            RemoteAsk::Say(message) => {
                if let ToServer::LookAt(at) = message {
                    self.look_at = at;
                }
                if self.line.as_ref().is_some_and(|line| line.greeted_at.is_some()) { self.say(&message) } else { Ok(()) }
            }
            RemoteAsk::TryAgain if self.line.is_none() && !self.is_over => {
                (self.num_tries, self.try_at) = (1, Some(Instant::now()));
                Ok(())
            }
            RemoteAsk::TryAgain => Ok(()),
        }
    }

    /// Passes a command on.
    pub(super) fn pass_on(&mut self, Message { command, run, task }: Message) -> Result<(), WireError> {
        let order = match command {
            Command::Start { job, rois, paused } => match self.settings_of(run, &job) {
                Ok(settings) => {
                    self.jobs.retain(|before, _| before + 64 > run);
                    self.jobs.insert(run, (job, task));
                    Order::Start { run, settings, rois: Rois::of(&rois), paused }
                }
                Err(reason) => {
                    let _ = self.ends.events.send(Event { run, kind: EventKind::Failed(reason) });
                    (self.wake)();
                    return Ok(());
                }
            },
            Command::Pause => Order::Pause,
            Command::Resume => Order::Resume,
            Command::StepOnce => Order::StepOnce,
            Command::Stop => Order::Stop,
            Command::Cancel => Order::Cancel,
            Command::SetAccumulation(accumulation) => Order::SetAccumulation(accumulation),
            Command::SetRois(rois) => Order::SetRois(Rois::of(&rois)),
            Command::RenameRois(rois) => Order::RenameRois(Rois::renamed(&rois)),
            Command::SetStopRules(rules) => Order::SetStopRules(rules),
            Command::SetIterations(number) => Order::SetIterations(number),
            // What arrives is told there.
            Command::DataArrived | Command::Quit => return Ok(()),
        };
        self.order(order, &[])
    }

    /// The settings of a job that can be done there, or why it cannot.
    fn settings_of(&self, run: RunId, job: &Job) -> Result<Box<crate::plan::RunSettings>, String> {
        let state = self.shared.lock();
        if let LineState::Over { reason } = &state.line {
            return Err(reason.clone());
        }
        let Job::Counts { settings, .. } = job else {
            return Err(format!("run {run} cannot be done on {}: only scans of counts along lines are", state.host));
        };
        if settings.tubes.is_some() || settings.init.is_some() {
            return Err(format!(
                "tubes of response and start images that are here cannot be used on {}: choose another projector, or start from 1",
                state.host
            ));
        }
        Ok(settings.clone())
    }

    fn pass_ask_on(&mut self, ask: Ask) -> Result<(), WireError> {
        match ask {
            Ask::Rois(run, rois) => self.order(Order::Measure(run, Rois::of(&rois)), &[]),
            Ask::Compare(None) => self.order(Order::Compare(None), &[]),
            Ask::Compare(Some(CompareWith::Run(run))) => self.order(Order::Compare(Some(run)), &[]),
            Ask::Compare(Some(CompareWith::Image(Kept { run, iteration, subiteration, volume, .. }))) => {
                let grid = volume.grid.clone();
                self.order(Order::CompareWith { run, iteration, subiteration, grid }, &pack(volume.as_slice()))
            }
            Ask::Peaks(run, line) => self.order(Order::MeasurePeaks(run, line), &[]),
            Ask::CatchUp | Ask::Kept | Ask::Quit => Ok(()),
        }
    }

    /// Takes in what has come, all of it before anything is said in return.
    fn hear_all(&mut self, first: Heard) -> Result<(), WireError> {
        let (news, mut images) = (self.news.0, (0, 0));
        let heard = self.heard.1.clone();
        for (number, said) in std::iter::once(first).chain(heard.try_iter()) {
            if number != self.line_number || self.line.is_none() {
                continue;
            }
            self.heard_at = Instant::now();
            let (message, brings) = said?;
            match message {
                ToWindow::Slices(_) => images.0 += 1,
                ToWindow::Part(_) => images.1 += brings.len(),
                _ => {}
            }
            self.hear(message, &brings)?;
            // The next slices are to come while these are drawn.
            if images != (0, 0) {
                let (slices, bytes) = std::mem::take(&mut images);
                self.say(&ToServer::HaveImages { slices, bytes })?;
            }
        }
        if self.news.0 > news {
            self.say(&ToServer::HaveNews(self.news.0))?;
        }
        (self.wake)();
        Ok(())
    }

    pub(super) fn hear(&mut self, message: ToWindow, brings: &[u8]) -> Result<(), WireError> {
        let is_greeted = self.line.as_ref().is_some_and(|line| line.greeted_at.is_some());
        match message {
            ToWindow::Refused(reason) => Err(WireError::Refused(reason)),
            ToWindow::Welcome { session, host, num_orders } if !is_greeted => self.welcome(session, host, num_orders),
            _ if !is_greeted => Err(WireError::cannot_be("news before it said what it is")),
            ToWindow::Welcome { .. } => Err(WireError::cannot_be("what it is a second time")),
            ToWindow::News(number, news) => {
                if self.news.is_new(number)? {
                    self.take(news)?;
                }
                Ok(())
            }
            ToWindow::HaveOrders(number) => self.orders.arrived(number),
            ToWindow::Slices(head) => {
                let grid = self.job(head.image.run)?.0.grid().clone();
                let frame = self.images.slices(&head, brings, &grid, &self.ends.slices)?;
                self.record("slices_arrived", &head.image);
                self.ends.slices.send(frame);
                Ok(())
            }
            ToWindow::Part(head) => {
                let grid = self.job(head.image.run)?.0.grid().clone();
                if let Some((frame, is_past)) = self.images.part(&head, brings, &grid)? {
                    self.record("image_arrived", &head.image);
                    self.take_image(frame, is_past);
                }
                Ok(())
            }
            ToWindow::Past(run, past) => {
                let mut state = self.shared.lock();
                let known = &self.jobs;
                state.past.retain(|run, _| known.contains_key(run));
                state.past.insert(run, past);
                Ok(())
            }
            ToWindow::Making { run, done, total } => {
                if let Some((_, task)) = self.jobs.get(&run) {
                    task.begin(total);
                    task.advance(done);
                }
                Ok(())
            }
            ToWindow::Pong(number) => {
                if number == self.ping.0 {
                    self.shared.lock().latency = Some(self.ping.1.elapsed());
                }
                Ok(())
            }
        }
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

    /// A run that was asked for.
    fn job(&self, run: RunId) -> Result<&(Job, Task), WireError> {
        self.jobs.get(&run).ok_or_else(|| WireError::cannot_be(format!("something of run {run}, which nobody asked for")))
    }

    fn record(&self, what: &str, image: &ImageHead) {
        let figures =
            [("run", image.run as f64), ("iteration", image.iteration as f64), ("subiteration", image.subiteration as f64)];
        self.ends.trace.record(what, &figures);
    }

    /// The line holds: what did not arrive is said again.
    fn welcome(&mut self, session: String, host: String, num_orders: u64) -> Result<(), WireError> {
        if self.session.as_ref().is_some_and(|known| *known != session) {
            return Err(WireError::cannot_be("the name of another session"));
        }
        self.orders.arrived(num_orders)?;
        self.session = Some(session);
        {
            let mut state = self.shared.lock();
            state.line = LineState::Connected;
            // What came of it is shown: no line breaks, and not too long.
            state.host = host.chars().filter(|c| !c.is_control()).take(64).collect();
        }
        if let Some(line) = &mut self.line {
            line.greeted_at = Some(Instant::now());
            self.orders.under_way().for_each(|bytes| _ = line.output.send(bytes.clone()));
        }
        self.say(&ToServer::LookAt(self.look_at))?;
        self.ping = (self.ping.0 + 1, Instant::now());
        self.say(&ToServer::Ping(self.ping.0))
    }

    /// Takes news in.
    fn take(&mut self, news: News) -> Result<(), WireError> {
        let event = match news {
            News::Event(event) => checked(event)?,
            News::Started(run, started) => {
                let host = self.shared.lock().host.clone();
                let info = started.info(&self.job(run)?.0, &host)?;
                self.ends.history.begin(run);
                Event { run, kind: EventKind::Started(Box::new(info)) }
            }
            News::Opened(outcome) => {
                let _ = self.shared.opened.send(outcome);
                return Ok(());
            }
            News::Devices(devices) => {
                self.shared.lock().devices = Some(devices);
                return Ok(());
            }
        };
        // A watcher that is gone has dropped its handle.
        let _ = self.ends.events.send(event);
        Ok(())
    }

    /// A whole image has come.
    fn take_image(&mut self, frame: Frame, is_past: bool) {
        let Frame { run, iteration, subiteration, ref volume, extremes, .. } = frame;
        let kept = Kept { run, iteration, subiteration, volume: Arc::clone(volume), extremes };
        let mut state = self.shared.lock();
        if is_past {
            state.fetched(kept);
            return;
        }
        let is_kept = state.past.get(&run).is_some_and(|past| past.contains(&[iteration, subiteration]));
        drop(state);
        if is_kept {
            let gone = self.ends.history.push(kept);
            gone.into_iter().for_each(|volume| self.ends.wholes.give_back(volume));
        }
        self.ends.wholes.send(frame);
    }
}

/// An event whose times can be added up, and whose texts are no longer than a person reads.
fn checked(event: Event) -> Result<Event, WireError> {
    if let EventKind::Iterate(report) = &event.kind {
        let IterateReport { stages, elapsed, .. } = &**report;
        if report.subiteration == 0 {
            return Err(WireError::cannot_be("a step before the first"));
        }
        if stages.iter().any(|(_, time)| time > MAX_TIME) || *elapsed > MAX_TIME {
            return Err(WireError::cannot_be("a step of many years"));
        }
    }
    Ok(event)
}
