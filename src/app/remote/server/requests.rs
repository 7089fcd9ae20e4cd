//! Messages to the server.

use std::sync::Arc;
use std::time::Instant;

use super::ServerSession;
use crate::data::{Notice, Unit, Volume};
use crate::geometry::{Grid, LENGTHS_MM};
use crate::remote::images::codec::unpack;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::messages::{Notification, RecoveryRequest, Request, Rois, SideRequest, ToClient, ToServer};
use crate::session::{Command, CompareWith, Control, Event, EventKind, PeakLine, RecoveryQuery, RoiSet, StoredIterate};

/// Maximum side of the averaging square around a line, mm.
const MAX_WIDTH_MM: f64 = 1000.0;

/// Maximum number of post-filters of a search, and maximum width of a post-filter, mm.
const MAX_FILTERS: usize = 64;
const MAX_FILTER_MM: f64 = 1000.0;

impl ServerSession {
    /// Handles a message.
    ///
    /// # Errors
    /// The message is invalid.
    pub(in crate::remote) fn handle_message(&mut self, message: ToServer, payload: &[u8]) -> Result<(), RemoteError> {
        match message {
            ToServer::Hello { .. } => return Err(RemoteError::invalid("a second greeting")),
            ToServer::Request(number, request) => {
                if self.requests.is_new(number)? {
                    self.handle_request(request, payload)?;
                }
                self.send(&ToClient::ReceivedRequests(number))?;
            }
            ToServer::ReceivedNotifications(number) => self.notifications.received(number)?,
            ToServer::ShowSlices(at) => self.images.show_slices(at),
            ToServer::ReceivedPieces(num) => self.images.received(num, Instant::now())?,
            ToServer::FetchImage(run, subiteration) => {
                let found = self.session.history(run).into_iter().find(|image| image.id.subiteration == subiteration);
                found.into_iter().for_each(|image| self.images.request(image));
            }
            ToServer::Ping(number) => self.send(&ToClient::Pong(number))?,
            ToServer::Forecast { number, study, settings } => self.forecast(number, study, settings)?,
        }
        Ok(())
    }

    fn handle_request(&mut self, request: Request, payload: &[u8]) -> Result<(), RemoteError> {
        match request {
            Request::Open(study, files) => self.open(study, *files)?,
            Request::Close(study) => self.studies.close(study),
            Request::Start { run, study, settings, rois, paused } => self.start([run, study], settings, &rois, paused)?,
            Request::Control(Control::MeasureDeviation { post_filter_fwhm_mm: Some(mm) }) if !is_filter(mm) => {
                return Err(RemoteError::invalid("a too wide post-filter"));
            }
            Request::Control(control) => _ = self.session.send(control),
            Request::SetRois(rois) => self.with_regions(&rois, |session, rois| _ = session.send(Command::SetRois(rois)))?,
            Request::RenameRois(rois) => {
                self.with_regions(&rois, |session, rois| _ = session.send(Command::RenameRois(rois.rois)))?;
            }
            Request::Side(request) => self.handle_side_request(request, payload)?,
            Request::Quit => self.is_over = true,
        }
        Ok(())
    }

    fn handle_side_request(&mut self, request: SideRequest, payload: &[u8]) -> Result<(), RemoteError> {
        match request {
            SideRequest::Measure(run, rois) => self.with_regions(&rois, |session, rois| session.measure(run, rois))?,
            SideRequest::CompareRun(reference, rois) => {
                self.with_regions(&rois, |session, rois| session.compare_with(reference.map(CompareWith::Run), rois))?;
            }
            SideRequest::CompareImage { id, grid, rois } => {
                let image = image(grid, payload)?;
                let extremes = image.extremes();
                let reference = StoredIterate { id, extremes, volume: Arc::new(image) };
                self.with_regions(&rois, |session, rois| session.compare_with(Some(CompareWith::Image(reference)), rois))?;
            }
            SideRequest::MeasurePeaks(run, line) if line.is_none_or(is_valid) => self.session.measure_peaks(run, line),
            SideRequest::MeasurePeaks(..) => return Err(RemoteError::invalid("a line of many kilometres")),
            SideRequest::MeasureRecovery(run, None) => self.session.measure_recovery(run, None),
            SideRequest::MeasureRecovery(run, Some(request)) => {
                let RecoveryRequest { filters_mm, activity_ratio, with_peak, rois } = request;
                if filters_mm.len() > MAX_FILTERS || !filters_mm.iter().copied().all(is_filter) {
                    return Err(RemoteError::invalid("too many or too wide post-filters"));
                }
                self.with_regions(&rois, |session, rois| {
                    session.measure_recovery(run, Some(RecoveryQuery { filters_mm, activity_ratio, with_peak, rois }));
                })?;
            }
            SideRequest::Retain(run) => {
                self.retained.insert(run);
                self.session.retain(run);
            }
            SideRequest::Release(run) => {
                self.retained.remove(&run);
                self.session.release(run);
            }
            SideRequest::Pin(run, subiteration, is_pinned) => self.session.pin(run, subiteration, is_pinned),
            SideRequest::SetHistoryBytes(bytes) => self.session.set_history_bytes(bytes),
        }
        Ok(())
    }

    /// Passes the regions of a request to the session. The window receives the reason if they are invalid.
    fn with_regions(&mut self, rois: &Rois, apply: impl FnOnce(&crate::session::Session, RoiSet)) -> Result<(), RemoteError> {
        if let Some(rois) = self.regions(rois)? {
            apply(&self.session, rois);
        }
        Ok(())
    }

    /// Returns the regions of a request. The window receives the reason if they are invalid.
    pub(super) fn regions(&mut self, rois: &Rois) -> Result<Option<RoiSet>, RemoteError> {
        match rois.rois(&self.rois) {
            Ok(set) => {
                self.rois = set.rois.clone();
                Ok(Some(set))
            }
            Err(reason) => {
                let notice = Notice::warning(format!("the regions are not measured: {reason}"));
                self.notify(Notification::Event(Event { run: self.latest, kind: EventKind::Notice(notice) }))?;
                Ok(None)
            }
        }
    }
}

/// Returns true if a post-filter can have this width, mm.
fn is_filter(fwhm_mm: f64) -> bool {
    (0.0..=MAX_FILTER_MM).contains(&fwhm_mm)
}

/// Returns true if a line can be one through an image.
fn is_valid(line: PeakLine) -> bool {
    line.ends_mm.as_flattened().iter().all(|mm| mm.abs() <= *LENGTHS_MM.end()) && (0.0..=MAX_WIDTH_MM).contains(&line.width_mm)
}

/// Returns the image in a payload.
fn image(grid: Grid, payload: &[u8]) -> Result<Volume, RemoteError> {
    let mut values = Vec::new();
    unpack(payload, grid.num_voxels(), &mut values)?;
    Volume::from_vec(grid, values, Unit::default()).ok_or_else(|| RemoteError::invalid("an image of another size"))
}
