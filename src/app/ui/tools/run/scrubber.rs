//! Scrubber of the displayed iterate: the newest one, or a stored one.

use std::collections::BTreeSet;

use egui::Ui;

use crate::session::RunId;
use crate::ui::run::reference::ReferenceChoice;
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace, request};

const REFERENCE_HELP: &str =
    "Makes this iterate the reference: every other image is compared with it. Select another reference, or none, under Compare";

pub struct ScrubberView<'a> {
    /// Full iterations that can be shown; of a sweep numbers of projections.
    pub iterations: &'a [usize],
    /// Number of the displayed stored iterate; `None` = live.
    pub past: Option<usize>,
    /// The run whose they are.
    pub run: RunId,
    /// Reference of the comparisons.
    pub reference: Option<ReferenceChoice>,
    /// Numbers of those that are never thinned out.
    pub pinned: &'a BTreeSet<usize>,
    /// Number of the displayed image, if it can be stored.
    pub number: Option<usize>,
    pub is_playing: bool,
    /// Description of the displayed image.
    pub shown: &'a str,
    /// True if the step of the displayed image had a race condition.
    pub is_racy: bool,
}

pub fn scrubber_ui(view: &ScrubberView, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal_wrapped(|ui| {
        choice_ui(view, ui, requests);
        ui.label(view.shown);
        pins_ui(view, ui, requests);
        if view.is_racy {
            let words = egui::RichText::new("NOT FOR DIAGNOSIS: a race, additions are lost").strong();
            ui.label(words.color(theme::colours(ui.visuals()).error));
        }
    });
}

/// Draws the choice of the displayed iterate.
fn choice_ui(view: &ScrubberView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let is_live = view.past.is_none();
    if ui.selectable_label(is_live, "Live").on_hover_text("Follow the newest iterate").clicked() {
        requests.push(show_iterate(None));
    }
    if let Some(last) = view.iterations.len().checked_sub(1) {
        let at = |past: usize| view.iterations.iter().position(|i| *i >= past).unwrap_or(last);
        let current = view.past.map_or(last, at);
        if let Some(chosen) = slider_ui(ui, "Iterate", current, last, |index| view.iterations.get(index).copied()) {
            requests.push(show_iterate(view.iterations.get(chosen).copied()));
        }
    }
    play_ui(view, ui, requests);
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

/// Draws the switch of the playback.
fn play_ui(view: &ScrubberView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let button = egui::Button::selectable(view.is_playing, "Play");
    let help = "Plays the stored iterates (P)";
    if ui.add_enabled(view.iterations.len() > 1, button).on_hover_text(help).clicked() {
        requests.push(request(Workspace::toggle_play));
    }
}

fn pins_ui(view: &ScrubberView, ui: &mut Ui, requests: &mut Vec<Request>) {
    if let Some(number) = view.number.filter(|number| view.iterations.contains(number)) {
        let is_pinned = view.pinned.contains(&number);
        let help = "Keeps this iterate when the history is thinned out, with a button to show it";
        if ui.selectable_label(is_pinned, "Pin").on_hover_text(help).clicked() {
            requests.push(request(Workspace::toggle_pin));
        }
        if is_pinned {
            let choice = Some(ReferenceChoice { run: view.run, number: Some(number) });
            let button = ui.selectable_label(view.reference == choice, "Use as reference").on_hover_text(REFERENCE_HELP);
            if button.clicked() {
                requests.push(set_reference(choice));
            }
        }
    }
    if !view.pinned.is_empty() {
        ui.label("Pinned:");
    }
    for &number in view.pinned {
        let button = ui.button(number.to_string()).on_hover_text("An iterate that you keep");
        button.context_menu(|ui| {
            if ui.button("Compare with this iterate").on_hover_text(REFERENCE_HELP).clicked() {
                requests.push(set_reference(Some(ReferenceChoice { run: view.run, number: Some(number) })));
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
pub fn show_iterate(number: Option<usize>) -> Request {
    request(move |work| work.show_iterate(number))
}

/// Requests the comparison with these images; `None`: with none.
pub fn set_reference(choice: Option<ReferenceChoice>) -> Request {
    request(move |work| work.set_reference(choice))
}
