//! Which curves the plots show, and how.

use strum::VariantArray as _;

use crate::report;
use crate::ui::slices::action::ViewAction;
use crate::ui::widgets::format;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::plot::Scale;

/// The plots beside each other, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// Noise-to-signal ratio of the background.
    Noise,
    /// Contrast of hot and cold regions.
    Contrast,
    /// Log-likelihood, of a sweep the means of the regions.
    Progress,
    /// The line profile.
    Profile,
}

/// What the contrast of hot and cold regions is drawn as.
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
}

impl ContrastCurves {
    /// Its name and what it is.
    pub fn text(self) -> [&'static str; 2] {
        match self {
            ContrastCurves::Recovery => ["Recovery", format::RECOVERY_HELP],
            ContrastCurves::AgainstNoise => [
                "vs NSR",
                "Contrast recovery against background noise-to-signal ratio: the trajectory of each ROI over the iterations. Click to show that iterate",
            ],
            ContrastCurves::ToNoise => ["CNR", format::CNR_HELP],
        }
    }
}

/// What is drawn of the log-likelihood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum LikelihoodCurves {
    /// Itself.
    #[default]
    Value,
    /// What each iteration added to it.
    Gain,
    /// How far the data are from what the image makes expect.
    Residual,
}

impl LikelihoodCurves {
    /// Its name and what it is.
    pub fn text(self) -> [&'static str; 2] {
        match self {
            LikelihoodCurves::Value => {
                ["Likelihood", "Log-likelihood Σ (y ln e − e) over all data y, e being the counts that the image makes expect"]
            }
            LikelihoodCurves::Gain => ["Gain", "Increase of the log-likelihood per iteration, on a logarithmic scale"],
            LikelihoodCurves::Residual => [
                "Residual",
                "Residual Σ (y − e)² / Σ e over all data y, e being the counts that the image makes expect. Where counts differ from the model by their Poisson noise alone it is 1; far above, the image does not fit the data, and below, it fits their noise",
            ],
        }
    }
}

/// What is drawn of the line profile.
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
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PlotOptions {
    /// Of the contrast.
    pub contrast: ContrastCurves,
    /// Of the log-likelihood.
    pub likelihood: LikelihoodCurves,
    /// Of the line profile.
    pub profile: ProfileCurves,
    /// Distance from the profile's start of the peak that was chosen, mm.
    #[serde(skip)]
    pub peak_mm: Option<f64>,
    /// How iterations lie along the horizontal axis.
    pub iterations: Scale,
    /// The plots, the one chosen last first: where there is no room for all, the first of these are shown.
    chosen: Vec<PlotKind>,
}

impl Default for PlotOptions {
    fn default() -> Self {
        Self {
            contrast: ContrastCurves::default(),
            likelihood: LikelihoodCurves::default(),
            profile: ProfileCurves::default(),
            peak_mm: None,
            iterations: Scale::default(),
            chosen: PlotKind::VARIANTS.to_vec(),
        }
    }
}

impl PlotOptions {
    /// The plots that are shown where there is room for so many, from left to right.
    pub fn shown(&self, num: usize) -> Vec<PlotKind> {
        let chosen = &self.chosen[..num.min(self.chosen.len())];
        PlotKind::VARIANTS.iter().copied().filter(|kind| chosen.contains(kind)).collect()
    }

    /// Puts right what a text can hold and nothing in the window would make: every plot is among the chosen ones, once.
    pub fn sanitize(&mut self) {
        let all = std::mem::take(&mut self.chosen).into_iter().chain(PlotKind::VARIANTS.iter().copied());
        for kind in all {
            if !self.chosen.contains(&kind) {
                self.chosen.push(kind);
            }
        }
    }

    /// Does what was asked for.
    pub fn apply(&mut self, action: OptionAction) {
        match action {
            OptionAction::SetContrast(contrast) => self.contrast = contrast,
            OptionAction::SetLikelihood(likelihood) => self.likelihood = likelihood,
            OptionAction::SetProfile(profile) => self.profile = profile,
            OptionAction::SetIterations(scale) => self.iterations = scale,
            OptionAction::ChoosePeak(distance_mm) => self.peak_mm = distance_mm,
            OptionAction::Choose(kind) => {
                self.chosen.retain(|other| *other != kind);
                self.chosen.insert(0, kind);
            }
        }
    }
}

/// A plot that is to be saved.
#[derive(Clone, Debug)]
pub struct PlotToSave {
    /// What it shows.
    pub plot: report::Plot,
    /// Where it is in the window.
    pub area: PictureArea,
}

/// About the curves.
#[derive(Clone, Copy, Debug)]
pub enum OptionAction {
    /// Which contrast.
    SetContrast(ContrastCurves),
    /// What of the log-likelihood.
    SetLikelihood(LikelihoodCurves),
    /// What of the line profile.
    SetProfile(ProfileCurves),
    /// How iterations lie along the horizontal axis.
    SetIterations(Scale),
    /// Shows the width of the peak at this distance from the profile's start, mm, or of the highest ones.
    ChoosePeak(Option<f64>),
    /// Shows this plot also where there is no room for all.
    Choose(PlotKind),
}

/// What the user wishes in the plots.
#[derive(Clone, Debug)]
pub enum PlotAction {
    /// Other curves.
    Option(OptionAction),
    /// Shows the iterate at this place of the horizontal axis: iterations, of a sweep projections.
    ShowAt(f64),
    /// Asks where to save this plot.
    AskSave(Box<PlotToSave>),
    /// About the profile, which runs through the slices.
    View(ViewAction),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_few_plots_the_one_chosen_last_is_there_and_the_order_stays() {
        let mut options = PlotOptions::default();
        assert_eq!(options.shown(9), PlotKind::VARIANTS);
        assert_eq!(options.shown(2), [PlotKind::Noise, PlotKind::Contrast]);
        options.apply(OptionAction::Choose(PlotKind::Profile));
        assert_eq!(options.shown(2), [PlotKind::Noise, PlotKind::Profile]);
        options.apply(OptionAction::Choose(PlotKind::Contrast));
        assert_eq!(options.shown(2), [PlotKind::Contrast, PlotKind::Profile]);
    }
}
