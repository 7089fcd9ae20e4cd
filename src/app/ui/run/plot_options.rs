//! Which curves the plots show, and how.

use crate::plan::IterationScheme;
use crate::report;
use crate::ui::run::curves::Curves;
use crate::ui::widgets::format;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::plot::Scale;

/// Curves of the contrast of hot and cold ROIs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum ContrastCurves {
    /// Contrast recovery against the iterations.
    #[default]
    Recovery,
    /// The same against the noise.
    AgainstNoise,
    /// Contrast-to-noise ratio against the iterations.
    ToNoise,
    /// Means of the ROIs with their standard deviations between replicates.
    Means,
}

impl ContrastCurves {
    /// Returns name and tooltip.
    pub fn text(self) -> [&'static str; 2] {
        match self {
            ContrastCurves::Recovery => ["Recovery", format::RECOVERY_HELP],
            ContrastCurves::AgainstNoise => [
                "vs NSR",
                "Contrast recovery against background noise-to-signal ratio: the trajectory of each ROI over the iterations. Click to show that iterate",
            ],
            ContrastCurves::ToNoise => ["CNR", format::CNR_HELP],
            ContrastCurves::Means => [
                "Mean ± SD",
                "Mean of each ROI with a band of its standard deviation between the replicates of the data. The noise of randoms and scatter estimates is not included",
            ],
        }
    }

    /// Returns true if a run has these curves.
    pub fn is_of(self, curves: &Curves) -> bool {
        self != ContrastCurves::Means || !curves.mean_bands.is_empty()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum LikelihoodCurves {
    /// Itself.
    #[default]
    Value,
    /// Increase per iteration.
    Gain,
    /// Residual of the data relative to the expected counts.
    Residual,
    /// Objective of an algorithm that climbs.
    Objective,
    /// Size of its updates.
    Update,
    StepSize,
}

impl LikelihoodCurves {
    /// True if a run with these curves has it.
    pub fn is_of(self, curves: &Curves, course: &IterationScheme) -> bool {
        match self {
            LikelihoodCurves::Value | LikelihoodCurves::Gain | LikelihoodCurves::Residual => course.has_likelihood,
            LikelihoodCurves::Objective => !curves.objective.is_empty(),
            LikelihoodCurves::Update | LikelihoodCurves::StepSize => !curves.update.is_empty(),
        }
    }

    /// Returns name and tooltip.
    pub fn text(self) -> [&'static str; 2] {
        match self {
            LikelihoodCurves::Value => {
                ["Likelihood", "Log-likelihood Σ (y ln e − e) over all data y, e being the counts that the image makes expect"]
            }
            LikelihoodCurves::Objective => [
                "Objective",
                "Objective Φ = data term − penalty: its change since the first pass through all data, and the parts of both terms. The data term is Σ (y ln e − e), the penalty β R; of least squares with total variation −½‖A u − s‖² and λ′ Σ|∇u|",
            ],
            LikelihoodCurves::Update => ["Update", "Length of each step relative to that of the image, on a logarithmic scale"],
            LikelihoodCurves::StepSize => {
                ["Step size", "Step size, and the number of times that it was halved because the objective had fallen"]
            }
            LikelihoodCurves::Gain => ["Gain", "Increase of the log-likelihood per iteration, on a logarithmic scale"],
            LikelihoodCurves::Residual => [
                "Residual",
                "Residual Σ (y − e)² / Σ e over all data y, e being the counts that the image makes expect. Where counts differ from the model by their Poisson noise alone it is 1; far above, the image does not fit the data, and below, it fits their noise",
            ],
        }
    }
}

/// Curves of the comparison with a reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum CompareCurves {
    /// Correlation and relative difference.
    #[default]
    Similarity,
    /// Distance from a converged image.
    Convergence,
}

impl CompareCurves {
    /// Returns name and tooltip.
    pub fn text(self) -> [&'static str; 2] {
        match self {
            CompareCurves::Similarity => ["Similarity", "Correlation and relative difference over all voxels"],
            CompareCurves::Convergence => [
                "Convergence",
                "Distance from the reference as a converged image, relative to the mean of its background (PETRIC): root mean square error over the object (above 5 % of the maximum) and over the background ROIs at most 1 %, largest error of the mean of a hot or cold ROI at most 0.5 %. Converged: ten images in a row. A reference run counts by its last image",
            ],
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileCurves {
    /// The values along the line.
    #[default]
    Values,
    /// The width of its peaks against the iterations.
    Widths,
}

/// Which curves the plots show, and how.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PlotOptions {
    pub contrast: ContrastCurves,
    pub likelihood: LikelihoodCurves,
    pub compare: CompareCurves,
    pub profile: ProfileCurves,
    /// Distance from the profile's start of the peak that was chosen, mm.
    #[serde(skip)]
    pub peak_mm: Option<f64>,
    /// View of the sinogram row.
    pub sinogram_view: usize,
    /// Scale of the iterations on the horizontal axis.
    pub iterations: Scale,
}

#[derive(Clone, Debug)]
pub struct PlotToSave {
    pub plot: report::Plot,
    /// Where it is in the window.
    pub area: PictureArea,
}
