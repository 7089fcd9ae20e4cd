//! A small plot: how it behaves, its axes, a curve in it.

use egui::Color32;
use egui_plot::{AxisHints, Line, Plot, PlotPoints, PlotUi};

/// A plot that follows its data and leaves wheel and drag to the rest of the window.
pub fn plot<'a>(id: &str, label: &str) -> Plot<'a> {
    Plot::new(id)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .show_background(false)
        .set_margin_fraction(egui::vec2(0.02, 0.08))
        .grid_spacing(egui::Rangef::new(8.0, 90.0))
        .custom_x_axes(vec![AxisHints::new_x().label(label).label_spacing(egui::Rangef::new(16.0, 40.0))])
        .custom_y_axes(vec![values_axis()])
}

/// A vertical axis whose numbers are short and have as many digits as tell them apart.
pub fn short_axis<'a>() -> AxisHints<'a> {
    values_axis().formatter(|mark, _| short(mark.value, mark.step_size))
}

/// The vertical axis of small plots.
fn values_axis<'a>() -> AxisHints<'a> {
    AxisHints::new_y().min_thickness(34.0).label_spacing(egui::Rangef::new(18.0, 34.0))
}

/// Names a plot for screen readers and tests.
pub fn name(response: &egui::Response, label: &str) {
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, label));
}

/// One curve, a point where it has only one.
pub fn curve<'a>(plot: &mut PlotUi<'a>, name: &str, points: &[[f64; 2]], colour: Color32, width: f32) {
    plot.line(Line::new(name, PlotPoints::from(points.to_vec())).color(colour).width(width));
    if points.len() == 1 {
        plot.points(egui_plot::Points::new(name, PlotPoints::from(points.to_vec())).color(colour).radius(3.0));
    }
}

/// A large number with as many digits as the axis' step needs.
fn short(value: f64, step: f64) -> String {
    let (scale, suffix) = match value.abs().max(step) {
        size if size >= 1e9 => (1e-9, "G"),
        size if size >= 1e6 => (1e-6, "M"),
        size if size >= 1e3 => (1e-3, "k"),
        _ => (1.0, ""),
    };
    let decimals = (-(step * scale).log10()).ceil().clamp(0.0, 6.0) as usize;
    format!("{:.decimals$}{suffix}", value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_short_and_tell_neighbours_apart() {
        assert_eq!(short(345_600_000.0, 100_000.0), "345.6M");
        assert_eq!(short(-2_000.0, 500.0), "-2.0k");
        assert_eq!(short(0.5, 0.25), "0.5");
    }
}
