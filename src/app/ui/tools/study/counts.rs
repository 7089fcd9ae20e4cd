//! Sinograms in the study panel: the choice of correction files.

use egui::Ui;

use super::list::{added_attenuation_ui, attenuation_help};
use crate::io::Correction;
use crate::plan::ScanFiles;
use crate::ui::widgets::fields::{button, remove_button};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::state::{Request, ask, open_source};

/// Draws the choice of correction files.
pub fn corrections_ui(files: &ScanFiles, ui: &mut Ui, requests: &mut Vec<Request>) {
    let buttons = [
        (Correction::Multiplicative, "Multiplicative…", "Factors: attenuation and normalisation (.hs)", "multiplicative"),
        (Correction::Additive, "Additive…", "Background: scatter and randoms (.hs)", "additive"),
    ];
    egui::Grid::new("corrections").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| {
        for (which, title, help, name) in buttons {
            button(ui, title, help, requests, ask(FileTask::Correct(which)));
            let mut without = files.clone();
            *without.correction_mut(which) = None;
            remove_button(ui, files.correction(which).is_some(), name, requests, open_source(without));
            ui.end_row();
        }
        button(ui, "Attenuation…", &attenuation_help(), requests, ask(FileTask::Attenuation));
        let without = ScanFiles { attenuation: None, added_attenuation: Vec::new(), ct: None, mu_unit: None, ..files.clone() };
        remove_button(ui, files.attenuation.is_some(), "attenuation", requests, open_source(without));
        ui.end_row();
        if files.attenuation.is_some() {
            let without = ScanFiles { added_attenuation: Vec::new(), ..files.clone() };
            added_attenuation_ui(&files.added_attenuation, open_source(without), ui, requests);
            ui.end_row();
        }
    });
    let mut changed = files.clone();
    let check = |can: bool, value: &mut bool, [title, help, without]: [&str; 3], ui: &mut Ui| {
        let check = ui.add_enabled(can, egui::Checkbox::new(value, title));
        check.on_hover_text(help).on_disabled_hover_text(without).changed()
    };
    let inverse = [
        "multiplicative holds correction factors (ACF)",
        "The multiplicative file holds the inverse of efficiency × survival, as STIR's attenuation correction factors",
        "Takes a multiplicative file",
    ];
    let inside = [
        "additive inside the factors (STIR)",
        "The additive file is added before the factors are applied: it holds additive / multiplicative",
        "Takes both corrections",
    ];
    let of_factors = check(files.multiplicative.is_some(), &mut changed.multiplicative_inverse, inverse, ui);
    if check(files.is_fully_corrected(), &mut changed.additive_inside, inside, ui) || of_factors {
        requests.push(open_source(changed));
    }
}
