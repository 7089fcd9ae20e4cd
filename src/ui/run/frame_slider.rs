//! The time slider: which frame of a series is looked at.

use egui::Ui;

use super::action::RunAction;
use super::frame_series::FrameSeries;

/// The slider over the frames that have an image, with buttons to the next and the one before.
pub fn frame_slider_ui(series: &FrameSeries, ui: &mut Ui, actions: &mut Vec<RunAction>) {
    let stops = series.stops();
    let Some(last) = stops.len().checked_sub(1) else { return };
    let current = stops.iter().position(|place| *place == series.position()).unwrap_or(last);
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
        let mut chosen = current;
        ui.spacing_mut().slider_width = 180.0;
        let slider = egui::Slider::new(&mut chosen, 0..=last)
            .show_value(false)
            .custom_formatter(|v, _| stops.get(v as usize).map_or_else(String::new, |place| (place + 1).to_string()));
        let response = ui.add_enabled(last > 0, slider);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, last > 0, "Frame"));
        if chosen != current {
            actions.extend(stops.get(chosen).map(|place| RunAction::ShowFrame(*place)));
        }
        let play = egui::Button::selectable(series.playing.is_some(), "Play frames");
        if ui.add_enabled(last > 0, play).on_hover_text("Shows the frames one after the other").clicked() {
            actions.push(RunAction::PlayFrames(series.playing.is_none()));
        }
        let words = series.text(series.position());
        ui.label(words.replacen('f', "F", 1));
    });
}

/// The place of the frame before or after the one that is looked at.
pub fn neighbour(series: &FrameSeries, forward: bool) -> Option<usize> {
    let (stops, at) = (series.stops(), series.position());
    if forward { stops.into_iter().find(|place| *place > at) } else { stops.into_iter().rev().find(|place| *place < at) }
}
