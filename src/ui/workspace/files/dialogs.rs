//! File dialogs of the desktop, on a thread of their own. Where the desktop has none, a path is typed instead.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::io::formats::{self, Access, Content, described, extensions};
use crate::io::{Correction, files_written};
use crate::task::BackgroundTask;
use crate::ui::plots::plot_options::PlotToSave;
use crate::ui::rois::action::NemaStandard;
use crate::ui::study::list_form::ListTable;
use crate::ui::study::openable::{STUDIES, studies};
use crate::ui::widgets::modal::modal_ui;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::workspace::actions::Action;

/// A dialog that comes back empty sooner than a person can cancel it was never shown. (To find that there is none takes some
/// hundredths of a second, on a busy machine ten times that.)
const NO_DIALOG: Duration = Duration::from_millis(600);

/// What the window of a path or the question about files was answered with.
#[derive(Clone, Debug)]
pub enum FileAction {
    /// Carries out what the path window asked for, after a question where files would be overwritten.
    Choose(FileTask, PathBuf),
    /// The path typed into the path window.
    EditTyped(String),
    /// Closes the path window.
    CloseTyped,
    /// Overwrites the files that were asked about.
    Replace,
    /// Leaves the files that were asked about as they are.
    Keep,
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTask {
    /// Opens a study.
    OpenStudy,
    /// Opens tubes of response for the open study.
    OpenTubes,
    /// Opens a stored matrix for the open study.
    OpenMatrix,
    /// Opens a sweep or a list that is still being written.
    Follow,
    /// Gives the open sweep its reference spectrum.
    Reference,
    /// Corrects the open study.
    Correct(Correction),
    /// A table that a list is read with.
    ListTable(ListTable),
    /// Gives the open list its map of attenuation.
    Attenuation,
    /// Saves the image that is shown.
    SaveImage,
    /// Loads ROIs.
    LoadRois,
    /// Saves ROIs.
    SaveRois,
    /// Exports numbers.
    ExportCsv,
    /// Saves a plot.
    SavePlot,
    /// Saves the session.
    SaveSession,
    /// Saves a picture of a part of the window.
    SavePicture(PictureArea),
    /// Writes the report of NEMA image quality.
    NemaReport(NemaStandard),
}

/// What came of a dialog.
enum Answer {
    Chosen(PathBuf),
    Cancelled,
    NoDialog,
}

/// What a task would put new files in the place of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// The task.
    pub task: FileTask,
    /// The path that was chosen for it.
    pub path: PathBuf,
    /// The files that are there already.
    pub files: Vec<PathBuf>,
}

/// The dialog that is open and the questions that stand in for one.
#[derive(Default)]
pub struct Dialogs {
    has_desktop: bool,
    pending: Option<(FileTask, BackgroundTask<Answer>)>,
    /// The path window: what for and what was typed so far.
    pub typed: Option<(FileTask, String)>,
    /// The machine on which the files of a study are, where that is another one.
    pub host: Option<String>,
    /// Files that would be overwritten: asked about before anything else.
    pub overwrite: Option<Overwrite>,
    /// The plot that a path is asked for.
    plot: Option<PlotToSave>,
}

impl Dialogs {
    /// Dialogs of the desktop where it offers them, or only the path window.
    pub fn new(has_desktop: bool) -> Self {
        Self { has_desktop, ..Self::default() }
    }

    /// Whether a question is in front of the window.
    pub fn is_modal(&self) -> bool {
        self.typed.is_some() || self.overwrite.is_some()
    }

    /// Opens a dialog; whether it could, for one of the desktop may be open still.
    pub fn ask(&mut self, task: FileTask, wake: impl Fn() + Send + 'static) -> bool {
        if self.pending.is_some() {
            return false;
        }
        // A dialog shows the files of this machine.
        if !self.has_desktop || (is_of_study(task) && self.host.is_some()) {
            self.typed = Some((task, String::new()));
            return true;
        }
        let dialog = BackgroundTask::start("dialog", wake, move |_| {
            let begin = Instant::now();
            match ask_desktop(task) {
                Some(path) => Answer::Chosen(path),
                None if begin.elapsed() >= NO_DIALOG => Answer::Cancelled,
                None => Answer::NoDialog,
            }
        });
        self.pending = Some((task, dialog));
        true
    }

    /// Asks where to save a plot; whether it could: the plot that a dialog is open for stays.
    pub fn ask_for_plot(&mut self, plot: PlotToSave, wake: impl Fn() + Send + 'static) -> bool {
        let is_asked = self.ask(FileTask::SavePlot, wake);
        if is_asked {
            self.plot = Some(plot);
        }
        is_asked
    }

    /// The plot that a path was asked for.
    pub fn take_plot(&mut self) -> Option<PlotToSave> {
        self.plot.take()
    }

    /// The path that was chosen since the last call, or that none was. Opens the path window where there was no dialog.
    pub fn poll(&mut self) -> Option<(FileTask, Option<PathBuf>)> {
        let (task, dialog) = self.pending.as_ref()?;
        let (task, answer) = (*task, dialog.poll()?.unwrap_or(Answer::NoDialog));
        self.pending = None;
        match answer {
            Answer::Chosen(path) => Some((task, Some(path))),
            Answer::Cancelled => Some((task, None)),
            Answer::NoDialog => {
                self.typed = Some((task, String::new()));
                None
            }
        }
    }
}

/// Whether a task's file is where the session is.
pub fn is_of_study(task: FileTask) -> bool {
    use FileTask::{Attenuation, Correct, ListTable, OpenStudy, Reference};
    matches!(task, OpenStudy | Reference | Correct(_) | ListTable(_) | Attenuation)
}

/// The files that are there and that a task would overwrite.
pub fn overwritten(task: FileTask, path: &Path) -> Vec<PathBuf> {
    let written = match task {
        FileTask::SaveImage => files_written(path),
        FileTask::SaveRois
        | FileTask::ExportCsv
        | FileTask::SavePlot
        | FileTask::SavePicture(_)
        | FileTask::SaveSession
        | FileTask::NemaReport(_) => {
            vec![path.to_owned()]
        }
        _ => Vec::new(),
    };
    written.into_iter().filter(|path| path.exists()).collect()
}

fn ask_desktop(task: FileTask) -> Option<PathBuf> {
    let dialog = rfd::FileDialog::new().set_title(title(task));
    match task {
        FileTask::OpenStudy => {
            let mut contents = STUDIES.to_vec();
            contents.extend([Content::Tubes, Content::Matrix, Content::Session]);
            let all: Vec<String> = contents.iter().flat_map(|content| extensions(*content, Access::Read)).collect();
            let dialog = dialog.add_filter("Studies", &all);
            let each = contents.into_iter().fold(dialog, |dialog, content| of_content(dialog, content, Access::Read));
            each.add_filter("All files", &["*"]).pick_file()
        }
        FileTask::OpenTubes => of_content(dialog, Content::Tubes, Access::Read).pick_file(),
        FileTask::OpenMatrix => of_content(dialog, Content::Matrix, Access::Read).pick_file(),
        FileTask::Follow => {
            let lists = of_content(dialog, Content::ListMode, Access::Follow);
            of_content(lists, Content::Sweep, Access::Follow).pick_file()
        }
        FileTask::Reference => dialog.add_filter("Reference spectrum", &["DSC", "dsc", "npy"]).pick_file(),
        FileTask::Correct(_) => {
            of_content(dialog, Content::Projections, Access::Read).add_filter("All files", &["*"]).pick_file()
        }
        FileTask::ListTable(ListTable::Crystals) => {
            dialog.add_filter("Table of crystals", &["lut", "hscan", "geom", "toml"]).pick_file()
        }
        FileTask::ListTable(ListTable::Normalization) => dialog.add_filter("CASToR normalisation", &["Cdh", "cdh"]).pick_file(),
        FileTask::Attenuation => of_content(dialog, Content::Image, Access::Read).pick_file(),
        FileTask::LoadRois => of_content(dialog, Content::Rois, Access::Read).pick_file(),
        FileTask::SaveImage => {
            let each = formats::formats(Content::Image, Access::Write)
                .flat_map(|format| format.shown.iter().rev().map(|ending| (format.name, ending)));
            let filter = |dialog: rfd::FileDialog, (name, ending): (&str, &&str)| {
                dialog.add_filter(format!("{name} ({ending})"), &[ending.rsplit('.').next().unwrap_or_default()])
            };
            each.fold(dialog, filter).set_file_name("image.nii.gz").save_file()
        }
        FileTask::SaveRois => dialog.add_filter("ROIs", &["toml", "json"]).set_file_name("rois.toml").save_file(),
        FileTask::ExportCsv => dialog.add_filter("CSV", &["csv"]).set_file_name("numbers.csv").save_file(),
        FileTask::SavePlot => {
            let dialog = dialog.add_filter("SVG", &["svg"]).add_filter("PNG", &["png"]).add_filter("CSV", &["csv"]);
            dialog.set_file_name("plot.svg").save_file()
        }
        FileTask::SaveSession => dialog.add_filter("Session", &["session"]).set_file_name("work.session").save_file(),
        FileTask::SavePicture(_) => dialog.add_filter("PNG", &["png"]).set_file_name("picture.png").save_file(),
        FileTask::NemaReport(_) => dialog.add_filter("PDF", &["pdf"]).set_file_name("nema.pdf").save_file(),
    }
}

/// A dialog with a filter for the formats of a content.
fn of_content(dialog: rfd::FileDialog, content: Content, access: Access) -> rfd::FileDialog {
    dialog.add_filter(content.one(), &extensions(content, access))
}

/// What a dialog is for, in words.
pub fn title(task: FileTask) -> &'static str {
    match task {
        FileTask::OpenStudy => "Open a study",
        FileTask::OpenTubes => "Open tubes of response",
        FileTask::OpenMatrix => "Open a matrix",
        FileTask::Follow => "Follow a list or a sweep that is being acquired",
        FileTask::Reference => "Reference spectrum",
        FileTask::Correct(Correction::Multiplicative) => "Multiplicative correction",
        FileTask::Correct(Correction::Additive) => "Additive correction",
        FileTask::ListTable(ListTable::Crystals) => "Table of crystals",
        FileTask::ListTable(ListTable::Normalization) => "Normalisation of a list",
        FileTask::Attenuation => "Map of attenuation",
        FileTask::SaveImage => "Save the image",
        FileTask::LoadRois => "Load ROIs",
        FileTask::SaveRois => "Save ROIs",
        FileTask::ExportCsv => "Export the numbers",
        FileTask::SavePlot => "Save the plot",
        FileTask::SaveSession => "Save the session",
        FileTask::SavePicture(_) => "Save a picture",
        FileTask::NemaReport(NemaStandard::Body) => "Report of NEMA NU 2 image quality",
        FileTask::NemaReport(NemaStandard::SmallAnimal) => "Report of NEMA NU 4 image quality",
    }
}

/// The formats of a task, in words.
fn formats_of(task: FileTask) -> String {
    match task {
        FileTask::OpenStudy => format!("{} or {}", studies(), described(Content::Session, Access::Read)),
        FileTask::OpenTubes => described(Content::Tubes, Access::Read),
        FileTask::OpenMatrix => described(Content::Matrix, Access::Read),
        FileTask::Follow => {
            let [list, sweep] = [Content::ListMode, Content::Sweep].map(|content| described(content, Access::Follow));
            format!("{list} or {sweep} that is still being written")
        }
        FileTask::Correct(_) => described(Content::Projections, Access::Read),
        FileTask::Attenuation => {
            format!("an image of linear attenuation coefficients, 1/cm ({})", formats::endings(Content::Image, Access::Read))
        }
        FileTask::SaveImage => {
            format!("{} (.dcm is a folder): the ending chooses the format", formats::endings(Content::Image, Access::Write))
        }
        FileTask::LoadRois | FileTask::SaveRois => formats::endings(Content::Rois, Access::Write),
        _ => fixed_formats_of(task).into(),
    }
}

/// The formats of a task that no table has.
fn fixed_formats_of(task: FileTask) -> &'static str {
    match task {
        FileTask::Reference => "a spectrum without a gradient (.DSC or .npy)",
        FileTask::ListTable(ListTable::Crystals) => "a table of crystals (.lut, .hscan, .geom or .crystals.toml)",
        FileTask::ListTable(ListTable::Normalization) => "a CASToR normalisation file (.Cdh)",
        FileTask::ExportCsv => ".csv",
        FileTask::SaveSession => ".session",
        FileTask::SavePlot => ".svg, .png at twice the resolution, or .csv for its numbers",
        FileTask::SavePicture(_) => ".png, at twice the resolution of the window",
        _ => ".pdf",
    }
}

/// The question that is open, if one is.
pub fn dialogs_ui(dialogs: &Dialogs, ctx: &egui::Context, actions: &mut Vec<Action>) {
    if let Some(overwrite) = &dialogs.overwrite {
        overwrite_ui(overwrite, ctx, actions);
    } else if let Some((task, typed)) = &dialogs.typed {
        path_window_ui(*task, typed, dialogs.host.as_deref().filter(|_| is_of_study(*task)), ctx, actions);
    }
}

/// The window in which a path is typed.
fn path_window_ui(task: FileTask, typed: &str, host: Option<&str>, ctx: &egui::Context, actions: &mut Vec<Action>) {
    let mut text = typed.to_owned();
    let is_escaped = modal_ui(ctx, "path window", title(task), |ui| {
        ui.label(match host {
            Some(host) => format!("The path on {host}:"),
            None => "This desktop offers no file dialog. Type a path:".into(),
        });
        let label = ui.label(formats_of(task));
        let hint = if host.is_some() { "path, or the name of a file in the study's folder" } else { "path" };
        let edit = ui.add(egui::TextEdit::singleline(&mut text).desired_width(f32::INFINITY).hint_text(hint));
        let edit = edit.labelled_by(label.id);
        let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        ui.horizontal(|ui| {
            let can = !text.trim().is_empty();
            if ui.add_enabled(can, egui::Button::new("OK")).clicked() || (can && entered) {
                actions.push(Action::File(FileAction::Choose(task, PathBuf::from(text.trim()))));
            }
            if ui.button("Cancel").clicked() {
                actions.push(Action::File(FileAction::CloseTyped));
            }
        });
        edit
    });
    if text != typed {
        actions.insert(0, Action::File(FileAction::EditTyped(text)));
    }
    if is_escaped {
        actions.push(Action::File(FileAction::CloseTyped));
    }
}

/// Asks whether files are to be overwritten; they stay unless that is said.
fn overwrite_ui(overwrite: &Overwrite, ctx: &egui::Context, actions: &mut Vec<Action>) {
    let title = if overwrite.files.len() == 1 { "Replace this file?" } else { "Replace these files?" };
    let is_escaped = modal_ui(ctx, "overwrite", title, |ui| {
        for file in &overwrite.files {
            ui.add(egui::Label::new(file.display().to_string()).wrap());
        }
        ui.label(if overwrite.files.len() == 1 { "It exists already." } else { "They exist already." });
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            if ui.button("Replace").clicked() {
                actions.push(Action::File(FileAction::Replace));
            }
            let keep = ui.button("Keep");
            if keep.clicked() {
                actions.push(Action::File(FileAction::Keep));
            }
            keep
        })
        .inner
    });
    if is_escaped {
        actions.push(Action::File(FileAction::Keep));
    }
}

/// Says that a file held over the window can be dropped.
pub fn drop_hint_ui(ctx: &egui::Context) {
    if ctx.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    egui::Area::new(egui::Id::unique("drop hint")).anchor(egui::Align2::CENTER_CENTER, egui::Vec2::ZERO).show(ctx, |ui| {
        egui::Frame::popup(ui.style()).show(ui, |ui| ui.heading("Drop the file to open it"));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Axes, Plot};

    #[test]
    fn a_plot_is_saved_under_the_name_that_was_asked_for_it() {
        let plot = |title: &str| {
            let axes = Axes::Linear;
            let text = String::new;
            let plot =
                Plot { axes, title: title.to_owned(), x_title: text(), y_title: text(), x_ticks: Vec::new(), lines: Vec::new() };
            PlotToSave { plot, area: PictureArea::Window }
        };
        let mut dialogs = Dialogs::new(false);
        assert!(dialogs.ask_for_plot(plot("noise"), || {}));
        // A dialog of the desktop is open for it, and does not keep the window from being used.
        let desktop = BackgroundTask::start(
            "dialog",
            || {},
            |task| {
                while !task.is_stopped() {
                    std::thread::yield_now();
                }
                Answer::Cancelled
            },
        );
        (dialogs.typed, dialogs.pending) = (None, Some((FileTask::SavePlot, desktop)));
        assert!(!dialogs.ask_for_plot(plot("contrast"), || {}));
        assert_eq!(dialogs.take_plot().map(|plot| plot.plot.title), Some("noise".to_owned()));
    }
}
