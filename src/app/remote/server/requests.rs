//! Messages to the server.

use std::time::Instant;

use super::ServerSession;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::messages::{Request, ToClient, ToServer};
use crate::session::{Control, HistoryChange, RoiSet};

impl ServerSession {
    /// Handles a message.
    ///
    /// # Errors
    /// The message is invalid.
    pub(in crate::remote) fn handle_message(&mut self, message: ToServer) -> Result<(), RemoteError> {
        match message {
            ToServer::Hello { .. } => return Err(RemoteError::invalid("a second greeting")),
            ToServer::Request(number, request) => {
                if self.requests.is_new(number)? {
                    self.handle_request(request)?;
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

    fn handle_request(&mut self, request: Request) -> Result<(), RemoteError> {
        match request {
            Request::Open(study, files) => self.open(study, *files)?,
            Request::Close(study) => self.studies.close(study),
            Request::Start { run, study, settings, rois, paused } => self.start([run, study], settings, rois, paused)?,
            Request::Control(control) if !control.is_valid() => return Err(RemoteError::invalid("a request beyond its limits")),
            Request::Control(mut control) => {
                if let Some(rois) = control.regions() {
                    *rois = self.masked(std::mem::take(rois));
                }
                match control {
                    Control::ChangeHistory(HistoryChange::Retain(run)) => _ = self.retained.insert(run),
                    Control::ChangeHistory(HistoryChange::Release(run)) => _ = self.retained.remove(&run),
                    _ => {}
                }
                self.session.send(control);
            }
            Request::Quit => self.is_over = true,
        }
        Ok(())
    }

    /// Returns regions with the masks of those that have not moved since the regions before.
    pub(super) fn masked(&mut self, RoiSet { branch, rois }: RoiSet) -> RoiSet {
        self.rois = self.rois.edited(&rois);
        RoiSet { branch, rois: self.rois.clone() }
    }
}
