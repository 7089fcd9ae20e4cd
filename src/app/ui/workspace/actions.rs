//! Actions of all panels. Panels draw a read-only view and push the actions of their folder; the window applies them after
//! drawing.

use std::path::PathBuf;

use super::commands::search::CommandSearch;
use super::panes::arrangement::Arrangement;
use super::panes::panes_ui::PaneAction;
use crate::ui::layer::action::LayerAction;
use crate::ui::plots::lesions::action::LesionAction;
use crate::ui::plots::plot_options::PlotAction;
use crate::ui::plots::recovery::action::RecoveryAction;
use crate::ui::plots::spectrum::action::SpectrumOf;
use crate::ui::rois::action::RoiAction;
use crate::ui::run::action::RunAction;
use crate::ui::slices::action::ViewAction;
use crate::ui::study::action::StudyAction;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::notices::NoticeAction;
use crate::ui::workspace::files::send_form::SendForm;

/// Action of the user.
#[derive(Clone, Debug)]
pub enum Action {
    /// On studies.
    Study(StudyAction),
    /// On the second image.
    Layer(LayerAction),
    /// On the chooser of a series.
    Series(SeriesAction),
    /// On the reconstruction.
    Run(RunAction),
    /// On the views of the image.
    View(ViewAction),
    /// On the plots.
    Plot(PlotAction),
    /// On regions of interest.
    Roi(RoiAction),
    /// On lesions.
    Lesion(LesionAction),
    /// Chooses the drawn spectrum.
    ShowSpectrum(SpectrumOf),
    /// On the recovery of spheres.
    Recovery(RecoveryAction),
    /// Answer of a file dialog.
    File(FileAction),
    /// Answer to the question about unsaved work.
    Unsaved(UnsavedAnswer),
    /// Answer to the offered session.
    Offer(OfferAnswer),
    /// Shows or hides the list of keys.
    ToggleHelp,
    /// Changes between the light and the dark theme.
    ToggleTheme,
    /// Asks for the file of a task.
    Ask(FileTask),
    /// On notices.
    Notice(NoticeAction),
    /// Connects again to the server.
    ConnectAgain,
    /// Moves, hides or maximises panes.
    Pane(PaneAction),
    /// Arranges all panes for a kind of work.
    Arrange(Arrangement),
    /// Arranges all panes as they were saved under this name.
    ArrangeAs(String),
    /// Saves the arrangement of all panes under a name.
    SaveArrangement(String),
    /// Removes a saved arrangement.
    RemoveArrangement(String),
    /// Sets the typed name of a new arrangement.
    NameArrangement(String),
    /// Opens or closes the search for commands.
    ToggleSearch,
    /// Sets the search for commands.
    Search(CommandSearch),
    /// Ends taking a film.
    CancelFilm,
    /// Sets whether written and sent files are anonymous.
    Anonymise(bool),
    /// Switches animations off or on.
    ReduceMotion(bool),
}

/// Answer to the path window or to the question about existing files.
#[derive(Clone, Debug)]
pub enum FileAction {
    /// Carries out a task, after a question if it overwrites files.
    Choose(FileTask, PathBuf),
    /// Sets the typed path.
    EditTyped(String),
    /// Closes the path window.
    CloseTyped,
    /// Overwrites the files.
    Replace,
    /// Leaves the files unchanged.
    Keep,
    /// Sets the node of a series to send; `None` closes the form.
    EditSend(Option<SendForm>),
    /// Sends the series of the form.
    Send,
}

/// Action on the chooser of a series.
#[derive(Clone, Copy, Debug)]
pub enum SeriesAction {
    /// Opens the series of this row.
    Open(usize),
    /// Closes the chooser.
    Close,
}

/// Answer to the offered session.
#[derive(Clone, Copy, Debug)]
pub enum OfferAnswer {
    /// Restores it.
    Restore,
    /// Withdraws the offer.
    NotNow,
}

/// Answer to the question about unsaved work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsavedAnswer {
    /// Saves it first.
    Save,
    /// Discards it.
    Discard,
    /// Cancels the action.
    Stay,
}

/// Draws a panel with the actions of its folder, and adds them to all actions.
pub fn summed<A, R>(actions: &mut Vec<Action>, of: fn(A) -> Action, draw: impl FnOnce(&mut Vec<A>) -> R) -> R {
    let mut of_panel = Vec::new();
    let drawn = draw(&mut of_panel);
    actions.extend(of_panel.into_iter().map(of));
    drawn
}
