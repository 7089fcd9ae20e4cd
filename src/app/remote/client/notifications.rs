//! Messages from the server: notifications go to the channels of the session's handle, pieces are joined to images.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::handle::ConnectionState;
use super::{Client, PING_INTERVAL, TOGETHER};
use crate::plan::{Forecast, Job};
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::messages::{ImageHead, Notification, PieceHead, PieceOf, ToClient, ToServer};
use crate::remote::protocol::numbered::send;
use crate::remote::protocol::study::on_host;
use crate::session::{Event, EventKind, IterateId, IterateReport, IterateUpdate, RunId, StoredIterate};

/// Maximum plausible duration of a step or a run.
const MAX_TIME: Duration = Duration::from_secs(10 * 365 * 86_400);

impl Client {
    /// Handles a message.
    ///
    /// # Errors
    /// The message is invalid, or ends the connection.
    pub(in crate::remote) fn handle_message(&mut self, message: ToClient, payload: &[u8]) -> Result<(), RemoteError> {
        let is_greeted = self.greeted().is_some();
        match message {
            ToClient::Refused(reason) => return Err(RemoteError::Refused(reason)),
            ToClient::Welcome { session, host, num_requests } if !is_greeted => {
                self.wake_within(Duration::ZERO);
                self.welcome(session, host, num_requests)?;
            }
            _ if !is_greeted => return Err(RemoteError::invalid("a message before the greeting")),
            ToClient::Welcome { .. } => return Err(RemoteError::invalid("a second greeting")),
            ToClient::Notification(number, notification) => {
                let is_step = matches!(&notification, Notification::Event(Event { kind: EventKind::Iterate(_), .. }));
                self.wake_within(if is_step { TOGETHER } else { Duration::ZERO });
                if self.notifications.is_new(number)? {
                    self.handle_notification(notification)?;
                }
            }
            ToClient::ReceivedRequests(number) => self.requests.received(number)?,
            ToClient::Piece(head) => {
                // The next pieces arrive while this one is unpacked.
                send(self.output(), &ToServer::ReceivedPieces(1))?;
                self.receive_piece(&head, payload)?;
            }
            ToClient::StoredIterates(run, stored) => {
                self.wake_within(TOGETHER);
                let mut state = self.shared.lock();
                state.stored.retain(|run, _| self.jobs.contains_key(run));
                state.stored.insert(run, stored);
            }
            ToClient::SetupProgress { run, done, total } => {
                self.wake_within(Duration::ZERO);
                if let Some((_, task)) = self.jobs.get(&run) {
                    task.begin(total);
                    task.advance(done);
                }
            }
            ToClient::ForecastReply(number, forecast) => {
                self.wake_within(Duration::ZERO);
                let mut state = self.shared.lock();
                let remote = |forecast: Forecast| Forecast { device: on_host(&forecast.device, &state.host), ..forecast };
                let forecast = forecast.map(|forecast| forecast.map(remote));
                state.forecasts.answer(number, forecast)?;
            }
            ToClient::Pong(number) if number == self.ping.0 => {
                let latency = Some(self.ping.1.elapsed());
                let before = std::mem::replace(&mut self.shared.lock().latency, latency);
                if before.map(|time| time.as_millis()) != latency.map(|time| time.as_millis()) {
                    self.wake_within(PING_INTERVAL);
                }
            }
            ToClient::Pong(_) => {}
        }
        Ok(())
    }

    fn job(&self, run: RunId) -> Result<&Job, RemoteError> {
        let job = self.jobs.get(&run).map(|(job, _)| job);
        job.ok_or_else(|| RemoteError::invalid(format!("a message about run {run}, which was not requested")))
    }

    fn record(&self, what: &str, image: &ImageHead) {
        let IterateId { run, iteration, subiteration } = image.id;
        let figures = [("run", run as f64), ("iteration", iteration as f64), ("subiteration", subiteration as f64)];
        self.channels.trace.record(what, &figures);
    }

    /// Completes a connection: resends requests that have not arrived.
    fn welcome(&mut self, session: String, host: String, num_requests: u64) -> Result<(), RemoteError> {
        if self.session.as_ref().is_some_and(|known| *known != session) {
            return Err(RemoteError::invalid("the name of another session"));
        }
        self.requests.received(num_requests)?;
        self.session = Some(session);
        {
            let mut state = self.shared.lock();
            state.connection = ConnectionState::Connected;
            // The window displays the name: it has no line breaks, and a limited length.
            state.host = host.chars().filter(|c| !c.is_control()).take(64).collect();
        }
        if let Some(open) = &mut self.connection {
            open.greeted_at = Some(Instant::now());
            self.requests.resend(&open.output);
        }
        send(self.output(), &ToServer::ShowSlices(self.slices_at))?;
        self.send_ping()
    }

    fn handle_notification(&mut self, notification: Notification) -> Result<(), RemoteError> {
        let event = match notification {
            Notification::Event(event) => validate(event)?,
            Notification::Started(run, started) => {
                let host = self.shared.lock().host.clone();
                let info = started.info(self.job(run)?, &host)?;
                self.channels.history.begin(run);
                Event { run, kind: EventKind::Started(Box::new(info)) }
            }
            Notification::Opened(study, outcome) => return self.shared.lock().studies.answer(study, outcome),
            Notification::Devices(devices) => {
                self.shared.lock().devices = Some(devices);
                return Ok(());
            }
        };
        // A watcher without a handle has ended the session.
        let _ = self.channels.events.send(event);
        Ok(())
    }

    fn receive_piece(&mut self, head: &PieceHead, payload: &[u8]) -> Result<(), RemoteError> {
        let grid = self.job(head.image.id.run)?.grid().clone();
        let Some(frame) = self.images.receive(head, payload, &grid, &self.channels.frames)? else { return Ok(()) };
        self.wake_within(Duration::ZERO);
        self.record(if frame.slices.is_some() { "slices_arrived" } else { "image_arrived" }, &head.image);
        let IterateUpdate { id, ref volume, extremes, slices, .. } = frame;
        if let PieceOf::Volumes { of, index, num } = head.of {
            let volumes = self.images.join(id, of, [index, num], Arc::clone(volume))?;
            volumes.into_iter().for_each(|volumes| self.channels.frames.send_volumes(volumes));
            return Ok(());
        }
        let image = StoredIterate { id, volume: Arc::clone(volume), extremes };
        let mut state = self.shared.lock();
        if head.of == PieceOf::Stored {
            state.add_fetched(image);
            return Ok(());
        }
        let stored = state.stored.get(&id.run).filter(|_| slices.is_none());
        let is_stored = stored.is_some_and(|stored| stored.contains(&[id.iteration, id.subiteration]));
        drop(state);
        if is_stored {
            let discarded = self.channels.history.push(image);
            discarded.into_iter().for_each(|volume| self.channels.frames.give_back(volume));
        }
        self.channels.frames.send(frame);
        Ok(())
    }
}

/// Returns an event if its times are plausible.
fn validate(event: Event) -> Result<Event, RemoteError> {
    if let EventKind::Iterate(report) = &event.kind {
        let IterateReport { stages, elapsed, .. } = &**report;
        if report.subiteration == 0 {
            return Err(RemoteError::invalid("a step before the first"));
        }
        if stages.iter().any(|(_, time)| time > MAX_TIME) || *elapsed > MAX_TIME {
            return Err(RemoteError::invalid("a step of many years"));
        }
    }
    Ok(event)
}
