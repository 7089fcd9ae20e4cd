//! The question how tubes of response are to be simulated.

use egui::{Context, DragValue, Ui};
use strum::VariantNames as _;

use super::action::StudyAction;
use crate::data::SuperLors;
use crate::montecarlo::{Amount, Isotope, TubeRecipe};
use crate::ui::widgets::fields::{menu, name};
use crate::ui::widgets::modal::modal_ui;

/// How positrons that do not travel are called.
const NO_RANGE: &str = "none: positrons do not travel";

/// The fields.
#[derive(Clone, Debug, PartialEq)]
pub struct TubeForm {
    /// Whether a precision is asked for, not a number of annihilations.
    pub by_precision: bool,
    /// Annihilations to follow, millions.
    pub millions: f64,
    /// Standard error of the coefficients on the tubes' axes, %.
    pub precision_percent: f64,
    /// Whose positrons travel.
    pub isotope: Option<Isotope>,
    /// Whether the photons fly in exactly opposite directions.
    pub is_collinear: bool,
    /// Seed.
    pub seed: u64,
    /// Neighbours that share a tube.
    pub super_lors: SuperLors,
}

impl Default for TubeForm {
    fn default() -> Self {
        let TubeRecipe { isotope, is_collinear, seed, .. } = TubeRecipe::default();
        let super_lors = SuperLors { radial: 3, ring_differences: 3, along: 9 };
        Self { by_precision: false, millions: 100.0, precision_percent: 10.0, isotope, is_collinear, seed, super_lors }
    }
}

impl TubeForm {
    /// What is to be simulated.
    pub fn recipe(&self) -> TubeRecipe {
        let histories = Amount::Histories((1e6 * self.millions).round().max(1.0) as u64);
        TubeRecipe {
            isotope: self.isotope,
            is_collinear: self.is_collinear,
            amount: if self.by_precision { Amount::Precision(self.precision_percent) } else { histories },
            seed: self.seed,
            super_lors: self.super_lors,
        }
    }
}

/// The question, in front of everything else.
pub fn tube_form_ui(form: &TubeForm, ctx: &Context, actions: &mut Vec<StudyAction>) {
    let mut edited = form.clone();
    let is_escaped = modal_ui(ctx, "make tubes", "Make tubes of response", |ui| {
        let words = "Annihilations are simulated into the crystals of the scanner. Results are stored in the cache.";
        ui.add(egui::Label::new(words).wrap());
        ui.add_space(4.0);
        egui::Grid::new("tube form").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| fields_ui(&mut edited, ui));
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let make = ui.button("Make").on_hover_text("Runs in the background, also during a reconstruction");
            if make.clicked() {
                actions.push(StudyAction::MakeTubes);
            }
            if ui.button("Close").clicked() {
                actions.push(StudyAction::CloseTubeForm);
            }
            make
        })
        .inner
    });
    if edited != *form {
        actions.insert(0, StudyAction::EditTubeForm(Box::new(edited)));
    }
    if is_escaped {
        actions.push(StudyAction::CloseTubeForm);
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
        let help = "So many neighbouring distances from the axis and ring differences share a tube: fewer annihilations do";
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
        // What is seen and typed is the odd number of samples.
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
