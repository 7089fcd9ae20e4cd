//! What goes from the window's end: orders, made of the commands and questions of whoever holds the session's handle.

use std::time::Instant;

use super::super::framing::encode;
use super::super::image::pack;
use super::super::messages::{Beside, Order, Rois, StudyId, ToServer};
use super::super::remote::RemoteAsk;
use super::super::studies::remote_settings;
use super::super::{LineState, WireError};
use super::Client;
use crate::coded::Problem;
use crate::plan::{Job, RunSettings};
use crate::session::measurer::Query;
use crate::session::solver::Message;
use crate::session::{Command, CompareWith, Control, Event, EventKind, RunId, StoredIterate};

impl Client {
    /// Has something done there, whenever the line holds.
    pub(super) fn order(&mut self, order: Order, brings: &[u8]) -> Result<(), WireError> {
        let bytes = encode(&ToServer::Order(self.orders.next(), order), brings)?;
        if let Some(line) = self.line.as_ref().filter(|line| line.greeted_at.is_some()) {
            let _ = line.output.send(bytes.clone());
        }
        self.orders.push(bytes);
        Ok(())
    }

    pub(super) fn obey(&mut self, ask: RemoteAsk) -> Result<(), WireError> {
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
    pub(in crate::session::wire) fn pass_on(&mut self, Message { command, run, task }: Message) -> Result<(), WireError> {
        let order = match command {
            Command::Start { job, rois, paused } => match self.settings_of(run, &job) {
                Ok((study, settings)) => {
                    self.jobs.retain(|before, _| before + 64 > run);
                    self.jobs.insert(run, (job, task));
                    Order::Start { run, study, settings, rois: Rois::of(&rois), paused }
                }
                Err(reason) => {
                    let _ = self.ends.events.send(Event { run, kind: EventKind::Failed(Problem::new("remote.refused", reason)) });
                    (self.wake)();
                    // The run before ends all the same, as it does where the solver refuses one.
                    Order::Control(Control::Cancel)
                }
            },
            Command::Control(control) => Order::Control(control),
            Command::SetRois(rois) => Order::SetRois(Rois::of(&rois)),
            Command::RenameRois(rois) => Order::RenameRois(Rois::renamed(&rois)),
            // What arrives is told there.
            Command::DataArrived | Command::Quit => return Ok(()),
        };
        self.order(order, &[])
    }

    /// The study and the settings of a job that can be done there, or why it cannot.
    fn settings_of(&self, run: RunId, job: &Job) -> Result<(StudyId, Box<RunSettings>), String> {
        let state = self.shared.lock();
        if let LineState::Over { reason } = &state.line {
            return Err(reason.clone());
        }
        remote_settings(job).map_err(|reason| format!("run {run} on {} failed: {reason}", state.host))
    }

    pub(super) fn pass_ask_on(&mut self, ask: Query) -> Result<(), WireError> {
        let mut image = Vec::new();
        let order = match ask {
            Query::Rois(run, rois) => Beside::Measure(run, Rois::of(&rois)),
            Query::Compare(None) => Beside::Compare(None),
            Query::Compare(Some(CompareWith::Run(run))) => Beside::Compare(Some(run)),
            Query::Compare(Some(CompareWith::Image(StoredIterate { id, volume, .. }))) => {
                image = pack(volume.as_slice());
                Beside::CompareWith { id, grid: volume.grid.clone() }
            }
            Query::Peaks(run, line) => Beside::MeasurePeaks(run, line),
            Query::CatchUp | Query::StoredIterate | Query::Quit => return Ok(()),
        };
        self.order(Order::Beside(order), &image)
    }
}
