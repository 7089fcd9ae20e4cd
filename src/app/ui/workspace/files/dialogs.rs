//! File dialogs of the desktop, on a separate thread. Without them the user types a path.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::file_dialog::FileDialog;
use super::send_form::SendForm;
use crate::task::BackgroundTask;
use crate::ui::run::plot_options::PlotToSave;
use crate::ui::widgets::file_task::FileTask;

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
