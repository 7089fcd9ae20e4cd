//! Panel of the form for the simulation of tubes of response.

use egui::{Context, DragValue, Ui};
use strum::VariantNames as _;

use super::edit;
use crate::data::SuperLors;
use crate::montecarlo::Isotope;
use crate::ui::study::tube_form::TubeForm;
use crate::ui::widgets::fields::{menu, name};
use crate::ui::widgets::modal::form_ui;
use crate::ui::workspace::state::{Request, request};

/// Name of the choice without positron range.
const NO_RANGE: &str = "none: positrons do not travel";

/// Draws the form in front of the window.
pub fn tube_form_ui(form: &TubeForm, ctx: &Context, requests: &mut Vec<Request>) {
    let mut edited = form.clone();
    let text = "Annihilations are simulated into the crystals of the scanner. Results are stored in the cache.";
    let submit = ("Make", "Runs in the background, also during a reconstruction");
    let close = || edit(|study| study.tube_form = None);
    let is_submitted = form_ui(ctx, "Make tubes of response", text, submit, requests, close, |ui, _| {
        egui::Grid::new("tube form").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| fields_ui(&mut edited, ui));
    });
    if is_submitted {
        let recipe = edited.recipe();
        requests.push(request(move |work| work.simulate_tubes(recipe)));
    }
    if edited != *form {
        requests.insert(0, edit(|study| study.tube_form = Some(edited)));
    }
}

fn fields_ui(form: &mut TubeForm, ui: &mut Ui) {
    let number = |ui: &mut Ui, label: &str, help: &str, is_used: bool, value: DragValue| {
        let response = ui.add_enabled(is_used, value);
        name(&response, label);
        response.on_hover_text(help);
        ui.end_row();
    };
    ui.radio_value(&mut form.by_precision, false, "Annihilations");
    let value = DragValue::new(&mut form.millions).range(0.001..=1e6).max_decimals(3).suffix(" million");
    number(ui, "Annihilations, millions", "Some millions a second and core", !form.by_precision, value);
    ui.radio_value(&mut form.by_precision, true, "Precision");
    let value = DragValue::new(&mut form.precision_percent).range(0.5..=100.0).max_decimals(1).suffix(" %");
    let help = "Standard error of the coefficients on the axis of a single tube (the median of all tubes)";
    number(ui, "Precision, %", help, form.by_precision, value);
    ui.label("Isotope");
    let isotope = form.isotope.map_or_else(|| NO_RANGE.to_owned(), |isotope| isotope.to_string());
    menu(ui, "Isotope", &isotope, |ui| {
        for known in Isotope::VARIANTS.iter().filter_map(|known| known.parse::<Isotope>().ok()) {
            ui.selectable_value(&mut form.isotope, Some(known), known.to_string());
        }
        ui.selectable_value(&mut form.isotope, None, NO_RANGE);
    });
    ui.label("Photons");
    ui.checkbox(&mut form.is_collinear, "exactly opposite").on_hover_text("Leave out that they are not quite collinear");
    ui.end_row();
    ui.label("Seed");
    number(ui, "Seed", "The same seed gives the same tubes", true, DragValue::new(&mut form.seed).range(0..=i64::MAX as u64));
    let SuperLors { radial, ring_differences, along } = &mut form.super_lors;
    ui.label("Super-LORs");
    ui.horizontal(|ui| {
        let help =
            "This number of neighbouring distances from the axis and ring differences shares a tube: fewer annihilations do";
        for (label, value, next) in [
            ("Distances that share a tube", radial, "×"),
            ("Ring differences that share a tube", ring_differences, "share one; mean over"),
        ] {
            let response = ui.add(DragValue::new(value).range(1..=15));
            name(&response, label);
            response.on_hover_text(help);
            ui.label(next);
        }
        let mut reach = *along / 2;
        // The field shows the odd number of samples.
        let value = DragValue::new(&mut reach)
            .range(0..=15)
            .custom_formatter(|reach, _| format!("{}", 2.0 * reach + 1.0))
            .custom_parser(|text| text.trim().parse::<f64>().ok().map(|num| 0.5 * (num - 1.0)));
        let response = ui.add(value);
        name(&response, "Samples along the line that share a mean");
        response.on_hover_text("Number of samples of the running mean along the line");
        ui.label("samples");
        *along = 2 * reach + 1;
    });
    ui.end_row();
}
