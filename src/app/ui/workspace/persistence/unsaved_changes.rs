//! Unsaved work, and the question about it before the window closes or another study is opened.
//!
//! Unsaved work: regions of interest with edits since they were loaded, saved or taken from the study; a simulation of tubes, if the
//! window closes; an image without a file of its newest iterate. An automatic run is no unsaved work, because opening the study
//! repeats it: it started with the study, the user did not control it (start, step, further iterations, accumulation), and it has
//! a built-in study or took less than a minute.

use std::collections::VecDeque;

use egui::ViewportCommand;

use super::unsaved_work::{PendingAction, Unsaved, UnsavedQuestion};
use crate::data::Notice;
use crate::session::RunId;
use crate::ui::study::loader::Loading;
use crate::ui::study::source::Source;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::state::Workspace;

/// Maximum duration of an automatic run that is no unsaved work, s.
const QUICK_SECS: f64 = 60.0;

impl Workspace {
    /// Carries out an action, after a question about unsaved work.
    pub fn confirm(&mut self, action: PendingAction) {
        if self.leaving.question.is_some() {
            return;
        }
        let unsaved = self.unsaved(&action);
        if unsaved == Unsaved::default() {
            return self.proceed(action);
        }
        self.leaving.question = Some(UnsavedQuestion { action, unsaved, tasks: VecDeque::new() });
        self.ctx.request_repaint();
    }

    pub fn check_close_request(&mut self) {
        if !self.ctx.input(|input| input.viewport().close_requested()) || self.leaving.may_close {
            return;
        }
        self.confirm(PendingAction::Quit);
        if !self.leaving.may_close {
            self.ctx.send_viewport_cmd(ViewportCommand::CancelClose);
        }
    }

    /// Returns the unsaved work that an action discards.
    fn unsaved(&self, action: &PendingAction) -> Unsaved {
        let source = match action {
            PendingAction::Quit => None,
            PendingAction::Open(source) | PendingAction::Show(_, source) => Some(source),
        };
        let keeps_rois = source.is_some_and(|source| self.study.is_open(source)) && self.sessions.restoring.is_none();
        let (rois, saved) = (&self.rois.document.rois, &self.leaving.saved);
        let is_confirmed = saved.confirmed.as_ref();
        let is_confirmed =
            is_confirmed.map(|(confirmed, run)| (confirmed == rois, *run == self.run().live.run)).unwrap_or_default();
        let image = self.run().shown.newest_id().filter(|id| id.subiteration > 0).map(|id| (id.run, id.subiteration));
        Unsaved {
            rois: !keeps_rois && !rois.is_empty() && self.has_edited_rois() && !is_confirmed.0,
            tubes: matches!(action, PendingAction::Quit) && self.study.tube_maker.is_some(),
            image: image.is_some_and(|image| saved.image != Some(image) && !self.is_repeatable(image.0)) && !is_confirmed.1,
        }
    }

    /// Returns true for an automatic run that opening the study repeats within a short time.
    fn is_repeatable(&self, run: RunId) -> bool {
        let live = &self.run().live;
        let elapsed_secs = || live.provenance(live.progress().0, None).map_or(0.0, |record| record.times.elapsed_secs);
        let is_built_in = matches!(self.study.source, Some(Source::BuiltIn(_)));
        self.run().is_automatic(run) && (is_built_in || elapsed_secs() < QUICK_SECS)
    }

    fn proceed(&mut self, action: PendingAction) {
        match action {
            PendingAction::Quit => {
                self.finish_files();
                self.leaving.may_close = true;
                self.ctx.send_viewport_cmd(ViewportCommand::Close);
            }
            PendingAction::Open(source) => {
                let wake = self.ctx.clone();
                let (remote, cache) = (self.remote.clone(), self.options.cache.clone());
                self.study.loading = Some(Loading::start(source, remote, cache, move || wake.request_repaint()));
            }
            PendingAction::Show(loaded, source) => self.show_study(*loaded, source),
        }
    }

    /// Carries out the action: all unsaved work is saved or discarded.
    pub fn proceed_confirmed(&mut self) {
        let Some(question) = self.leaving.question.take() else { return };
        if matches!(question.action, PendingAction::Open(_)) {
            self.leaving.saved.confirmed = Some((self.rois.document.rois.clone(), self.run().live.run));
        }
        self.proceed(question.action);
    }

    /// Saves the unsaved work, then carries out the action.
    pub fn save_unsaved(&mut self) {
        if let Some(UnsavedQuestion { unsaved, tasks, .. }) = &mut self.leaving.question {
            tasks.extend(unsaved.rois.then_some(FileTask::SaveRois));
            tasks.extend(unsaved.image.then_some(FileTask::SaveImage));
        }
        self.save_next();
    }

    /// Cancels the action.
    pub fn stay(&mut self) {
        self.cancel_pending();
        self.sessions.restoring = None;
    }

    /// Cancels the action. A loaded remote study is closed on the server.
    fn cancel_pending(&mut self) {
        if let Some(UnsavedQuestion { action: PendingAction::Show(loaded, _), .. }) = self.leaving.question.take()
            && let Some((id, remote)) = loaded.remote_id.zip(self.remote.as_ref())
        {
            remote.close(id);
        }
    }

    /// Cancels the action that waits for the saving of a file, because saving failed or was cancelled.
    pub fn cancel_saving(&mut self, task: FileTask) {
        if self.leaving.question.as_ref().is_some_and(|question| question.tasks.front() == Some(&task)) {
            self.cancel_pending();
        }
    }

    /// Asks for the path of the next file to save, or carries out the action when all are saved.
    fn save_next(&mut self) {
        match self.leaving.question.as_ref().map(|question| question.tasks.front().copied()) {
            None => {}
            Some(None) => self.proceed_confirmed(),
            Some(Some(task)) if self.ask(task) => {}
            Some(Some(_)) => {
                self.cancel_pending();
                self.notify(Notice::info("A file dialog is still open: close it first, then try again"));
            }
        }
    }

    /// Marks the content of a written file as saved, and continues an action that waits for it.
    pub fn continue_after_saving(&mut self, task: FileTask) {
        if let FileTask::SaveRois | FileTask::SaveSession = task {
            self.mark_rois_saved();
        }
        if let Some(question) = &mut self.leaving.question
            && question.tasks.front() == Some(&task)
        {
            question.tasks.pop_front();
            self.save_next();
        }
    }

    /// Returns true if the regions differ from those of a file or the study.
    pub fn has_edited_rois(&self) -> bool {
        self.rois.document.rois != self.leaving.saved.rois
    }

    /// Marks the regions as equal to those of a file or the study.
    pub fn mark_rois_saved(&mut self) {
        self.leaving.saved.rois.clone_from(&self.rois.document.rois);
    }
}
