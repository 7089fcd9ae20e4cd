//! The numbers below the slices: plots, profile, and the tabs of the bottom panel. A further tab is a panel in a file of its own, a variant of
//! [`NumbersTab`] and its case in `workspace/layout.rs`.

pub mod activity_plot;
pub mod compare_panel;
pub mod curve_plot;
pub mod plot_options;
pub mod plots;
pub mod profile;
pub mod profile_plot;
pub mod race_panel;
pub mod stage_panel;
pub mod trajectory_plot;

use egui::Ui;
use strum::VariantArray as _;

/// What the left part shows; the tabs have this order and these names.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum NumbersTab {
    /// The ROI table.
    #[default]
    #[strum(serialize = "Regions")]
    Rois,
    /// Time of each stage.
    Time,
    /// What a race loses.
    Race,
    /// Similarity of the images to those of a reference run.
    Compare,
    /// Counts per second of a list of events.
    Rates,
    /// Means of the regions over the frames of a list.
    Activity,
    /// The projections of an EPRI sweep.
    Sweep,
    /// A tube of response.
    Tube,
}

impl NumbersTab {
    fn name(self) -> &'static str {
        self.into()
    }

    fn help(self) -> &'static str {
        match self {
            NumbersTab::Rois => "Numbers of the regions of interest on the image on the screen",
            NumbersTab::Time => "Where the time of an iteration goes, stage by stage",
            NumbersTab::Race => "Losses of non-atomic accumulation",
            NumbersTab::Compare => "Similarity of the images to those of a reference run",
            NumbersTab::Rates => "Coincidences per second",
            NumbersTab::Activity => "Time–activity curves: the mean of each region in each frame",
            NumbersTab::Tube => "Sensitivity of one bin: a tube of response",
            NumbersTab::Sweep => "The projections of the EPRI sweep, measured and filtered",
        }
    }
}

/// What of the study decides which tabs there are.
#[derive(Clone, Copy, Debug)]
pub struct TabsOf {
    /// Whether it is an EPRI sweep.
    pub is_sweep: bool,
    /// Whether it is a list of events.
    pub is_list: bool,
    /// Whether its scanner has tubes of response.
    pub has_tubes: bool,
}

impl TabsOf {
    /// Whether there is this tab.
    pub fn has(self, tab: NumbersTab) -> bool {
        match tab {
            NumbersTab::Rois | NumbersTab::Time | NumbersTab::Compare => true,
            // A sweep has no race, counts have no sweep.
            NumbersTab::Race => !self.is_sweep,
            NumbersTab::Sweep => self.is_sweep,
            NumbersTab::Rates | NumbersTab::Activity => self.is_list,
            NumbersTab::Tube => self.has_tubes,
        }
    }
}

/// The choice of what is shown; the one that was clicked.
pub fn tabs_ui(current: NumbersTab, study: TabsOf, ui: &mut Ui) -> Option<NumbersTab> {
    let mut chosen = None;
    for &tab in NumbersTab::VARIANTS.iter().filter(|tab| study.has(**tab)) {
        if ui.selectable_label(current == tab, tab.name()).on_hover_text(tab.help()).clicked() {
            chosen = Some(tab);
        }
    }
    chosen
}
