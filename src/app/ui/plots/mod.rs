//! Plots below the slices, and the panels of the tables. The table of all is in `workspace/tools.rs`.

pub mod activity_plot;
pub mod compare_panel;
pub mod convergence_plot;
pub mod curve_plot;
mod fit_counts;
pub mod lesions;
pub mod model;
pub mod oxygen_panel;
pub mod plot_area;
pub mod plot_options;
pub mod plots_view;
pub mod profile;
pub mod profile_plot;
pub mod race_panel;
pub mod recovery;
pub mod spectrum;
pub mod stage_panel;
pub mod trajectory_plot;

/// Table of the window; the tabs have this order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum BottomTab {
    #[default]
    Rois,
    /// Lesions: peak, volume, change since a baseline.
    Lesions,
    /// Time of each stage.
    Time,
    /// Losses to the race condition.
    Race,
    /// Similarity of the images to those of a reference run.
    Compare,
    /// Model of the sinogram row under the crosshair.
    Model,
    /// Recovery of the NEMA spheres against the bands of a standard.
    Recovery,
    /// Count rates of list-mode data.
    Rates,
    /// Means of the regions over the frames of a list.
    Activity,
    /// The projections of an EPRI sweep.
    Sweep,
    /// Oxygen of pulse oximetry.
    Oxygen,
    /// A spectrum with its line, and the lines of the regions.
    Spectrum,
    Tube,
}
