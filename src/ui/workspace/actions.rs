//! What the panels ask for. Panels draw a read-only view and push the actions of their folder; the workspace sums them up
//! and applies them after drawing.

use super::files::dialogs::FileAction;
use super::keeping::restore::SessionAction;
use super::keeping::unsaved_changes::LeaveAction;
use crate::ui::plots::BottomTab;
use crate::ui::plots::plot_options::PlotAction;
use crate::ui::rois::action::RoiAction;
use crate::ui::run::action::RunAction;
use crate::ui::slices::action::ViewAction;
use crate::ui::study::action::StudyAction;
use crate::ui::widgets::notices::NoticeAction;
use crate::ui::widgets::picture_area::PictureArea;

/// A wish of the user.
#[derive(Clone, Debug)]
pub enum Action {
    /// About studies.
    Study(StudyAction),
    /// About the reconstruction.
    Run(RunAction),
    /// About what the slices show.
    View(ViewAction),
    /// About the plots.
    Plot(PlotAction),
    /// About regions of interest.
    Roi(RoiAction),
    /// The answer of a file dialog.
    File(FileAction),
    /// The answer to the question whether to save before leaving.
    Leave(LeaveAction),
    /// About the session that is offered.
    Session(SessionAction),
    /// Shows the list of keys, or no longer.
    ToggleHelp,
    /// Turns the theme from light to dark or back.
    ToggleTheme,
    /// Asks where to save a picture of a part of the window.
    SavePicture(PictureArea),
    /// About notices.
    Notice(NoticeAction),
    /// Begins the line to the machine again on which the session is.
    ConnectAgain,
    /// Shows this in the left part of the bottom panel.
    ShowNumbers(BottomTab),
}

/// Draws a panel whose actions are of one folder, and adds them to those of all.
pub fn summed<A, R>(actions: &mut Vec<Action>, of: fn(A) -> Action, draw: impl FnOnce(&mut Vec<A>) -> R) -> R {
    let mut own = Vec::new();
    let drawn = draw(&mut own);
    actions.extend(own.into_iter().map(of));
    drawn
}
