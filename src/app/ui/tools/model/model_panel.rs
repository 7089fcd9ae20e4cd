//! Tab of the model: measured and expected counts of a sinogram row, its factors, and their sources.

use egui::{Color32, RichText, ScrollArea, Ui};
use egui_plot::{LineStyle, MarkerShape, PlotPoints, PlotUi, Points, VLine};

use super::factors::factors;
use crate::geometry::Point;
use crate::plan::{ModelRow, Provenance};
use crate::scanner::ScanGeometry;
use crate::ui::run::plot_options::PlotOptions;
use crate::ui::tools::curves::curve_plot::{Drawn, exported, menu_ui};
use crate::ui::tools::curves::plots_view::edit;
use crate::ui::widgets::fields::name as field_name;
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::{Axes, key_ui, plot_of, short_axis, styled_curve};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::Request;

/// Width of the tab from which on the table is to the left of the plots, and width of the table, points.
const TABLE_LEFT_WIDTH: f32 = 680.0;
const TABLE_WIDTH: f32 = 370.0;

/// Share of the height for the counts where the factors have a plot below them.
const COUNTS_SHARE: f32 = 0.6;

/// Smallest height of the plots with factors, points, and of the plot above the table.
const MIN_HEIGHT: f32 = 200.0;
const MIN_PLOT_HEIGHT: f32 = 130.0;

/// Share of the height for the plot above the table.
const PLOT_SHARE: f32 = 0.66;

const X_TITLE: &str = "tangential position, mm";

pub struct ModelView<'a> {
    pub options: &'a PlotOptions,
    /// Row, or the reason of its absence.
    pub content: Result<ModelContent<'a>, String>,
}

/// Row of an iterate.
pub struct ModelContent<'a> {
    pub row: &'a ModelRow,
    /// Sampling of the sinogram.
    pub geometry: &'a ScanGeometry,
    pub provenance: Provenance,
    pub iterate: String,
    pub crosshair_mm: Point,
}

pub fn model_ui(view: &ModelView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let content = match &view.content {
        Ok(content) => content,
        Err(reason) => {
            ui.add(egui::Label::new(RichText::new(reason).weak()).wrap());
            return;
        }
    };
    head_ui(view.options, content, ui, requests);
    let available = ui.available_size();
    if available.x >= TABLE_LEFT_WIDTH {
        ui.horizontal_top(|ui| {
            let size = egui::vec2(TABLE_WIDTH, available.y);
            ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
                ui.set_width(TABLE_WIDTH);
                ScrollArea::vertical().id_salt("factor table").show(ui, |ui| table_ui(content, ui));
            });
            ui.vertical(|ui| plots_ui(content, ui, requests));
        });
        return;
    }
    ScrollArea::vertical().id_salt("model").auto_shrink([false, false]).show(ui, |ui| {
        let height = (PLOT_SHARE * available.y).max(MIN_PLOT_HEIGHT);
        part_ui("plots", height, ui, |ui| plots_ui(content, ui, requests));
        table_ui(content, ui);
    });
}

/// Widths of the tab from which on the names of the curves are in the row of the view, and below it, points. In a narrower one they
/// appear under the pointer.
const KEY_BESIDE_WIDTH: f32 = 600.0;
const KEY_WIDTH: f32 = 300.0;

/// Draws the choice of the view, the plane, and the names of the curves.
fn head_ui(options: &PlotOptions, content: &ModelContent, ui: &mut Ui, requests: &mut Vec<Request>) {
    let ModelContent { row, geometry, iterate, .. } = content;
    let width = ui.available_width();
    let curves = curves(content, ui);
    let key = curves.iter().map(|curve| (curve.name, curve.colour, curve.style)).collect::<Vec<_>>();
    ui.horizontal(|ui| {
        let last = geometry.num_views.saturating_sub(1);
        let mut wanted = options.sinogram_view.min(last);
        ui.label(RichText::new("View").small());
        let response = ui.add(egui::DragValue::new(&mut wanted).range(0..=last).speed(0.25));
        field_name(&response, "Sinogram view");
        response.on_hover_text(format!("View of the sinogram, 0 to {last}; the plane is that of the crosshair"));
        if wanted != options.sinogram_view.min(last) {
            requests.push(edit(move |options| options.sinogram_view = wanted));
        }
        if width >= KEY_BESIDE_WIDTH {
            key_ui(ui, &key);
        }
        let angle_deg = geometry.phi_rad(row.row.view).to_degrees();
        let z_mm = row.row.z_mm(geometry);
        let text = format!("{angle_deg:.1}° · plane {}, z = {z_mm:.1} mm · {iterate}", row.row.plane);
        ui.add(egui::Label::new(RichText::new(text).small().weak()).truncate());
    });
    if (KEY_WIDTH..KEY_BESIDE_WIDTH).contains(&width) {
        ui.horizontal(|ui| key_ui(ui, &key));
    }
}

struct CountCurve {
    name: &'static str,
    colour: Color32,
    style: LineStyle,
    points: Vec<[f64; 2]>,
}

/// Name of the measured counts, which are drawn as points.
const MEASURED: &str = "measured";

fn curves(ModelContent { row, .. }: &ModelContent, ui: &Ui) -> Vec<CountCurve> {
    let colours = theme::colours(ui.visuals());
    let points = |values: &[f32]| points(row, values);
    let curve = |name, colour, style, points| CountCurve { name, colour, style, points };
    let measured = curve(MEASURED, ui.visuals().text_color(), LineStyle::Dotted { spacing: 5.0 }, points(&row.measured));
    let expected = curve("expected", colours.profile, LineStyle::Solid, points(&row.expected));
    let background = row.additive.as_ref().map(|additive| {
        curve("randoms + scatter", colours.accumulation_mark, LineStyle::Dashed { length: 7.0 }, points(additive))
    });
    [measured, expected].into_iter().chain(background).collect()
}

fn points(row: &ModelRow, values: &[f32]) -> Vec<[f64; 2]> {
    row.s_mm.iter().zip(values).map(|(s_mm, value)| [*s_mm, f64::from(*value)]).collect()
}

/// Draws contents in a part of the height, with separate ids.
fn part_ui(id: &str, height: f32, ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    ui.push_id(id, |ui| {
        let size = egui::vec2(ui.available_width(), height);
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_height(height);
            contents(ui);
        });
    });
}

/// Draws the counts, and where there is room the factors below them.
fn plots_ui(content: &ModelContent, ui: &mut Ui, requests: &mut Vec<Request>) {
    let height = ui.available_height();
    let factors = content.row.multiplicative.as_ref().filter(|_| height >= MIN_HEIGHT);
    let of_counts = if factors.is_some() { COUNTS_SHARE * height } else { height };
    part_ui("counts", of_counts, ui, |ui| counts_ui(content, ui, requests));
    if let Some(factors) = factors {
        let height = ui.available_height();
        part_ui("factors", height, ui, |ui| multiplicative_ui(content, factors, ui, requests));
    }
}

fn counts_ui(content: &ModelContent, ui: &mut Ui, requests: &mut Vec<Request>) {
    let curves = curves(content, ui);
    let axes = Axes { x: X_TITLE.to_owned(), y_unit: "counts", ..Axes::default() };
    row_plot_ui("model counts", ["Plot: counts of the sinogram row", "counts"], content, &axes, ui, requests, |plot| {
        for CountCurve { name, colour, style, points } in &curves {
            if *name == MEASURED {
                let marks = Points::new(*name, PlotPoints::from(points.clone()));
                plot.points(marks.color(*colour).shape(MarkerShape::Circle).radius(1.6));
            } else {
                styled_curve(plot, name, points, *colour, 1.6, *style);
            }
        }
        curves.iter().map(|curve| (curve.name, curve.points.clone())).collect()
    });
}

fn multiplicative_ui(content: &ModelContent, factors: &[f32], ui: &mut Ui, requests: &mut Vec<Request>) {
    let colour = theme::colours(ui.visuals()).shown_mark;
    let row = content.row;
    let mut drawn = vec![("attenuation × normalisation", points(row, factors), LineStyle::Solid)];
    if let (Some(attenuation), Some(normalisation)) = (&row.attenuation, row.normalisation()) {
        drawn.push(("attenuation", points(row, attenuation), LineStyle::Dashed { length: 7.0 }));
        drawn.push(("normalisation", points(row, &normalisation), LineStyle::Dotted { spacing: 5.0 }));
    }
    let axes = Axes { x: X_TITLE.to_owned(), ..Axes::default() };
    row_plot_ui("model factors", ["Plot: factors of the sinogram row", "factor m"], content, &axes, ui, requests, |plot| {
        drawn.iter().for_each(|(name, points, style)| styled_curve(plot, name, points, colour, 1.6, *style));
        drawn.into_iter().map(|(name, points, _)| (name, points)).collect()
    });
}

/// Draws a plot along the row with the crosshair's position, and the menu that saves it. `draw` returns the drawn curves.
fn row_plot_ui<'a>(
    id: &str,
    [label, y_title]: [&'static str; 2],
    content: &ModelContent,
    axes: &Axes,
    ui: &mut Ui,
    requests: &mut Vec<Request>,
    draw: impl FnOnce(&mut PlotUi<'_>) -> Vec<(&'a str, Vec<[f64; 2]>)>,
) {
    let ModelContent { row, geometry, crosshair_mm, iterate, .. } = content;
    let colour = theme::colours(ui.visuals()).crosshair;
    let at_mm = row.row.s_mm(geometry, *crosshair_mm);
    let response = plot_of(id, axes).include_y(0.0).custom_y_axes(vec![short_axis().label(y_title)]).show(ui, |plot| {
        plot.vline(VLine::new("crosshair", at_mm).color(colour).style(LineStyle::dotted_dense()));
        draw(plot)
    });
    plot::name(&response.response, label);
    let title = format!("sinogram row, view {}, plane {}, {iterate}", row.row.view, row.row.plane);
    let drawn = response.inner.into_iter().map(|(name, points)| Drawn { name: name.to_owned(), is_kept: false, points });
    menu_ui(ui, &response.response, || exported(&title, axes, drawn.collect()), requests);
}

/// Draws the table of the factors.
fn table_ui(content: &ModelContent, ui: &mut Ui) {
    let small = |text: &str| RichText::new(text).small();
    egui::Grid::new("model factors").num_columns(3).spacing([8.0, 1.0]).striped(true).show(ui, |ui| {
        ui.label(small("factor").weak());
        ui.label(small("mean").weak()).on_hover_text("Mean along the row: counts of a bin; m has no unit");
        ui.label(small("source").weak());
        ui.end_row();
        for factor in factors(content.row, &content.provenance, &content.iterate) {
            ui.label(small(factor.name)).on_hover_text(factor.help);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| ui.label(small(&factor.mean_text())));
            ui.add(egui::Label::new(small(&factor.source)).truncate()).on_hover_text(&factor.source);
            ui.end_row();
        }
    });
}
