//! Plots below the slices, and the tabs of the bottom panel. Another tab is a panel in a new file, a variant of [`BottomTab`] and
//! its case in `workspace/tables.rs`.

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

/// Table of the window; the tabs have this order and these names.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum BottomTab {
    #[default]
    #[strum(serialize = "Regions")]
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
    #[strum(serialize = "EARL")]
    Recovery,
    /// Count rates of list-mode data.
    Rates,
    /// Means of the regions over the frames of a list.
    Activity,
    /// The projections of an EPRI sweep.
    Sweep,
    /// Oxygen of pulse oximetry.
    #[strum(serialize = "pO2")]
    Oxygen,
    /// A spectrum with its line, and the lines of the regions.
    Spectrum,
    Tube,
}

impl BottomTab {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn help(self) -> &'static str {
        match self {
            BottomTab::Rois => "Numbers of the regions of interest on the image on the screen",
            BottomTab::Lesions => "Lesions of the image on the screen: peak, volume, total glycolysis, change since a baseline",
            BottomTab::Time => "Where the time of an iteration goes, stage by stage",
            BottomTab::Race => "Losses of non-atomic accumulation",
            BottomTab::Compare => "Similarity of the images to those of a reference run",
            BottomTab::Model => {
                "Measured and expected counts of the sinogram row under the crosshair, with the factors of the model"
            }
            BottomTab::Recovery => {
                "Recovery of six hot spheres against the bands of a standard (EARL), for each iteration and post-filter"
            }
            BottomTab::Rates => "Coincidences per second",
            BottomTab::Activity => "Time–activity curves: the mean of each region in each frame",
            BottomTab::Tube => "Sensitivity of one bin: a tube of response",
            BottomTab::Oxygen => "Oxygen pressure of the regions, hypoxic fraction, and the map on the image",
            BottomTab::Spectrum => {
                "Spectrum at the crosshair or of a region with its line, lines of the regions, and maps of the lines on the image"
            }
            BottomTab::Sweep => "The projections of the EPRI sweep, measured and filtered",
        }
    }
}

/// Traits of the study on which the tabs depend.
#[derive(Clone, Copy, Debug)]
pub struct TabsOf {
    /// True for an EPRI acquisition.
    pub is_sweep: bool,
    pub is_oximetry: bool,
    /// True for a run with a spectrum in each voxel.
    pub has_spectra: bool,
    pub is_list: bool,
    pub is_sinogram: bool,
    /// True for images of another program.
    pub is_image: bool,
    /// True if six regions or more are hot, as the spheres of a phantom.
    pub has_hot_spheres: bool,
    /// True if the scanner has tubes of response.
    pub has_tubes: bool,
}

impl TabsOf {
    pub fn has(self, tab: BottomTab) -> bool {
        match tab {
            BottomTab::Rois | BottomTab::Compare => true,
            BottomTab::Lesions => !(self.is_sweep || self.is_oximetry),
            BottomTab::Time => !self.is_image,
            BottomTab::Model => self.is_sinogram,
            // A sweep has no race, counts have no sweep.
            BottomTab::Race => !(self.is_sweep || self.is_oximetry || self.is_image),
            BottomTab::Sweep => self.is_sweep,
            BottomTab::Oxygen => self.is_oximetry,
            BottomTab::Spectrum => self.has_spectra,
            BottomTab::Rates | BottomTab::Activity => self.is_list,
            BottomTab::Recovery => self.has_hot_spheres && !(self.is_sweep || self.is_oximetry || self.is_image),
            BottomTab::Tube => self.has_tubes,
        }
    }
}
