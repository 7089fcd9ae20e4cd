//! Sessions: saved to a file, stored at the end of the program and offered afterwards, restored.

use std::path::Path;

use super::last_session::KEY;
use super::saved_session::{SavedNumbers, SavedRun, SavedSession, SavedStudy, SavedTools};
use super::unsaved_work::PendingAction;
use crate::data::Notice;
use crate::io::rois::RoiEntry;
use crate::io::session_text;
use crate::session::TubeSource;
use crate::ui::layer::second_image::SavedLayer;
use crate::ui::run::form::forms::Forms;
use crate::ui::run::run_view::RunView;
use crate::ui::study::open::open_images::OpenImages;
use crate::ui::study::source::{BUILT_IN, Source};
use crate::ui::widgets::wake::waker;
use crate::ui::workspace::state::Workspace;

/// Maximum number of earlier runs in a session.
const MAX_RUNS: usize = 12;

impl Workspace {
    /// Returns the current session with the parts of the tools; `None` without a study.
    fn session_now(&self, tools: SavedTools) -> Option<SavedSession> {
        let open = self.study.open.as_ref()?;
        let run = self.run();
        let tubes = self.study.tubes().and_then(|tubes| tubes.file.clone());
        let matrix = self.study.pairs().and_then(|open| open.matrix_file.clone());
        Some(SavedSession {
            version: session_text::VERSION,
            saved: format!("{:.0}", jiff::Timestamp::now()),
            study: SavedStudy::new(open.title(), self.study.source.as_ref()?, tubes, matrix)?,
            numbers: SavedNumbers {
                tab: self.panes.table(),
                labels: self.rois.labels,
                measure_unfiltered: self.rois.measure_unfiltered,
            },
            next: SavedRun::new(String::new(), &run.forms, run.post_filter_mm),
            view: self.slices.view.clone(),
            colouring: run.colouring.clone(),
            plots: self.plots.clone(),
            layer: self.layer.saved().map(with_absolute_path),
            tools,
            images: self.study.images().map(OpenImages::changes),
            runs: self.runs_made(),
            roi: self.rois.document.rois.iter().map(RoiEntry::from).collect(),
        })
    }

    /// Returns the settings of the earlier runs: first those of the restored session that were not used again.
    fn runs_made(&self) -> Vec<SavedRun> {
        let views = || self.runs.kept().iter().chain([self.run()]).filter(|view| view.live.is_measured());
        let is_again = |forms: &Forms| views().any(|view| view.running.as_ref() == Some(forms));
        let before = self.runs.remembered.iter().filter(|(_, forms)| !is_again(forms));
        let before = before.map(|(title, forms)| SavedRun::new(title.clone(), forms, 0.0));
        let made = |view: &RunView| {
            let title = view.live.title()?;
            Some(SavedRun::new(title, view.running.as_ref()?, view.post_filter_mm))
        };
        let mut runs: Vec<SavedRun> = before.chain(views().filter_map(made)).collect();
        runs.drain(..runs.len().saturating_sub(MAX_RUNS));
        runs
    }

    /// Saves the session in a file.
    ///
    /// # Errors
    /// No study is open, or writing the file failed.
    pub fn save_session(&self, path: &Path, tools: SavedTools) -> Result<(), String> {
        let session = self.session_now(tools).ok_or("there is no session to save before a study is open")?;
        session.write(path).map_err(|error| error.to_string())
    }

    /// Stores the session for the next start of the program. An unchanged built-in study from the start of the program does not
    /// replace the stored session.
    pub fn store_session(&self, storage: &mut dyn eframe::Storage, tools: SavedTools) {
        let is_first = matches!(&self.study.source, Some(Source::BuiltIn(study)) if *study == BUILT_IN[0]);
        if self.sessions.has_unreadable {
            return;
        }
        if is_first && self.run().is_automatic(self.run().live.run) && self.runs.kept().is_empty() && !self.has_edited_rois() {
            return;
        }
        if let Some(text) = self.session_now(tools).and_then(|session| session.text().ok()) {
            storage.set_string(KEY, text);
        }
    }

    /// Restores the session of a file.
    pub fn open_session(&mut self, path: &Path) {
        match SavedSession::read(path) {
            Ok(session) => self.restore(session),
            Err(error) => self.notify(Notice::error(error.to_string())),
        }
    }

    /// Restores the offered session.
    pub fn restore_offered(&mut self) {
        self.sessions.offered.take().into_iter().for_each(|session| self.restore(session));
    }

    /// Restores a session once its study is loaded, after a question about unsaved work.
    fn restore(&mut self, session: SavedSession) {
        match session.study.source() {
            Ok(source) => {
                self.sessions.restoring = Some(session);
                self.confirm(PendingAction::Open(source));
            }
            Err(reason) => self.notify(Notice::error(format!("restoring the session failed: {reason}"))),
        }
    }

    /// Returns the session to restore with this study, if any.
    pub fn restored_with(&mut self, source: &Source) -> Option<SavedSession> {
        self.sessions.restoring.take().filter(|session| session.study.source().as_ref() == Ok(source))
    }

    /// Applies a session to its open study. Returns true if the run must wait for tubes or a matrix.
    pub fn apply_session(&mut self, session: SavedSession) -> bool {
        match session.rois() {
            Ok(rois) => self.rois.set(rois),
            Err(reason) => self.notify(Notice::error(format!("the regions of restoring the session failed: {reason}"))),
        }
        self.mark_rois_saved();
        let SavedSession { study, numbers, next, view, colouring, plots, layer, tools, images, runs, .. } = session;
        self.runs.remembered = {
            let forms = &self.run().forms;
            runs.into_iter().map(|run| (run.title.clone(), run.forms(forms))).collect()
        };
        let run = self.runs.active_mut();
        run.forms = next.forms(&run.forms);
        (run.post_filter_mm, run.colouring) = (next.post_filter_mm, colouring);
        self.slices.restore(view);
        images.into_iter().for_each(|changes| self.study.restore_images(changes));
        match layer {
            Some(saved) if saved.is_attenuation => self.show_attenuation(Some(saved)),
            layer => {
                let read = self.layer_reader();
                layer.into_iter().for_each(|saved| self.layer.restore(saved, read, waker(&self.ctx)));
            }
        }
        self.sessions.of_tools = Some((numbers.tab, tools));
        self.plots = plots;
        (self.rois.labels, self.rois.measure_unfiltered) = (numbers.labels, numbers.measure_unfiltered);
        let waits = study.tubes.is_some() || study.matrix.is_some();
        self.study.starts_when_made = waits;
        study.tubes.into_iter().for_each(|path| self.start_tubes(TubeSource::File(path)));
        study.matrix.into_iter().for_each(|path| self.read_matrix(path));
        waits
    }

    /// Starts the run of a restored session that waited for tubes or a matrix.
    pub fn start_if_waiting(&mut self) {
        if std::mem::take(&mut self.study.starts_when_made) && self.options.autostart {
            self.start(false);
        }
    }
}

fn with_absolute_path(saved: SavedLayer) -> SavedLayer {
    SavedLayer { path: std::path::absolute(&saved.path).unwrap_or_else(|_| saved.path.clone()), ..saved }
}
