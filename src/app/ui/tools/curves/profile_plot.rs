//! The plot of the line profile: the image, the reference run's image and the truth along the line, and the widths of the peaks;
//! or these widths over the iterations.

use egui::{Color32, RichText, Ui};
use egui_plot::{HoverPosition, LineStyle, PlotResponse, VLine};

use super::curve_plot::{CurvePlot, Drawn, KEPT_STRENGTH, exported, kept_style, menu_ui, unfiltered_ui};
use super::plots_view::{PlotsView, edit};
use crate::report;
use crate::ui::run::plot_options::ProfileCurves;
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::profile::Profile;
use crate::ui::slices::tool::Tool;
use crate::ui::slices::view::ProfileLine;
use crate::ui::widgets::fields::name as field_name;
use crate::ui::widgets::format;
use crate::ui::widgets::plot::{Axes, curve, key_ui, name, plot, short_axis, styled_curve};
use crate::ui::widgets::theme::{Colours, TARGET_SIZE};
use crate::ui::workspace::state::{Request, view_action};

/// Width of a plot from which on the list of widths is to its right, and width of this list, points. A narrower plot has the
/// width of one peak above it.
const LIST_BESIDE_WIDTH: f32 = 360.0;
const LIST_WIDTH: f32 = 140.0;

const WIDTHS_HELP: &str = "Full width at half maximum of the profile's peaks against the iterations, of a Gaussian plus a constant, fitted to every stored iterate. The peaks are those of the newest one";

const FWTM_HELP: &str = "Full width at a tenth of the maximum ± its standard deviation: where the profile minus the fitted constant falls to a tenth of the fitted height. A Gaussian has 1.823 FWHM; larger values show tails. Dash: the profile does not fall to a tenth on both sides, or noise hides the crossing";

/// Draws the choices of line and curves, and the plot.
pub fn profile_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>, colours: &Colours) {
    // Next to three other plots there is little room.
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.spacing_mut().button_padding.x = 5.0;
        line_ui(view, ui, requests);
        let is_widths = view.options.profile == ProfileCurves::Widths;
        if ui.selectable_label(is_widths, "FWHM").on_hover_text(WIDTHS_HELP).clicked() {
            let other = if is_widths { ProfileCurves::Values } else { ProfileCurves::Widths };
            requests.push(edit(move |options| options.profile = other));
        }
        if is_widths {
            unfiltered_ui(view, ui);
        } else {
            curves_key_ui(view, ui, colours);
        }
    });
    match view.options.profile {
        ProfileCurves::Values => {
            let response = values_ui(view, ui, colours, requests);
            menu_ui(ui, &response, || exported_values(view), requests);
        }
        ProfileCurves::Widths => over_iterations_ui(view, ui, requests, colours),
    }
}

/// Width of a plot from which on the names of its curves are above it, points. In a narrower one they appear under the pointer.
const KEY_WIDTH: f32 = 300.0;

/// Draws the names of the curves, if there are several.
fn curves_key_ui(view: &PlotsView, ui: &mut Ui, colours: &Colours) {
    if ui.max_rect().width() < KEY_WIDTH {
        return;
    }
    let image = ("image", colours.profile, LineStyle::Solid);
    let has_truth = view.profile.is_some_and(|profile| !profile.truth.is_empty());
    let truth = has_truth.then_some(("true", colours.branch_mark, LineStyle::Solid));
    let of_beside = colours.profile.gamma_multiply(KEPT_STRENGTH);
    let beside = view.profile_beside.as_ref().map(|(name, _)| (name.as_str(), of_beside, kept_style(0)));
    if has_truth || beside.is_some() {
        ui.add_space(6.0);
        ui.spacing_mut().item_spacing.x = 5.0;
        key_ui(ui, &[image].into_iter().chain(truth).chain(beside).collect::<Vec<_>>());
    }
}

/// Draws the choice of the line and of the width of the band.
fn line_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    for (axis, axis_name) in view.axes.shown().iter().enumerate() {
        let chosen = view.view.profile == ProfileLine::Axis(axis);
        let help = "Along this axis through the crosshair";
        let button = egui::Button::selectable(chosen, *axis_name).min_size(egui::Vec2::splat(TARGET_SIZE));
        if ui.add(button).on_hover_text(help).clicked() {
            requests.push(view_action(ViewAction::SetProfile(ProfileLine::Axis(axis))));
        }
    }
    let chosen = matches!(view.view.profile, ProfileLine::Between(..));
    if ui.selectable_label(chosen, "line").on_hover_text("Drag a line in a slice").clicked() {
        requests.push(view_action(ViewAction::SetTool(Tool::Profile)));
    }
    width_ui(view.view.profile_width_mm, ui, requests);
}

/// Draws the width of each peak for every stored iterate.
fn over_iterations_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>, colours: &Colours) {
    let mut plot = CurvePlot::new(view, "widths", "FWHM of the profile", "mm").including([0.0]);
    if view.curves.fwhm.is_empty() {
        plot = plot.including([10.0]).hint("no peak with a\nmeasurable width");
    }
    let colour = colours.profile;
    plot.show(ui, requests, move |curves| {
        for (index, kept) in view.kept.iter().enumerate() {
            kept.curves.fwhm.iter().for_each(|peak| curves.kept_curve(index, &peak.name, &peak.points, colour));
        }
        view.curves.fwhm.iter().for_each(|peak| curves.curve(&peak.name, &peak.points, colour, 1.8));
    });
}

/// Returns the values along the line as a plot of a report.
fn exported_values(view: &PlotsView) -> report::Plot {
    let drawn = |name: &str, is_kept, points: &[[f64; 2]]| Drawn { name: name.to_owned(), is_kept, points: points.to_vec() };
    let own = view.profile.map(|profile| [drawn("image", false, &profile.points), drawn("true", false, &profile.truth)]);
    let beside = view.profile_beside.as_ref().map(|(name, beside)| drawn(name, true, &beside.points));
    let axes = Axes { x: "mm".to_owned(), y_unit: view.scale.label(), ..Axes::default() };
    exported("profile", &axes, own.into_iter().flatten().chain(beside).collect())
}

/// Draws the values along the line. A click on a peak selects it, another click none. Returns the response of the plot.
fn values_ui(view: &PlotsView, ui: &mut Ui, colours: &Colours, requests: &mut Vec<Request>) -> egui::Response {
    let unit = view.scale.label().to_owned();
    let mut plot = plot("profile", "mm")
        .include_y(0.0)
        .custom_y_axes(vec![short_axis().label(view.scale.label())])
        .label_formatter(move |hover| hover_values(hover, &unit));
    let available = ui.available_rect_before_wrap();
    let is_list_beside = available.width() >= LIST_BESIDE_WIDTH;
    let chosen = view.profile.and_then(|profile| profile.peak_at(view.options.peak_mm?));
    let mut list = available;
    if is_list_beside {
        plot = plot.width(available.width() - LIST_WIDTH);
        list.min.x = list.max.x - LIST_WIDTH;
    } else {
        list.max.y = list.min.y + ui.text_style_height(&egui::TextStyle::Small);
        ui.add_space(list.height());
    }
    let response = plot.show(ui, |plot| {
        let Some(profile) = view.profile else { return };
        if !profile.truth.is_empty() {
            curve(plot, "true", &profile.truth, colours.branch_mark, 1.2);
        }
        if let Some((name, beside)) = &view.profile_beside {
            let colour = colours.profile.gamma_multiply(KEPT_STRENGTH);
            styled_curve(plot, name, &beside.points, colour, 1.2, kept_style(0));
        }
        curve(plot, "image", &profile.points, colours.profile, 1.8);
        if let Some(at) = profile.crosshair_mm {
            plot.vline(VLine::new("", at).color(colours.crosshair).style(LineStyle::dotted_dense()));
        }
    });
    let beside = view.profile_beside.as_ref().map_or_else(String::new, |(name, _)| format!("; {name}"));
    name(&response.response, &format!("Plot: profile, {}{beside}", view.scale.label()));
    if let Some(profile) = view.profile {
        number_peaks(profile, chosen, &response, colours, ui);
        let listed = if is_list_beside { MAX_LISTED } else { 1 };
        widths_ui(profile, chosen, view.filter_mm, (list, listed), colours.profile, ui);
        if let Some(at) = response.response.interact_pointer_pos().filter(|_| response.response.clicked()) {
            let mm = response.transform.value_from_position(at).x - profile.start_mm;
            let clicked = profile.peak_at(mm).filter(|peak| Some(*peak) != chosen);
            requests.push(edit(move |options| options.peak_mm = clicked.map(|_| mm)));
        }
    }
    response.response
}

/// Draws the field of the width over which the profile is averaged.
fn width_ui(width_mm: f64, ui: &mut Ui, requests: &mut Vec<Request>) {
    let mut wanted = width_mm;
    let in_words = |width: f64, _| format!("{} mm", format::short_number(width));
    let response =
        ui.add(egui::DragValue::new(&mut wanted).range(0.0..=500.0).speed(0.2).max_decimals(1).custom_formatter(in_words));
    field_name(&response, "Profile width, mm");
    response.on_hover_text("Averaged over a square of this side about the line and across it; 0: along the line alone");
    if wanted != width_mm {
        requests.push(view_action(ViewAction::SetProfileWidth(wanted)));
    }
}

/// Returns the text of the point of a curve under the pointer. Other parts of the plot have their own tooltips.
fn hover_values(hover: &HoverPosition, unit: &str) -> Option<String> {
    let HoverPosition::NearDataPoint { plot_name, position, .. } = hover else { return None };
    Some(format!("{plot_name}, {:.1} mm: {} {unit}", position.x, format::value(position.y)))
}

/// Writes the number of each peak above it, where there are several: 1 is the highest.
fn number_peaks(profile: &Profile, chosen: Option<usize>, response: &PlotResponse<()>, colours: &Colours, ui: &Ui) {
    if profile.widths.len() < 2 {
        return;
    }
    let painter = ui.painter().with_clip_rect(response.response.rect);
    let font = egui::TextStyle::Small.resolve(ui.style());
    for (index, width) in profile.widths.iter().enumerate() {
        let Ok(width) = width else { continue };
        let colour = if chosen == Some(index) { colours.shown_mark } else { colours.profile };
        let at = profile.start_mm + width.centre_mm;
        let distance = |point: &&[f64; 2]| (point[0] - at).abs();
        let Some(top) = profile.points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))) else { continue };
        let place = response.transform.position_from_point(&(*top).into());
        painter.text(place - egui::vec2(0.0, 1.0), egui::Align2::CENTER_BOTTOM, (index + 1).to_string(), font.clone(), colour);
    }
}

/// Most peaks that are listed at once.
const MAX_LISTED: usize = 4;

/// Draws the width of the selected peak or of the `most` highest ones, with its standard deviation, or the reason that there is
/// none, in the upper right corner of an area. A single line has the highest peak with a width.
fn widths_ui(
    profile: &Profile,
    chosen: Option<usize>,
    filter_mm: Option<f64>,
    (area, most): (egui::Rect, usize),
    colour: Color32,
    ui: &mut Ui,
) {
    let mut top = area.top();
    let mut line = |words: String| {
        let text = RichText::new(words).small().color(colour);
        let height = ui.text_style_height(&egui::TextStyle::Small);
        let rect = egui::Rect::from_min_max(egui::pos2(area.left(), top), egui::pos2(area.right() - 4.0, top + height));
        top += height;
        let layout = egui::Layout::right_to_left(egui::Align::Min);
        ui.scope_builder(egui::UiBuilder::new().max_rect(rect).layout(layout), |ui| ui.label(text)).inner
    };
    let num = profile.widths.len();
    let is_single = most == 1;
    let chosen = chosen.or_else(|| profile.widths.iter().position(Result::is_ok).filter(|_| is_single));
    let listed = chosen.map_or(0..num.min(most), |chosen| chosen..chosen + 1);
    let is_alone = listed.len() == 1 && !is_single;
    for (index, width) in listed.clone().zip(&profile.widths[listed]) {
        let number = if num > 1 { format!(" {}", index + 1) } else { String::new() };
        let name = format!("FWHM{number}");
        let (words, help) = match width {
            Ok(width) => (
                format!("{name} {} mm", format::with_sd(width.fwhm_mm, width.sd_mm)),
                "Full width at half maximum ± its standard deviation, of a Gaussian plus a constant, fitted to the profile between the minima on both sides of the peak. Peaks are numbered by height; click one to select it".to_owned(),
            ),
            Err(reason) => (format!("{name} –"), reason.to_string()),
        };
        line(words).on_hover_text(help);
        // Next to several peaks there is no room for a second line each.
        if let (Ok(width), true) = (width, is_alone) {
            let tenth = width.fwtm_mm.map_or_else(|| "–".to_owned(), |[mm, sd]| format!("{} mm", format::with_sd(mm, sd)));
            line(format!("FWTM{number} {tenth}")).on_hover_text(FWTM_HELP);
        }
    }
    if is_single {
        return;
    }
    if chosen.is_none() && num > most {
        line(format!("{} lower peaks", num - most)).on_hover_text("A click on a numbered peak shows its width");
    }
    if let Some(fwhm_mm) = filter_mm {
        line(format::filtered(fwhm_mm));
    }
}
