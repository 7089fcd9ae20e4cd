//! The left part of the bottom panel: regions of interest, where the time goes, what a race loses, or an EPRI sweep.

use egui::Ui;

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
    /// The projections of an EPRI sweep.
    Sweep,
}

impl NumbersTab {
    const ALL: [(NumbersTab, &'static str, &'static str); 4] = [
        (NumbersTab::Rois, "Regions", "Numbers of the regions of interest on the image on the screen"),
        (NumbersTab::Time, "Time", "Where the time of an iteration goes, stage by stage"),
        (NumbersTab::Race, "Race", "What non-atomic additions lose"),
        (NumbersTab::Sweep, "Sweep", "The projections of the EPRI sweep, measured and filtered"),
    ];
}

/// The choice of what is shown; the one that was clicked.
pub fn tabs_ui(current: NumbersTab, has_sweep: bool, ui: &mut Ui) -> Option<NumbersTab> {
    // A sweep has no race, counts have no sweep.
    let other = if has_sweep { NumbersTab::Race } else { NumbersTab::Sweep };
    let mut chosen = None;
    for (tab, name, help) in NumbersTab::ALL.into_iter().filter(|(tab, ..)| *tab != other) {
        if ui.selectable_label(current == tab, name).on_hover_text(help).clicked() {
            chosen = Some(tab);
        }
    }
    chosen
}
