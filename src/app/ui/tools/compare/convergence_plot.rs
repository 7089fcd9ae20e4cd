//! Distance of the images from a converged reference over the iterations, with the thresholds of the PETRIC challenge, and a lamp.

use egui::{RichText, Ui};
use egui_plot::{HLine, LineStyle};

use crate::data::RoiRole;
use crate::measure::{Convergence, HELD_UPDATES, MAX_MEAN_ERROR, MAX_RMSE};
use crate::ui::run::live::LiveRun;
use crate::ui::tools::curves::curve_plot::CurvePlot;
use crate::ui::tools::curves::plots_view::PlotsView;
use crate::ui::widgets::plot::Scale;
use crate::ui::widgets::{format, plot, theme};
use crate::ui::workspace::state::Request;

/// Radius of the lamp, points.
const LAMP_RADIUS: f32 = 5.0;

/// Width from which on the names of the curves have room at their ends, points.
const MIN_WIDTH_OF_NAMES: f32 = 320.0;

/// Draws lamp and curves.
pub fn convergence_ui(live: &LiveRun, view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let colours = theme::colours(ui.visuals());
    let (text, has_converged) = lamp_text(live);
    let colour = if has_converged { colours.profile } else { ui.visuals().weak_text_color() };
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(2.0 * LAMP_RADIUS), egui::Sense::hover());
        // Filled or not: colour alone is not enough.
        if has_converged {
            ui.painter().circle_filled(rect.center(), LAMP_RADIUS, colour);
        } else {
            ui.painter().circle_stroke(rect.center(), LAMP_RADIUS - 1.0, egui::Stroke::new(1.5, colour));
        }
        ui.add(egui::Label::new(RichText::new(&text).color(colour).strong()).truncate());
    });
    let (strong, weak) = (ui.visuals().strong_text_color(), ui.visuals().weak_text_color());
    if ui.available_width() < MIN_WIDTH_OF_NAMES {
        let names = [("object", strong), ("background", weak), ("ROIs", colours.warning)];
        ui.spacing_mut().item_spacing = egui::Vec2::splat(3.0);
        ui.horizontal(|ui| plot::key_ui(ui, &names.map(|(name, colour)| (name, colour, LineStyle::Solid))));
    }
    let mut plot = CurvePlot::scaled(view, "convergence", "distance from the reference", "%", Scale::Logarithmic);
    if view.curves.object_rmse.is_empty() {
        let has_background = view.rois.iter().any(|roi| roi.role == RoiRole::Background);
        let missing = if has_background { "no image\ncompared yet" } else { "needs a\nbackground ROI" };
        plot = plot.including([0.1, 10.0]).hint(missing);
    }
    let limits = [("limit of both RMSE", MAX_RMSE), ("limit of the mean of a ROI", MAX_MEAN_ERROR)];
    let limits = limits.map(|(name, limit)| (name, 100.0 * limit));
    plot.including(limits.map(|(_, limit)| limit)).show(ui, requests, move |curves| {
        for ((name, limit), colour) in limits.into_iter().zip([strong, colours.warning]) {
            if let Some(position) = Scale::Logarithmic.position(limit) {
                curves.plot.hline(HLine::new(name, position).color(colour).style(LineStyle::dashed_dense()));
            }
        }
        curves.curve("ROI means", &view.curves.region_error, colours.warning, 1.8);
        curves.curve("background RMSE", &view.curves.background_rmse, weak, 1.8);
        curves.curve("object RMSE", &view.curves.object_rmse, strong, 1.8);
    });
}

/// Describes the state of a run, and returns whether it has converged.
fn lamp_text(live: &LiveRun) -> (String, bool) {
    const NUM: usize = HELD_UPDATES;
    let course = live.iteration_scheme();
    match live.close_images() {
        Some((num, first)) if num >= NUM => {
            let at = course.text(course.number(first.iteration, first.subiteration));
            (format!("Converged after {at}"), true)
        }
        Some((num, _)) => (format!("Not converged yet: {num} of {NUM} images in a row within the limits"), false),
        None => {
            let newest = live.found.comparisons.values().next_back().and_then(|found| found.convergence);
            let above = newest.map_or_else(String::new, |newest| format!(": {}", above(&newest)));
            (format!("Not converged{above}"), false)
        }
    }
}

/// Lists the measures above their limits.
fn above(found: &Convergence) -> String {
    let measures = [
        ("object RMSE", Some(found.object_rmse), MAX_RMSE),
        ("background RMSE", Some(found.background_rmse), MAX_RMSE),
        ("ROI means", found.region_error, MAX_MEAN_ERROR),
    ];
    let above = measures.into_iter().filter_map(|(name, value, limit)| {
        let value = value.filter(|value| *value > limit)?;
        Some(format!("{name} {} % (limit {} %)", format::value(100.0 * value), 100.0 * limit))
    });
    above.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Comparison;

    #[test]
    fn ten_close_images_in_a_row_have_converged() {
        let mut live = LiveRun::default();
        let found = |iteration, object_rmse| Comparison {
            iteration,
            subiteration: iteration,
            reference: None,
            is_fixed: true,
            correlation: 1.0,
            relative_difference: 0.0,
            convergence: Some(Convergence { object_rmse, background_rmse: 0.005, region_error: Some(0.006 - 0.1 * object_rmse) }),
        };
        assert_eq!(lamp_text(&live), ("Not converged".to_owned(), false));
        live.found.comparisons.insert(1, found(1, 0.02));
        assert_eq!(lamp_text(&live), ("Not converged: object RMSE 2.000 % (limit 1 %)".to_owned(), false));
        live.found.comparisons.insert(2, found(2, 0.0));
        assert_eq!(lamp_text(&live).0, "Not converged: ROI means 0.6000 % (limit 0.5 %)");
        (3..=11).for_each(|step| _ = live.found.comparisons.insert(step, found(step, 0.01)));
        assert_eq!(lamp_text(&live), ("Not converged yet: 9 of 10 images in a row within the limits".to_owned(), false));
        live.found.comparisons.insert(12, found(12, 0.01));
        assert_eq!(lamp_text(&live), ("Converged after 3 iterations".to_owned(), true));
        // One image beyond the limits begins the row again.
        live.found.comparisons.insert(13, found(13, 0.011));
        assert!(!lamp_text(&live).1);
    }
}
