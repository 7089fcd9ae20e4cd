//! Tasks with files: dialog, question before overwriting, reading and writing.

use std::error::Error;
use std::path::{Path, PathBuf};

use super::dialogs::{Dialogs, Overwrite, is_of_study};
use super::file_dialog::overwritten;
use super::file_job::FileResult;
use super::radicals::of_radical;
use super::send_form::SendForm;
use crate::data::{ImageSpace, Notice};
use crate::io;
use crate::remote::Remote;
use crate::session::TubeSource;
use crate::ui::run::plot_options::PlotToSave;
use crate::ui::study::source::Source;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::wake::waker;
use crate::ui::workspace::state::Workspace;

/// Reason of a refused export.
pub const NOTHING_MEASURED: &str = "no iterate of this study has been measured yet; start its reconstruction first";

impl Workspace {
    /// Opens a dialog. Returns false, with a notice, if one is open already.
    pub fn ask(&mut self, task: FileTask) -> bool {
        self.ask_by(|dialogs, wake| dialogs.ask(task, wake))
    }

    /// Asks for the path of a plot.
    pub fn ask_for_plot(&mut self, plot: PlotToSave) {
        self.ask_by(|dialogs, wake| dialogs.ask_for_plot(plot, wake));
    }

    fn ask_by(&mut self, ask: impl FnOnce(&mut Dialogs, Box<dyn Fn() + Send>) -> bool) -> bool {
        let wake = self.ctx.clone();
        self.files.dialogs.host = self.remote.as_ref().map(Remote::host);
        let of_last = self.files.dialogs.last_folder.clone().or_else(|| self.study_folder());
        self.files.dialogs.folder = of_last.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        let is_asked = ask(&mut self.files.dialogs, Box::new(move || wake.request_repaint()));
        if !is_asked {
            self.notify(Notice::warning("A file dialog is open already: answer or close it first"));
        }
        is_asked
    }

    /// Carries out a task with a typed path, after a question if it overwrites files.
    pub fn choose_file(&mut self, task: FileTask, path: PathBuf) {
        let files = self.overwritten_by(task, &path);
        self.do_unless_overwriting(task, path, files);
    }

    /// Closes the path window.
    pub fn cancel_typed(&mut self) {
        if let Some((task, _)) = self.files.dialogs.typed.take() {
            self.cancel_saving(task);
        }
    }

    /// Replaces the files of the question.
    pub fn replace_files(&mut self) {
        if let Some(Overwrite { task, path, .. }) = self.files.dialogs.overwrite.take() {
            self.files.dialogs.typed = None;
            self.do_with_file(task, &path);
        }
    }

    /// Keeps the files of the question. A path window with the path is open again.
    pub fn keep_files(&mut self) {
        let overwrite = self.files.dialogs.overwrite.take();
        if let Some(Overwrite { task, .. }) = overwrite.filter(|_| self.files.dialogs.typed.is_none()) {
            self.cancel_saving(task);
        }
    }

    /// Takes the path of a dialog of the desktop. The dialog has asked about a file with this name, but not about a second
    /// file or a folder.
    pub fn take_from_desktop(&mut self, task: FileTask, path: PathBuf) {
        let is_answered = path.is_file() && !self.writes_radicals(task);
        let files = if is_answered { Vec::new() } else { self.overwritten_by(task, &path) };
        self.do_unless_overwriting(task, path, files);
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

    fn do_unless_overwriting(&mut self, task: FileTask, path: PathBuf, files: Vec<PathBuf>) {
        if !files.is_empty() {
            self.files.dialogs.overwrite = Some(Overwrite { task, path, files });
            return;
        }
        self.files.dialogs.typed = None;
        self.do_with_file(task, &path);
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
    pub fn do_with_file(&mut self, task: FileTask, path: &Path) {
        let path = &*self.session_path(task, path);
        if self.files.dialogs.host.is_none() || !is_of_study(task) {
            self.files.dialogs.last_folder = path.parent().filter(|folder| folder.is_dir()).map(Path::to_owned);
        }
        let done = self.try_with_file(task, path).map_err(|error| error.to_string());
        if let Some(outcome) = done.transpose() {
            self.report_file(task, path, outcome);
        }
    }

    /// Carries out a task; returns the participle of the notice, `None` if a report follows or none is needed.
    fn try_with_file(&mut self, task: FileTask, path: &Path) -> Result<Option<&'static str>, Box<dyn Error>> {
        match task {
            FileTask::OpenStudy => self.open(Source::file(path)),
            FileTask::Follow => self.open(Source::followed(path)),
            FileTask::Reference => self.open_if_some(self.study.with_reference(path.to_owned())),
            FileTask::Correct(which) => {
                let source = self.study.corrected(|files| *files.correction_mut(which) = Some(path.to_owned()));
                self.open_if_some(source);
            }
            FileTask::Attenuation => self.open_if_some(self.study.attenuated(path.to_owned())),
            FileTask::AddAttenuation => self.open_if_some(self.study.with_added_attenuation(path)),
            FileTask::Psf => {
                self.read_in_background(task, path, |path| Ok(FileResult::Psf(io::psf::read_file(path)?)));
            }
            FileTask::Radical => {
                self.read_in_background(task, path, |path| Ok(FileResult::Radical(io::read_reference(path)?.1)));
            }
            FileTask::OpenLayer => self.layer.start(path, self.layer_reader(), waker(&self.ctx)),
            FileTask::ReferenceImage => self.runs.read_reference(path, waker(&self.ctx)),
            FileTask::OpenTubes => self.start_tubes(TubeSource::File(path.to_owned())),
            FileTask::OpenMatrix => self.read_matrix(path.to_owned()),
            FileTask::ListTable(table) => self.study.list_form.iter_mut().for_each(|form| form.set_table(table, path)),
            FileTask::SaveImage => self.save_image(path)?,
            FileTask::SendSeries => self.files.dialogs.send = Some(SendForm::new(path, &self.preferences)),
            FileTask::OfTool(_) | FileTask::SavePicture(_) | FileTask::SaveFilm(_) | FileTask::SaveSession => {
                self.files.for_window.push((task, path.to_owned()));
            }
            FileTask::LoadRois => {
                let space = self.space().map(|space| (space.grid.clone(), space.placement.cloned(), space.names.cloned()));
                let study = self.study.number;
                self.read_in_background(task, path, move |path| {
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
            FileTask::ExportCsv if !self.run().live.is_measured() => {
                return Err(format!("{}: {NOTHING_MEASURED}", path.display()).into());
            }
            FileTask::ExportCsv => {
                self.export_csv(path)?;
                self.save_provenance_of_table(path);
                return Ok(Some("written"));
            }
            FileTask::SavePlot => return self.save_plot(path),
        }
        Ok(None)
    }

    fn open_if_some(&mut self, source: Option<Source>) {
        source.into_iter().for_each(|source| self.open(source));
    }

    /// Saves a plot: as a picture (.png), a table (.csv) or else a drawing.
    fn save_plot(&mut self, path: &Path) -> Result<Option<&'static str>, Box<dyn Error>> {
        let Some(PlotToSave { plot, area }) = self.files.dialogs.take_plot() else { return Ok(None) };
        // The text of a picture contains the provenance.
        if is_png(path) {
            self.files.for_window.push((FileTask::SavePicture(area), path.to_owned()));
            return Ok(None);
        }
        let is_table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        let text = if is_table { plot.csv() } else { plot.svg() };
        let text = text.ok_or_else(|| format!("{}: the plot is empty, so that there is nothing to save", path.display()))?;
        io::write_whole(path, text.as_bytes())?;
        self.save_provenance_of_table(path);
        Ok(Some("saved"))
    }
}

pub fn is_png(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
}
