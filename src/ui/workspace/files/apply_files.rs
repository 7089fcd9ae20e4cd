//! What the window does about files: asks for them, asks before it overwrites any, writes and reads.

use std::path::{Path, PathBuf};

use egui::Context;

use super::dialogs::{Dialogs, FileAction, FileTask, Overwrite, is_of_study, overwritten};
use super::picture::is_png;
use crate::data::Notice;
use crate::io;
use crate::report::Plot;
use crate::session::TubeSource;
use crate::session::wire::Remote;
use crate::ui::plots::plot_options::PlotToSave;
use crate::ui::rois::roi_panel::NOTHING_MEASURED;
use crate::ui::study::loader::Source;
use crate::ui::workspace::app::App;

impl App {
    /// Opens a dialog; whether it could, which is told if not.
    pub(in crate::ui) fn ask(&mut self, ctx: &Context, task: FileTask) -> bool {
        self.ask_by(ctx, |dialogs, wake| dialogs.ask(task, wake))
    }

    /// Asks where to save a plot.
    pub(in crate::ui) fn ask_for_plot(&mut self, ctx: &Context, plot: PlotToSave) {
        self.ask_by(ctx, |dialogs, wake| dialogs.ask_for_plot(plot, wake));
    }

    fn ask_by(&mut self, ctx: &Context, ask: impl FnOnce(&mut Dialogs, Box<dyn Fn() + Send>) -> bool) -> bool {
        let wake = ctx.clone();
        self.dialogs.host = self.session.remote().map(Remote::host);
        let is_asked = ask(&mut self.dialogs, Box::new(move || wake.request_repaint()));
        if !is_asked {
            self.notify(ctx, Notice::warning("A file dialog is open already: answer or close it first"));
        }
        is_asked
    }

    pub(in crate::ui) fn apply_file(&mut self, ctx: &Context, action: FileAction) {
        match action {
            FileAction::Choose(task, path) => {
                let files = overwritten(task, &path);
                self.do_unless_overwriting(ctx, task, path, files);
            }
            FileAction::EditTyped(text) => {
                if let Some((_, typed)) = &mut self.dialogs.typed {
                    *typed = text;
                }
            }
            FileAction::CloseTyped => {
                if let Some((task, _)) = self.dialogs.typed.take() {
                    self.was_not_saved(task);
                }
            }
            FileAction::Replace => {
                if let Some(Overwrite { task, path, .. }) = self.dialogs.overwrite.take() {
                    self.dialogs.typed = None;
                    self.do_with_file(ctx, task, &path);
                }
            }
            FileAction::Keep => {
                let overwrite = self.dialogs.overwrite.take();
                // The path window, where the path came from it, is there again.
                if let Some(Overwrite { task, .. }) = overwrite.filter(|_| self.dialogs.typed.is_none()) {
                    self.was_not_saved(task);
                }
            }
        }
    }

    /// Takes the path that a dialog of the desktop was left with. It has asked about a file of this name, not about
    /// the other one of a pair, nor about a folder.
    pub(in crate::ui) fn take_from_desktop(&mut self, ctx: &Context, task: FileTask, path: PathBuf) {
        let files = if path.is_file() { Vec::new() } else { overwritten(task, &path) };
        self.do_unless_overwriting(ctx, task, path, files);
    }

    fn do_unless_overwriting(&mut self, ctx: &Context, task: FileTask, path: PathBuf, files: Vec<PathBuf>) {
        if !files.is_empty() {
            self.dialogs.overwrite = Some(Overwrite { task, path, files });
            return;
        }
        self.dialogs.typed = None;
        self.do_with_file(ctx, task, &path);
    }

    /// A path that was typed for a file that is on another machine: a name alone is one beside the open study.
    fn on_its_machine(&self, task: FileTask, path: &Path) -> PathBuf {
        let is_there = is_of_study(task) && self.session.remote().is_some();
        let folder = self.study.measured_file().and_then(Path::parent).filter(|_| is_there);
        folder.map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// Does what a dialog was opened for; says how it went.
    pub(in crate::ui) fn do_with_file(&mut self, ctx: &Context, task: FileTask, path: &Path) {
        let sentence = |error: io::IoError| error.to_string();
        let path = &*self.on_its_machine(task, path);
        let outcome = match task {
            FileTask::OpenStudy => {
                self.open(ctx, Source::file(path));
                return;
            }
            FileTask::OpenTubes => return self.await_tubes(ctx, TubeSource::File(path.to_owned())),
            FileTask::OpenMatrix => return self.await_matrix(ctx, path.to_owned()),
            FileTask::Follow => return self.open(ctx, Source::followed(path)),
            FileTask::Reference => {
                let source = self.study.read_otherwise(|files| files.reference = Some(path.to_owned()));
                return source.into_iter().for_each(|source| self.open(ctx, source));
            }
            FileTask::Correct(which) => {
                let source = self.study.corrected(|files| *files.correction_mut(which) = Some(path.to_owned()));
                return source.into_iter().for_each(|source| self.open(ctx, source));
            }
            FileTask::ListTable(table) => {
                return self.study.list_form.iter_mut().for_each(|form| form.take(table, path));
            }
            FileTask::Attenuation => {
                let source = self.study.attenuated(Some(path.to_owned()));
                return source.into_iter().for_each(|source| self.open(ctx, source));
            }
            FileTask::SaveImage => match self.save_image(ctx, path) {
                Ok(()) => return,
                Err(reason) => Err(reason),
            },
            FileTask::LoadRois => io::rois::read_rois(path).map_err(sentence).map(|rois| {
                self.rois.set(rois);
                self.rois_are_kept();
                "loaded"
            }),
            FileTask::SaveRois => io::rois::write_rois(path, &self.rois.document.rois).map_err(sentence).map(|()| "saved"),
            FileTask::SaveSession => self.save_session(path).map(|()| "saved"),
            FileTask::NemaReport(standard) => match self.write_nema_report(ctx, standard, path) {
                Ok(()) => return,
                Err(reason) => Err(reason),
            },
            FileTask::ExportCsv if !self.run().live.is_measured() => Err(format!("{}: {NOTHING_MEASURED}", path.display())),
            FileTask::ExportCsv => self.export_csv(path).map_err(sentence).map(|()| {
                self.save_provenance_of_table(ctx, path);
                "written"
            }),
            FileTask::SavePlot => {
                let Some(PlotToSave { plot, area }) = self.dialogs.take_plot() else { return };
                // A picture has the provenance in its text.
                if is_png(path) {
                    match self.save_picture(ctx, task, area, path) {
                        Ok(()) => return,
                        Err(reason) => Err(reason),
                    }
                } else {
                    save_plot(&plot, path).map(|()| {
                        self.save_provenance_of_table(ctx, path);
                        "saved"
                    })
                }
            }
            FileTask::SavePicture(area) => match self.save_picture(ctx, task, area, path) {
                Ok(()) => return,
                Err(reason) => Err(reason),
            },
        };
        self.file_is_done(ctx, task, path, outcome);
    }
}

/// Writes a plot: as a table where the path ends in .csv, else as a drawing.
fn save_plot(plot: &Plot, path: &Path) -> Result<(), String> {
    let is_table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    let text = if is_table { plot.csv() } else { plot.svg() };
    let text = text.ok_or_else(|| format!("{}: the plot is empty, so that there is nothing to save", path.display()))?;
    io::write_whole(path, text.as_bytes()).map_err(|error| error.to_string())
}
