//! Calibration in the study panel.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, RichText, Ui};

use super::edit;
use crate::ui::study::calibration::Calibration;
use crate::ui::widgets::fields::name;
use crate::ui::widgets::place::Place;
use crate::ui::workspace::state::{Request, Workspace, request};

const HELP: &str = "Calibration factor in Bq/mL per count/mm; 0: none. All values are then shown and saved in Bq/mL. Stored next to the scan. Valid for scans of the same duration, nuclide and corrections";
const PHANTOM_HELP: &str = "From a uniform phantom of known activity: Bq/mL per count/mm = activity concentration / mean of the selected ROI in the image on the screen";

/// Draws the calibration factor and the menu of the phantom.
pub fn calibration_ui(calibration: Calibration, selected: Option<&str>, ui: &mut Ui, requests: &mut Vec<Request>) {
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
            requests.push(request(move |work| work.calibrate(factor)));
        }
        let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
        let menu = MenuButton::new("Phantom").config(stays);
        menu.ui(ui, |ui| phantom_ui(calibration, selected, ui, requests)).0.on_hover_text(PHANTOM_HELP);
    });
}

/// Returns a factor with six digits; "none" for 0.
fn factor_text(factor: f64) -> String {
    let rounded: f64 = format!("{factor:.5e}").parse().unwrap_or(factor);
    if factor > 0.0 { format!("{rounded}") } else { "none".to_owned() }
}

fn phantom_ui(calibration: Calibration, selected: Option<&str>, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal(|ui| {
        let label = ui.label("Activity concentration");
        let mut activity = calibration.phantom_bq_per_ml;
        let speed = (0.01 * activity).max(1.0);
        let response = ui.add(DragValue::new(&mut activity).range(0.0..=f64::MAX).speed(speed).suffix(" Bq/mL"));
        let response = response.labelled_by(label.id);
        name(&response, "Activity concentration, Bq/mL");
        response.on_hover_text("Activity of the phantom at the time of the scan");
        if activity != calibration.phantom_bq_per_ml {
            requests.push(edit(move |study| study.calibration.phantom_bq_per_ml = activity));
        }
    });
    let text = match selected {
        Some(name) => format!("over the mean of '{name}' in the image on the screen"),
        None => "over the mean of a ROI: select one that lies well inside the phantom".to_owned(),
    };
    ui.label(RichText::new(text).weak());
    let button = ui.add_enabled(selected.is_some(), egui::Button::new("Calibrate"));
    if button.on_hover_text(PHANTOM_HELP).clicked() {
        requests.push(request(Workspace::calibrate_by_selected));
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
}
