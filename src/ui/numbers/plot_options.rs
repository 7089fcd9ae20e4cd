//! Which curves the plots show, and how.

use strum::VariantArray as _;

use crate::report;
use crate::ui::slices::action::ViewAction;
use crate::ui::widgets::format;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::plot::Scale;

/// The plots beside each other, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::VariantArray)]
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
    pub fn words(self) -> [&'static str; 2] {
        match self {
            ContrastCurves::Recovery => ["Recovery", format::RECOVERY_HELP],
            ContrastCurves::AgainstNoise => [
                "vs NSR",
                "Contrast recovery against the background's noise-to-signal ratio: each region's way through the iterations. A click shows the iterate there",
            ],
            ContrastCurves::ToNoise => ["CNR", format::CNR_HELP],
        }
    }
}

/// What is drawn of the log-likelihood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::VariantArray)]
pub enum LikelihoodCurves {
    /// Itself.
    #[default]
    Value,
    /// What each iteration added to it.
    Gain,
}

impl LikelihoodCurves {
    /// Its name and what it is.
    pub fn words(self) -> [&'static str; 2] {
        match self {
            LikelihoodCurves::Value => {
                ["Likelihood", "Log-likelihood Σ (y ln e − e) over all data y, e being the counts that the image makes expect"]
            }
            LikelihoodCurves::Gain => ["Gain", "What each iteration added to the log-likelihood, on a logarithmic scale"],
        }
    }
}

/// Which curves the plots show, and how.
#[derive(Clone, Debug)]
pub struct PlotOptions {
    /// Of the contrast.
    pub contrast: ContrastCurves,
    /// Of the log-likelihood.
    pub likelihood: LikelihoodCurves,
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

    /// Does what was asked for.
    pub fn apply(&mut self, action: OptionAction) {
        match action {
            OptionAction::SetContrast(contrast) => self.contrast = contrast,
            OptionAction::SetLikelihood(likelihood) => self.likelihood = likelihood,
            OptionAction::SetIterations(scale) => self.iterations = scale,
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
    /// How iterations lie along the horizontal axis.
    SetIterations(Scale),
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
