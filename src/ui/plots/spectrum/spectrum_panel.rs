//! Tab of the spectra of a run: choice of the map, settings of the fits, the line at the crosshair, masked voxels, and the plot.

use egui::{DragValue, RichText, ScrollArea, Ui};
use strum::VariantArray as _;

use super::state::{Spectra, SpectraState};
use crate::data::{FieldAxis, OxygenCalibration, RelaxationRate};
use crate::geometry::{Grid, Point};
use crate::io::oxygen::built_in;
use crate::measure::cause_of_no_fit;
use crate::measure::spectrum::{Line, LineFit, LineMaps, NO_LINE};
use crate::ui::layer::action::LayerAction;
use crate::ui::layer::line_map::{LineMap, LineSettings};
use crate::ui::plots::fit_counts::fit_counts_ui;
use crate::ui::slices::view::slice_index;
use crate::ui::widgets::fields::{choice, name, name_menu};
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::plot::{self, curve, key_ui, plot};
use crate::ui::widgets::theme;

/// Width of the figures, points.
const FIGURES_WIDTH: f32 = 400.0;

/// Points of the drawn line between two samples of a spectrum.
const POINTS_PER_SAMPLE: usize = 8;

/// Text before the first spectra.
const NO_SPECTRA_YET: &str = "The spectra begin with the first iterations of the run.";

/// Input of the tab.
pub struct SpectrumView<'a> {
    /// Spectra and lines.
    pub state: &'a SpectraState,
    /// Chosen map.
    pub map: LineMap,
    /// Point of the crosshair, mm.
    pub crosshair_mm: Point,
    /// Axes of the image.
    pub axes: ImageAxes,
    /// Host of a remote session, on which the spectra stay.
    pub remote_host: Option<String>,
}

/// Draws the tab.
pub fn spectrum_ui(view: &SpectrumView, ui: &mut Ui, actions: &mut Vec<LayerAction>) {
    if let Some(host) = &view.remote_host {
        let text = format!(
            "The spectra stay on {host}; the window shows their peak-to-peak amplitude. For the spectra, run there: tomoscope reconstruct \
             --algorithm tv --spectral-samples, then tomoscope linewidth."
        );
        ui.add(egui::Label::new(text).wrap());
        return;
    }
    let shown =
        view.state.newest().and_then(|spectra| Some((spectra, voxel_at(&spectra.samples.first()?.grid, view.crosshair_mm))));
    ui.horizontal_top(|ui| {
        let size = egui::vec2(FIGURES_WIDTH.min(0.6 * ui.available_width()), ui.available_height());
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(size.x);
            ScrollArea::both().id_salt("spectrum").auto_shrink([false, false]).show(ui, |ui| {
                map_ui(view, ui, actions);
                settings_ui(view, ui, actions);
                match shown {
                    Some((_, voxel)) => figures_ui(view, voxel, ui),
                    None => _ = ui.label(RichText::new(NO_SPECTRA_YET).weak()),
                }
            });
        });
        if let Some((spectra, voxel)) = shown {
            let fit = view.state.images().and_then(|images| images.fits.line(voxel));
            plot_ui(view, spectra, voxel, fit, ui);
        }
    });
}

/// Returns the voxel at a point, by its place in an image.
fn voxel_at(grid: &Grid, point: Point) -> usize {
    let [x, y, z] = [0, 1, 2].map(|axis| slice_index(grid, axis, point[axis]));
    (z * grid.size[1] + y) * grid.size[0] + x
}

/// Draws the choice of the map.
fn map_ui(view: &SpectrumView, ui: &mut Ui, actions: &mut Vec<LayerAction>) {
    let images = view.state.images();
    ui.horizontal_wrapped(|ui| {
        ui.label("Map");
        for &map in LineMap::VARIANTS {
            let exists = map == LineMap::Signal || images.is_some_and(|images| map.of(images).is_some());
            let button = egui::Button::selectable(view.map == map, map.name());
            let response = ui.add_enabled(exists, button).on_hover_text(map.help());
            let why_not = if map == LineMap::Po2 { "Choose a calibration" } else { "No line has been fitted yet" };
            if response.on_disabled_hover_text(why_not).clicked() {
                actions.push(LayerAction::ShowLine(map));
            }
        }
    });
}

/// Draws shape, mask and calibration of the lines.
fn settings_ui(view: &SpectrumView, ui: &mut Ui, actions: &mut Vec<LayerAction>) {
    let before = view.state.settings();
    let LineSettings { mut line, mask_fraction, mut calibration } = before;
    let mut mask_percent = 100.0 * mask_fraction;
    ui.horizontal_wrapped(|ui| {
        ui.label("Line").on_hover_text("Shape of the fitted lines. Default: Lorentzian");
        for (shape, title) in [(Line::Lorentzian, "Lorentzian"), (Line::Voigt, "Voigt")] {
            ui.selectable_value(&mut line, shape, title);
        }
        ui.label("Mask");
        let field = DragValue::new(&mut mask_percent).range(0.0..=99.0).speed(0.2).max_decimals(1).suffix(" %");
        let response = ui.add(field.update_while_editing(false));
        name(&response, "Mask, % of the largest peak-to-peak amplitude");
        response.on_hover_text("Fits no voxel with a smaller part of the largest peak-to-peak amplitude. Narrow lines have a large one. Default: 15 %");
    });
    ui.horizontal_wrapped(|ui| {
        let title = |of: Option<&OxygenCalibration>| of.map_or_else(|| "none".to_owned(), |of| of.title.clone());
        let of_r2 = built_in().iter().filter(|of| of.rate == RelaxationRate::R2).map(Some);
        let choices: Vec<Option<&'static OxygenCalibration>> = std::iter::once(None).chain(of_r2).collect();
        ui.label("Calibration");
        let response = choice(ui, "calibration of the lines", 0.0, &mut calibration, &choices, title);
        name_menu(&response, &format!("Calibration: {}", title(calibration)));
        response.on_hover_text(
            "Oxygen pressure by R2, which is that of the half width at half maximum. The width must not have another cause, such as the \
             modulation of the field. Default: none",
        );
    });
    let is_masked_otherwise = (mask_percent - 100.0 * mask_fraction).abs() > 1e-9;
    let mask_fraction = if is_masked_otherwise { mask_percent / 100.0 } else { mask_fraction };
    let settings = LineSettings { line, mask_fraction, calibration };
    if settings != before {
        actions.push(LayerAction::FitLines(settings));
    }
}

/// Draws the line at the crosshair, and the numbers of fitted and masked voxels.
fn figures_ui(view: &SpectrumView, voxel: usize, ui: &mut Ui) {
    let state = view.state;
    let Some(spectra) = state.newest() else { return };
    let place = view.axes.text(view.crosshair_mm);
    ui.label(RichText::new(format!("Spectrum of iteration {} at {place} mm", spectra.steps)).strong());
    match (state.images(), state.failure()) {
        (Some(images), _) => {
            line_ui(&images.fits, voxel, state.fitted().and_then(|(of, _)| of.calibration), ui);
            fit_counts_ui(&images.fits.counts, NO_LINE, ui);
        }
        (None, Some(reason)) => _ = ui.add(egui::Label::new(format!("No line: {reason}.")).wrap()),
        (None, None) => {}
    }
    let is_old = state.fitted().is_none_or(|of| of != (state.settings(), spectra.steps));
    let text = match state.fitted() {
        Some((_, steps)) if is_old => format!("Fitting; the lines are those of iteration {steps}"),
        None => "Fitting".to_owned(),
        Some(_) => return,
    };
    ui.label(RichText::new(text).small().weak());
}

/// Draws parameters and standard deviations of the line of a voxel, or the reason why it has none.
fn line_ui(fits: &LineMaps, voxel: usize, calibration: Option<&OxygenCalibration>, ui: &mut Ui) {
    let fit = match fits.outcome(voxel) {
        Some(Ok(fit)) => fit,
        Some(Err(reason)) => {
            ui.label(format!("No line: a voxel {}", cause_of_no_fit(*reason, NO_LINE)));
            return;
        }
        None => return,
    };
    let mut rows = vec![("Amplitude", with_sd(fit.amplitude, fit.amplitude_sd), "Double integral of the line ± σ")];
    rows.push((
        "Width",
        format!("{} mT", with_sd(fit.width_mt, fit.width_sd_mt)),
        "Full width at half maximum of the Lorentzian ± σ",
    ));
    if let Some(width_mt) = fit.gaussian_mt {
        rows.push(("Gaussian", format!("{width_mt:.4} mT"), "Full width at half maximum of the Gaussian"));
    }
    let position = format!("{} mT", with_sd(fit.position_mt, fit.position_sd_mt));
    rows.push(("Position", position, "Distance from the middle of the field sweep ± σ"));
    if let Some(calibration) = calibration {
        let [po2, sd] = [fit.po2_torr(calibration), fit.po2_sd_torr(calibration)];
        rows.push(("pO2", format!("{po2:.1} ± {sd:.1} torr"), "Oxygen pressure by the width ± σ; 1 torr = 1 mmHg"));
    }
    egui::Grid::new("line at the crosshair").num_columns(2).spacing([7.0, 3.0]).min_row_height(0.0).show(ui, |ui| {
        for (title, text, help) in rows {
            ui.label(title).on_hover_text(help);
            let response = ui.label(RichText::new(&text).strong());
            plot::name(&response, &format!("{title} at the crosshair: {text}"));
            ui.end_row();
        }
    });
}

/// Returns a value with its standard deviation, to the digits of the latter.
fn with_sd(value: f64, sd: f64) -> String {
    if !(sd.is_finite() && sd > 0.0) {
        return format::value(value);
    }
    let decimals = (1 - sd.log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$} ± {sd:.decimals$}")
}

/// Draws a spectrum with its line.
fn plot_ui(view: &SpectrumView, spectra: &Spectra, voxel: usize, fit: Option<&LineFit>, ui: &mut Ui) {
    let colours = theme::colours(ui.visuals());
    let (of_spectrum, of_line) = (colours.profile, colours.branch_mark);
    ui.vertical(|ui| {
        let spectrum = ("spectrum", of_spectrum, egui_plot::LineStyle::Solid);
        let line = fit.map(|_| ("line", of_line, egui_plot::LineStyle::Solid));
        ui.horizontal(|ui| key_ui(ui, &[spectrum].into_iter().chain(line).collect::<Vec<_>>()));
        let response = plot("spectrum at the crosshair", "mT").include_y(0.0).show(ui, |plot| {
            if let Some(fit) = fit {
                curve(plot, "line", &points_of(fit, &spectra.axis), of_line, 1.2);
            }
            curve(plot, "spectrum", &spectra.at(voxel), of_spectrum, 1.8);
        });
        let line = if fit.is_some() { " with its line" } else { "" };
        let place = view.axes.text(view.crosshair_mm);
        plot::name(&response.response, &format!("Plot: spectrum{line} at {place} mm"));
    });
}

/// Returns the points of a line over the fields of a spectrum.
fn points_of(fit: &LineFit, axis: &FieldAxis) -> Vec<[f64; 2]> {
    let num = axis.num_samples.saturating_sub(1) * POINTS_PER_SAMPLE;
    let field_mt = |k: usize| axis.first_mt + k as f64 * axis.step_mt / POINTS_PER_SAMPLE as f64;
    (0..=num).map(|k| [field_mt(k), fit.value(field_mt(k))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_digits_of_their_deviation() {
        assert_eq!(with_sd(0.123456, 0.00346), "0.1235 ± 0.0035");
        assert_eq!(with_sd(1234.6, 67.0), "1235 ± 67");
        assert_eq!(with_sd(0.25, f64::NAN), "0.2500");
    }

    #[test]
    fn a_line_is_drawn_from_the_first_to_the_last_field() {
        let axis = FieldAxis { first_mt: -1.0, step_mt: 0.5, num_samples: 5 };
        let fit = LineFit::new(2.0, 0.3, None, 0.25);
        let points = points_of(&fit, &axis);
        assert_eq!((points.len(), points[0][0], points[32][0]), (33, -1.0, 1.0));
        assert_eq!(points[20][1], fit.value(0.25));
    }
}
