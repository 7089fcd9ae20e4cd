//! Form of the stop rules, which can be switched during a run.

use egui::{DragValue, Ui};

use crate::data::{Roi, RoiRole};
use crate::session::StopRule;
use crate::ui::widgets::fields::{held_within, menu, name};
use crate::ui::widgets::place::Place;

/// Stop rules and their switches; fractions in %.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct StopForm {
    /// True if the noise stops the run.
    pub by_noise: bool,
    /// Largest noise-to-signal ratio of the background.
    pub nsr_percent: f64,
    /// True if a steady recovery stops the run.
    pub by_recovery: bool,
    /// Name of the ROI; empty: the first that has a mean.
    pub roi: String,
    /// By how much it may change.
    pub band_percent: f64,
    /// Over how many iterations.
    pub iterations: usize,
    /// True if a plateau of the likelihood stops the run.
    pub by_plateau: bool,
    /// Largest gain of the last iteration, relative to the gain of all iterations, %.
    pub gain_percent: f64,
}

impl Default for StopForm {
    fn default() -> Self {
        Self {
            by_noise: false,
            nsr_percent: 10.0,
            by_recovery: false,
            roi: String::new(),
            band_percent: 1.0,
            iterations: 3,
            by_plateau: false,
            gain_percent: 0.1,
        }
    }
}

impl StopForm {
    /// Corrects values of a file that the fields of the window would not accept.
    pub fn sanitize(&mut self) {
        for percent in [&mut self.nsr_percent, &mut self.band_percent, &mut self.gain_percent] {
            *percent = held_within(*percent, 0.001, 100.0);
        }
        self.iterations = self.iterations.clamp(1, 100);
    }

    /// Returns the active rules for these ROIs.
    pub fn rules(&self, rois: &[Roi]) -> Vec<StopRule> {
        let mut rules = Vec::new();
        if self.by_noise {
            rules.push(StopRule::Noise { nsr: 0.01 * self.nsr_percent });
        }
        if let Some(roi) = self.roi(rois).filter(|_| self.by_recovery) {
            rules.push(StopRule::SteadyRecovery { roi, band: 0.01 * self.band_percent, iterations: self.iterations });
        }
        if self.by_plateau {
            rules.push(StopRule::Plateau { part: 0.01 * self.gain_percent });
        }
        rules
    }

    /// Returns the ROI of the recovery rule.
    fn roi(&self, rois: &[Roi]) -> Option<String> {
        let mut with_contrast = with_contrast(rois);
        let chosen = with_contrast.clone().find(|name| **name == self.roi);
        chosen.or_else(|| with_contrast.next()).cloned()
    }

    /// Returns the noise-to-signal ratio at which the run stops, %.
    pub fn noise_limit(&self) -> Option<f64> {
        self.by_noise.then_some(self.nsr_percent)
    }
}

/// Names of the ROIs that have a contrast recovery.
fn with_contrast(rois: &[Roi]) -> impl Iterator<Item = &String> + Clone {
    let has_contrast = |roi: &&Roi| roi.role == RoiRole::Cold || (roi.role == RoiRole::Hot && roi.activity_ratio.is_some());
    rois.iter().filter(has_contrast).map(|roi| &roi.name)
}

/// Draws the form. Returns it after an edit.
pub fn stop_form_ui(form: &StopForm, rois: &[Roi], ui: &mut Ui) -> Option<StopForm> {
    let mut edited = form.clone();
    let num_on = [form.by_noise, form.by_recovery, form.by_plateau].into_iter().filter(|on| *on).count();
    let title = if num_on == 0 { "Stop automatically".to_owned() } else { format!("Stop automatically: {num_on} on") };
    let opens = Place::StopRules.is_sought(ui.ctx()).then_some(true);
    let header = egui::CollapsingHeader::new(title).id_salt("stop rules").open(opens).show(ui, |ui| {
        let percent = |ui: &mut Ui, value: &mut f64, label: &str| {
            let field = DragValue::new(value).range(0.001..=100.0).speed(0.05).max_decimals(3).suffix(" %");
            name(&ui.add(field), label);
        };
        ui.horizontal(|ui| {
            let help = "Stops after the first iteration whose background NSR is above this (mean of the background ROIs)";
            ui.checkbox(&mut edited.by_noise, "NSR above").on_hover_text(help);
            percent(ui, &mut edited.nsr_percent, "Largest NSR");
        });
        let roi = form.roi(rois);
        ui.add_enabled_ui(roi.is_some(), |ui| {
            ui.horizontal_wrapped(|ui| {
                let help = "Stops once the contrast recovery of this ROI stayed within a band over some iterations";
                let missing = "Needs a hot ROI with a true ratio, or a cold one, and a background ROI";
                let on = ui.checkbox(&mut edited.by_recovery, "recovery of").on_hover_text(help);
                on.on_disabled_hover_text(missing);
                let shown = roi.clone().unwrap_or_else(|| "–".to_owned());
                menu(ui, "Steady ROI", &shown, |ui| {
                    for name in with_contrast(rois) {
                        ui.selectable_value(&mut edited.roi, name.clone(), name);
                    }
                });
                ui.label("within");
                percent(ui, &mut edited.band_percent, "Band of the recovery");
                ui.label("over");
                name(&ui.add(DragValue::new(&mut edited.iterations).range(1..=100)), "Iterations of the band");
                ui.label("iterations");
            });
        });
        ui.horizontal(|ui| {
            let help =
                "Stops after the first iteration that added at most this part of what all iterations added to the log-likelihood";
            ui.checkbox(&mut edited.by_plateau, "likelihood gain below").on_hover_text(help);
            percent(ui, &mut edited.gain_percent, "Smallest gain");
        });
    });
    Place::StopRules.is_at(&header.header_response);
    (edited != *form).then_some(edited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RoiShape;

    #[test]
    fn rules_are_those_that_are_on_and_can_be_looked_at() {
        let roi = |name: &str, role| Roi { role, ..Roi::new(name, RoiShape::Sphere { radius_mm: 1.0 }, [0.0; 3]) };
        let rois = [roi("B", RoiRole::Background), roi("H", RoiRole::Hot), roi("C", RoiRole::Cold), roi("D", RoiRole::Cold)];
        let form = StopForm { by_noise: true, by_recovery: true, ..StopForm::default() };
        let steady = |name: &str| StopRule::SteadyRecovery { roi: name.into(), band: 0.01, iterations: 3 };
        assert_eq!(form.rules(&rois), [StopRule::Noise { nsr: 0.1 }, steady("C")], "of H nobody knows the ratio");
        assert_eq!(StopForm { roi: "D".into(), ..form.clone() }.rules(&rois)[1], steady("D"));
        assert_eq!(form.rules(&rois[..1]), [StopRule::Noise { nsr: 0.1 }]);
    }
}
