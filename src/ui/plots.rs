//! Plots against iteration, and the line profile.

use egui::{Color32, RichText, Ui};
use egui_plot::{Line, LineStyle, Plot, PlotPoints, PlotUi, VLine};

use super::actions::{Action, ViewAction};
use super::curves::{Curves, Series};
use super::live::Mark;
use super::profile::Profile;
use super::theme::{self, Colours};
use super::view::{AXIS_NAMES, ProfileLine, Tool};
use super::{format, view::ViewState};

/// What the plots show.
pub struct PlotsView<'a> {
    /// Curves against iteration.
    pub curves: &'a Curves,
    /// The line profile of the image on the screen.
    pub profile: Option<&'a Profile>,
    /// Unit of the image.
    pub unit: &'a str,
    /// Where the profile runs.
    pub view: &'a ViewState,
    /// Iterations of the image on the screen, if it is one of the past.
    pub shown_at: Option<f64>,
}

/// Least width of a plot, points.
const MIN_WIDTH: f32 = 130.0;

/// The four plots side by side.
pub fn plots_ui(view: &PlotsView, ui: &mut Ui, actions: &mut Vec<Action>) {
    let width = ((ui.available_width() - 3.0 * ui.spacing().item_spacing.x) / 4.0).max(MIN_WIDTH);
    let size = egui::vec2(width, ui.available_height());
    let colours = theme::colours(ui.visuals());
    egui::ScrollArea::horizontal().id_salt("plots").show(ui, |ui| {
        ui.horizontal_top(|ui| {
            let cell = |ui: &mut Ui, draw: &mut dyn FnMut(&mut Ui)| {
                ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
                    ui.set_width(size.x);
                    draw(ui);
                });
            };
            cell(ui, &mut |ui| series_ui("Noise: NSR, %", "noise", &view.curves.nsr, view, ui, &colours));
            cell(ui, &mut |ui| series_ui("Contrast recovery, %", "contrast", &view.curves.recovery, view, ui, &colours));
            cell(ui, &mut |ui| likelihood_ui(view, ui, &colours));
            cell(ui, &mut |ui| profile_ui(view, ui, actions, &colours));
        });
    });
}

/// A plot that follows its data and leaves wheel and drag to the rest of the window.
fn plot<'a>(id: &str, label: &str) -> Plot<'a> {
    Plot::new(id)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .set_margin_fraction(egui::vec2(0.02, 0.08))
        .x_axis_label(label)
        .y_axis_min_width(34.0)
}

/// Names a plot for screen readers and tests.
fn name(response: &egui::Response, label: &str) {
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, label));
}

fn series_ui(title: &str, id: &str, series: &[Series], view: &PlotsView, ui: &mut Ui, colours: &Colours) {
    ui.label(RichText::new(title).strong());
    let response = plot(id, "iteration").include_y(0.0).include_y(10.0).include_x(0.0).include_x(1.0).show(ui, |plot| {
        marks(plot, view, colours);
        for series in series {
            let colour = theme::roi_colour(series.index);
            let colour = if series.is_earlier { colour.gamma_multiply(0.35) } else { colour };
            curve(plot, &series.name, &series.points, colour);
        }
    });
    name(&response.response, &format!("Plot: {title}"));
}

fn likelihood_ui(view: &PlotsView, ui: &mut Ui, colours: &Colours) {
    ui.label(RichText::new("Log-likelihood").strong());
    let colour = ui.visuals().strong_text_color();
    let response =
        plot("likelihood", "iteration").y_axis_formatter(|mark, _| short(mark.value, mark.step_size)).show(ui, |plot| {
            marks(plot, view, colours);
            curve(plot, "log-likelihood", &view.curves.log_likelihood, colour);
        });
    name(&response.response, "Plot: log-likelihood");
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

fn curve<'a>(plot: &mut PlotUi<'a>, name: &str, points: &'a [[f64; 2]], colour: Color32) {
    plot.line(Line::new(name, PlotPoints::from(points.to_vec())).color(colour).width(1.8));
    if points.len() == 1 {
        plot.points(egui_plot::Points::new(name, PlotPoints::from(points.to_vec())).color(colour).radius(3.0));
    }
}

/// Moments at which something changed, and the iterate of the past on the screen.
fn marks(plot: &mut PlotUi, view: &PlotsView, colours: &Colours) {
    for (at, mark) in &view.curves.marks {
        let (name, colour) = match mark {
            Mark::Accumulation(accumulation) => (format!("{accumulation} from here"), colours.accumulation_mark),
            Mark::Branch => ("ROIs edited".to_owned(), colours.branch_mark),
        };
        plot.vline(VLine::new(name, *at).color(colour).style(LineStyle::dashed_dense()));
    }
    if let Some(at) = view.shown_at {
        plot.vline(VLine::new("on the screen", at).color(colours.shown_mark).width(2.0));
    }
}

fn profile_ui(view: &PlotsView, ui: &mut Ui, actions: &mut Vec<Action>, colours: &Colours) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("Profile").strong());
        for (axis, axis_name) in AXIS_NAMES.into_iter().enumerate() {
            let chosen = view.view.profile == ProfileLine::Axis(axis);
            let help = "Along this axis through the crosshair";
            if ui.selectable_label(chosen, axis_name).on_hover_text(help).clicked() {
                actions.push(Action::View(ViewAction::SetProfile(ProfileLine::Axis(axis))));
            }
        }
        let chosen = matches!(view.view.profile, ProfileLine::Between(..));
        if ui.selectable_label(chosen, "line").on_hover_text("Drag a line in a slice").clicked() {
            actions.push(Action::View(ViewAction::SetTool(Tool::Profile)));
        }
        if let Some(fwhm) = view.profile.and_then(|profile| profile.fwhm_mm) {
            ui.label(format!("FWHM {} mm", format::value(fwhm)));
        }
    });
    let response = plot("profile", "mm").include_y(0.0).show(ui, |plot| {
        let Some(profile) = view.profile else { return };
        curve(plot, "true", &profile.truth, colours.branch_mark);
        curve(plot, "image", &profile.points, colours.profile);
        if let Some(at) = profile.crosshair_mm {
            plot.vline(VLine::new("crosshair", at).color(colours.crosshair).style(LineStyle::dotted_dense()));
        }
    });
    name(&response.response, &format!("Plot: profile, {}", view.unit));
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
