//! The plots: noise, contrast, likelihood or means, and the line profile.

use egui::{Color32, RichText, Ui};
use egui_plot::{HLine, LineStyle};
use strum::VariantArray as _;

use super::curve_plot::{CurvePlot, CurvesUi, KEPT_LINES, title_ui, unfiltered_ui};
use super::plots_view::{PlotsView, edit, plots_view};
use super::trajectory_plot::trajectory_ui;
use crate::data::{Roi, RoiRole};
use crate::ui::run::curves::{Curves, Series};
use crate::ui::run::plot_options::{ContrastCurves, LikelihoodCurves};
use crate::ui::tools::tool::Tool;
use crate::ui::widgets::elided::text_width;
use crate::ui::widgets::fields::name_menu;
use crate::ui::widgets::format;
use crate::ui::widgets::plot::{Scale, within};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace};

/// Text of an empty plot with the required ROIs.
const NOT_MEASURED: &str = "no iteration\nmeasured yet";

fn has_background(rois: &[Roi]) -> bool {
    rois.iter().any(|roi| roi.role == RoiRole::Background)
}

/// Returns the text of an empty plot of the background's noise.
fn noise_hint(rois: &[Roi]) -> &'static str {
    if has_background(rois) { NOT_MEASURED } else { "needs a\nbackground ROI" }
}

/// Returns the text of an empty plot of the contrast, which for recovery needs true ratios.
fn contrast_hint(rois: &[Roi], needs_ratio: bool) -> &'static str {
    let is_hot = |roi: &Roi| roi.role == RoiRole::Hot;
    let has_contrast = |roi: &Roi| roi.role == RoiRole::Cold || (is_hot(roi) && (roi.activity_ratio.is_some() || !needs_ratio));
    match has_background(rois) {
        true if rois.iter().any(has_contrast) => NOT_MEASURED,
        true if rois.iter().any(is_hot) => "needs the true ratio\nof a hot ROI",
        _ => "needs a\nbackground ROI and\na hot or cold one",
    }
}

/// Margin to the right of a plot, points: room for half of the last number of its horizontal axis.
const RIGHT_MARGIN: i8 = 10;

/// Plot of curves over the iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    Noise,
    Contrast,
    /// Likelihood or objective; for data without one the means of the regions.
    Progress,
}

pub struct Plot(pub PlotKind);

impl Tool for Plot {
    fn title(&self, work: &Workspace) -> [&'static str; 2] {
        let course = work.iteration_scheme();
        match self.0 {
            PlotKind::Noise => ["Noise", format::NSR_HELP],
            PlotKind::Contrast => ["Contrast", "Contrast of hot and cold regions"],
            PlotKind::Progress if course.has_objective => ["Objective", "Objective of the image, and its changes"],
            PlotKind::Progress if course.has_likelihood => ["Likelihood", "Log-likelihood of the data"],
            PlotKind::Progress => ["Means", "Means of the regions"],
        }
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        with_margin(ui, |ui| plot_ui(self.0, &plots_view(work), ui, requests));
    }
}

/// Draws a plot with room for its numbers.
pub fn with_margin(ui: &mut Ui, draw: impl FnOnce(&mut Ui)) {
    let margin = egui::Margin { right: RIGHT_MARGIN, ..egui::Margin::ZERO };
    egui::Frame::new().inner_margin(margin).show(ui, draw);
}

fn plot_ui(kind: PlotKind, view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    match kind {
        PlotKind::Noise => noise_ui(view, ui, requests),
        PlotKind::Contrast => contrast_ui(view, ui, requests),
        PlotKind::Progress if view.course.has_likelihood || view.course.has_objective => likelihood_ui(view, ui, requests),
        PlotKind::Progress => means_ui(view, ui, requests),
    }
}

/// Draws the noise: the mean of the background ROIs above their own curves.
fn noise_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal(|ui| {
        log_ui(view, ui, requests);
        unfiltered_ui(view, ui);
        kept_ui(view, ui);
    });
    let mean_colour = ui.visuals().strong_text_color();
    let mut plot = CurvePlot::new(view, "noise", "noise", "%").including([0.0, 10.0]);
    if view.curves.nsr.is_empty() {
        plot = plot.hint(noise_hint(view.rois));
    }
    let has_mean = !view.curves.mean_nsr.is_empty();
    let limit_colour = theme::colours(ui.visuals()).shown_mark;
    plot.show(ui, requests, move |curves| {
        if let Some(limit) = view.noise_limit {
            let line = HLine::new("stops above", limit).color(limit_colour).style(LineStyle::dashed_dense());
            curves.plot.hline(line);
        }
        if !has_mean {
            return curves.of_rois(|of| &of.nsr, false);
        }
        curves.of_own_rois(&view.curves.nsr, true);
        curves.with_kept("mean of the background ROIs", |of| &of.mean_nsr, mean_colour, 2.2);
    });
}

/// Draws the switch of the horizontal axes.
fn log_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let is_log = view.options.iterations == Scale::Logarithmic;
    let help = "Iterations on a logarithmic axis, in all curves";
    if ui.selectable_label(is_log, RichText::new("log").small()).on_hover_text(help).clicked() {
        let scale = if is_log { Scale::Linear } else { Scale::Logarithmic };
        requests.push(edit(move |options| options.iterations = scale));
    }
}

/// Draws the line styles of earlier runs with their numbers.
fn kept_ui(view: &PlotsView, ui: &mut Ui) {
    for (kept, line) in view.kept.iter().zip(KEPT_LINES) {
        let text = RichText::new(format!("{line} run {}", kept.run)).small().weak();
        ui.label(text).on_hover_ui(|ui| {
            let title = kept.live.title().unwrap_or_default();
            ui.label(format!("{title}. It is listed, and dismissed, under Compare"));
        });
    }
}

/// Draws the title of a plot, in one row at any width.
fn head_ui(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.spacing_mut().button_padding.x = 3.0;
        contents(ui);
    });
}

/// Largest number of curves to choose from in a row.
const MAX_IN_A_ROW: usize = 3;

/// Draws the curves to choose from, each with its name and tooltip: in a row, or as a menu where a row has no room. Returns another
/// choice.
fn choices_ui<T: Copy + PartialEq>(
    ui: &mut Ui,
    id: &str,
    choices: &[T],
    chosen: T,
    text: fn(T) -> [&'static str; 2],
) -> Option<T> {
    let mut next = chosen;
    let mut row_ui = |ui: &mut Ui| {
        for &choice in choices {
            let [name, help] = text(choice);
            ui.selectable_value(&mut next, choice, name).on_hover_text(help);
        }
    };
    let font = egui::TextStyle::Button.resolve(ui.style());
    let spacing = ui.spacing();
    let between = 2.0 * spacing.button_padding.x + spacing.item_spacing.x;
    let width: f32 = choices.iter().map(|choice| text_width(ui, text(*choice)[0], &font) + between).sum();
    if choices.len() > MAX_IN_A_ROW || width > ui.available_width() {
        let [name, _] = text(chosen);
        let menu = egui::ComboBox::from_id_salt(id).selected_text(name).show_ui(ui, row_ui);
        name_menu(&menu.response, &format!("Curves: {name}"));
    } else {
        row_ui(ui);
    }
    (next != chosen).then_some(next)
}

/// Draws the selected curves of the contrast: recovery over iterations or noise, or contrast-to-noise ratio.
fn contrast_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let chosen = Some(view.options.contrast).filter(|chosen| chosen.is_of(view.curves)).unwrap_or_default();
    let choices: Vec<ContrastCurves> = ContrastCurves::VARIANTS.iter().copied().filter(|of| of.is_of(view.curves)).collect();
    head_ui(ui, |ui| {
        if let Some(next) = choices_ui(ui, "contrast curves", &choices, chosen, ContrastCurves::text) {
            requests.push(edit(move |options| options.contrast = next));
        }
        unfiltered_ui(view, ui);
    });
    let missing = contrast_hint(view.rois, chosen != ContrastCurves::ToNoise);
    match chosen {
        ContrastCurves::Means => {
            let plot = CurvePlot::new(view, "means", "means", view.scale.label()).in_unit(view.scale);
            plot.show(ui, requests, move |curves| view.curves.mean_bands.iter().for_each(|band| curves.band(band)));
        }
        ContrastCurves::Recovery => {
            let plot = CurvePlot::new(view, "contrast", "contrast recovery", "%").including([0.0, 10.0]);
            rois_ui(plot, view.curves.recovery.is_empty().then_some(missing), |of| &of.recovery, ui, requests);
        }
        ContrastCurves::AgainstNoise => trajectory_ui(view, ui, requests),
        ContrastCurves::ToNoise => {
            let plot = CurvePlot::new(view, "contrast to noise", "contrast-to-noise ratio", "").including([0.0, 1.0]);
            rois_ui(plot, view.curves.contrast_to_noise.is_empty().then_some(missing), |of| &of.contrast_to_noise, ui, requests);
        }
    }
}

/// Means of the ROIs, of a sweep.
fn means_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let unit = view.scale.label();
    title_ui(&format!("Mean of the ROIs, {unit}"), view, ui);
    let plot = CurvePlot::new(view, "means", "means", unit).in_unit(view.scale).including([0.0]);
    rois_ui(plot, view.curves.mean.is_empty().then_some("needs a ROI"), |of| &of.mean, ui, requests);
}

/// Draws a plot with a curve for each ROI, or a text on missing data.
fn rois_ui<'a>(
    plot: CurvePlot<'a>,
    missing: Option<&'a str>,
    of: fn(&Curves) -> &Vec<Series>,
    ui: &mut Ui,
    requests: &mut Vec<Request>,
) {
    let plot = if let Some(missing) = missing { plot.hint(missing) } else { plot };
    plot.show(ui, requests, move |curves| curves.of_rois(of, false));
}

/// Draws the selected curve of the likelihood: its value, its gain, or the residual.
fn likelihood_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let has_it = |of: &LikelihoodCurves| of.is_of(view.curves, &view.course);
    let choices: Vec<LikelihoodCurves> = LikelihoodCurves::VARIANTS.iter().copied().filter(has_it).collect();
    let first = if view.course.has_objective { LikelihoodCurves::Objective } else { LikelihoodCurves::default() };
    let chosen = Some(view.options.likelihood).filter(has_it).unwrap_or(first);
    head_ui(ui, |ui| {
        if let Some(next) = choices_ui(ui, "likelihood curves", &choices, chosen, LikelihoodCurves::text) {
            requests.push(edit(move |options| options.likelihood = next));
        }
        let recent = match chosen {
            LikelihoodCurves::Value => Some(&view.curves.log_likelihood),
            LikelihoodCurves::Residual => Some(&view.curves.residual),
            _ => None,
        };
        if let Some(text) = recent.and_then(|points| omission(points)) {
            ui.add(egui::Label::new(RichText::new(text).small().weak()).truncate());
        }
    });
    let colour = ui.visuals().strong_text_color();
    let weak = ui.visuals().weak_text_color();
    match chosen {
        LikelihoodCurves::Objective | LikelihoodCurves::Update | LikelihoodCurves::StepSize => {
            ascent_ui(chosen, view, ui, requests)
        }
        LikelihoodCurves::Value => {
            let mut plot = CurvePlot::new(view, "likelihood", "log-likelihood", "");
            plot = match view.curves.log_likelihood[..] {
                [] => plot.including([0.0, 1.0]).hint("after the first\nfull iteration"),
                // Around a single value the axis would have one number many times.
                [[_, value]] => plot.including([0.99 * value, 1.01 * value]),
                _ => plot,
            };
            plot.show(ui, requests, move |curves| lately_ui(curves, "log-likelihood", |of| &of.log_likelihood, colour));
        }
        LikelihoodCurves::Gain => {
            let mut plot = CurvePlot::scaled(view, "likelihood gain", "likelihood gain", "", Scale::Logarithmic);
            if view.curves.likelihood_gain.is_empty() {
                plot = plot.including([1.0, 10.0]).hint("after the second\nfull iteration");
            }
            plot.show(ui, requests, move |curves| curves.with_kept("gain", |of| &of.likelihood_gain, colour, 1.8));
        }
        LikelihoodCurves::Residual => {
            let points = &view.curves.residual;
            let mut plot = CurvePlot::new(view, "residual", "residual", "");
            if points.is_empty() {
                plot = plot.including([0.0, 2.0]).hint("after the first\nfull iteration");
            }
            plot.show(ui, requests, move |curves| {
                curves.plot.hline(HLine::new("noise alone", 1.0).color(weak).style(LineStyle::dashed_dense()));
                lately_ui(curves, "residual", |of| &of.residual, colour);
            });
        }
    }
}

/// Draws the selected curve of an algorithm that climbs: objective, size of the update, or step size.
fn ascent_ui(chosen: LikelihoodCurves, view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let colours = theme::colours(ui.visuals());
    let (strong, weak) = (ui.visuals().strong_text_color(), ui.visuals().weak_text_color());
    match chosen {
        LikelihoodCurves::Update => {
            let plot = CurvePlot::scaled(view, "update", "update, optimality residual", "%", Scale::Logarithmic);
            plot.show(ui, requests, move |curves| {
                curves.curve("optimality residual", &view.curves.optimality, colours.warning, 1.8);
                curves.with_kept("update", |of| &of.update, strong, 1.8);
            });
        }
        LikelihoodCurves::StepSize => {
            CurvePlot::new(view, "step size", "step size", "").including([0.0]).show(ui, requests, move |curves| {
                curves.curve("times halved", &view.curves.num_halved, colours.warning, 1.2);
                curves.with_kept("step size", |of| &of.step_size, strong, 1.8);
            });
        }
        _ => {
            let plot = CurvePlot::new(view, "objective", "change of the objective", "").including([0.0, 1.0]);
            plot.show(ui, requests, move |curves| {
                curves.pieces("− penalty", &view.curves.penalty_change, colours.warning, 1.2);
                curves.pieces("data term", &view.curves.data_term_change, weak, 1.2);
                for (index, kept) in view.kept.iter().enumerate() {
                    for piece in &kept.curves.objective_change {
                        curves.kept_curve(index, "objective", piece, strong);
                    }
                }
                curves.pieces("objective", &view.curves.objective_change, strong, 1.8);
            });
        }
    }
}

/// Draws a curve of the run above those of earlier runs, without the first steps, which are far outside.
fn lately_ui(curves: &mut CurvesUi, name: &str, of: fn(&Curves) -> &Vec<[f64; 2]>, colour: Color32) {
    let view = curves.view;
    let points = of(view.curves);
    let (low, high) = recent_range(points).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    for (index, kept) in view.kept.iter().enumerate() {
        curves.kept_curve(index, name, &within(of(kept.curves), low, high), colour);
    }
    curves.curve(name, &within(points, low, high), colour, 1.8);
}

/// Describes the points of a curve that lie outside its plot.
fn omission(points: &[[f64; 2]]) -> Option<String> {
    let (low, high) = recent_range(points)?;
    let mut outside = points.iter().filter(|point| !(low..=high).contains(&point[1])).map(|point| format::short_number(point[0]));
    let first = outside.next()?;
    Some(match outside.next_back() {
        Some(last) => format!("iterations {first}–{last} not shown"),
        None => format!("iteration {first} not shown"),
    })
}

/// Range of a rising or falling curve after its first quarter (of three points after the first), with a margin: the first steps
/// are so far off that they would flatten all that follows.
fn recent_range(points: &[[f64; 2]]) -> Option<(f64, f64)> {
    let first = points.len().div_ceil(4).min(points.len().saturating_sub(2));
    let late = points.get(first..).filter(|late| late.len() > 1)?;
    let (low, high) = late.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p[1]), high.max(p[1])));
    let margin = 0.08 * (high - low);
    (margin > 0.0).then_some((low - margin, high + margin))
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::data::RoiShape;

    #[test]
    fn an_empty_plot_names_what_is_missing_and_nothing_that_is_there() {
        let roi = |role| Roi { role, ..Roi::new("roi", RoiShape::Sphere { radius_mm: 5.0 }, [0.0; 3]) };
        let (background, cold) = (roi(RoiRole::Background), roi(RoiRole::Cold));
        assert!(noise_hint(&[]).contains("background") && noise_hint(from_ref(&cold)).contains("background"));
        assert_eq!(noise_hint(from_ref(&background)), NOT_MEASURED);
        let hot = [background.clone(), roi(RoiRole::Hot)];
        assert!(contrast_hint(from_ref(&background), false).contains("hot or cold"));
        assert!(contrast_hint(&hot, true).contains("true ratio"));
        assert_eq!(contrast_hint(&hot, false), NOT_MEASURED);
        assert_eq!(contrast_hint(&[background, cold], true), NOT_MEASURED);
    }

    #[test]
    fn the_axis_of_the_likelihood_leaves_the_first_steps_out() {
        let points: Vec<[f64; 2]> = [-1e9, -5e8, 90.0, 92.0, 94.0, 96.0, 98.0, 100.0].map(|y| [0.0, y]).to_vec();
        let (low, high) = recent_range(&points).unwrap();
        assert!((low - 89.2).abs() < 1e-9 && (high - 100.8).abs() < 1e-9, "{low} {high}");
        assert_eq!(recent_range(&points[..1]), None);
        let with_iterations: Vec<[f64; 2]> = (1..).map(f64::from).zip(&points).map(|(at, point)| [at, point[1]]).collect();
        assert_eq!(omission(&with_iterations).as_deref(), Some("iterations 1–2 not shown"));
        assert_eq!(omission(&points[..1]), None);
        // The second iteration makes up for the first, which lies below all.
        let (low, high) = recent_range(&points[1..4]).unwrap();
        assert!((89.8..90.0).contains(&low) && high < 92.2, "{low} {high}");
        assert_eq!(recent_range(&[[0.0, 1.0], [1.0, 1.0]]), None);
    }
}
