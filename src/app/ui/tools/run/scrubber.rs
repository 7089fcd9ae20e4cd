//! Scrubber of the displayed iterate: the newest one, or a stored one.

use egui::Ui;

use crate::ui::run::reference::ReferenceChoice;
use crate::ui::run::run_view::RunView;
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace, request};

const REFERENCE_HELP: &str =
    "Makes this iterate the reference: every other image is compared with it. Select another reference, or none, under Compare";

pub fn scrubber_ui(work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
    let run = work.run();
    ui.horizontal_wrapped(|ui| {
        choice_ui(run, ui, requests);
        ui.label(run.shown_words());
        pins_ui(run, work.reference().map(|reference| reference.choice), ui, requests);
        // The step of the displayed image had a race condition.
        if run.shown_of().is_some_and(|(id, live)| live.race_at(id.subiteration).is_some()) {
            let words = egui::RichText::new("NOT FOR DIAGNOSIS: a race, additions are lost").strong();
            ui.label(words.color(theme::colours(ui.visuals()).error));
        }
    });
}

/// Draws the choice of the displayed iterate, and the switch of the playback.
fn choice_ui(run: &RunView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let (stored, past) = (&run.stored, run.past_number());
    if ui.selectable_label(past.is_none(), "Live").on_hover_text("Follow the newest iterate").clicked() {
        requests.push(show_iterate(None));
    }
    if let Some(last) = stored.len().checked_sub(1) {
        let at = |past: usize| stored.iter().position(|i| *i >= past).unwrap_or(last);
        let current = past.map_or(last, at);
        if let Some(chosen) = slider_ui(ui, "Iterate", current, last, |index| stored.get(index).copied()) {
            requests.push(show_iterate(stored.get(chosen).copied()));
        }
    }
    let button = egui::Button::selectable(run.playing.is_some(), "Play");
    let help = "Plays the stored iterates (P)";
    if ui.add_enabled(stored.len() > 1, button).on_hover_text(help).clicked() {
        requests.push(request(Workspace::toggle_play));
    }
}

/// Draws a slider over the indices of numbers, which are shown. Returns the index after a change.
pub(super) fn slider_ui(
    ui: &mut Ui,
    label: &str,
    current: usize,
    last: usize,
    number: impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let mut chosen = current;
    let slider = egui::Slider::new(&mut chosen, 0..=last)
        .show_value(false)
        .custom_formatter(|index, _| number(index as usize).map_or_else(String::new, |number| number.to_string()));
    ui.spacing_mut().slider_width = 180.0;
    let response = ui.add_enabled(last > 0, slider);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, last > 0, label));
    (chosen != current).then_some(chosen)
}

fn pins_ui(run: &RunView, reference: Option<ReferenceChoice>, ui: &mut Ui, requests: &mut Vec<Request>) {
    let choice = |number| Some(ReferenceChoice { run: run.live.run, number: Some(number) });
    let shown = run.shown_number().filter(|number| !run.selects_frame() && run.stored.contains(number));
    if let Some(number) = shown {
        let is_pinned = run.pinned.contains(&number);
        let help = "Keeps this iterate when the history is thinned out, with a button to show it";
        if ui.selectable_label(is_pinned, "Pin").on_hover_text(help).clicked() {
            requests.push(request(Workspace::toggle_pin));
        }
        if is_pinned {
            let button = ui.selectable_label(reference == choice(number), "Use as reference").on_hover_text(REFERENCE_HELP);
            if button.clicked() {
                requests.push(set_reference(choice(number)));
            }
        }
    }
    if !run.pinned.is_empty() {
        ui.label("Pinned:");
    }
    for &number in &run.pinned {
        let button = ui.button(number.to_string()).on_hover_text("An iterate that you keep");
        button.context_menu(|ui| {
            if ui.button("Compare with this iterate").on_hover_text(REFERENCE_HELP).clicked() {
                requests.push(set_reference(choice(number)));
            }
        });
        if button.clicked() {
            requests.push(show_iterate(Some(number)));
        }
    }
}

/// Draws the memory of the stored iterates of all runs, and its limit.
pub fn history_ui([used, limit]: [u64; 2], ui: &mut Ui, requests: &mut Vec<Request>) {
    let limit_mb = (limit >> 20).max(1);
    let mut wanted_mb = limit_mb;
    let field = egui::DragValue::new(&mut wanted_mb).range(1..=1 << 20).speed(4.0);
    let field = field.prefix(format!("history {} of ", used >> 20)).suffix(" MB");
    let help = "History memory limit, for the images of all runs. When it is full, every second image of the longest history is discarded";
    let response = ui.add(field).on_hover_text(help);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::SpinButton, true, "History memory limit, MB"));
    if wanted_mb != limit_mb {
        requests.push(request(move |work| work.set_history_bytes(wanted_mb << 20)));
    }
}

/// Requests a stored iterate by its number; `None`: the newest.
fn show_iterate(number: Option<usize>) -> Request {
    request(move |work| work.show_iterate(number))
}

/// Requests the comparison with these images; `None`: with none.
fn set_reference(choice: Option<ReferenceChoice>) -> Request {
    request(move |work| work.set_reference(choice))
}
