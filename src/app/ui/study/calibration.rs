//! Calibration of a scan's images in Bq/mL per count/mm, also from a uniform phantom.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, RichText, Ui};

use super::action::{StudyAction, StudyEdit};
use crate::ui::widgets::fields::name;
use crate::ui::widgets::place::Place;

/// Calibration of the open scan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Calibration factor, Bq/mL per count/mm; `None`: none.
    pub bq_per_ml: Option<f64>,
    /// Activity concentration of the calibration phantom, Bq/mL.
    pub phantom_bq_per_ml: f64,
}

impl Calibration {
    /// Returns the calibration factor from the mean of a region in a uniform phantom, counts/mm.
    ///
    /// # Errors
    /// The concentration or the mean is not positive.
    pub fn of_phantom(self, mean: f64) -> Result<f64, String> {
        let Self { phantom_bq_per_ml: activity, .. } = self;
        if !(activity.is_finite() && activity > 0.0) {
            return Err(
                "the phantom's activity concentration is not known yet: give it, in Bq/mL at the time of the scan".to_owned()
            );
        }
        let factor = activity / mean;
        let is_sound = mean > 0.0 && factor.is_finite();
        is_sound.then_some(factor).ok_or_else(|| {
            format!("the mean of the selected ROI is {mean} counts/mm, where that of a phantom with activity is positive")
        })
    }
}

const HELP: &str = "Calibration factor in Bq/mL per count/mm; 0: none. All values are then shown and saved in Bq/mL. Stored next to the scan. Valid for scans of the same duration, nuclide and corrections";
const PHANTOM_HELP: &str = "From a uniform phantom of known activity: Bq/mL per count/mm = activity concentration / mean of the selected ROI in the image on the screen";

/// Draws the calibration factor and the menu of the phantom.
pub fn calibration_ui(calibration: Calibration, selected: Option<&str>, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    ui.horizontal(|ui| {
        let label = ui.label("Calibration");
        let mut factor = calibration.bq_per_ml.unwrap_or(0.0);
        // Typed, not dragged: every change is written to the file.
        let value = DragValue::new(&mut factor).range(0.0..=f64::MAX).speed(0.0).update_while_editing(false);
        let value = value.custom_formatter(|factor, _| factor_text(factor));
        let value = if calibration.bq_per_ml.is_some() { value.suffix(" Bq/mL") } else { value };
        let response = ui.add(value).labelled_by(label.id);
        name(&response, "Calibration, Bq/mL per count/mm");
        Place::Calibration.is_at(&response);
        response.on_hover_text(HELP);
        let factor = Some(factor).filter(|factor| *factor > 0.0);
        // The displayed number has fewer digits than the factor.
        if factor.map(factor_text) != calibration.bq_per_ml.map(factor_text) {
            actions.push(StudyAction::Edit(StudyEdit::Calibration(factor)));
        }
        let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
        let menu = MenuButton::new("Phantom").config(stays);
        menu.ui(ui, |ui| phantom_ui(calibration, selected, ui, actions)).0.on_hover_text(PHANTOM_HELP);
    });
}

/// Returns a factor with six digits; "none" for 0.
fn factor_text(factor: f64) -> String {
    let rounded: f64 = format!("{factor:.5e}").parse().unwrap_or(factor);
    if factor > 0.0 { format!("{rounded}") } else { "none".to_owned() }
}

fn phantom_ui(calibration: Calibration, selected: Option<&str>, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    ui.horizontal(|ui| {
        let label = ui.label("Activity concentration");
        let mut activity = calibration.phantom_bq_per_ml;
        let speed = (0.01 * activity).max(1.0);
        let response = ui.add(DragValue::new(&mut activity).range(0.0..=f64::MAX).speed(speed).suffix(" Bq/mL"));
        let response = response.labelled_by(label.id);
        name(&response, "Activity concentration, Bq/mL");
        response.on_hover_text("Activity of the phantom at the time of the scan");
        if activity != calibration.phantom_bq_per_ml {
            actions.push(StudyAction::Edit(StudyEdit::PhantomActivity(activity)));
        }
    });
    let text = match selected {
        Some(name) => format!("over the mean of '{name}' in the image on the screen"),
        None => "over the mean of a ROI: select one that lies well inside the phantom".to_owned(),
    };
    ui.label(RichText::new(text).weak());
    let button = ui.add_enabled(selected.is_some(), egui::Button::new("Calibrate"));
    if button.on_hover_text(PHANTOM_HELP).clicked() {
        actions.push(StudyAction::CalibrateBySelected);
        ui.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_six_digits() {
        assert_eq!([0.0, 52_300.0, 199_999.96, 0.012_345_678].map(factor_text), ["none", "52300", "200000", "0.0123457"]);
    }

    #[test]
    fn the_factor_is_the_activity_over_the_mean() {
        let phantom = |phantom_bq_per_ml| Calibration { bq_per_ml: None, phantom_bq_per_ml };
        assert_eq!(phantom(5000.0).of_phantom(0.025), Ok(200_000.0));
        assert!(phantom(0.0).of_phantom(0.025).unwrap_err().contains("not known yet"));
        for mean in [0.0, -1.0, f64::NAN] {
            assert!(phantom(5000.0).of_phantom(mean).unwrap_err().contains("counts/mm"), "{mean}");
        }
    }
}
