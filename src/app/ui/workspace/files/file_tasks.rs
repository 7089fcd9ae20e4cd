//! Tasks with files: dialog, question before overwriting, reading and writing.

use std::error::Error;
use std::path::{Path, PathBuf};

use egui::Context;

use super::dialogs::{Dialogs, Overwrite, is_of_study};
use super::file_dialog::overwritten;
use super::file_job::FileResult;
use super::picture::is_png;
use super::radicals::of_radical;
use super::send_form::SendForm;
use crate::data::{ImageSpace, Notice};
use crate::io;
use crate::remote::Remote;
use crate::session::TubeSource;
use crate::ui::plots::plot_options::PlotToSave;
use crate::ui::rois::roi_panel::NOTHING_MEASURED;
use crate::ui::study::source::Source;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::wake::waker;
use crate::ui::workspace::actions::FileAction;
use crate::ui::workspace::app::App;

impl App {
    /// Opens a dialog. Returns false, with a notice, if one is open already.
    pub(in crate::ui) fn ask(&mut self, ctx: &Context, task: FileTask) -> bool {
        self.ask_by(ctx, |dialogs, wake| dialogs.ask(task, wake))
    }

    /// Asks for the path of a plot.
    pub(in crate::ui) fn ask_for_plot(&mut self, ctx: &Context, plot: PlotToSave) {
        self.ask_by(ctx, |dialogs, wake| dialogs.ask_for_plot(plot, wake));
    }

    fn ask_by(&mut self, ctx: &Context, ask: impl FnOnce(&mut Dialogs, Box<dyn Fn() + Send>) -> bool) -> bool {
        let wake = ctx.clone();
        self.dialogs.host = self.remote.as_ref().map(Remote::host);
        let of_last = self.dialogs.last_folder.clone().or_else(|| self.study_folder());
        self.dialogs.folder = of_last.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        let is_asked = ask(&mut self.dialogs, Box::new(move || wake.request_repaint()));
        if !is_asked {
            self.notify(ctx, Notice::warning("A file dialog is open already: answer or close it first"));
        }
        is_asked
    }

    pub(in crate::ui) fn apply_file(&mut self, ctx: &Context, action: FileAction) {
        match action {
            FileAction::Choose(task, path) => {
                let files = self.overwritten_by(task, &path);
                self.do_unless_overwriting(ctx, task, path, files);
            }
            FileAction::EditTyped(text) => {
                if let Some((_, typed)) = &mut self.dialogs.typed {
                    *typed = text;
                }
            }
            FileAction::CloseTyped => {
                if let Some((task, _)) = self.dialogs.typed.take() {
                    self.cancel_saving(task);
                }
            }
            FileAction::Replace => {
                if let Some(Overwrite { task, path, .. }) = self.dialogs.overwrite.take() {
                    self.dialogs.typed = None;
                    self.do_with_file(ctx, task, &path);
                }
            }
            FileAction::EditSend(form) => self.dialogs.send = form,
            FileAction::Send => self.send_series(ctx),
            FileAction::Keep => {
                let overwrite = self.dialogs.overwrite.take();
                // A path window with the path is open again.
                if let Some(Overwrite { task, .. }) = overwrite.filter(|_| self.dialogs.typed.is_none()) {
                    self.cancel_saving(task);
                }
            }
        }
    }

    /// Takes the path of a dialog of the desktop. The dialog has asked about a file with this name, but not about a second
    /// file or a folder.
    pub(in crate::ui) fn take_from_desktop(&mut self, ctx: &Context, task: FileTask, path: PathBuf) {
        let is_answered = path.is_file() && !self.writes_radicals(task);
        let files = if is_answered { Vec::new() } else { self.overwritten_by(task, &path) };
        self.do_unless_overwriting(ctx, task, path, files);
    }

    /// Returns true if a task writes an image of each radical, under other names than the chosen one.
    fn writes_radicals(&self, task: FileTask) -> bool {
        task == FileTask::SaveImage && !self.run().live.radical_names().is_empty()
    }

    /// Returns the existing files that a task overwrites.
    fn overwritten_by(&self, task: FileTask, path: &Path) -> Vec<PathBuf> {
        if !self.writes_radicals(task) {
            return overwritten(task, path);
        }
        let of_radical = |name: &String| overwritten(task, &of_radical(path, name));
        self.run().live.radical_names().iter().flat_map(of_radical).collect()
    }

    fn do_unless_overwriting(&mut self, ctx: &Context, task: FileTask, path: PathBuf, files: Vec<PathBuf>) {
        if !files.is_empty() {
            self.dialogs.overwrite = Some(Overwrite { task, path, files });
            return;
        }
        self.dialogs.typed = None;
        self.do_with_file(ctx, task, &path);
    }

    /// Returns the folder of the open study on this machine.
    fn study_folder(&self) -> Option<PathBuf> {
        let Some(Source::Files(files)) = &self.study.source else { return None };
        std::path::absolute(files.measured()).ok()?.parent().map(Path::to_owned)
    }

    /// Returns the path on the machine of the session: a name alone means the folder of a remote study.
    fn session_path(&self, task: FileTask, path: &Path) -> PathBuf {
        let is_remote = is_of_study(task) && self.remote.as_ref().is_some();
        let folder = self.study.measured_file().and_then(Path::parent).filter(|_| is_remote);
        folder.map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// Carries out a task and reports its result.
    pub(in crate::ui) fn do_with_file(&mut self, ctx: &Context, task: FileTask, path: &Path) {
        let path = &*self.session_path(task, path);
        if self.dialogs.host.is_none() || !is_of_study(task) {
            self.dialogs.last_folder = path.parent().filter(|folder| folder.is_dir()).map(Path::to_owned);
        }
        let done = self.try_with_file(ctx, task, path).map_err(|error| error.to_string());
        if let Some(outcome) = done.transpose() {
            self.report_file(ctx, task, path, outcome);
        }
    }

    /// Carries out a task; returns the participle of the notice, `None` if a report follows or none is needed.
    fn try_with_file(&mut self, ctx: &Context, task: FileTask, path: &Path) -> Result<Option<&'static str>, Box<dyn Error>> {
        match task {
            FileTask::OpenStudy => self.open(ctx, Source::file(path)),
            FileTask::Follow => self.open(ctx, Source::followed(path)),
            FileTask::Reference => self.open_if_some(ctx, self.study.with_reference(path.to_owned())),
            FileTask::Correct(which) => {
                let source = self.study.corrected(|files| *files.correction_mut(which) = Some(path.to_owned()));
                self.open_if_some(ctx, source);
            }
            FileTask::Attenuation => self.open_if_some(ctx, self.study.attenuated(path.to_owned())),
            FileTask::AddAttenuation => self.open_if_some(ctx, self.study.with_added_attenuation(path)),
            FileTask::Psf => {
                self.read_in_background(ctx, task, path, |path| Ok(FileResult::Psf(io::psf::read_file(path)?)));
            }
            FileTask::Radical => {
                self.read_in_background(ctx, task, path, |path| Ok(FileResult::Radical(io::read_reference(path)?.1)));
            }
            FileTask::OpenLayer => self.layer.start(path, self.layer_reader(), waker(ctx)),
            FileTask::ReferenceImage => self.runs.read_reference(path, waker(ctx)),
            FileTask::RecoveryStandard => {
                self.read_in_background(ctx, task, path, |path| Ok(FileResult::Standard(io::recovery::read_file(path)?)));
            }
            FileTask::OpenTubes => self.start_tubes(ctx, TubeSource::File(path.to_owned())),
            FileTask::OpenMatrix => self.read_matrix(ctx, path.to_owned()),
            FileTask::ListTable(table) => self.study.list_form.iter_mut().for_each(|form| form.set_table(table, path)),
            FileTask::SaveImage => self.save_image(ctx, path)?,
            FileTask::SendSeries => self.dialogs.send = Some(SendForm::new(path, &self.preferences)),
            FileTask::NemaReport(standard) => self.write_nema_report(ctx, standard, path)?,
            FileTask::Lesions(file) => self.write_lesions(ctx, file, path)?,
            FileTask::Lines => self.write_lines(ctx, path)?,
            FileTask::SavePicture(area) => self.save_picture(ctx, task, area, path)?,
            FileTask::SaveFilm(film) => self.start_film(film, path)?,
            FileTask::LoadRois => {
                let space = self.space().map(|space| (space.grid.clone(), space.placement.cloned(), space.names.cloned()));
                let study = self.study.number;
                self.read_in_background(ctx, task, path, move |path| {
                    let (grid, placement, names) = match &space {
                        Some((grid, placement, names)) => (Some(grid), placement.as_ref(), names.as_ref()),
                        None => (None, None, None),
                    };
                    let space = grid.map(|grid| ImageSpace { grid, placement, names });
                    Ok(FileResult::Rois(study, io::read_regions(path, space.as_ref())?))
                });
            }
            FileTask::SaveRois => {
                io::rois::write_rois(path, &self.rois.document.rois)?;
                return Ok(Some("saved"));
            }
            FileTask::SaveSession => {
                self.save_session(path)?;
                return Ok(Some("saved"));
            }
            FileTask::ExportCsv if !self.run().live.is_measured() => {
                return Err(format!("{}: {NOTHING_MEASURED}", path.display()).into());
            }
            FileTask::ExportCsv => {
                self.export_csv(path)?;
                self.save_provenance_of_table(ctx, path);
                return Ok(Some("written"));
            }
            FileTask::SavePlot => return self.save_plot(ctx, path),
        }
        Ok(None)
    }

    fn open_if_some(&mut self, ctx: &Context, source: Option<Source>) {
        source.into_iter().for_each(|source| self.open(ctx, source));
    }

    /// Saves a plot: as a picture (.png), a table (.csv) or else a drawing.
    fn save_plot(&mut self, ctx: &Context, path: &Path) -> Result<Option<&'static str>, Box<dyn Error>> {
        let Some(PlotToSave { plot, area }) = self.dialogs.take_plot() else { return Ok(None) };
        // The text of a picture contains the provenance.
        if is_png(path) {
            self.save_picture(ctx, FileTask::SavePlot, area, path)?;
            return Ok(None);
        }
        let is_table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        let text = if is_table { plot.csv() } else { plot.svg() };
        let text = text.ok_or_else(|| format!("{}: the plot is empty, so that there is nothing to save", path.display()))?;
        io::write_whole(path, text.as_bytes())?;
        self.save_provenance_of_table(ctx, path);
        Ok(Some("saved"))
    }
}
