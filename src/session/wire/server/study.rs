//! The study at the solver's end: opened there, and reconstructed there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::Builder;

use super::super::WireError;
use super::super::framing::encode;
use super::super::messages::{News, Rois, ToWindow};
use super::super::studies::{Scan, Settings, StudyHead};
use super::{Hub, Input};
use crate::plan::{Forecast, StudyFiles, forecast};
use crate::session::{Command, RunId};
use crate::task::Task;

impl Hub {
    /// Opens a scan on a thread of its own.
    pub(super) fn open(&mut self, files: StudyFiles) -> Result<(), WireError> {
        self.opening.stop();
        self.opening = Task::new();
        let (task, sender, open) = (self.opening.clone(), self.sender.clone(), Arc::clone(&self.open));
        let work = move || {
            let scan = catch_unwind(AssertUnwindSafe(|| open(&files, &task)));
            let scan = scan.unwrap_or_else(|_| Err("the study could not be opened: the program made a mistake".into()));
            let _ = sender.send(Input::Opened(scan));
        };
        Builder::new().name("study".into()).spawn(work)?;
        Ok(())
    }

    pub(super) fn opened(&mut self, outcome: Result<(Scan, StudyFiles), String>) -> Result<(), WireError> {
        let head = outcome.and_then(|(scan, files)| {
            let head = StudyHead::of(&scan, files);
            check_size(&head)?;
            self.scan = Some(scan);
            Ok(Box::new(head))
        });
        self.tell(News::Opened(head))
    }

    pub(super) fn start(&mut self, run: RunId, settings: Settings, rois: &Rois, paused: bool) -> Result<(), WireError> {
        let scan = self.scan.as_ref().filter(|_| run == self.latest + 1);
        let settings = settings.checked()?;
        let job = scan.and_then(|scan| scan.job(settings)).ok_or_else(|| {
            WireError::cannot_be(format!("a start of run {run} after {}, or without such a study", self.latest))
        })?;
        let rois = self.regions(rois)?.unwrap_or_default();
        self.latest = self.session.send(Command::Start { job, rois, paused });
        Ok(())
    }

    /// Works out, on a thread of its own, what a run would need. While it does others are not asked about.
    pub(super) fn foresee(&mut self, number: u64, settings: Settings) -> Result<(), WireError> {
        let settings = settings.checked()?;
        let job = self.scan.as_ref().and_then(|scan| scan.job(settings)).filter(|_| !self.is_foreseeing);
        let Some(job) = job else {
            return self.say(&ToWindow::Foreseen(number, Err("what it needs is not known yet".into())));
        };
        self.is_foreseeing = true;
        let (sender, running) = (self.sender.clone(), self.running.clone());
        let work = move || {
            let made = catch_unwind(AssertUnwindSafe(|| forecast(&job, running.as_deref())));
            let made = made.map_err(|_| "what it needs cannot be told: the program made a mistake".to_owned());
            let made = made.and_then(|made| made.map_err(|error| error.to_string()));
            let _ = sender.send(Input::Foreseen(number, made));
        };
        Builder::new().name("forecast".into()).spawn(work)?;
        Ok(())
    }

    pub(super) fn foreseen(&mut self, number: u64, forecast: Result<Forecast, String>) -> Result<(), WireError> {
        self.is_foreseeing = false;
        self.say(&ToWindow::Foreseen(number, forecast))
    }
}

/// Refuses a head that is longer than any message: of a scanner with very many crystals, or of a very long sweep.
fn check_size(head: &StudyHead) -> Result<(), String> {
    // Its number and its kind come before it.
    let sent = encode(head, &[0; 32]).map(drop);
    sent.map_err(|_| "the description of this scan is too long to be sent: open it on the machine itself".into())
}
