//! File dialogs of the desktop, on a thread of their own. Where the desktop has none, a path is typed instead.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded};

use super::actions::{Action, FileAction, FileTask};
use crate::io::Correction;

/// A dialog that comes back empty sooner than a person can cancel it was never shown.
const NO_DIALOG: Duration = Duration::from_millis(100);

/// What came of a dialog.
enum Answer {
    Chosen(PathBuf),
    Cancelled,
    NoDialog,
}

/// The dialog that is open and the path window that stands in for one.
#[derive(Default)]
pub struct Dialogs {
    pending: Option<(FileTask, Receiver<Answer>)>,
    /// The path window: what for and what was typed so far.
    pub typed: Option<(FileTask, String)>,
}

impl Dialogs {
    /// Opens a dialog; one at a time. `name` is the file name that is suggested for saving.
    pub fn ask(&mut self, task: FileTask, name: &str, wake: impl Fn() + Send + 'static) {
        if self.pending.is_some() {
            return;
        }
        let (sender, receiver) = bounded(1);
        let suggested = name.to_owned();
        let spawned = std::thread::Builder::new().name("dialog".into()).spawn(move || {
            let begin = Instant::now();
            let answer = match std::panic::catch_unwind(|| ask_desktop(task, &suggested)) {
                Ok(Some(path)) => Answer::Chosen(path),
                Ok(None) if begin.elapsed() >= NO_DIALOG => Answer::Cancelled,
                Ok(None) | Err(_) => Answer::NoDialog,
            };
            let _ = sender.send(answer);
            wake();
        });
        match spawned {
            Ok(_) => self.pending = Some((task, receiver)),
            Err(_) => self.typed = Some((task, name.to_owned())),
        }
    }

    /// The path that was chosen since the last call. Opens the path window where there was no dialog.
    pub fn poll(&mut self) -> Option<(FileTask, PathBuf)> {
        let (task, receiver) = self.pending.as_ref()?;
        let (task, answer) = (*task, receiver.try_recv().ok()?);
        self.pending = None;
        match answer {
            Answer::Chosen(path) => Some((task, path)),
            Answer::Cancelled => None,
            Answer::NoDialog => {
                self.typed = Some((task, String::new()));
                None
            }
        }
    }
}

fn ask_desktop(task: FileTask, name: &str) -> Option<PathBuf> {
    let dialog = rfd::FileDialog::new().set_title(title(task));
    match task {
        FileTask::OpenStudy => dialog
            .add_filter("Studies", &["hs", "HS", "DSC", "dsc", "npy", "sweep"])
            .add_filter("Interfile projection header", &["hs", "HS"])
            .add_filter("EPRI sweep", &["DSC", "dsc", "npy", "sweep"])
            .add_filter("All files", &["*"])
            .pick_file(),
        FileTask::FollowSweep => dialog.add_filter("EPRI sweep", &["DSC", "dsc", "sweep"]).pick_file(),
        FileTask::Reference => dialog.add_filter("Reference spectrum", &["DSC", "dsc", "npy"]).pick_file(),
        FileTask::Correct(_) => {
            dialog.add_filter("Interfile projection header", &["hs", "HS"]).add_filter("All files", &["*"]).pick_file()
        }
        FileTask::LoadRois => dialog.add_filter("ROIs", &["toml"]).pick_file(),
        FileTask::SaveImage => dialog
            .add_filter("NIfTI, compressed", &["gz"])
            .add_filter("NIfTI", &["nii"])
            .add_filter("Interfile image", &["hv"])
            .set_file_name(name)
            .save_file(),
        FileTask::SaveRois => dialog.add_filter("ROIs", &["toml"]).set_file_name(name).save_file(),
        FileTask::ExportCsv => dialog.add_filter("CSV", &["csv"]).set_file_name(name).save_file(),
    }
}

/// What a dialog is for, in words.
pub fn title(task: FileTask) -> &'static str {
    match task {
        FileTask::OpenStudy => "Open a study",
        FileTask::FollowSweep => "Follow a sweep that is being acquired",
        FileTask::Reference => "Reference spectrum",
        FileTask::Correct(Correction::Multiplicative) => "Multiplicative correction",
        FileTask::Correct(Correction::Additive) => "Additive correction",
        FileTask::SaveImage => "Save the image",
        FileTask::LoadRois => "Load ROIs",
        FileTask::SaveRois => "Save ROIs",
        FileTask::ExportCsv => "Export the numbers",
    }
}

/// The formats of a task, in words.
fn formats(task: FileTask) -> &'static str {
    match task {
        FileTask::OpenStudy => "an Interfile projection header (.hs) or an EPRI sweep (.DSC, .npy, .sweep)",
        FileTask::FollowSweep => "a sweep whose data file grows (.DSC or .sweep)",
        FileTask::Reference => "a spectrum without a gradient (.DSC or .npy)",
        FileTask::Correct(_) => "an Interfile projection header (.hs)",
        FileTask::SaveImage => ".nii, .nii.gz or .hv: the ending chooses the format",
        FileTask::LoadRois | FileTask::SaveRois => ".toml",
        FileTask::ExportCsv => ".csv",
    }
}

/// The window in which a path is typed.
pub fn path_window_ui(dialogs: &Dialogs, ctx: &egui::Context, actions: &mut Vec<Action>) {
    let Some((task, typed)) = &dialogs.typed else { return };
    let mut open = true;
    let centre = egui::Align2::CENTER_CENTER;
    egui::Window::new(title(*task)).anchor(centre, egui::Vec2::ZERO).collapsible(false).resizable(false).open(&mut open).show(
        ctx,
        |ui| {
            ui.label("This desktop offers no file dialog. Type a path:");
            let mut text = typed.clone();
            let label = ui.label(formats(*task));
            let edit = ui.add(egui::TextEdit::singleline(&mut text).desired_width(360.0).hint_text("path"));
            let edit = edit.labelled_by(label.id);
            let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            if text != *typed {
                actions.push(Action::File(FileAction::EditTyped(text.clone())));
            }
            ui.horizontal(|ui| {
                let can = !text.trim().is_empty();
                if ui.add_enabled(can, egui::Button::new("OK")).clicked() || (can && entered) {
                    actions.push(Action::File(FileAction::Do(*task, PathBuf::from(text.trim()))));
                    actions.push(Action::File(FileAction::CloseTyped));
                }
                if ui.button("Cancel").clicked() {
                    actions.push(Action::File(FileAction::CloseTyped));
                }
            });
        },
    );
    if !open {
        actions.push(Action::File(FileAction::CloseTyped));
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
