//! Opening of studies: loading, display of the loaded study, following of a growing file, replay.

use std::sync::Arc;

use super::files::series_chooser::{SeriesChooser, SeriesUse};
use super::panes::pane::{OXYGEN, RATES, SWEEP};
use super::persistence::unsaved_work::PendingAction;
use super::state::Workspace;
use crate::data::Notice;
use crate::io::formats::Format;
use crate::io::{FileKind, read_epri_images, read_images};
use crate::plan::{Acquisition, ListAcquisition, ListFiles, StudyFiles};
use crate::remote::Remote;
use crate::session::{Control, Feed, TubeSource};
use crate::ui::layer::state::ReadSeries;
use crate::ui::study::file_check::refusal;
use crate::ui::study::list_form::{ListForm, lacks_scanner};
use crate::ui::study::loader::{Follower, LoadFailure, Loaded};
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::source::Source;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::wake::waker;

impl Workspace {
    /// Starts loading a study; the open one stays until then. Files of tubes, matrices and regions are for the open study, a
    /// session is restored. A notice reports a file that is no study.
    pub fn open(&mut self, source: Source) {
        match self.located(source) {
            Ok(source) => self.open_located(source),
            Err(reason) => self.notify(Notice::error(reason)),
        }
    }

    /// Returns the source on the machine of the session: paths of a remote session are paths of the server, except regions, and
    /// list-mode data that need a form first.
    ///
    /// # Errors
    /// A remote session cannot open the source.
    fn located(&self, source: Source) -> Result<Source, String> {
        let Some(remote) = self.remote.as_ref() else { return Ok(source) };
        match source {
            Source::Files(StudyFiles::File(path)) => match FileKind::of(&path) {
                Some(FileKind::Rois | FileKind::DicomSegmentation) => Ok(Source::file(path)),
                _ if lacks_scanner(&path) => Ok(Source::file(path)),
                // For a path that is no text the server reports a missing file.
                _ => Ok(Source::Elsewhere(StudyFiles::File(path.to_string_lossy().into_owned().into()))),
            },
            Source::Files(files) if !files.are_followed() => Ok(Source::Elsewhere(files)),
            Source::Elsewhere(_) => Ok(source),
            other => {
                let (text, host) = (other.text(), remote.host());
                Err(format!("{text}: not from a window that is connected to {host}; start tomoscope without --connect for that"))
            }
        }
    }

    fn open_located(&mut self, source: Source) {
        let Source::Files(StudyFiles::File(path)) = source else { return self.confirm(PendingAction::Open(source)) };
        match Format::of_file(&path).map(|format| format.kind) {
            Some(FileKind::Tubes) => self.start_tubes(TubeSource::File(path)),
            Some(FileKind::Matrix) => self.read_matrix(path),
            Some(FileKind::Session) => self.open_session(&path),
            Some(FileKind::Rois | FileKind::DicomSegmentation) => self.do_with_file(FileTask::LoadRois, &path),
            // It does not contain its scanner.
            _ if lacks_scanner(&path) => self.study.list_form = Some(ListForm::of(&ListFiles::of(&path))),
            _ => match refusal(&path) {
                Some(reason) => self.notify(Notice::error(reason)),
                None => self.confirm(PendingAction::Open(Source::file(path))),
            },
        }
    }

    pub fn finish_loading(&mut self, outcome: Result<Loaded, LoadFailure>) {
        let Some(loading) = self.study.loading.take() else { return };
        let source = loading.source.clone();
        match outcome {
            Ok(loaded) => self.confirm(PendingAction::Show(Box::new(loaded), source)),
            Err(failure) => {
                self.sessions.restoring = None;
                self.handle_load_failure(failure, SeriesUse::Study);
            }
        }
        self.leaving.saved.forget_confirmation();
    }

    /// Offers the series of a folder with several, or reports another reason.
    pub fn handle_load_failure(&mut self, failure: LoadFailure, usage: SeriesUse) {
        match failure {
            LoadFailure::Series(series) => self.files.series = Some(SeriesChooser::start(usage, series, waker(&self.ctx))),
            LoadFailure::Text(text) => self.notify(Notice::error(text)),
        }
    }

    /// Returns the reader of the second image: along the axes of the study.
    pub fn layer_reader(&self) -> ReadSeries {
        if self.run().forms.settings.bounds.is_sweep() { read_epri_images } else { read_images }
    }

    /// Opens a series of the chooser.
    pub fn open_series(&mut self, index: usize) {
        let Some(chooser) = self.files.series.take() else { return };
        let Some(file) = chooser.file(index) else { return };
        match chooser.usage {
            SeriesUse::Study => self.open(Source::file(file)),
            SeriesUse::SecondImage => self.layer.start(&file, self.layer_reader(), waker(&self.ctx)),
        }
    }

    pub fn show_study(&mut self, loaded: Loaded, source: Source) {
        self.session.send(Control::Cancel);
        self.study.number += 1;
        self.runs.clear(&self.session);
        // With other corrections or another reference spectrum it is the same study: settings and regions stay.
        let restored = self.restored_with(&source);
        let is_the_same = self.study.is_open(&source) && restored.is_none();
        self.slices.begin_study(is_the_same);
        let tubes = self.study.tubes().map(|tubes| (Arc::clone(&tubes.set), tubes.file.clone()));
        let matrix = self.study.pairs().and_then(|open| Some((open.matrix.clone()?, open.matrix_file.clone())));
        let notices = self.show_open(loaded.open, loaded.follower);
        // The matrix of the previous study fits another study of the same ring.
        if let Some((matrix, file)) = matrix {
            let _ = self.study.take_matrix(matrix, file);
        }
        self.keep_fitting_tubes(tubes);
        if !is_the_same {
            self.layer.clear();
            self.spectra.clear();
            self.reset_for_study();
        }
        // Another map of the same study.
        if let Some(display) = self.layer.shown_attenuation() {
            self.show_attenuation(Some(display));
        }
        let calibration = self.study.read_calibration();
        self.notify_all(notices.into_iter().chain(calibration));
        (self.study.source, self.study.starts_when_made) = (Some(source.clone()), false);
        let waits = restored.is_some_and(|session| self.apply_session(session));
        if !is_the_same {
            self.rois.undo.restart(&self.rois.document);
        }
        // (A scan with other corrections was opened as a file before.)
        if let Source::Files(files) = &source
            && !matches!(files, StudyFiles::Counts(_))
        {
            self.preferences.add_recent(files.measured());
        }
        match (self.options.autostart || self.study.images().is_some()) && !waits {
            // A continuous-wave acquisition needs its reference spectrum first, unless the form has the spectra of its radicals.
            true if self.study.sweep().is_some_and(|sweep| sweep.lacks_reference() && sweep.radicals.is_empty()) => {
                self.ask(FileTask::Reference);
            }
            true => {
                if self.start(false) {
                    self.runs.active_mut().mark_automatic();
                }
            }
            false => {}
        }
    }

    /// Shows a study and follows a growing file; returns the notices of the study.
    fn show_open(&mut self, mut open: OpenStudy, follower: Option<Follower>) -> Vec<Notice> {
        self.options.trace.record("study_ready", &[open.study.measured.amount()]);
        let notices = open.study.notices.clone();
        match follower {
            Some(Follower::List(follower, events)) => {
                let acquisition = ListAcquisition::growing(*events);
                let feed = Feed::follow_list(*follower, acquisition.clone(), self.on_arrival());
                if let Some(feed) = self.feed_or_notice(feed) {
                    open.follow_list(acquisition, feed);
                }
            }
            Some(Follower::Sweep(follower)) => {
                let arrived = self.on_arrival();
                if let Some(sweep) = open.sweep_mut() {
                    let feed = Feed::follow(*follower, sweep.whole().clone(), arrived);
                    sweep.feed = self.feed_or_notice(feed);
                }
            }
            None => {}
        }
        if open.list().is_some() {
            self.panes.show(&RATES);
        }
        if open.sweep().is_some() {
            self.panes.show(&SWEEP);
        }
        if open.oximetry().is_some() {
            self.panes.show(&OXYGEN);
        }
        self.study.open = Some(open);
        notices
    }

    /// Replaces all regions by those of the study.
    pub fn take_rois_from_study(&mut self) {
        if let Some(open) = &self.study.open {
            self.rois.set(open.study.rois.clone());
            self.mark_rois_saved();
        }
    }

    /// Returns the callback of a feed: it wakes the solver and the window.
    pub fn on_arrival(&self) -> impl Fn() + Send + use<> {
        let (arrived, wake) = (self.session.on_arrival(), waker(&self.ctx));
        move || {
            arrived();
            wake();
        }
    }

    pub fn feed_or_notice(&mut self, feed: std::io::Result<Feed>) -> Option<Feed> {
        feed.map_err(|error| {
            let text = format!("following the file failed: no thread could be started ({error}); close other programs");
            self.notify(Notice::error(text));
        })
        .ok()
    }

    /// Replays the open acquisition from its first projection.
    pub fn replay(&mut self) {
        if let Some(host) = self.remote.as_ref().map(Remote::host) {
            let text = format!("a sweep is not played again on {host}; its image there is made of all projections");
            return self.notify(Notice::error(text));
        }
        let arrived = self.on_arrival();
        let Some(open) = self.study.sweep_mut() else { return };
        let whole = open.whole().snapshot();
        open.acquisition = Acquisition::growing(whole.without_projections());
        open.selected = None;
        let feed = Feed::replay(whole.projections, open.pace, open.acquisition.clone(), arrived);
        let feed = self.feed_or_notice(feed);
        if let Some(open) = self.study.sweep_mut() {
            open.feed = feed;
        }
        self.start(false);
    }
}
