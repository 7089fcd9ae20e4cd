//! Requests to the server, made of the commands and queries of the session's handle.

use super::Client;
use super::handle::ConnectionState;
use crate::coded::Problem;
use crate::plan::{Job, RunSettings};
use crate::remote::images::codec::pack;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::messages::{RecoveryRequest, Request, Rois, SideRequest, ToServer};
use crate::remote::protocol::study::{StudyId, remote_settings};
use crate::session::{
    Command, CompareWith, Control, Event, EventKind, HistoryChange, Message, Query, RecoveryQuery, RunId, StoredIterate,
};

/// Number of latest runs whose jobs are stored.
const MAX_JOBS: u64 = 64;

impl Client {
    /// Sends a request, now or with the next connection.
    pub(super) fn request(&mut self, request: Request, payload: &[u8]) -> Result<(), RemoteError> {
        let output = self.greeted().cloned();
        self.requests.send(output.as_ref(), |number| ToServer::Request(number, request), payload)
    }

    /// Forwards a command.
    pub(in crate::remote) fn forward(&mut self, Message { command, run, task }: Message) -> Result<(), RemoteError> {
        let request = match command {
            Command::Start { job, rois, paused } => match self.settings_of(run, &job) {
                Ok((study, settings)) => {
                    self.jobs.retain(|before, _| before + MAX_JOBS > run);
                    self.jobs.insert(run, (job, task));
                    Request::Start { run, study, settings, rois: Rois::from(&rois), paused }
                }
                Err(reason) => {
                    let kind = EventKind::Failed(Problem::new("remote", reason));
                    let _ = self.channels.events.send(Event { run, kind });
                    (self.wake)();
                    // The previous run ends, as after the refusal of a solver.
                    Request::Control(Control::Cancel)
                }
            },
            Command::Control(control) => Request::Control(control),
            Command::SetRois(rois) => Request::SetRois(Rois::from(&rois)),
            Command::RenameRois(rois) => Request::RenameRois(Rois::new(0, &rois)),
            // Growing acquisitions are not reconstructed remotely.
            Command::DataArrived => return Ok(()),
            Command::Quit => {
                self.has_quit = true;
                return Ok(());
            }
        };
        self.request(request, &[])
    }

    /// Returns study and settings of a job that can run on the server, or the reason why it cannot.
    fn settings_of(&self, run: RunId, job: &Job) -> Result<(StudyId, Box<RunSettings>), String> {
        let state = self.shared.lock();
        if let ConnectionState::Closed { reason } = &state.connection {
            return Err(reason.clone());
        }
        remote_settings(job).map_err(|reason| format!("run {run} on {} failed: {reason}", state.host))
    }

    pub(super) fn forward_query(&mut self, query: Query) -> Result<(), RemoteError> {
        let mut image = Vec::new();
        let request = match query {
            Query::Rois(run, rois) => SideRequest::Measure(run, Rois::from(&rois)),
            Query::Compare(None, rois) => SideRequest::CompareRun(None, Rois::from(&rois)),
            Query::Compare(Some(CompareWith::Run(run)), rois) => SideRequest::CompareRun(Some(run), Rois::from(&rois)),
            Query::Compare(Some(CompareWith::Image(StoredIterate { id, volume, .. })), rois) => {
                image = pack(volume.as_slice());
                SideRequest::CompareImage { id, grid: volume.grid.clone(), rois: Rois::from(&rois) }
            }
            Query::Peaks(run, line) => SideRequest::MeasurePeaks(run, line),
            Query::Recovery(run, query) => {
                let request = query.map(|RecoveryQuery { filters_mm, activity_ratio, with_peak, rois }| RecoveryRequest {
                    filters_mm,
                    activity_ratio,
                    with_peak,
                    rois: Rois::from(&rois),
                });
                SideRequest::MeasureRecovery(run, request)
            }
        };
        self.request(Request::Side(request), &image)
    }

    pub(super) fn forward_change(&mut self, change: HistoryChange) -> Result<(), RemoteError> {
        let request = match change {
            HistoryChange::Retain(run) => SideRequest::Retain(run),
            HistoryChange::Release(run) => SideRequest::Release(run),
            HistoryChange::Pin(run, subiteration, is_pinned) => SideRequest::Pin(run, subiteration, is_pinned),
            HistoryChange::SetBudget(bytes) => SideRequest::SetHistoryBytes(bytes),
        };
        self.request(Request::Side(request), &[])
    }
}
