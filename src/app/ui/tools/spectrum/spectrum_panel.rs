//! Tab of the spectra of a run: choice of the map, settings of the fits, a line, masked voxels, lines of the regions, and the plot.

use egui::{DragValue, RichText, ScrollArea, Ui};
use strum::VariantArray as _;

use super::line_table::{line_table_ui, with_sd};
use crate::data::{FieldAxis, OxygenCalibration, RelaxationRate, Roi};
use crate::geometry::{Grid, Point};
use crate::io::oxygen::built_in;
use crate::measure::spectrum::{Line, LineFit, NO_LINE};
use crate::measure::{Outcome, cause_of_no_fit};
use crate::ui::layer::line_map::{LineMap, LineSettings};
use crate::ui::layer::run_map::RunMap;
use crate::ui::layer::spectra::state::SpectraState;
use crate::ui::slices::view::slice_index;
use crate::ui::tools::fit_counts::fit_counts_ui;
use crate::ui::widgets::fields::{choice, name, name_menu};
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::plot::{self, curve, key_ui, plot};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, request};

/// Width of the figures, points.
const FIGURES_WIDTH: f32 = 680.0;

/// Points of the drawn line between two samples of a spectrum.
const POINTS_PER_SAMPLE: usize = 8;

/// Text before the first spectra.
const NO_SPECTRA_YET: &str = "The spectra begin with the first iterations of the run.";

/// Place whose spectrum is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpectrumOf {
    /// The voxel under the crosshair.
    #[default]
    Crosshair,
    /// The selected region.
    Region,
}

pub struct SpectrumView<'a> {
    pub state: &'a SpectraState,
    pub of: SpectrumOf,
    pub map: LineMap,
    pub crosshair_mm: Point,
    pub axes: ImageAxes,
    pub rois: &'a [Roi],
    pub selected: Option<usize>,
    /// Host of a remote session, on which the spectra stay.
    pub remote_host: Option<String>,
}

/// Spectrum that is drawn, and its line.
struct Shown {
    title: String,
    /// Its place: "at the crosshair" or "of the mean of ROI 1".
    place: String,
    /// Name of its plot.
    plot: String,
    /// Field (mT) and value of each sample.
    points: Vec<[f64; 2]>,
    axis: FieldAxis,
    /// Line, or the reason why there is none; `None` before the first fits.
    outcome: Option<Outcome<LineFit>>,
    /// Carrier of the spectrum, in the text of the reason.
    carrier: &'static str,
    calibration: Option<&'static OxygenCalibration>,
}

impl Shown {
    fn line(&self) -> Option<&LineFit> {
        self.outcome.as_ref()?.as_ref().ok()
    }
}

impl SpectrumView<'_> {
    /// Returns the chosen spectrum; that at the crosshair where no region with a spectrum is selected.
    fn shown(&self) -> Option<Shown> {
        let of_region = || self.of_region().filter(|_| self.of == SpectrumOf::Region);
        of_region().or_else(|| self.at_crosshair())
    }

    fn of_region(&self) -> Option<Shown> {
        let spectrum = self.state.regions().selected()?;
        let name = spectrum.name();
        let line = if spectrum.fit.is_ok() { " with its line" } else { "" };
        Some(Shown {
            title: format!("Mean spectrum of iteration {} in {name}", spectrum.steps()),
            place: format!("of the mean of {name}"),
            plot: format!("Plot: mean spectrum{line} of {name}"),
            points: spectrum.points(),
            axis: spectrum.axis(),
            outcome: Some(spectrum.fit),
            carrier: "the mean is a spectrum",
            calibration: self.state.settings().calibration,
        })
    }

    fn at_crosshair(&self) -> Option<Shown> {
        let spectra = self.state.newest()?;
        let voxel = voxel_at(&spectra.samples.first()?.grid, self.crosshair_mm);
        let place = self.axes.text(self.crosshair_mm);
        let outcome = self.state.images().and_then(|images| images.fits.outcome(voxel).copied());
        let line = if matches!(outcome, Some(Ok(_))) { " with its line" } else { "" };
        Some(Shown {
            title: format!("Spectrum of iteration {} at {place} mm", spectra.steps),
            place: "at the crosshair".to_owned(),
            plot: format!("Plot: spectrum{line} at {place} mm"),
            points: spectra.at(voxel),
            axis: spectra.axis,
            outcome,
            carrier: "a voxel",
            calibration: self.state.fitted().and_then(|(of, _)| of.calibration),
        })
    }
}

/// Draws the tab; returns the chosen place of the spectrum.
pub fn spectrum_ui(view: &SpectrumView, ui: &mut Ui, requests: &mut Vec<Request>) -> SpectrumOf {
    let mut of = view.of;
    if let Some(host) = &view.remote_host {
        let text = format!(
            "The spectra stay on {host}; the window shows their peak-to-peak amplitude. For the spectra, run there: tomoscope reconstruct \
             --algorithm tv --spectral-samples, then tomoscope linewidth."
        );
        ui.add(egui::Label::new(text).wrap());
        return of;
    }
    let shown = view.shown();
    ui.horizontal_top(|ui| {
        let size = egui::vec2(FIGURES_WIDTH.min(0.6 * ui.available_width()), ui.available_height());
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(size.x);
            ScrollArea::both().id_salt("spectrum").auto_shrink([false, false]).show(ui, |ui| {
                map_ui(view, ui, requests);
                settings_ui(view, ui, requests);
                match &shown {
                    Some(shown) => figures_ui(view, shown, &mut of, ui, requests),
                    None => _ = ui.label(RichText::new(NO_SPECTRA_YET).weak()),
                }
            });
        });
        if let Some(shown) = &shown {
            plot_ui(shown, ui);
        }
    });
    of
}

/// Returns the voxel at a point, by its place in an image.
fn voxel_at(grid: &Grid, point: Point) -> usize {
    let [x, y, z] = [0, 1, 2].map(|axis| slice_index(grid, axis, point[axis]));
    (z * grid.size[1] + y) * grid.size[0] + x
}

/// Draws the choice of the map.
fn map_ui(view: &SpectrumView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let images = view.state.images();
    ui.horizontal_wrapped(|ui| {
        ui.label("Map");
        for &map in LineMap::VARIANTS {
            let exists = map == LineMap::Signal || images.is_some_and(|images| map.of(images).is_some());
            let button = egui::Button::selectable(view.map == map, map.name());
            let response = ui.add_enabled(exists, button).on_hover_text(map.help());
            let why_not = if map == LineMap::Po2 { "Choose a calibration" } else { "No line has been fitted yet" };
            if response.on_disabled_hover_text(why_not).clicked() {
                requests.push(request(move |work| work.layer.show_map(RunMap::Line(map))));
            }
        }
    });
}

/// Draws shape, mask and calibration of the lines.
fn settings_ui(view: &SpectrumView, ui: &mut Ui, requests: &mut Vec<Request>) {
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
        requests.push(request(move |work| work.spectra.set_settings(settings)));
    }
}

/// Draws the choice of the spectrum, its line, the numbers of fitted and masked voxels, and the lines of the regions.
fn figures_ui(view: &SpectrumView, shown: &Shown, of: &mut SpectrumOf, ui: &mut Ui, requests: &mut Vec<Request>) {
    let state = view.state;
    place_ui(view, of, ui);
    ui.label(RichText::new(&shown.title).strong());
    match (&shown.outcome, state.failure()) {
        (Some(outcome), _) => line_ui(shown, outcome, ui),
        (None, Some(reason)) => _ = ui.add(egui::Label::new(format!("No line: {reason}.")).wrap()),
        (None, None) => {}
    }
    if let Some(images) = state.images() {
        fit_counts_ui(&images.fits.counts, NO_LINE, ui);
    }
    let steps = state.newest().map(|spectra| spectra.steps);
    let is_old = state.fitted().is_none_or(|(of, fitted)| of != state.settings() || Some(fitted) != steps);
    match state.fitted() {
        Some((_, steps)) if is_old => {
            ui.label(RichText::new(format!("Fitting; the lines are those of iteration {steps}")).small().weak());
        }
        None => _ = ui.label(RichText::new("Fitting").small().weak()),
        Some(_) => {}
    }
    if let Some(lines) = state.regions().lines() {
        line_table_ui(&lines, view.selected, ui, requests);
    }
}

/// Draws the choice between crosshair and region.
fn place_ui(view: &SpectrumView, of: &mut SpectrumOf, ui: &mut Ui) {
    let selected = view.selected.and_then(|index| view.rois.get(index));
    let has_spectrum = view.state.regions().selected().is_some();
    let is_region = view.of == SpectrumOf::Region && has_spectrum;
    ui.horizontal_wrapped(|ui| {
        ui.label("Spectrum");
        let crosshair = ui.add(egui::Button::selectable(!is_region, "Crosshair"));
        if crosshair.on_hover_text("Spectrum and line of the voxel under the crosshair").clicked() {
            *of = SpectrumOf::Crosshair;
        }
        let name = selected.map_or("region", |roi| roi.name.as_str());
        let region = ui.add_enabled(has_spectrum, egui::Button::selectable(is_region, format!("Mean of {name}")));
        let why_not = if selected.is_some() { "The region lies outside of the image" } else { "Select a region" };
        let help = "Mean spectrum over the voxels of the selected region, and the line that is fitted to it";
        if region.on_hover_text(help).on_disabled_hover_text(why_not).clicked() {
            *of = SpectrumOf::Region;
        }
    });
}

/// Draws parameters and standard deviations of a line, or the reason why there is none.
fn line_ui(shown: &Shown, outcome: &Outcome<LineFit>, ui: &mut Ui) {
    let fit = match outcome {
        Ok(fit) => fit,
        Err(reason) => {
            ui.label(format!("No line: {} {}", shown.carrier, cause_of_no_fit(*reason, NO_LINE)));
            return;
        }
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
    if let Some(calibration) = shown.calibration {
        let [po2, sd] = [fit.po2_torr(calibration), fit.po2_sd_torr(calibration)];
        rows.push(("pO2", format!("{po2:.1} ± {sd:.1} torr"), "Oxygen pressure by the width ± σ; 1 torr = 1 mmHg"));
    }
    egui::Grid::new("line").num_columns(2).spacing([7.0, 3.0]).min_row_height(0.0).show(ui, |ui| {
        for (title, text, help) in rows {
            ui.label(title).on_hover_text(help);
            let response = ui.label(RichText::new(&text).strong());
            plot::name(&response, &format!("{title} {}: {text}", shown.place));
            ui.end_row();
        }
    });
}

/// Draws a spectrum with its line.
fn plot_ui(shown: &Shown, ui: &mut Ui) {
    let colours = theme::colours(ui.visuals());
    let (of_spectrum, of_line) = (colours.profile, colours.branch_mark);
    ui.vertical(|ui| {
        let spectrum = ("spectrum", of_spectrum, egui_plot::LineStyle::Solid);
        let line = shown.line().map(|_| ("line", of_line, egui_plot::LineStyle::Solid));
        ui.horizontal(|ui| key_ui(ui, &[spectrum].into_iter().chain(line).collect::<Vec<_>>()));
        let response = plot("spectrum with its line", "mT").include_y(0.0).show(ui, |plot| {
            if let Some(fit) = shown.line() {
                curve(plot, "line", &points_of(fit, &shown.axis), of_line, 1.2);
            }
            curve(plot, "spectrum", &shown.points, of_spectrum, 1.8);
        });
        plot::name(&response.response, &shown.plot);
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
    fn a_line_is_drawn_from_the_first_to_the_last_field() {
        let axis = FieldAxis { first_mt: -1.0, step_mt: 0.5, num_samples: 5 };
        let fit = LineFit::new(2.0, 0.3, None, 0.25);
        let points = points_of(&fit, &axis);
        assert_eq!((points.len(), points[0][0], points[32][0]), (33, -1.0, 1.0));
        assert_eq!(points[20][1], fit.value(0.25));
    }
}
