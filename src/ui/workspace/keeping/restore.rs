//! The user's work from one day to the next: saved to a file, kept for the next start, offered there, and taken up again.

use std::path::Path;

use egui::{Context, RichText, Ui};

use super::saved_session::{SavedNumbers, SavedRun, SavedSession, SavedStudy};
use super::unsaved_changes::Leave;
use crate::data::Notice;
use crate::io::rois::RoiEntry;
use crate::io::session_text;
use crate::session::TubeSource;
use crate::ui::run::form::forms::Forms;
use crate::ui::run::run_view::RunView;
use crate::ui::study::loader::{BUILT_IN, Source};
use crate::ui::workspace::actions::Action;
use crate::ui::workspace::app::App;

/// Key in the window's storage.
const KEY: &str = "last session";

/// Most settings of earlier runs that a session has.
const MAX_RUNS: usize = 12;

/// About the session that is offered.
#[derive(Clone, Copy, Debug)]
pub enum SessionAction {
    /// Goes on with it.
    Restore,
    /// Offers it no longer.
    NotNow,
}

/// The session of the last time, if there was one and it can be read. One that cannot (another version may have written it) would be
/// written over: it is stored as a file in `folder`, and the notice says where.
///
/// # Errors
/// It cannot be read, nor stored as a file.
pub fn last_session(
    storage: Option<&dyn eframe::Storage>,
    folder: Option<&Path>,
) -> Result<(Option<SavedSession>, Option<Notice>), Notice> {
    let Some(text) = storage.and_then(|storage| storage.get_string(KEY)) else { return Ok((None, None)) };
    let reason = match SavedSession::parse(&text) {
        Ok(session) => return Ok((Some(session), None)),
        Err(reason) => reason,
    };
    let failed = |why: String| {
        Notice::error(format!(
            "Reading the last session failed: {reason}. Storing it as a file failed, too ({why}): the current work is therefore not \
             stored for the next time. Save it with 'Save session…'"
        ))
    };
    let folder = folder.ok_or_else(|| failed("there is no cache folder".to_owned()))?;
    let path = folder.join(format!("last-session-{}.session.bak", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S")));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| failed(format!("{}: {error}", path.display())))?;
    let text = format!("Reading the last session failed: {reason}. It is stored as {}", path.display());
    Ok((None, Some(Notice::warning(text))))
}

impl App {
    /// The user's work as it is now; `None` without a study.
    fn session_now(&self) -> Option<SavedSession> {
        let open = self.study.open.as_ref()?;
        let run = self.run();
        let tubes = self.study.tubes().and_then(|tubes| tubes.file.clone());
        let matrix = self.study.pairs().and_then(|open| open.matrix_file.clone());
        Some(SavedSession {
            version: session_text::VERSION,
            saved: format!("{:.0}", jiff::Timestamp::now()),
            study: SavedStudy::new(open.title(), self.study.source.as_ref()?, tubes, matrix)?,
            numbers: SavedNumbers {
                tab: self.numbers,
                labels: self.rois.labels,
                measure_unfiltered: self.rois.measure_unfiltered,
            },
            next: SavedRun::new(String::new(), &run.forms, run.post_filter_mm),
            view: self.slices.view.clone(),
            colouring: run.colouring.clone(),
            plots: self.plots.clone(),
            runs: self.runs_made(),
            roi: self.rois.document.rois.iter().map(RoiEntry::from).collect(),
        })
    }

    /// Settings of the runs that there were: those of the session that was restored which were not used again, then those since.
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

    /// Saves the user's work.
    ///
    /// # Errors
    /// There is no study, or the file cannot be written, as a sentence.
    pub(in crate::ui) fn save_session(&self, path: &Path) -> Result<(), String> {
        let session = self.session_now().ok_or("there is no session to save before a study is open")?;
        session.write(path).map_err(|error| error.to_string())
    }

    /// Keeps the user's work for the next start. A built-in study that started by itself and was left alone is none, and does not
    /// take the place of what is kept.
    pub(in crate::ui) fn keep_session(&self, storage: &mut dyn eframe::Storage) {
        let is_first = matches!(&self.study.source, Some(Source::BuiltIn(study)) if *study == BUILT_IN[0]);
        if self.keeps_unread {
            return;
        }
        if is_first && self.run().is_automatic(self.run().live.run) && self.runs.kept().is_empty() && !self.rois_are_edited() {
            return;
        }
        if let Some(text) = self.session_now().and_then(|session| session.text().ok()) {
            storage.set_string(KEY, text);
        }
    }

    /// Goes on with the session in a file.
    pub(in crate::ui) fn open_session(&mut self, ctx: &Context, path: &Path) {
        match SavedSession::read(path) {
            Ok(session) => self.restore(ctx, session),
            Err(error) => self.notify(ctx, Notice::error(error.to_string())),
        }
    }

    pub(in crate::ui) fn apply_session(&mut self, ctx: &Context, action: SessionAction) {
        let offered = self.offered.take();
        if let (SessionAction::Restore, Some(session)) = (action, offered) {
            self.restore(ctx, session);
        }
    }

    /// Goes on with a session once its study is there; what was not saved is asked about first.
    fn restore(&mut self, ctx: &Context, session: SavedSession) {
        match session.study.source() {
            Ok(source) => {
                self.restoring = Some(session);
                self.leave(ctx, Leave::Open(source));
            }
            Err(reason) => self.notify(ctx, Notice::error(format!("restoring the session failed: {reason}"))),
        }
    }

    /// The session that this study was opened for, if it was for one.
    pub(in crate::ui) fn restored_with(&mut self, source: &Source) -> Option<SavedSession> {
        self.restoring.take().filter(|session| session.study.source().as_ref() == Ok(source))
    }

    /// Takes everything up but the study, which is there. Whether a start has to wait for tubes or a matrix.
    pub(in crate::ui) fn take_up(&mut self, ctx: &Context, session: SavedSession) -> bool {
        match session.rois() {
            Ok(rois) => self.rois.set(rois),
            Err(reason) => self.notify(ctx, Notice::error(format!("the regions of restoring the session failed: {reason}"))),
        }
        self.rois_are_kept();
        let SavedSession { study, numbers, next, view, colouring, plots, runs, .. } = session;
        self.runs.remembered = {
            let forms = &self.run().forms;
            runs.into_iter().map(|run| (run.title.clone(), run.forms(forms))).collect()
        };
        let run = self.runs.active_mut();
        run.forms = next.forms(&run.forms);
        (run.post_filter_mm, run.colouring) = (next.post_filter_mm, colouring);
        self.slices.restore(view);
        self.plots = plots;
        self.numbers = if self.tabs().has(numbers.tab) { numbers.tab } else { self.numbers };
        (self.rois.labels, self.rois.measure_unfiltered) = (numbers.labels, numbers.measure_unfiltered);
        let waits = study.tubes.is_some() || study.matrix.is_some();
        self.study.starts_when_made = waits;
        study.tubes.into_iter().for_each(|path| self.await_tubes(ctx, TubeSource::File(path)));
        study.matrix.into_iter().for_each(|path| self.await_matrix(ctx, path));
        waits
    }

    /// Tubes or a matrix that a restored session waited for have come, or will not come.
    pub(in crate::ui) fn start_if_it_waited(&mut self, ctx: &Context) {
        if std::mem::take(&mut self.study.starts_when_made) && self.options.autostart {
            self.start(ctx, false);
        }
    }
}

/// The offer to go on with the last session.
pub fn offer_ui(session: &SavedSession, ui: &mut Ui, actions: &mut Vec<Action>) {
    egui::Frame::group(ui.style()).show(ui, |ui| {
        let words = format!("Last session: {}", session.label());
        ui.add(egui::Label::new(RichText::new(words).small()).wrap()).on_hover_text(format!("Kept at {}", session.saved));
        ui.horizontal(|ui| {
            let help = "Opens its study and reconstructs it with its settings, regions, views and plots";
            if ui.button("Restore").on_hover_text(help).clicked() {
                actions.push(Action::Session(SessionAction::Restore));
            }
            if ui.button("Not now").clicked() {
                actions.push(Action::Session(SessionAction::NotNow));
            }
        });
    });
}
