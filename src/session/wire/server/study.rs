//! The study at the solver's end: opened there, and reconstructed there.

use std::path::Path;
use std::sync::Arc;
use std::thread::Builder;

use super::super::WireError;
use super::super::messages::{News, Rois, StudyHead};
use super::{Hub, Input};
use crate::data::{Counts, Study};
use crate::plan::{Job, Rays, RunSettings};
use crate::session::{Command, RunId};
use crate::task::Task;

/// Most threads that a run may be asked to have.
const MAX_THREADS: usize = 4096;

/// Most lines per bin, as on the command line.
const MAX_RAYS: usize = 1024;

impl Hub {
    /// Opens a scan on a thread of its own.
    pub(super) fn open(&mut self, path: String) -> Result<(), WireError> {
        self.opening.stop();
        self.opening = Task::new();
        let (task, sender, open) = (self.opening.clone(), self.sender.clone(), Arc::clone(&self.open));
        let work = move || {
            let study = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| open(Path::new(&path), &task)));
            let study = study.unwrap_or_else(|_| Err("the study could not be opened: the program made a mistake".into()));
            let _ = sender.send(Input::Opened(study.map(Box::new)));
        };
        Builder::new().name("study".into()).spawn(work)?;
        Ok(())
    }

    pub(super) fn opened(&mut self, outcome: Result<Box<Study<Counts>>, String>) -> Result<(), WireError> {
        let head = outcome.map(|study| {
            let head = Box::new(StudyHead::of(&study));
            self.study = Some(Arc::new(*study));
            head
        });
        self.tell(News::Opened(head))
    }

    pub(super) fn start(&mut self, run: RunId, settings: RunSettings, rois: &Rois, paused: bool) -> Result<(), WireError> {
        let Some(study) = self.study.clone().filter(|_| run == self.latest + 1) else {
            return Err(WireError::cannot_be(format!("a start of run {run} after {}, or without a study", self.latest)));
        };
        let num_rays = match settings.rays {
            Rays::Auto => 1,
            Rays::Fixed { tangential, axial } => tangential.saturating_mul(axial),
        };
        if settings.num_threads.is_some_and(|threads| threads > MAX_THREADS) || !(1..=MAX_RAYS).contains(&num_rays) {
            return Err(WireError::cannot_be(format!("a run of more than {MAX_THREADS} threads, or {MAX_RAYS} lines per bin")));
        }
        let rois = self.regions(rois)?.unwrap_or_default();
        let job = Job::Counts { study, settings: Box::new(settings) };
        self.latest = self.session.send(Command::Start { job, rois, paused });
        Ok(())
    }
}
