//! A small plot: how it behaves, its axes, a curve in it.

use std::borrow::Cow;

use egui::{Color32, PointerButton, Shape, Ui};
use egui_plot::{AxisHints, GridInput, GridMark, HoverPosition, Line, LineStyle, Plot, PlotPoints, PlotUi};

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    #[default]
    Linear,
    /// Logarithmic, base 10; only positive values.
    Logarithmic,
}

impl Scale {
    /// Returns the position of a value; `None` if it has no logarithm.
    pub fn position(self, value: f64) -> Option<f64> {
        match self {
            Scale::Linear => Some(value),
            Scale::Logarithmic => (value > 0.0).then(|| value.log10()),
        }
    }

    pub fn value(self, position: f64) -> f64 {
        match self {
            Scale::Linear => position,
            Scale::Logarithmic => 10f64.powf(position),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes {
    /// Label of the x axis with its unit.
    pub x: String,
    pub y_unit: &'static str,
    /// Scales of the x and the y axis.
    pub scales: [Scale; 2],
    /// Smallest distance of the marks of the x axis.
    pub min_x_step: f64,
}

impl Axes {
    /// Returns the positions of points; points without a position are omitted.
    pub fn positions(&self, points: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let [x, y] = self.scales;
        points.iter().filter_map(|point| Some([x.position(point[0])?, y.position(point[1])?])).collect()
    }

    /// Returns the text of the point under the pointer.
    fn text(&self, hover: &HoverPosition) -> Option<String> {
        let HoverPosition::NearDataPoint { plot_name, position, .. } = hover else { return None };
        let [x, y] = [self.scales[0].value(position.x), self.scales[1].value(position.y)].map(super::format::value);
        let unit = if self.y_unit.is_empty() { String::new() } else { format!(" {}", self.y_unit) };
        Some(format!("{plot_name}\n{y}{unit}\n{} {x}", self.x))
    }
}

/// Smallest distances of the numbers of a horizontal and of a vertical axis, points: they do not touch.
const TICK_DISTANCES: [f64; 2] = [48.0, 32.0];

/// Distance of the finest lines of the grid, points.
const MIN_GRID: f32 = 8.0;

/// Distance of lines of the grid that are drawn at full strength, points: those of the marks are faint.
const FULL_GRID: f32 = 240.0;

/// Distance of marks from which on they have numbers, points. The marks have their distance already.
const LABEL_SPACING: egui::Rangef = egui::Rangef { min: 12.0, max: 20.0 };

/// Returns round marks of an axis at no less than this distance (points) and this step.
fn ticks(input: &GridInput, distance: f64, min_step: f64) -> Vec<GridMark> {
    let step = super::format::round_step(input.base_step_size * distance / f64::from(MIN_GRID)).max(min_step);
    let (low, high) = input.bounds;
    let marks = (low / step).ceil() as i64..=(high / step).floor() as i64;
    marks.map(|k| GridMark { value: k as f64 * step, step_size: step }).collect()
}

/// Returns a plot with linear axes that follows its data and shows the values under the pointer. It ignores wheel and drag.
pub fn plot<'a>(id: &str, x: &str) -> Plot<'a> {
    plot_of(id, &Axes { x: x.to_owned(), ..Axes::default() }).allow_boxed_zoom(false)
}

/// Returns a plot with these axes. A drag enlarges a part; a double click shows all.
pub fn plot_of<'a>(id: &str, axes: &Axes) -> Plot<'a> {
    let [x_scale, y_scale] = axes.scales;
    let x_axis = AxisHints::new_x().label(&axes.x).label_spacing(LABEL_SPACING);
    let mut plot = Plot::new(id)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(true)
        .boxed_zoom_pointer_button(PointerButton::Primary)
        .show_background(false)
        .set_margin_fraction(egui::vec2(0.02, 0.08))
        .grid_spacing(egui::Rangef::new(MIN_GRID, FULL_GRID))
        .custom_x_axes(vec![with_scale(x_axis, x_scale, "")])
        .custom_y_axes(vec![with_scale(values_axis(), y_scale, axes.y_unit)]);
    let ([x_distance, y_distance], min_x_step) = (TICK_DISTANCES, axes.min_x_step);
    plot = match x_scale {
        Scale::Linear => plot.x_grid_spacer(move |input| ticks(&input, x_distance, min_x_step)),
        Scale::Logarithmic => plot.x_grid_spacer(decades),
    };
    plot = match y_scale {
        Scale::Linear => plot.y_grid_spacer(move |input| ticks(&input, y_distance, 0.0)),
        Scale::Logarithmic => plot.y_grid_spacer(decades),
    };
    let axes = axes.clone();
    plot.label_formatter(move |hover| axes.text(hover))
}

/// Returns the axis with short numbers; % follows each number if it is the unit.
fn with_scale<'a>(axis: AxisHints<'a>, scale: Scale, unit: &str) -> AxisHints<'a> {
    let sign = if unit == "%" { " %" } else { "" };
    axis.formatter(move |mark, _| match scale {
        Scale::Linear => short(mark.value, mark.step_size) + sign,
        Scale::Logarithmic => format!("{}{sign}", scale.value(mark.value)),
    })
}

/// Returns marks at 1, 2, 5 times the powers of ten; over many decades only at the powers.
fn decades(input: GridInput) -> Vec<GridMark> {
    let (low, high) = input.bounds;
    let decades = low.floor() as i32..=high.ceil() as i32;
    let steps: &[f64] = if high - low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let marks = decades.flat_map(|decade| steps.iter().map(move |step| f64::from(decade) + step.log10()));
    marks.filter(|value| (low..=high).contains(value)).map(|value| GridMark { value, step_size: 1.0 }).collect()
}

/// Returns a vertical axis with short numbers.
pub fn short_axis<'a>() -> AxisHints<'a> {
    with_scale(values_axis(), Scale::Linear, "")
}

/// Returns the vertical axis of small plots.
fn values_axis<'a>() -> AxisHints<'a> {
    AxisHints::new_y().min_thickness(34.0).label_spacing(LABEL_SPACING)
}

/// Sets the accessible name of a plot.
pub fn name(response: &egui::Response, label: &str) {
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, label));
}

/// Draws a curve; a single point as a mark.
pub fn curve<'a>(plot: &mut PlotUi<'a>, name: &str, points: &[[f64; 2]], colour: Color32, width: f32) {
    styled_curve(plot, name, points, colour, width, LineStyle::Solid);
}

/// Maximum number of drawn points of a curve: about two per pixel of a wide plot.
const MAX_POINTS: usize = 4096;

/// Returns a curve with few enough points: of each stretch its lowest and its highest point, so that it looks the same.
fn thinned(points: &[[f64; 2]]) -> Cow<'_, [[f64; 2]]> {
    if points.len() <= MAX_POINTS {
        return Cow::Borrowed(points);
    }
    let ends = |stretch: &[[f64; 2]]| {
        let by_value = |a: &&[f64; 2], b: &&[f64; 2]| a[1].total_cmp(&b[1]);
        let low = stretch.iter().min_by(by_value).copied();
        let high = stretch.iter().max_by(by_value).copied();
        let (first, second) = if low.zip(high).is_some_and(|(low, high)| low[0] <= high[0]) { (low, high) } else { (high, low) };
        first.into_iter().chain(second)
    };
    Cow::Owned(points.chunks(points.len().div_ceil(MAX_POINTS / 2)).flat_map(ends).collect())
}

/// Draws a curve in a style; a single point as a mark.
pub fn styled_curve<'a>(plot: &mut PlotUi<'a>, name: &str, points: &[[f64; 2]], colour: Color32, width: f32, style: LineStyle) {
    plot.line(Line::new(name, PlotPoints::from(thinned(points).into_owned())).color(colour).width(width).style(style));
    if points.len() == 1 {
        plot.points(egui_plot::Points::new(name, PlotPoints::from(points.to_vec())).color(colour).radius(3.0));
    }
}

/// Width of a piece of line in a key, and its distance from the name, points.
const KEY_WIDTH: f32 = 18.0;
const KEY_SPACE: f32 = 5.0;

/// Gaps of a dashed line of a key, in units of its dashes: those of a plot.
const KEY_GAP: f32 = 0.618;

/// Draws names of curves in the row above their plot, each after a piece of its line.
pub fn key_ui(ui: &mut Ui, curves: &[(&str, Color32, LineStyle)]) {
    let font = egui::TextStyle::Small.resolve(ui.style());
    for (name, colour, style) in curves {
        let text = ui.painter().layout_no_wrap((*name).to_owned(), font.clone(), ui.visuals().text_color());
        // Line and name stay together at the end of a row.
        let size = egui::vec2(KEY_WIDTH + KEY_SPACE + text.size().x, ui.spacing().interact_size.y);
        let (rect, response) = ui.allocate_exact_size(size, egui::Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, *name));
        ui.painter().galley(
            egui::pos2(rect.left() + KEY_WIDTH + KEY_SPACE, rect.center().y - 0.5 * text.size().y),
            text,
            *colour,
        );
        let ends = [rect.left_center(), rect.left_center() + egui::vec2(KEY_WIDTH, 0.0)];
        let stroke = egui::Stroke::new(2.0, *colour);
        match *style {
            LineStyle::Solid => _ = ui.painter().line_segment(ends, stroke),
            LineStyle::Dotted { spacing } => _ = ui.painter().add(Shape::dotted_line(&ends, *colour, spacing, 1.0)),
            LineStyle::Dashed { length } => {
                ui.painter().extend(Shape::dashed_line(&ends, stroke, length, KEY_GAP * length));
            }
        }
    }
}

/// Returns the points of a curve between two values. Lines to points far outside a plot would have gaps.
pub fn within(points: &[[f64; 2]], low: f64, high: f64) -> Vec<[f64; 2]> {
    points.iter().copied().filter(|point| (low..=high).contains(&point[1])).collect()
}

/// Returns a number with the digits of the step of the axis; a large one with a letter for its power of ten.
fn short(value: f64, step: f64) -> String {
    let (scale, suffix) = match value.abs().max(step) {
        _ if value == 0.0 => return "0".to_owned(),
        size if size >= 1e9 => (1e-9, "G"),
        size if size >= 1e6 => (1e-6, "M"),
        size if size >= 1e4 => (1e-3, "k"),
        _ => (1.0, ""),
    };
    let decimals = (-(step * scale).log10() - 1e-9).ceil().clamp(0.0, 6.0) as usize;
    format!("{:.decimals$}{suffix}", value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_extremes_and_few_points() {
        let few = [[0.0, 1.0], [1.0, 2.0]];
        assert_eq!(*thinned(&few), few);
        let mut many: Vec<[f64; 2]> = (0..100_000).map(|k| [f64::from(k), (f64::from(k) / 900.0).sin()]).collect();
        (many[31_000][1], many[77_777][1]) = (7.0, -5.0);
        let shown = thinned(&many);
        assert!(shown.len() <= MAX_POINTS && shown.contains(&many[31_000]) && shown.contains(&many[77_777]));
        assert!(shown.windows(2).all(|pair| pair[0][0] <= pair[1][0]), "from left to right");
    }

    #[test]
    fn marks_are_round_and_far_enough_from_each_other() {
        // 0 to 700 over 240 points: 8 points are 23.3.
        let input = GridInput { bounds: (-3.0, 703.0), base_step_size: 706.0 / 240.0 * 8.0 };
        let marks: Vec<f64> = ticks(&input, 64.0, 0.0).iter().map(|mark| mark.value).collect();
        assert_eq!(marks, [0.0, 200.0, 400.0, 600.0]);
    }

    #[test]
    fn large_numbers_are_short_and_distinct() {
        assert_eq!(short(345_600_000.0, 100_000.0), "345.6M");
        assert_eq!(short(-20_000.0, 500.0), "-20.0k");
        assert_eq!(short(-2_000.0, 500.0), "-2000");
        assert_eq!(short(0.5, 0.25), "0.5");
        assert_eq!(short(0.0, 1e9), "0");
        assert_eq!(short(3.0, 1.0), "3");
    }

    #[test]
    fn what_has_no_logarithm_has_no_place() {
        let axes = Axes { scales: [Scale::Logarithmic, Scale::Linear], ..Axes::default() };
        assert_eq!(axes.positions(&[[0.0, 1.0], [10.0, -2.0], [100.0, 3.0]]), [[1.0, -2.0], [2.0, 3.0]]);
        assert_eq!(Scale::Logarithmic.value(2.0), 100.0);
    }

    #[test]
    fn the_text_of_a_point_has_values_not_positions() {
        let axes = Axes { x: "iteration".into(), y_unit: "%", scales: [Scale::Linear, Scale::Logarithmic], ..Axes::default() };
        let at = |x, y| HoverPosition::NearDataPoint { plot_name: "B1", position: [x, y].into(), index: 0 };
        assert_eq!(axes.text(&at(3.0, 1.0)).unwrap(), "B1\n10.00 %\niteration 3.000");
        assert_eq!(axes.text(&HoverPosition::Elsewhere { position: [0.0, 0.0].into() }), None);
    }

    #[test]
    fn of_a_curve_what_lies_far_off_is_left_out() {
        let points = [[0.0, -1e9], [1.0, 0.0], [2.0, 1.0], [3.0, 5.0]];
        assert_eq!(within(&points, -10.0, 2.0), points[1..3]);
        assert_eq!(within(&points, f64::NEG_INFINITY, f64::INFINITY), points);
    }

    #[test]
    fn marks_of_a_logarithmic_axis_are_round() {
        let marks = |low, high| {
            let input = GridInput { bounds: (low, high), base_step_size: 0.1 };
            decades(input).iter().map(|mark| 10f64.powf(mark.value).round()).collect::<Vec<_>>()
        };
        assert_eq!(marks(0.0, 1.0), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(marks(0.5, 1.5), [5.0, 10.0, 20.0], "within the axis");
        assert_eq!(marks(0.0, 4.0), [1.0, 10.0, 100.0, 1000.0, 10000.0]);
    }
}
