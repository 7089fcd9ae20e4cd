//! Penalty and step size of a run, which can change between two steps.

use std::ops::RangeInclusive;

use egui::{RichText, Ui};

use crate::plan::PRIOR;
use crate::recon::{AscentTuning, Prior};
use crate::ui::run::live::LiveRun;
use crate::ui::widgets::fields::{any_size, name};

/// A number that can change.
struct Field {
    /// Symbol before the field.
    symbol: &'static str,
    /// Accessible name.
    name: &'static str,
    help: &'static str,
    range: RangeInclusive<f64>,
    usual: f64,
}

const STRENGTH: Field = Field {
    symbol: "β",
    name: "β of this run",
    help: "Strength of the penalty from the next step on: larger is smoother, 0 = none",
    range: 0.0..=1e12,
    usual: 1.0,
};

const LAMBDA: Field = Field {
    symbol: "λ",
    name: "λ of this run",
    help: "Strength of total variation from the next step on: larger is smoother",
    range: 1e-12..=1e12,
    usual: 1.0,
};

const GAMMA: Field = Field {
    symbol: "γ",
    name: "γ of this run",
    help: "Edge preservation of relative differences from the next step on; default 2",
    range: 0.0..=1e6,
    usual: 2.0,
};

const STEP_FACTOR: Field = Field {
    symbol: "steps ×",
    name: "Step factor of this run",
    help: "Factor of the step sizes from the next step on; default 1",
    range: 1e-3..=1e3,
    usual: 1.0,
};

/// Draws penalty and step size of a run that climbs and can do further steps. Returns them after an edit.
pub fn tuning_ui(live: &LiveRun, ui: &mut Ui) -> Option<AscentTuning> {
    let current = live.tuning().filter(|_| live.has_next_step())?;
    let settings = &live.info.as_ref()?.job.settings;
    let prior: Prior = settings.parameters.choice(&PRIOR);
    let mut next = current;
    if settings.algorithm.is_least_squares() {
        ui.label("Strength (also while running)");
        ui.horizontal(|ui| field_ui(&LAMBDA, &mut next.strength, ui));
    } else {
        ui.label("Penalty and steps (also while running)");
        ui.horizontal_wrapped(|ui| {
            field_ui(&STRENGTH, &mut next.strength, ui);
            if prior == Prior::RelativeDifference {
                field_ui(&GAMMA, &mut next.gamma, ui);
            }
            field_ui(&STEP_FACTOR, &mut next.step_factor, ui);
        });
    }
    if let Some(reported) = live.reported_tuning().filter(|reported| *reported != current) {
        ui.label(
            RichText::new(format!("{} from the next step on", current.changes_from(reported, live.strength_symbol()))).weak(),
        );
    }
    (next != current).then_some(next)
}

/// Draws a field. A drag or an entry changes the number at its end only: each change marks the curves.
fn field_ui(field: &Field, number: &mut f64, ui: &mut Ui) {
    ui.label(field.symbol);
    let id = ui.scope_id().with(field.name);
    let mut edited = ui.data(|data| data.get_temp(id)).unwrap_or(*number);
    let response = ui.add(any_size(&mut edited, field.range.clone(), field.usual));
    name(&response, field.name);
    if response.dragged() || response.has_focus() {
        ui.data_mut(|data| data.insert_temp(id, edited));
    } else {
        ui.data_mut(|data| data.remove::<f64>(id));
        *number = edited;
    }
    response.on_hover_text(field.help);
}
