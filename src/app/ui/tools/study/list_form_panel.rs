//! Panel of the form for reading list-mode data.

use egui::{Context, DragValue, TextEdit, Ui};

use super::edit;
use crate::ui::study::list_form::ListForm;
use crate::ui::widgets::fields::{button, name};
use crate::ui::widgets::file_task::{FileTask, ListTable};
use crate::ui::widgets::modal::form_ui;
use crate::ui::workspace::state::{Request, ask, open_source};

/// Draws the form in front of the window.
pub fn list_form_ui(form: &ListForm, ctx: &Context, requests: &mut Vec<Request>) {
    let mut edited = form.clone();
    let text = if form.lacks_scanner() {
        "A YRT-PET file has no header: set its scanner and event fields here."
    } else {
        "Information missing in the file's header, or files in another folder."
    };
    let close = || edit(|study| study.list_form = None);
    let is_submitted = form_ui(ctx, "Open list-mode data", text, ("Read list", ""), requests, close, |ui, requests| {
        let help = "The table of the scanner's crystals (.lut, .hscan, .geom, .crystals.toml)";
        table_ui(&mut edited, ListTable::Crystals, "Table of crystals", help, ui, requests);
        if form.lacks_scanner() {
            yrt_ui(&mut edited, ui);
        } else {
            let help = "CASToR normalisation file (.Cdh) with the detection efficiencies of all crystal pairs";
            table_ui(&mut edited, ListTable::Normalization, "Normalisation", help, ui, requests);
        }
    });
    if is_submitted {
        requests.push(open_source(edited.files()));
    }
    if edited != *form {
        requests.insert(0, edit(|study| study.list_form = Some(edited)));
    }
}

fn table_ui(form: &mut ListForm, table: ListTable, label: &str, help: &str, ui: &mut Ui, requests: &mut Vec<Request>) {
    let label = ui.label(label).on_hover_text(help);
    ui.horizontal(|ui| {
        let edit = TextEdit::singleline(form.path_mut(table)).desired_width(300.0).hint_text("path");
        ui.add(edit).labelled_by(label.id).on_hover_text(help);
        button(ui, "Choose…", help, requests, ask(FileTask::ListTable(table)));
    });
}

/// Draws the optional fields of an event.
fn yrt_ui(form: &mut ListForm, ui: &mut Ui) {
    let mut has_tof = form.files.yrt.tof_ps.is_some();
    let help = "Each event has the difference of its times, in ps";
    ui.checkbox(&mut has_tof, "Events have time of flight").on_hover_text(help);
    ui.horizontal(|ui| {
        let [fwhm, step] = &mut form.tof_ps;
        let field = |ui: &mut Ui, label: &str, help: &str, low: f64, value: &mut f64| {
            ui.label(label);
            let response = ui.add_enabled(has_tof, DragValue::new(value).range(low..=1e5).max_decimals(4).suffix(" ps"));
            name(&response.on_hover_text(help), label);
        };
        field(ui, "FWHM", "Uncertainty of the time of flight", 0.001, fwhm);
        field(ui, "Step", "Step of the stored times; 0 = continuous", 0.0, step);
    });
    form.files.yrt.tof_ps = has_tof.then_some(form.tof_ps);
    let help = "Each event has its expected randoms, counts per second";
    ui.checkbox(&mut form.files.yrt.has_randoms, "Events have their randoms").on_hover_text(help);
}
