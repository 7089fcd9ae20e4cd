//! The left part of the bottom panel: regions of interest, where the time goes, what a race loses, or an EPRI sweep.

use egui::Ui;
use strum::VariantArray as _;

/// What the left part shows; the tabs have this order and these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum NumbersTab {
    /// The ROI table.
    #[default]
    #[strum(serialize = "Regions")]
    Rois,
    /// Time of each stage.
    Time,
    /// What a race loses.
    Race,
    /// The projections of an EPRI sweep.
    Sweep,
}

impl NumbersTab {
    fn name(self) -> &'static str {
        self.into()
    }

    fn help(self) -> &'static str {
        match self {
            NumbersTab::Rois => "Numbers of the regions of interest on the image on the screen",
            NumbersTab::Time => "Where the time of an iteration goes, stage by stage",
            NumbersTab::Race => "What non-atomic additions lose",
            NumbersTab::Sweep => "The projections of the EPRI sweep, measured and filtered",
        }
    }
}

/// The choice of what is shown; the one that was clicked.
pub fn tabs_ui(current: NumbersTab, has_sweep: bool, ui: &mut Ui) -> Option<NumbersTab> {
    // A sweep has no race, counts have no sweep.
    let other = if has_sweep { NumbersTab::Race } else { NumbersTab::Sweep };
    let mut chosen = None;
    for &tab in NumbersTab::VARIANTS.iter().filter(|tab| **tab != other) {
        if ui.selectable_label(current == tab, tab.name()).on_hover_text(tab.help()).clicked() {
            chosen = Some(tab);
        }
    }
    chosen
}
