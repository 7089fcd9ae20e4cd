//! Path window, and question about existing files.

use std::path::PathBuf;

use egui::text::CCursorRange;
use egui::text_edit::TextEditState;

use super::send_ui::send_ui;
use crate::ui::widgets::fields::{anonymise_ui, push_if_clicked};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::workspace::files::dialogs::{Dialogs, Overwrite, is_of_study};
use crate::ui::workspace::files::file_dialog::FileDialog;
use crate::ui::workspace::state::{Request, Workspace, anonymise, request};

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
