//! What comes to the window's end: news into the channels of the session's handle, images joined of their pieces.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::messages::{ImageHead, News, PieceHead, PieceOf, ToServer, ToWindow};
use super::super::studies::on;
use super::super::{LineState, WireError};
use super::{Client, Heard, PING_EVERY, TOGETHER};
use crate::plan::{Forecast, Job};
use crate::session::{Event, EventKind, IterateId, IterateReport, IterateUpdate, RunId, StoredIterate};
use crate::task::Task;

/// Longest time that a step or a run can have taken.
const MAX_TIME: Duration = Duration::from_secs(10 * 365 * 86_400);

impl Client {
    /// Takes in what has come, all of it before anything is said in return.
    pub(super) fn hear_all(&mut self, first: Heard) -> Result<(), WireError> {
        let news = self.news.0;
        let heard = self.heard.1.clone();
        for (number, said) in std::iter::once(first).chain(heard.try_iter()) {
            if number != self.line_number || self.line.is_none() {
                continue;
            }
            self.heard_at = Instant::now();
            let (message, brings) = said?;
            if matches!(message, ToWindow::Piece(_)) {
                // The next ones come while this one is unpacked.
                self.say(&ToServer::HavePieces(1))?;
            }
            match &message {
                // A piece of an image alone is nothing to be seen.
                ToWindow::Piece(_) | ToWindow::HaveOrders(_) | ToWindow::Pong(_) => {}
                ToWindow::Past(..) | ToWindow::News(_, News::Event(Event { kind: EventKind::Iterate(_), .. })) => {
                    self.wake_within(TOGETHER);
                }
                _ => self.is_to_wake = true,
            }
            self.hear(message, &brings)?;
        }
        if self.news.0 > news {
            self.say(&ToServer::HaveNews(self.news.0))?;
        }
        Ok(())
    }

    /// The window is woken for this together with what comes next, or after this time.
    fn wake_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.wake_at = Some(self.wake_at.map_or(at, |before| before.min(at)));
    }

    pub(in crate::session::wire) fn hear(&mut self, message: ToWindow, brings: &[u8]) -> Result<(), WireError> {
        let is_greeted = self.line.as_ref().is_some_and(|line| line.greeted_at.is_some());
        match message {
            ToWindow::Refused(reason) => Err(WireError::Refused(reason)),
            ToWindow::Welcome { session, host, num_orders } if !is_greeted => self.welcome(session, host, num_orders),
            _ if !is_greeted => Err(WireError::cannot_be("a message before the greeting")),
            ToWindow::Welcome { .. } => Err(WireError::cannot_be("a second greeting")),
            ToWindow::News(number, news) => {
                if self.news.is_new(number)? {
                    self.take(news)?;
                }
                Ok(())
            }
            ToWindow::HaveOrders(number) => self.orders.arrived(number),
            ToWindow::Piece(head) => self.take_piece(&head, brings),
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
            ToWindow::Foreseen(number, forecast) => {
                let mut state = self.shared.lock();
                let there = |forecast: Forecast| Forecast { device: on(&forecast.device, &state.host), ..forecast };
                let forecast = forecast.map(|forecast| forecast.map(there));
                state.foreseen(number, forecast)
            }
            ToWindow::Pong(number) => {
                if number == self.ping.0 {
                    let latency = Some(self.ping.1.elapsed());
                    let before = std::mem::replace(&mut self.shared.lock().latency, latency);
                    if before.map(|time| time.as_millis()) != latency.map(|time| time.as_millis()) {
                        self.wake_within(PING_EVERY);
                    }
                }
                Ok(())
            }
        }
    }

    /// A run that was asked for.
    fn job(&self, run: RunId) -> Result<&(Job, Task), WireError> {
        self.jobs.get(&run).ok_or_else(|| WireError::cannot_be(format!("a message about run {run}, which was not requested")))
    }

    fn record(&self, what: &str, image: &ImageHead) {
        let IterateId { run, iteration, subiteration } = image.id;
        let figures = [("run", run as f64), ("iteration", iteration as f64), ("subiteration", subiteration as f64)];
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
            News::Opened(study, outcome) => return self.shared.lock().opened(study, outcome),
            News::Devices(devices) => {
                self.shared.lock().devices = Some(devices);
                return Ok(());
            }
        };
        // A watcher that is gone has dropped its handle.
        let _ = self.ends.events.send(event);
        Ok(())
    }

    /// A piece of an image has come.
    fn take_piece(&mut self, head: &PieceHead, brings: &[u8]) -> Result<(), WireError> {
        let grid = self.job(head.image.id.run)?.0.grid().clone();
        let Some(frame) = self.images.piece(head, brings, &grid, &self.ends.slices)? else { return Ok(()) };
        self.is_to_wake = true;
        if frame.slices.is_some() {
            self.record("slices_arrived", &head.image);
            self.ends.slices.send(frame);
        } else {
            self.record("image_arrived", &head.image);
            self.take_image(frame, head.of == PieceOf::Past);
        }
        Ok(())
    }

    /// A whole image has come.
    fn take_image(&mut self, frame: IterateUpdate, is_past: bool) {
        let IterateUpdate { id, ref volume, extremes, .. } = frame;
        let kept = StoredIterate { id, volume: Arc::clone(volume), extremes };
        let mut state = self.shared.lock();
        if is_past {
            state.fetched(kept);
            return;
        }
        let is_kept = state.past.get(&id.run).is_some_and(|past| past.contains(&[id.iteration, id.subiteration]));
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
