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

#[derive(Clone, Debug)]
pub enum Action {
    Study(StudyAction),
    Layer(LayerAction),
    /// On the chooser of a series.
    Series(SeriesAction),
    Run(RunAction),
    View(ViewAction),
    Plot(PlotAction),
    Roi(RoiAction),
    Lesion(LesionAction),
    ShowSpectrum(SpectrumOf),
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
    Ask(FileTask),
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
    RemoveArrangement(String),
    /// Sets the typed name of a new arrangement.
    NameArrangement(String),
    /// Opens or closes the search for commands.
    ToggleSearch,
    Search(CommandSearch),
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
    Replace,
    Keep,
    /// Sets the node of a series to send; `None` closes the form.
    EditSend(Option<SendForm>),
    /// Sends the series of the form.
    Send,
}

#[derive(Clone, Copy, Debug)]
pub enum SeriesAction {
    /// Opens the series of this row.
    Open(usize),
    Close,
}

/// Answer to the offered session.
#[derive(Clone, Copy, Debug)]
pub enum OfferAnswer {
    Restore,
    /// Withdraws the offer.
    NotNow,
}

/// Answer to the question about unsaved work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsavedAnswer {
    /// Saves it first.
    Save,
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
