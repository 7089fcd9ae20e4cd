//! The iterate on the screen: the newest, or one of those that are kept.

use egui::Ui;

use super::action::RunAction;
use crate::ui::widgets::theme;

/// What the scrubber shows.
pub struct ScrubberView<'a> {
    /// Full iterations that can be shown; of a sweep numbers of projections.
    pub iterations: &'a [usize],
    /// The iterate of the past on the screen; `None` = live.
    pub past: Option<usize>,
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
        ui.label(view.shown);
        if view.is_racy {
            let words = egui::RichText::new("NOT FOR DIAGNOSIS: a race, additions are lost").strong();
            ui.add(egui::Label::new(words.color(theme::colours(ui.visuals()).error)).truncate());
        }
    });
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
