//! Requests to the server, made of the commands and queries of the session's handle.

use super::Client;
use super::handle::ConnectionState;
use crate::coded::Problem;
use crate::data::Notice;
use crate::plan::{Job, RunSettings};
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::messages::{Request, ToServer};
use crate::remote::protocol::study::{StudyId, remote_settings};
use crate::session::{Command, Control, Event, EventKind, Message, RoiSet, RunId};

/// Number of latest runs whose jobs are stored.
const MAX_JOBS: u64 = 64;

impl Client {
    /// Sends a request, now or with the next connection.
    pub(super) fn request(&mut self, request: Request) -> Result<(), RemoteError> {
        let output = self.greeted().cloned();
        self.requests.send(output.as_ref(), |number| ToServer::Request(number, request))
    }

    /// Forwards a command.
    pub(in crate::remote) fn forward(&mut self, Message { command, run, task }: Message) -> Result<(), RemoteError> {
        let request = match command {
            Command::Start { job, rois, paused } => match self.settings_of(run, &job) {
                Ok((study, settings)) => {
                    self.jobs.retain(|before, _| before + MAX_JOBS > run);
                    self.jobs.insert(run, (job, task));
                    let rois = if self.can_send(run, &rois) { rois } else { RoiSet::default() };
                    Request::Start { run, study, settings, rois, paused }
                }
                Err(reason) => {
                    let kind = EventKind::Failed(Problem::new("remote", reason));
                    let _ = self.channels.events.send(Event { run, kind });
                    (self.wake)();
                    // The previous run ends, as after the refusal of a solver.
                    Request::Control(Control::Cancel)
                }
            },
            Command::Control(mut control) => {
                if control.regions().is_some_and(|rois| !self.can_send(run, rois)) {
                    return Ok(());
                }
                Request::Control(control)
            }
            // Growing acquisitions are not reconstructed remotely.
            Command::DataArrived => return Ok(()),
            Command::Quit => {
                self.has_quit = true;
                return Ok(());
            }
        };
        self.request(request)
    }

    /// Returns true for regions that can be sent. Of others the window receives the reason.
    fn can_send(&self, run: RunId, rois: &RoiSet) -> bool {
        let Err(reason) = rois.check() else { return true };
        let notice = Notice::warning(format!("the regions are not measured: {reason}"));
        let _ = self.channels.events.send(Event { run, kind: EventKind::Notice(notice) });
        (self.wake)();
        false
    }

    /// Returns study and settings of a job that can run on the server, or the reason why it cannot.
    fn settings_of(&self, run: RunId, job: &Job) -> Result<(StudyId, Box<RunSettings>), String> {
        let state = self.shared.lock();
        if let ConnectionState::Closed { reason } = &state.connection {
            return Err(reason.clone());
        }
        remote_settings(job).map_err(|reason| format!("run {run} on {} failed: {reason}", state.host))
    }
}
