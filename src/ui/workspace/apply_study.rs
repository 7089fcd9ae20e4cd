//! What the window does about studies: opens them, shows the one that has come, and plays a sweep again.

use std::sync::Arc;

use egui::Context;

use super::app::App;
use super::files::dialogs::FileTask;
use super::keeping::unsaved_changes::Leave;
use super::wake::waker;
use crate::data::Notice;
use crate::io::FileKind;
use crate::plan::{Acquisition, ListAcquisition, ListFiles, StudyFiles};
use crate::session::wire::{Remote, RemoteStudy};
use crate::session::{Control, Feed, TubeSource};
use crate::ui::plots::BottomTab;
use crate::ui::study::action::StudyAction;
use crate::ui::study::list_form::ListForm;
use crate::ui::study::loader::{Follower, Loaded, Source};
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::open::open_sweep::OpenSweep;
use crate::ui::study::openable::why_no_study;
use crate::ui::study::state::StudyRequest;

impl App {
    pub(super) fn apply_study(&mut self, ctx: &Context, action: StudyAction) {
        match self.study.apply(action) {
            None => {}
            Some(StudyRequest::AskForFile) => _ = self.ask(ctx, FileTask::OpenStudy),
            Some(StudyRequest::AskToFollow) => _ = self.ask(ctx, FileTask::Follow),
            Some(StudyRequest::AskForReference) => _ = self.ask(ctx, FileTask::Reference),
            Some(StudyRequest::AskForCorrection(which)) => _ = self.ask(ctx, FileTask::Correct(which)),
            Some(StudyRequest::AskForAttenuation) => _ = self.ask(ctx, FileTask::Attenuation),
            Some(StudyRequest::AskForListTable(table)) => _ = self.ask(ctx, FileTask::ListTable(table)),
            Some(StudyRequest::Open(source)) => self.open(ctx, source),
            Some(StudyRequest::NothingComes) => self.saved.forget_decision(),
            Some(StudyRequest::ForgetRecent) => self.preferences.recent.clear(),
            Some(StudyRequest::Replay) => self.replay(ctx),
            Some(StudyRequest::AskSaveSession) => _ = self.ask(ctx, FileTask::SaveSession),
            Some(StudyRequest::AskForTubes) => _ = self.ask(ctx, FileTask::OpenTubes),
            Some(StudyRequest::AskForMatrix) => _ = self.ask(ctx, FileTask::OpenMatrix),
            Some(StudyRequest::MakeTubes(scanner, recipe)) => {
                let (cache, device) = (self.options.cache.clone(), self.runs.active().forms.settings.device);
                self.await_tubes(ctx, TubeSource::Simulation { scanner, recipe, device, cache });
            }
            Some(StudyRequest::CalibrateBySelected) => self.calibrate_by_selected(ctx),
            Some(StudyRequest::Tell(notices)) => notices.into_iter().for_each(|notice| self.notify(ctx, notice)),
        }
    }

    /// Begins to read or simulate a study; the one that is open stays until the new one is there. Tubes of response,
    /// matrices and regions are for the one that is open; a session is gone on with. What is no study is told before anything is
    /// asked.
    pub(super) fn open(&mut self, ctx: &Context, source: Source) {
        match self.placed(source) {
            Ok(source) => self.open_placed(ctx, source),
            Err(reason) => self.notify(ctx, Notice::error(reason)),
        }
    }

    /// A source where the session is: of one elsewhere what is named by a path is there, but for regions, and lists of which more is to
    /// be told first.
    fn placed(&self, source: Source) -> Result<Source, String> {
        let Some(remote) = self.session.remote() else { return Ok(source) };
        match source {
            Source::Files(StudyFiles::File(path)) => match FileKind::of(&path) {
                Some(FileKind::Rois | FileKind::YrtList) => Ok(Source::file(path)),
                // A path that is no text could not be sent: the host says that it has no such file.
                _ => Ok(Source::Elsewhere(StudyFiles::File(path.to_string_lossy().into_owned().into()))),
            },
            Source::Files(files) if !files.are_followed() => Ok(Source::Elsewhere(files)),
            Source::Elsewhere(_) => Ok(source),
            other => {
                let (words, host) = (other.text(), remote.host());
                Err(format!("{words}: not from a window that is connected to {host}; start tomoscope without --connect for that"))
            }
        }
    }

    fn open_placed(&mut self, ctx: &Context, source: Source) {
        let Source::Files(StudyFiles::File(path)) = source else { return self.leave(ctx, Leave::Open(source)) };
        match FileKind::of(&path) {
            Some(FileKind::Tubes) => self.await_tubes(ctx, TubeSource::File(path)),
            Some(FileKind::Matrix) => self.await_matrix(ctx, path),
            Some(FileKind::Session) => self.open_session(ctx, &path),
            Some(FileKind::Rois) => self.do_with_file(ctx, FileTask::LoadRois, &path),
            // It does not tell its scanner.
            Some(FileKind::YrtList) => self.study.list_form = Some(ListForm::of(&ListFiles::of(&path))),
            _ => match why_no_study(&path) {
                Some(reason) => self.notify(ctx, Notice::error(reason)),
                None => self.leave(ctx, Leave::Open(Source::file(path))),
            },
        }
    }

    /// A study has come, or not.
    pub(super) fn finish_loading(&mut self, ctx: &Context, outcome: Result<Loaded, String>) {
        let Some(loading) = self.study.loading.take() else { return };
        let source = loading.source.clone();
        match outcome {
            Ok(loaded) => self.leave(ctx, Leave::Show(Box::new(loaded), source)),
            Err(text) => {
                self.restoring = None;
                self.notify(ctx, Notice::error(text));
            }
        }
        self.saved.forget_decision();
    }

    pub(super) fn show_study(&mut self, ctx: &Context, loaded: Loaded, source: Source) {
        self.session.send(Control::Cancel);
        self.study.number += 1;
        self.runs.clear(&self.session);
        // Corrected otherwise, or with another reference spectrum, it is still the same: settings and regions stay.
        let restored = self.restored_with(&source);
        let is_the_same = self.study.is_open(&source) && restored.is_none();
        self.slices.begin_study(is_the_same);
        let tubes = self.study.tubes().map(|tubes| (Arc::clone(&tubes.set), tubes.file.clone()));
        let matrix = self.study.pairs().and_then(|open| Some((open.matrix.clone()?, open.matrix_file.clone())));
        let notices = match loaded {
            Loaded::Here { study, files, size, follower } => {
                self.show_open(ctx, OpenStudy { size, ..OpenStudy::new(*study, files) }, follower.map(|follower| *follower))
            }
            Loaded::Remote(head) => match head.study() {
                Ok(RemoteStudy { study, files, counted }) => {
                    let mut open = OpenStudy::new(study, Some(files));
                    if let (Some(open), Some(counted)) = (open.counts_mut(), counted) {
                        (open.total, open.subset_rule) = counted;
                    }
                    self.show_open(ctx, open, None)
                }
                Err(reason) => {
                    self.study.open = None;
                    vec![Notice::error(format!("invalid remote study: {reason}"))]
                }
            },
        };
        // The matrix of the study before goes with another one of the same ring.
        if let Some((matrix, file)) = matrix {
            let _ = self.study.take_matrix(matrix, file);
        }
        if !self.tabs().has(self.numbers) {
            self.numbers = BottomTab::Rois;
        }
        self.keep_fitting_tubes(ctx, tubes);
        if !is_the_same {
            self.begin_fresh(ctx);
        }
        let calibration = self.study.read_calibration();
        notices.into_iter().chain(calibration).for_each(|notice| self.notify(ctx, notice));
        (self.study.source, self.study.starts_when_made) = (Some(source.clone()), false);
        let waits = restored.is_some_and(|session| self.take_up(ctx, session));
        if !is_the_same {
            self.rois.undo.restart(&self.rois.document);
        }
        // (Counts with other corrections were opened as a file before.)
        if let Source::Files(files) = &source
            && !matches!(files, StudyFiles::Counts(_))
        {
            self.preferences.remember(files.measured());
        }
        match self.options.autostart && !waits {
            // What cannot be reconstructed yet is not started, but asked for.
            true if self.study.sweep().is_some_and(OpenSweep::lacks_reference) => _ = self.ask(ctx, FileTask::Reference),
            true => {
                if self.start(ctx, false) {
                    self.runs.active_mut().started_by_itself();
                }
            }
            false => {}
        }
    }

    /// Shows a study, and follows its file where that is still being written; returns the notices about it.
    fn show_open(&mut self, ctx: &Context, mut open: OpenStudy, follower: Option<Follower>) -> Vec<Notice> {
        self.options.trace.record("study_ready", &[open.study.measured.amount()]);
        let notices = open.study.notices.clone();
        match follower {
            Some(Follower::List(follower, events)) => {
                let acquisition = ListAcquisition::growing(events);
                let feed = Feed::follow_list(follower, acquisition.clone(), self.on_arrival(ctx));
                if let Some(feed) = self.feed_or_notice(ctx, feed) {
                    open.follow_list(acquisition, feed);
                }
            }
            Some(Follower::Sweep(follower)) => {
                let arrived = self.on_arrival(ctx);
                if let Some(sweep) = open.sweep_mut() {
                    let feed = Feed::follow(follower, sweep.whole().clone(), arrived);
                    sweep.feed = self.feed_or_notice(ctx, feed);
                }
            }
            None => {}
        }
        if open.list().is_some() {
            self.numbers = BottomTab::Rates;
        }
        if open.sweep().is_some() {
            self.numbers = BottomTab::Sweep;
        }
        self.study.open = Some(open);
        notices
    }

    pub(super) fn take_rois_from_study(&mut self) {
        if let Some(open) = &self.study.open {
            self.rois.set(open.study.rois.clone());
            self.rois_are_kept();
        }
    }

    /// What a feed calls: the solver goes on, and the window looks.
    pub(super) fn on_arrival(&self, ctx: &Context) -> impl Fn() + Send + use<> {
        let (arrived, wake) = (self.session.on_arrival(), waker(ctx));
        move || {
            arrived();
            wake();
        }
    }

    pub(super) fn feed_or_notice(&mut self, ctx: &Context, feed: std::io::Result<Feed>) -> Option<Feed> {
        feed.map_err(|error| {
            let text = format!("following the file failed: no thread could be started ({error}); close other programs");
            self.notify(ctx, Notice::error(text));
        })
        .ok()
    }

    /// Plays the open sweep again from its first projection.
    fn replay(&mut self, ctx: &Context) {
        if let Some(host) = self.session.remote().map(Remote::host) {
            let words = format!("a sweep is not played again on {host}; its image there is made of all projections");
            return self.notify(ctx, Notice::error(words));
        }
        let arrived = self.on_arrival(ctx);
        let Some(open) = self.study.sweep_mut() else { return };
        let whole = open.whole().snapshot();
        open.acquisition = Acquisition::growing(whole.without_projections());
        open.selected = None;
        let feed = Feed::replay(whole.projections, open.pace, open.acquisition.clone(), arrived);
        let feed = self.feed_or_notice(ctx, feed);
        if let Some(open) = self.study.sweep_mut() {
            open.feed = feed;
        }
        self.start(ctx, false);
    }
}
