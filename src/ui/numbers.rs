//! The left part of the bottom panel: regions of interest, where the time goes, or what a race loses.

use egui::Ui;

use super::actions::Action;

/// What the left part shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumbersTab {
    /// The ROI table.
    #[default]
    Rois,
    /// Time of each stage.
    Time,
    /// What a race loses.
    Race,
}

impl NumbersTab {
    const ALL: [(NumbersTab, &'static str, &'static str); 3] = [
        (NumbersTab::Rois, "Regions", "Numbers of the regions of interest on the image on the screen"),
        (NumbersTab::Time, "Time", "Where the time of an iteration goes, stage by stage"),
        (NumbersTab::Race, "Race", "What non-atomic additions lose"),
    ];
}

/// The choice of what is shown.
pub fn tabs_ui(current: NumbersTab, ui: &mut Ui, actions: &mut Vec<Action>) {
    for (tab, name, help) in NumbersTab::ALL {
        if ui.selectable_label(current == tab, name).on_hover_text(help).clicked() {
            actions.push(Action::ShowNumbers(tab));
        }
    }
}
