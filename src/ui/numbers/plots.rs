//! Plots against iteration or the number of projections, and beside them the line profile.

use egui::{Color32, RichText, Ui};
use egui_plot::{LineStyle, Plot, PlotResponse, PlotUi, VLine};

use super::profile::Profile;
use super::profile_plot::profile_ui;
use crate::plan::Course;
use crate::ui::run::curves::{Curves, Series};
use crate::ui::run::live::Mark;
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::view::{ContrastCurves, ViewState};
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::plot::{curve, name, plot, short_axis};
use crate::ui::widgets::theme::{self, Colours};

/// What the plots show.
pub struct PlotsView<'a> {
    /// The curves.
    pub curves: &'a Curves,
    /// What they are drawn against.
    pub course: Course,
    /// The image's axes.
    pub axes: ImageAxes,
    /// The line profile of the image on the screen.
    pub profile: Option<&'a Profile>,
    /// Unit of the image.
    pub unit: &'a str,
    /// FWHM of the filter on the image on the screen, mm. The curves are without it.
    pub filter_mm: Option<f64>,
    /// Where the profile runs.
    pub view: &'a ViewState,
    /// Place of the image on the screen, if it is one of the past.
    pub shown_at: Option<f64>,
}

impl PlotsView<'_> {
    /// What runs along the horizontal axis of the curves.
    pub fn axis(&self) -> String {
        format::axis(&self.course)
    }
}

/// Least width of a plot, points.
const MIN_WIDTH: f32 = 130.0;

/// The four plots side by side.
pub fn plots_ui(view: &PlotsView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
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
            cell(ui, &mut |ui| noise_ui(view, ui, &colours));
            cell(ui, &mut |ui| contrast_ui(view, ui, actions, &colours));
            cell(ui, &mut |ui| {
                if view.course.has_likelihood { likelihood_ui(view, ui, &colours) } else { means_ui(view, ui, &colours) }
            });
            cell(ui, &mut |ui| profile_ui(view, ui, actions, &colours));
        });
    });
}

/// Title of curves that are measured on the reconstruction, whatever is done to the image on the screen.
fn title_ui(title: &str, view: &PlotsView, ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(title).strong());
        unfiltered_ui(view, ui);
    });
}

/// Says that curves are not of the filtered image on the screen, where that is one.
fn unfiltered_ui(view: &PlotsView, ui: &mut Ui) {
    if view.filter_mm.is_some() {
        let words = RichText::new(format::UNFILTERED).small().color(theme::colours(ui.visuals()).warning);
        let help = "The curves are measured on every iterate as it is reconstructed; the post-filter is on the image alone";
        ui.add(egui::Label::new(words).truncate()).on_hover_text(help);
    }
}

/// Noise: the mean of the background ROIs above their own curves.
fn noise_ui(view: &PlotsView, ui: &mut Ui, colours: &Colours) {
    title_ui("Background NSR, %", view, ui);
    let mean_colour = ui.visuals().strong_text_color();
    let has_mean = !view.curves.mean_nsr.is_empty();
    let response = percent_plot("noise", view).show(ui, |plot| {
        marks(plot, view, colours);
        for series in &view.curves.nsr {
            curve(plot, &series.name, &series.points, series_colour(series, has_mean), if has_mean { 1.0 } else { 1.8 });
        }
        curve(plot, "mean of the background ROIs", &view.curves.mean_nsr, mean_colour, 2.2);
    });
    mark_labels(ui, &response, view, colours, "Plot: noise");
    if view.curves.nsr.is_empty() {
        hint(ui, response.response.rect, "needs a\nbackground ROI");
    }
}

/// Contrast recovery or contrast-to-noise ratio, whichever is chosen.
fn contrast_ui(view: &PlotsView, ui: &mut Ui, actions: &mut Vec<ViewAction>, colours: &Colours) {
    ui.horizontal(|ui| {
        for (contrast, words, help) in [
            (ContrastCurves::Recovery, "Recovery, %", "Contrast recovery: measured contrast over the true one"),
            (ContrastCurves::ToNoise, "CNR", format::CNR_HELP),
        ] {
            let words = RichText::new(words).strong();
            if ui.selectable_label(view.view.contrast == contrast, words).on_hover_text(help).clicked() {
                actions.push(ViewAction::SetContrast(contrast));
            }
        }
        unfiltered_ui(view, ui);
    });
    let hint = "needs a\nbackground ROI and\na hot or cold one";
    match view.view.contrast {
        ContrastCurves::Recovery => {
            let plot = percent_plot("contrast", view);
            rois_ui(view, ui, colours, plot, &view.curves.recovery, "Plot: contrast recovery", hint);
        }
        ContrastCurves::ToNoise => {
            let plot = plot("contrast to noise", &view.axis()).include_x(0.0).include_x(1.0).include_y(0.0).include_y(1.0);
            rois_ui(view, ui, colours, plot, &view.curves.contrast_to_noise, "Plot: contrast-to-noise ratio", hint);
        }
    }
}

/// Means of the ROIs, of a sweep.
fn means_ui(view: &PlotsView, ui: &mut Ui, colours: &Colours) {
    title_ui(&format!("Mean of the ROIs, {}", view.unit), view, ui);
    let plot = plot("means", &view.axis()).include_x(0.0).include_x(1.0).include_y(0.0);
    rois_ui(view, ui, colours, plot, &view.curves.mean, "Plot: means", "needs a ROI");
}

/// A plot with a curve for each ROI, or words on what is missing.
fn rois_ui(view: &PlotsView, ui: &mut Ui, colours: &Colours, plot: Plot, curves: &[Series], label: &str, missing: &str) {
    let response = plot.show(ui, |plot| {
        marks(plot, view, colours);
        for series in curves {
            curve(plot, &series.name, &series.points, series_colour(series, false), 1.8);
        }
    });
    mark_labels(ui, &response, view, colours, label);
    if curves.is_empty() {
        hint(ui, response.response.rect, missing);
    }
}

/// A plot of per cent that has a scale also while it is empty.
fn percent_plot<'a>(id: &str, view: &PlotsView) -> Plot<'a> {
    plot(id, &view.axis()).include_y(0.0).include_y(10.0).include_x(0.0).include_x(1.0)
}

fn series_colour(series: &Series, is_thin: bool) -> Color32 {
    let colour = series.colour;
    match (series.is_earlier, is_thin) {
        (true, _) => colour.gamma_multiply(0.3),
        (false, true) => colour.gamma_multiply(0.6),
        (false, false) => colour,
    }
}

fn likelihood_ui(view: &PlotsView, ui: &mut Ui, colours: &Colours) {
    ui.label(RichText::new("Log-likelihood").strong());
    let colour = ui.visuals().strong_text_color();
    let is_empty = view.curves.log_likelihood.is_empty();
    let mut likelihood = plot("likelihood", "iteration").include_x(0.0);
    likelihood = likelihood.custom_y_axes(vec![short_axis()]);
    if is_empty {
        likelihood = likelihood.include_x(1.0).include_y(0.0).include_y(1.0).show_axes([true, false]);
    }
    let lately = recent_range(&view.curves.log_likelihood);
    let response = likelihood.show(ui, |plot| {
        marks(plot, view, colours);
        if let Some((low, high)) = lately {
            plot.set_plot_bounds_y(low..=high);
        }
        curve(plot, "log-likelihood", &view.curves.log_likelihood, colour, 1.8);
    });
    mark_labels(ui, &response, view, colours, "Plot: log-likelihood");
    if is_empty {
        hint(ui, response.response.rect, "after the first\nfull iteration");
    }
}

/// Range of a rising curve after its first quarter, with a margin: the first steps are so much lower that they would
/// flatten all that follows.
fn recent_range(points: &[[f64; 2]]) -> Option<(f64, f64)> {
    let late = points.get(points.len() / 4..).filter(|late| late.len() > 1)?;
    let (low, high) = late.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p[1]), high.max(p[1])));
    let margin = 0.08 * (high - low);
    (margin > 0.0).then_some((low - margin, high + margin))
}

/// Words in the middle of an empty plot.
fn hint(ui: &Ui, rect: egui::Rect, words: &str) {
    let font = egui::TextStyle::Small.resolve(ui.style());
    ui.painter().text(rect.center(), egui::Align2::CENTER_CENTER, words, font, ui.visuals().weak_text_color());
}

/// Moments at which something changed, and the iterate of the past on the screen.
pub fn marks(plot: &mut PlotUi, view: &PlotsView, colours: &Colours) {
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

/// Writes at each switch of the accumulation what it became, and names the plot with its switches. Labels that would
/// overlap go into the row below.
pub fn mark_labels(ui: &Ui, response: &PlotResponse<()>, view: &PlotsView, colours: &Colours, label: &str) {
    const NUM_ROWS: usize = 3;
    let area = response.response.rect;
    let painter = ui.painter().with_clip_rect(area);
    let font = egui::TextStyle::Small.resolve(ui.style());
    let mut row_ends = [f32::NEG_INFINITY; NUM_ROWS];
    let mut words = label.to_owned();
    for (at, mark) in &view.curves.marks {
        let Mark::Accumulation(accumulation) = mark else { continue };
        words += &format!("; from iteration {} on {accumulation}", format::short_number(*at));
        let x = response.transform.position_from_point_x(*at);
        let text = painter.layout_no_wrap(accumulation.to_string(), font.clone(), colours.accumulation_mark);
        // To the left of its line where there is no room to the right.
        let left = if x + text.size().x + 2.0 > area.right() { x - text.size().x - 2.0 } else { x + 2.0 };
        let row = row_ends.iter().position(|end| *end <= left).unwrap_or(NUM_ROWS - 1);
        row_ends[row] = left + text.size().x;
        let position = egui::pos2(left, area.top() + 1.0 + row as f32 * text.size().y);
        painter.rect_filled(egui::Rect::from_min_size(position, text.size()), 2.0, ui.visuals().panel_fill.gamma_multiply(0.8));
        painter.galley(position, text, colours.accumulation_mark);
    }
    name(&response.response, &words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_of_the_likelihood_leaves_the_first_steps_out() {
        let points: Vec<[f64; 2]> = [-1e9, -5e8, 90.0, 92.0, 94.0, 96.0, 98.0, 100.0].map(|y| [0.0, y]).to_vec();
        let (low, high) = recent_range(&points).unwrap();
        assert!((low - 89.2).abs() < 1e-9 && (high - 100.8).abs() < 1e-9);
        assert_eq!(recent_range(&points[..1]), None);
        assert_eq!(recent_range(&[[0.0, 3.0], [1.0, 3.0]]), None);
    }
}
