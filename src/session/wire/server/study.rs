//! The study at the solver's end: opened there, and reconstructed there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::Builder;

use super::super::WireError;
use super::super::framing::encode;
use super::super::messages::{News, Rois, StudyId, ToWindow};
use super::super::studies::{StudyHead, checked, job_of};
use super::{Hub, Input};
use crate::coded::Problem;
use crate::data::Study;
use crate::plan::{Data, Forecast, RunSettings, StudyFiles, forecast};
use crate::session::{Control, Event, EventKind};

/// Runs whose studies are known.
const MAX_RUNS: u64 = 64;

impl Hub {
    /// Opens a scan on a thread of its own.
    pub(super) fn open(&mut self, study: StudyId, files: StudyFiles) -> Result<(), WireError> {
        let (task, sender, open) = (self.studies.begin(study)?, self.sender.clone(), Arc::clone(&self.open));
        let work = move || {
            let scan = catch_unwind(AssertUnwindSafe(|| open(&files, &task)));
            let scan = scan.unwrap_or_else(|_| Err("the study could not be opened: the program made a mistake".into()));
            let _ = sender.send(Input::Opened(study, Box::new(scan)));
        };
        Builder::new().name("study".into()).spawn(work)?;
        Ok(())
    }

    /// A study was read, or not. One that was closed meanwhile, or for which another was opened, is dropped.
    pub(super) fn opened(&mut self, study: StudyId, outcome: Result<(Study<Data>, StudyFiles), String>) -> Result<(), WireError> {
        let is_wanted = self.studies.end(study);
        let head = outcome.and_then(|(read, files)| {
            if !is_wanted {
                return Err("stopped: another study was opened, or this one closed".into());
            }
            let head = StudyHead::of(&read, files).ok_or("crystal-pair histograms are not reconstructed remotely")?;
            check_size(&head)?;
            self.studies.opened(study, Arc::new(read));
            Ok(Box::new(head))
        });
        self.tell(News::Opened(study, head))
    }

    /// Starts a run of a study. Numbers may be left out: the window refuses some runs itself.
    pub(super) fn start(
        &mut self,
        [run, study]: [u64; 2],
        settings: Box<RunSettings>,
        rois: &Rois,
        paused: bool,
    ) -> Result<(), WireError> {
        if run <= self.latest {
            return Err(WireError::cannot_be(format!("a start of run {run} after run {}", self.latest)));
        }
        let settings = checked(settings)?;
        (self.latest, self.running) = (run, None);
        let Some(scan) = self.studies.used(study) else {
            self.session.send(Control::Cancel);
            let reason = format!("study {study} is not open on the server (any more): open it again");
            return self.tell(News::Event(Event { run, kind: EventKind::Failed(Problem::new("remote.no-study", reason)) }));
        };
        let job =
            job_of(scan, settings).ok_or_else(|| WireError::cannot_be("a start of another kind of run than the study's"))?;
        let rois = self.regions(rois)?.unwrap_or_default();
        self.runs.retain(|before, _| run - before < MAX_RUNS);
        self.runs.insert(run, study);
        self.session.start_as(run, job, rois, paused);
        Ok(())
    }

    /// Works out, on a thread of its own, what a run would need. While it does, or where the study is not open, that is unknown.
    pub(super) fn foresee(&mut self, number: u64, study: StudyId, settings: Box<RunSettings>) -> Result<(), WireError> {
        let settings = checked(settings)?;
        let job = self.studies.used(study).and_then(|scan| job_of(scan, settings)).filter(|_| !self.is_foreseeing);
        let Some(job) = job else {
            return self.say(&ToWindow::Foreseen(number, None));
        };
        self.is_foreseeing = true;
        let (sender, running) = (self.sender.clone(), self.running.clone());
        let work = move || {
            let made = catch_unwind(AssertUnwindSafe(|| forecast(&job, running.as_deref())));
            let made = made.map_err(|_| "memory forecast failed: internal error".to_owned());
            let made = made.and_then(|made| made.map_err(|error| error.to_string()));
            let _ = sender.send(Input::Foreseen(number, made));
        };
        Builder::new().name("forecast".into()).spawn(work)?;
        Ok(())
    }

    pub(super) fn foreseen(&mut self, number: u64, forecast: Result<Forecast, String>) -> Result<(), WireError> {
        self.is_foreseeing = false;
        self.say(&ToWindow::Foreseen(number, Some(forecast)))
    }
}

/// Refuses a head that is longer than any message: of a scanner with very many crystals, or of a very long sweep.
fn check_size(head: &StudyHead) -> Result<(), String> {
    // Its number and its kind come before it.
    let sent = encode(head, &[0; 32]).map(drop);
    sent.map_err(|_| "the description of this scan is too long to be sent: open it on the machine itself".into())
}
