//! Studies on the server: opened there, and reconstructed there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::Builder;

use super::{Input, ReadOutcome, ServerSession};
use crate::coded::Problem;
use crate::plan::{Forecast, RunSettings, StudyFiles, forecast};
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::framing::encode;
use crate::remote::protocol::messages::{Notification, ToClient};
use crate::remote::protocol::study::{StudyId, StudyMetadata, job_of, validate};
use crate::session::{Control, Event, EventKind, RoiSet};

/// Number of latest runs whose studies are stored.
const MAX_RUNS: u64 = 64;

impl ServerSession {
    /// Opens a study on a thread.
    pub(super) fn open(&mut self, study: StudyId, files: StudyFiles) -> Result<(), RemoteError> {
        let (task, sender, open) = (self.studies.begin(study)?, self.sender.clone(), Arc::clone(&self.open));
        let work = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| open(&files, &task)));
            let outcome = outcome.unwrap_or_else(|_| Err("the study could not be opened: the program made a mistake".into()));
            let _ = sender.send(Input::Opened(study, Box::new(outcome)));
        };
        Builder::new().name("study".into()).spawn(work)?;
        Ok(())
    }

    /// Handles the outcome of reading a study. One that was closed or replaced meanwhile is dropped.
    pub(super) fn opened(&mut self, study: StudyId, outcome: ReadOutcome) -> Result<(), RemoteError> {
        let is_wanted = self.studies.end(study);
        let metadata = outcome.and_then(|(read, files)| {
            if !is_wanted {
                return Err("stopped: another study was opened, or this one closed".into());
            }
            let metadata = StudyMetadata::of(&read, files)
                .ok_or_else(|| format!("{} are not reconstructed remotely", read.measured.kind().plural()))?
                .with_calibration();
            check_size(&metadata)?;
            self.studies.opened(study, Arc::new(read));
            Ok(Box::new(metadata))
        });
        self.notify(Notification::Opened(study, metadata))
    }

    /// Starts a run of a study. Run numbers may have gaps: the window refuses some runs.
    pub(super) fn start(
        &mut self,
        [run, study]: [u64; 2],
        settings: Box<RunSettings>,
        rois: RoiSet,
        paused: bool,
    ) -> Result<(), RemoteError> {
        if run <= self.latest {
            return Err(RemoteError::invalid(format!("a start of run {run} after run {}", self.latest)));
        }
        let settings = validate(settings)?;
        (self.latest, self.running) = (run, None);
        let Some(data) = self.studies.used(study) else {
            self.session.send(Control::Cancel);
            let reason = format!("study {study} is not open on the server (any more): open it again");
            let kind = EventKind::Failed(Problem::new("remote", reason));
            return self.notify(Notification::Event(Event { run, kind }));
        };
        let job =
            job_of(data, settings).ok_or_else(|| RemoteError::invalid("a start of another kind of run than the study's"))?;
        let rois = self.masked(rois);
        self.runs.retain(|before, _| run - before < MAX_RUNS);
        self.runs.insert(run, study);
        self.session.start_as(run, job, rois, paused);
        Ok(())
    }

    /// Computes a memory forecast on a thread. During another forecast, or if the study is not open, the answer is "unknown".
    pub(super) fn forecast(&mut self, number: u64, study: StudyId, settings: Box<RunSettings>) -> Result<(), RemoteError> {
        let settings = validate(settings)?;
        let job = self.studies.used(study).and_then(|data| job_of(data, settings)).filter(|_| !self.is_forecasting);
        let Some(job) = job else {
            return self.send(&ToClient::ForecastReply(number, None));
        };
        self.is_forecasting = true;
        let (sender, running) = (self.sender.clone(), self.running.clone());
        let work = move || {
            let forecast = catch_unwind(AssertUnwindSafe(|| forecast(&job, running.as_deref())));
            let forecast = forecast.map_err(|_| "memory forecast failed: internal error".to_owned());
            let forecast = forecast.and_then(|forecast| forecast.map_err(|error| error.to_string()));
            let _ = sender.send(Input::Forecast(number, forecast));
        };
        Builder::new().name("forecast".into()).spawn(work)?;
        Ok(())
    }

    pub(super) fn send_forecast(&mut self, number: u64, forecast: Result<Forecast, String>) -> Result<(), RemoteError> {
        self.is_forecasting = false;
        self.send(&ToClient::ForecastReply(number, Some(forecast)))
    }
}

/// Refuses metadata that exceed the length of a message: of a scanner with very many crystals, or of a very long sweep.
fn check_size(metadata: &StudyMetadata) -> Result<(), String> {
    // Number and kind of the message precede them.
    let sent = encode(metadata, &[0; 32]).map(drop);
    sent.map_err(|_| "the description of this scan is too long to be sent: open it on the machine itself".into())
}
