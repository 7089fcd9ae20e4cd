//! The time slider: which frame of a series is looked at.

use egui::Ui;

use super::series::FrameSeries;
use crate::ui::run::action::RunAction;
use crate::ui::run::scrubber::slider_ui;

/// Draws the slider over the frames with an image, and buttons to the next and the previous one.
pub fn frame_slider_ui(series: &FrameSeries, ui: &mut Ui, actions: &mut Vec<RunAction>) {
    let stops = series.stops();
    let Some(last) = stops.len().checked_sub(1) else { return };
    let current = stops.iter().position(|stop| *stop == series.position()).unwrap_or(last);
    ui.horizontal(|ui| {
        let mut step = |ui: &mut Ui, sign: &str, name: &str, help: &str, to: Option<usize>| {
            let button = ui.add_enabled(to.is_some(), egui::Button::new(sign));
            button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, to.is_some(), name));
            if button.on_hover_text(help).clicked() {
                actions.extend(to.map(RunAction::ShowFrame));
            }
        };
        step(ui, "<", "Frame before", "The frame before (,)", neighbour(series, false));
        step(ui, ">", "Frame after", "The frame after (.)", neighbour(series, true));
        if let Some(chosen) = slider_ui(ui, "Frame", current, last, |index| Some(stops.get(index)? + 1)) {
            actions.extend(stops.get(chosen).map(|stop| RunAction::ShowFrame(*stop)));
        }
        let play = egui::Button::selectable(series.playing.is_some(), "Play frames");
        if ui.add_enabled(last > 0, play).on_hover_text("Shows the frames one after the other").clicked() {
            actions.push(RunAction::PlayFrames(series.playing.is_none()));
        }
        let words = series.text(series.position());
        ui.label(words.replacen('f', "F", 1));
    });
}

/// Returns the index of the frame before or after the selected one.
pub fn neighbour(series: &FrameSeries, forward: bool) -> Option<usize> {
    let (stops, at) = (series.stops(), series.position());
    if forward { stops.into_iter().find(|stop| *stop > at) } else { stops.into_iter().rev().find(|stop| *stop < at) }
}
