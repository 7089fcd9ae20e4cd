//! The time slider: which frame of a series is looked at.

use egui::Ui;

use super::scrubber::slider_ui;
use crate::ui::run::frames::series::FrameSeries;
use crate::ui::workspace::state::{Request, request};

/// Draws the slider over the frames with an image, and buttons to the next and the previous one.
pub fn frame_slider_ui(series: &FrameSeries, ui: &mut Ui, requests: &mut Vec<Request>) {
    let stops = series.stops();
    let Some(last) = stops.len().checked_sub(1) else { return };
    let current = stops.iter().position(|stop| *stop == series.position()).unwrap_or(last);
    ui.horizontal(|ui| {
        let mut step = |ui: &mut Ui, sign: &str, name: &str, help: &str, to: Option<usize>| {
            let button = ui.add_enabled(to.is_some(), egui::Button::new(sign));
            button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, to.is_some(), name));
            if button.on_hover_text(help).clicked() {
                requests.extend(to.map(show_frame));
            }
        };
        step(ui, "<", "Frame before", "The frame before (,)", series.neighbour(false));
        step(ui, ">", "Frame after", "The frame after (.)", series.neighbour(true));
        if let Some(chosen) = slider_ui(ui, "Frame", current, last, |index| Some(stops.get(index)? + 1)) {
            requests.extend(stops.get(chosen).map(|stop| show_frame(*stop)));
        }
        let play = egui::Button::selectable(series.playing.is_some(), "Play frames");
        if ui.add_enabled(last > 0, play).on_hover_text("Shows the frames one after the other").clicked() {
            let plays = series.playing.is_none();
            requests.push(request(move |work| work.play_frames(plays)));
        }
        let words = series.text(series.position());
        ui.label(words.replacen('f', "F", 1));
    });
}

/// Requests a frame by its index.
fn show_frame(index: usize) -> Request {
    request(move |work| work.show_frame(index))
}
