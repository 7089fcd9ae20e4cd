//! Panel of the recovery: choice of the standard, verdict, curves with bands, and the map.

use egui::{Color32, RichText, Ui};
use egui_plot::LineStyle;

use super::files::STANDARD;
use super::map::{map_ui, text};
use super::state::RecoveryState;
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{RecoveryBand, RecoveryStandard};
use crate::measure::nema::{RecoveryPoint, Verdict};
use crate::report::RecoverySearch;
use crate::ui::rois::action::RoiEdit;
use crate::ui::run::live::LiveRun;
use crate::ui::widgets::fields::{menu, typed_ui};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::{plot, theme};
use crate::ui::workspace::state::{Request, ask, edit_rois};

/// Part of the width for the curves.
const CURVES_PART: f32 = 0.45;

/// Width of the field of the ratio, points.
const RATIO_WIDTH: f32 = 60.0;

/// Tooltip of the tab's numbers.
const HELP: &str = "Recovery: (value in the sphere / background) / true ratio. A50: mean of the voxels above (max + background) / 2 that are connected with the maximum. Background: mean of 60 circles of 37 mm. Recommended: the setting that complies with the smallest root mean square distance from the middles of the bands";

pub struct RecoveryView<'a> {
    pub state: &'a RecoveryState,
    pub live: &'a LiveRun,
    /// Iteration and post-filter, mm, of the displayed image; `None` without an image.
    pub shown: Option<(usize, f64)>,
    /// True activity ratio of the hot regions.
    pub activity_ratio: Option<f64>,
}

/// Draws the tab; returns the index of a newly chosen standard.
pub fn recovery_ui(view: &RecoveryView, ui: &mut Ui, requests: &mut Vec<Request>) -> Option<usize> {
    let standard = view.state.standard()?;
    let mut chosen = None;
    ui.horizontal(|ui| {
        ui.label(RichText::new("Standard").small().weak()).on_hover_text(HELP);
        menu(ui, "Standard", &standard.title, |ui| {
            for (index, other) in view.state.standards().iter().enumerate() {
                if ui.selectable_label(other == standard, &other.title).on_hover_text(&other.source).clicked() {
                    chosen = Some(index);
                }
            }
            if ui.button("Bands of a file…").on_hover_text("Limits of recovery coefficients (.toml)").clicked() {
                requests.push(ask(FileTask::OfTool(&STANDARD)));
            }
        });
        ratio_ui(view.activity_ratio, ui, requests);
    });
    if view.activity_ratio.is_none() {
        let missing = "Recovery coefficients need the true activity ratio of the six hot spheres to the background.";
        ui.label(RichText::new(missing).weak());
        return chosen;
    }
    let points = &view.live.found.recovery.points;
    if points.is_empty() {
        ui.label(RichText::new("Measured after the first full iteration.").weak());
        return chosen;
    }
    if let (Some(RecoveryPoint { outcome: Err(problem), .. }), true) =
        (points.last(), points.iter().all(|point| point.outcome.is_err()))
    {
        ui.label(RichText::new(&problem.text).weak());
        return chosen;
    }
    let search = RecoverySearch::new(points, standard);
    let shown = shown_point(view);
    let verdict = shown.and_then(|point| Some(Verdict::of(point.outcome.as_ref().ok()?, standard)));
    if let Some(point) = shown {
        let complies = verdict.as_ref().is_some_and(Verdict::complies);
        let colour = if complies { theme::colours(ui.visuals()).profile } else { ui.visuals().text_color() };
        let label = RichText::new(text(point, verdict.as_ref(), false)).small().color(colour).strong();
        ui.add(egui::Label::new(label).truncate());
    }
    let advice = egui::Label::new(RichText::new(search.advice()).small()).truncate();
    ui.add(advice).on_hover_text(format!("{}\n\n{HELP}", search.sentence()));
    let shown_at = shown.map(|point| (point.iteration, point.filter_mm));
    ui.horizontal_top(|ui| {
        let size = egui::vec2(CURVES_PART * ui.available_width(), ui.available_height());
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(size.x);
            curves_ui(shown, standard, ui);
        });
        ui.vertical(|ui| map_ui(&search, shown_at, ui, requests));
    });
    chosen
}

/// Draws the true activity ratio, the same of all hot spheres.
fn ratio_ui(activity_ratio: Option<f64>, ui: &mut Ui, requests: &mut Vec<Request>) {
    let label = ui.label(RichText::new("True ratio").small().weak());
    let known = activity_ratio.map_or_else(String::new, |ratio| ratio.to_string());
    let (response, typed) = typed_ui(ui, ui.scope_id().with("true ratio"), &known, (label.id, RATIO_WIDTH, "enter"));
    requests.extend(typed.map(|text| edit_rois(RoiEdit::HotRatio(text))));
    response.on_hover_text("True activity of the hot spheres over that of the background; sets it for all hot ROIs");
}

/// Returns the setting of the displayed image; where its filter is not in the map, or nothing was measured yet, the newest iteration
/// with the nearest filter.
fn shown_point<'a>(view: &RecoveryView<'a>) -> Option<&'a RecoveryPoint> {
    let recovery = &view.live.found.recovery;
    let (iteration, filter_mm) = view.shown.unwrap_or_default();
    recovery.at(iteration, filter_mm).or_else(|| {
        let newest = recovery.points.iter().map(|point| point.iteration).max()?;
        let of_newest = recovery.points.iter().filter(|point| point.iteration == newest);
        of_newest.min_by(|a, b| (a.filter_mm - filter_mm).abs().total_cmp(&(b.filter_mm - filter_mm).abs()))
    })
}

/// Draws the coefficients over the diameters, with the limits of their bands as dashed lines.
fn curves_ui(shown: Option<&RecoveryPoint>, standard: &RecoveryStandard, ui: &mut Ui) {
    let colours = theme::colours(ui.visuals());
    let of_band: Vec<(&RecoveryBand, Color32)> =
        standard.bands.iter().zip([colours.profile, colours.warning, colours.accent]).collect();
    let key: Vec<_> = of_band.iter().map(|(band, colour)| (band.quantity.label(), *colour, LineStyle::Solid)).collect();
    let key: Vec<_> = key.into_iter().chain([("bands", ui.visuals().weak_text_color(), LineStyle::dashed_dense())]).collect();
    ui.horizontal(|ui| plot::key_ui(ui, &key));
    let recovery = shown.and_then(|point| point.outcome.as_ref().ok());
    let over = |value: &dyn Fn(usize) -> Option<f64>| -> Vec<[f64; 2]> {
        (0..SPHERE_DIAMETERS_MM.len()).filter_map(|k| Some([SPHERE_DIAMETERS_MM[k], value(k)?])).collect()
    };
    let response = plot::plot("recovery", "sphere diameter, mm").include_y(0.0).include_y(1.2).show(ui, |plot| {
        for (band, colour) in of_band {
            let name = band.quantity.label();
            for (limit, which) in ["min", "max"].into_iter().enumerate() {
                let line = over(&|k| Some(band.limits[k][limit]));
                let style = LineStyle::dashed_dense();
                plot::styled_curve(plot, &format!("{name}, {which}"), &line, colour.gamma_multiply(0.7), 1.2, style);
            }
            if let Some(recovery) = recovery {
                plot::curve(plot, name, &over(&|k| recovery.spheres[k].of(band.quantity)), colour, 2.0);
            }
        }
    });
    plot::name(&response.response, "Recovery of the spheres");
}
