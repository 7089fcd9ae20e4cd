//! File dialogs of the desktop, on a separate thread. Without them the user types a path.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use egui::text::CCursorRange;
use egui::text_edit::TextEditState;

use super::file_dialog::FileDialog;
use super::send_form::SendForm;
use super::send_panel::send_ui;
use crate::task::BackgroundTask;
use crate::ui::run::plot_options::PlotToSave;
use crate::ui::widgets::fields::{anonymise_ui, push_if_clicked};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::workspace::state::{Request, Workspace, anonymise, request};

/// Shortest time of a dialog that a person cancels. An earlier empty answer means that the desktop has no dialog: this takes
/// some 10 ms, and 10 times as long on a busy machine.
const NO_DIALOG: Duration = Duration::from_millis(600);

/// Result of a dialog of the desktop.
enum Answer {
    Chosen(PathBuf),
    Cancelled,
    NoDialog,
}

/// Files that a task would overwrite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwrite {
    pub task: FileTask,
    pub path: PathBuf,
    /// Existing files.
    pub files: Vec<PathBuf>,
}

/// Open dialog, path window and question about existing files.
#[derive(Default)]
pub struct Dialogs {
    has_desktop: bool,
    pending: Option<(FileTask, BackgroundTask<Answer>)>,
    /// Path window: its task and the typed text.
    pub typed: Option<(FileTask, String)>,
    /// Folder of names without one in the path window.
    pub folder: PathBuf,
    pub last_folder: Option<PathBuf>,
    /// Server with the files of the study, in a remote session.
    pub host: Option<String>,
    /// Question about existing files.
    pub overwrite: Option<Overwrite>,
    pub send: Option<SendForm>,
    plot: Option<PlotToSave>,
}

impl Dialogs {
    /// Returns the state without an open dialog. `has_desktop`: true if the desktop has dialogs.
    pub fn new(has_desktop: bool) -> Self {
        Self { has_desktop, ..Self::default() }
    }

    /// Returns true if a modal window is open.
    pub fn is_modal(&self) -> bool {
        self.typed.is_some() || self.overwrite.is_some() || self.send.is_some()
    }

    /// Opens a dialog; returns false if one of the desktop is open already.
    pub fn ask(&mut self, task: FileTask, wake: impl Fn() + Send + 'static) -> bool {
        if self.pending.is_some() {
            return false;
        }
        // Dialogs of the desktop show local files.
        if !self.has_desktop || (is_of_study(task) && self.host.is_some()) {
            self.typed = Some((task, FileDialog::of(task).proposed_name()));
            return true;
        }
        let dialog = BackgroundTask::start("dialog", wake, move |_| {
            let begin = Instant::now();
            match FileDialog::of(task).ask() {
                Some(path) => Answer::Chosen(path),
                None if begin.elapsed() >= NO_DIALOG => Answer::Cancelled,
                None => Answer::NoDialog,
            }
        });
        self.pending = Some((task, dialog));
        true
    }

    /// Asks for the path of a plot; returns false if a dialog is open already, which keeps its plot.
    pub fn ask_for_plot(&mut self, plot: PlotToSave, wake: impl Fn() + Send + 'static) -> bool {
        let is_asked = self.ask(FileTask::SavePlot, wake);
        if is_asked {
            self.plot = Some(plot);
        }
        is_asked
    }

    pub fn take_plot(&mut self) -> Option<PlotToSave> {
        self.plot.take()
    }

    /// Returns the task of a dialog that has closed, with the chosen path or `None`. Opens the path window if the desktop has
    /// no dialog.
    pub fn poll(&mut self) -> Option<(FileTask, Option<PathBuf>)> {
        let (task, dialog) = self.pending.as_ref()?;
        let (task, answer) = (*task, dialog.poll()?.unwrap_or(Answer::NoDialog));
        self.pending = None;
        match answer {
            Answer::Chosen(path) => Some((task, Some(path))),
            Answer::Cancelled => Some((task, None)),
            Answer::NoDialog => {
                self.typed = Some((task, FileDialog::of(task).proposed_name()));
                None
            }
        }
    }
}

/// Returns true if the file of a task is on the machine of the session.
pub fn is_of_study(task: FileTask) -> bool {
    use FileTask::{AddAttenuation, Attenuation, Correct, ListTable, OpenStudy, Reference};
    matches!(task, OpenStudy | Reference | Correct(_) | ListTable(_) | Attenuation | AddAttenuation)
}

/// Returns true if the setting of anonymous files concerns a task.
fn can_be_anonymous(task: FileTask) -> bool {
    use FileTask::{ExportCsv, OfTool, SaveFilm, SaveImage, SavePicture, SavePlot};
    match task {
        SaveImage | ExportCsv | SavePlot | SavePicture(_) | SaveFilm(_) => true,
        OfTool(file) => file.new_file.is_some(),
        _ => false,
    }
}

/// Draws the open question or path window.
pub fn dialogs_ui(dialogs: &Dialogs, is_anonymous: bool, ctx: &egui::Context, requests: &mut Vec<Request>) {
    if let Some(overwrite) = &dialogs.overwrite {
        overwrite_ui(overwrite, ctx, requests);
    } else if let Some((task, typed)) = &dialogs.typed {
        let host = dialogs.host.as_deref().filter(|_| is_of_study(*task));
        let setting = can_be_anonymous(*task).then_some(is_anonymous);
        path_window_ui((*task, typed), host.ok_or(&dialogs.folder), setting, ctx, requests);
    } else if let Some(form) = &dialogs.send {
        send_ui(form, is_anonymous, ctx, requests);
    }
}

/// Draws the path window of a task and its typed text. `place`: the server of the path, or the folder of a name without one;
/// `is_anonymous`: the setting of anonymous files, where it concerns the task.
fn path_window_ui(
    (task, typed): (FileTask, &str),
    place: Result<&str, &PathBuf>,
    is_anonymous: Option<bool>,
    ctx: &egui::Context,
    requests: &mut Vec<Request>,
) {
    let mut text = typed.to_owned();
    let dialog = FileDialog::of(task);
    let is_escaped = modal_ui(ctx, "path window", dialog.title, |ui| {
        let hint = match place {
            Ok(host) => {
                ui.label(format!("Path on {host}:"));
                "path, or the name of a file in the study's folder"
            }
            Err(folder) => {
                ui.label("No file dialog available. Enter a path, or a name in this folder:");
                ui.add(egui::Label::new(egui::RichText::new(folder.display().to_string()).monospace()).wrap());
                "path or name"
            }
        };
        let label = ui.label(dialog.formats);
        // Of each task: a window that follows another at once has its own field.
        let id = ui.scope_id().with(("path", dialog.title));
        // When the field receives the focus: typed text then replaces the proposed name.
        let now = ui.ctx().cumulative_pass_nr();
        let focused_at: Option<u64> = ui.data(|data| data.get_temp(id));
        let has_focus = ui.memory(|memory| memory.has_focus(id));
        if has_focus {
            ui.data_mut(|data| data.insert_temp(id, now));
        }
        if has_focus && focused_at.is_none_or(|at| at + 1 < now) {
            let mut state = TextEditState::load(ui.ctx(), id).unwrap_or_default();
            state.cursor.set_char_range(Some(CCursorRange::select_all_str(&text)));
            state.store(ui.ctx(), id);
        }
        let edit = ui.add(egui::TextEdit::singleline(&mut text).id(id).desired_width(f32::INFINITY).hint_text(hint));
        let edit = edit.labelled_by(label.id);
        let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        ui.horizontal(|ui| {
            let can = !text.trim().is_empty();
            if ui.add_enabled(can, egui::Button::new("OK")).clicked() || (can && entered) {
                let path = place.map_or_else(|folder| folder.join(text.trim()), |_| PathBuf::from(text.trim()));
                requests.push(request(move |work| work.choose_file(task, path)));
            }
            push_if_clicked(ui.button("Cancel"), requests, request(Workspace::cancel_typed));
            requests.extend(is_anonymous.and_then(|is_on| anonymise_ui(is_on, ui)).map(anonymise));
        });
        edit
    });
    if text != typed {
        let edit = move |work: &mut Workspace| work.files.dialogs.typed.iter_mut().for_each(|(_, typed)| typed.clone_from(&text));
        requests.insert(0, request(edit));
    }
    if is_escaped {
        requests.push(request(Workspace::cancel_typed));
    }
}

/// Asks before files are overwritten.
fn overwrite_ui(overwrite: &Overwrite, ctx: &egui::Context, requests: &mut Vec<Request>) {
    let title = if overwrite.files.len() == 1 { "Replace this file?" } else { "Replace these files?" };
    let is_escaped = modal_ui(ctx, "overwrite", title, |ui| {
        for file in &overwrite.files {
            ui.add(egui::Label::new(file.display().to_string()).wrap());
        }
        ui.label(if overwrite.files.len() == 1 { "It exists already." } else { "They exist already." });
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            push_if_clicked(ui.button("Replace"), requests, request(Workspace::replace_files));
            push_if_clicked(ui.button("Keep"), requests, request(Workspace::keep_files))
        })
        .inner
    });
    if is_escaped {
        requests.push(request(Workspace::keep_files));
    }
}

/// Draws a hint while a file is dragged over the window.
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
    use crate::ui::widgets::picture_area::PictureArea;

    #[test]
    fn a_plot_is_saved_under_its_requested_name() {
        let plot = |title: &str| {
            let axes = Axes::Linear;
            let text = String::new;
            let plot =
                Plot { axes, title: title.to_owned(), x_title: text(), y_title: text(), x_ticks: Vec::new(), lines: Vec::new() };
            PlotToSave { plot, area: PictureArea::Window }
        };
        let mut dialogs = Dialogs::new(false);
        assert!(dialogs.ask_for_plot(plot("noise"), || {}));
        // Its dialog of the desktop is open and does not block the window.
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
