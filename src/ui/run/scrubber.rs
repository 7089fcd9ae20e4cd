//! The iterate on the screen: the newest, or one of those that are kept.

use std::collections::BTreeSet;

use egui::Ui;

use super::action::RunAction;
use super::reference::ReferenceChoice;
use crate::session::RunId;
use crate::ui::widgets::theme;

/// What a reference that is an iterate does.
const REFERENCE_HELP: &str =
    "Makes this iterate the reference: every other image is compared with it. Select another reference, or none, under Compare";

/// What the scrubber shows.
pub struct ScrubberView<'a> {
    /// Full iterations that can be shown; of a sweep numbers of projections.
    pub iterations: &'a [usize],
    /// The iterate of the past on the screen; `None` = live.
    pub past: Option<usize>,
    /// The run whose they are.
    pub run: RunId,
    /// What they are compared with.
    pub reference: Option<ReferenceChoice>,
    /// Numbers of those that are never thinned out.
    pub pinned: &'a BTreeSet<usize>,
    /// The number of the image on the screen, if it is one that can be kept.
    pub number: Option<usize>,
    /// Whether the iterates are shown one after the other.
    pub is_playing: bool,
    /// Bytes of the images of the past of all runs, and how many they may be.
    pub bytes: [u64; 2],
    /// What is on the screen, in words.
    pub shown: &'a str,
    /// Whether the step that made the image on the screen added without atomics.
    pub is_racy: bool,
}

/// The scrubber over the iterates that the session keeps.
pub fn scrubber_ui(view: &ScrubberView, ui: &mut Ui, actions: &mut Vec<RunAction>) {
    ui.horizontal(|ui| {
        let is_live = view.past.is_none();
        if ui.selectable_label(is_live, "Live").on_hover_text("Follow the newest iterate").clicked() {
            actions.push(RunAction::ShowIterate(None));
        }
        if let Some(last) = view.iterations.len().checked_sub(1) {
            let at = |past: usize| view.iterations.iter().position(|i| *i >= past).unwrap_or(last);
            let current = view.past.map_or(last, at);
            let mut chosen = current;
            let iterations = view.iterations;
            let slider = egui::Slider::new(&mut chosen, 0..=last)
                .show_value(false)
                .custom_formatter(|v, _| iterations.get(v as usize).map_or_else(String::new, ToString::to_string));
            ui.spacing_mut().slider_width = 180.0;
            let response = ui.add_enabled(last > 0, slider);
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, last > 0, "Iterate"));
            if chosen != current {
                actions.push(RunAction::ShowIterate(iterations.get(chosen).copied()));
            }
        }
        play_ui(view, ui, actions);
        ui.label(view.shown);
        pins_ui(view, ui, actions);
        if view.is_racy {
            let words = egui::RichText::new("NOT FOR DIAGNOSIS: a race, additions are lost").strong();
            ui.add(egui::Label::new(words.color(theme::colours(ui.visuals()).error)).truncate());
        }
    });
}

/// The switch that shows all that is kept, one after the other.
fn play_ui(view: &ScrubberView, ui: &mut Ui, actions: &mut Vec<RunAction>) {
    let button = egui::Button::selectable(view.is_playing, "Play");
    let help = "Plays the stored iterates (P)";
    if ui.add_enabled(view.iterations.len() > 1, button).on_hover_text(help).clicked() {
        actions.push(RunAction::Play(!view.is_playing));
    }
}

/// The iterates that stay whatever is thinned out, and how much room there is for all.
fn pins_ui(view: &ScrubberView, ui: &mut Ui, actions: &mut Vec<RunAction>) {
    if let Some(number) = view.number.filter(|number| view.iterations.contains(number)) {
        let is_pinned = view.pinned.contains(&number);
        let help = "Keeps this iterate when the history is thinned out, with a button to show it";
        if ui.selectable_label(is_pinned, "Pin").on_hover_text(help).clicked() {
            actions.push(RunAction::Pin(!is_pinned));
        }
        if is_pinned {
            let choice = Some(ReferenceChoice { run: view.run, number: Some(number) });
            let button = ui.selectable_label(view.reference == choice, "Use as reference").on_hover_text(REFERENCE_HELP);
            if button.clicked() {
                actions.push(RunAction::SetReference(choice));
            }
        }
    }
    for &number in view.pinned {
        let button = ui.small_button(number.to_string()).on_hover_text("An iterate that you keep");
        button.context_menu(|ui| {
            if ui.button("Compare with this iterate").on_hover_text(REFERENCE_HELP).clicked() {
                actions.push(RunAction::SetReference(Some(ReferenceChoice { run: view.run, number: Some(number) })));
            }
        });
        if button.clicked() {
            actions.push(RunAction::ShowIterate(Some(number)));
        }
    }
    let [used, budget] = view.bytes;
    let mut budget_mb = (budget >> 20).max(1);
    let field = egui::DragValue::new(&mut budget_mb).range(1..=1 << 20).speed(4.0);
    let field = field.prefix(format!("history {} of ", used >> 20)).suffix(" MB");
    let help = "History memory limit, for the images of all runs. When it is full, every second image of the longest history is discarded";
    let response = ui.add(field).on_hover_text(help);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::SpinButton, true, "History memory limit, MB"));
    if budget_mb != (budget >> 20).max(1) {
        actions.push(RunAction::SetHistoryBytes(budget_mb << 20));
    }
}

/// The kept iterate before or after the one shown; `None` = live.
pub fn neighbour(iterations: &[usize], past: Option<usize>, forward: bool) -> Option<usize> {
    let at = past.map_or(iterations.len().saturating_sub(1), |past| iterations.partition_point(|i| *i < past));
    if forward { past.and_then(|_| iterations.get(at + 1).copied()) } else { iterations.get(at.saturating_sub(1)).copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_walk_over_the_kept_iterates() {
        let kept = [2, 4, 6];
        assert_eq!(neighbour(&kept, None, false), Some(4));
        assert_eq!(neighbour(&kept, Some(4), false), Some(2));
        assert_eq!(neighbour(&kept, Some(2), false), Some(2));
        assert_eq!(neighbour(&kept, Some(4), true), Some(6));
        assert_eq!(neighbour(&kept, Some(6), true), None);
        assert_eq!(neighbour(&[], None, false), None);
    }
}
