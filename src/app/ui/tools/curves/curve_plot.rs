//! Plot over the iterations, or over the number of projections: curves of the run, fainter curves of earlier runs, marks, and the
//! displayed iterate. A click displays the iterate there.

use std::borrow::Cow;

use egui::{Color32, RichText, Ui};
use egui_plot::{FilledArea, LineStyle, Plot, PlotTransform, PlotUi, VLine};

use super::plots_view::{PlotsView, show_at};
use crate::data::ValueScale;
use crate::report;
use crate::ui::run::curves::{Curves, MeanBand, Pieces, Series};
use crate::ui::run::live::Mark;
use crate::ui::run::plot_options::PlotToSave;
use crate::ui::widgets::format;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::{Axes, Scale};
use crate::ui::widgets::theme;
use crate::ui::widgets::theme::Colours;
use crate::ui::workspace::state::{Request, request};

/// A plot that is about to be drawn.
pub struct CurvePlot<'a> {
    view: &'a PlotsView<'a>,
    axes: Axes,
    plot: Plot<'a>,
    /// Title in exports.
    title: String,
    hint: Option<&'a str>,
    /// Value of 1 of the curves' own unit.
    factor: f64,
}

/// Plot that curves are drawn into.
pub struct CurvesUi<'p, 'a> {
    pub plot: &'p mut PlotUi<'a>,
    /// Curves of the run and of earlier runs.
    pub view: &'a PlotsView<'a>,
    axes: Axes,
    /// The curves drawn so far, where the plot's menu is open.
    drawn: Option<Vec<Drawn>>,
    /// Last points of the curves.
    ends: Vec<End>,
    /// Value of 1 of the curves' own unit.
    factor: f64,
}

/// Last point of a curve, with the curve's name and colour.
struct End {
    name: String,
    colour: Color32,
    position: [f64; 2],
}

/// A curve that was drawn.
pub struct Drawn {
    pub name: String,
    /// True for a curve of an earlier run.
    pub is_kept: bool,
    pub points: Vec<[f64; 2]>,
}

/// Returns the drawn curves as a plot of a report.
pub fn exported(title: &str, axes: &Axes, drawn: Vec<Drawn>) -> report::Plot {
    let own_name = |drawn: &Drawn| drawn.name.split(KEPT_OF).next().unwrap_or_default().to_owned();
    let names: Vec<String> = drawn.iter().map(own_name).collect();
    let lines = drawn.into_iter().zip(&names).map(|(Drawn { name, is_kept, points }, own)| report::Series {
        colour: names.iter().position(|other| other == own).unwrap_or_default(),
        name,
        is_published: is_kept,
        points,
    });
    let unit = if axes.y_unit.is_empty() { String::new() } else { format!(", {}", axes.y_unit) };
    report::Plot {
        axes: report::Axes::Linear,
        title: title.to_owned(),
        x_title: axes.x.clone(),
        y_title: format!("{title}{unit}"),
        x_ticks: Vec::new(),
        lines: lines.filter(|line| !line.points.is_empty()).collect(),
    }
}

/// Separator between the name of a curve and that of its earlier run.
const KEPT_OF: &str = ", run ";

/// Tooltip of the plot files.
const SAVE_HELP: &str =
    "Saves the plot as a drawing (.svg), a table (.csv) or a screenshot at twice the window's resolution (.png)";

/// Draws the context menu of the plot in `ui`. Returns true while it is open.
pub fn menu_ui(ui: &Ui, response: &egui::Response, plot: impl FnOnce() -> report::Plot, requests: &mut Vec<Request>) -> bool {
    let area = PictureArea::Plot(ui.unique_id());
    let menu = response.context_menu(|ui| {
        if ui.button("Save plot…").on_hover_text(SAVE_HELP).clicked() {
            let plot = PlotToSave { plot: plot(), area };
            requests.push(request(move |work| work.ask_for_plot(plot)));
        }
    });
    menu.is_some()
}

impl<'a> CurvePlot<'a> {
    /// Returns a plot of values in this unit.
    pub fn new(view: &'a PlotsView<'a>, id: &str, title: &str, y_unit: &'static str) -> Self {
        Self::scaled(view, id, title, y_unit, Scale::Linear)
    }

    /// Returns a plot with this scale of the vertical axis.
    pub fn scaled(view: &'a PlotsView<'a>, id: &str, title: &str, y_unit: &'static str, y: Scale) -> Self {
        let axes = Axes { x: view.axis(), y_unit, scales: [view.options.iterations, y], min_x_step: 1.0 };
        let mut plot = plot::plot_of(id, &axes);
        let ends = [0.0, 1.0].map(|end| axes.scales[0].position(end));
        for end in ends.into_iter().flatten() {
            plot = plot.include_x(end);
        }
        Self { view, axes, plot, title: title.to_owned(), hint: None, factor: 1.0 }
    }

    /// Draws curves of values in their own unit on this scale.
    pub fn in_unit(self, scale: ValueScale) -> Self {
        Self { factor: scale.factor, ..self }
    }

    /// Has a scale that includes these values, also while it is empty.
    pub fn including(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        for place in values.into_iter().filter_map(|value| self.axes.scales[1].position(value)) {
            self.plot = self.plot.include_y(place);
        }
        self
    }

    /// Shows a text on missing data in the middle.
    pub fn hint(self, missing: &'a str) -> Self {
        Self { hint: Some(missing), ..self }
    }

    pub fn show(self, ui: &mut Ui, requests: &mut Vec<Request>, draw: impl FnOnce(&mut CurvesUi<'_, 'a>) + 'a) {
        let Self { view, axes, plot, title, hint, factor } = self;
        let colours = theme::colours(ui.visuals());
        let (x, of_curves) = (axes.scales[0], axes.clone());
        // Curves are copied for the menu only while it is open.
        let menu = ui.unique_id().with("plot menu");
        let drawn = ui.data(|data| data.get_temp::<bool>(menu)).unwrap_or_default().then(Vec::new);
        let response = plot.show(ui, move |plot| {
            marks(plot, view, x, &colours);
            let mut curves = CurvesUi { plot, view, axes: of_curves, drawn, ends: Vec::new(), factor };
            draw(&mut curves);
            (curves.drawn, curves.ends)
        });
        let (drawn, ends) = response.inner;
        end_labels(ui, response.response.rect, &response.transform, ends);
        let colours = theme::colours(ui.visuals());
        mark_labels(ui, &response.response, &response.transform, view, x, &colours, &format!("Plot: {title}"));
        let export = || exported(&title, &axes, drawn.unwrap_or_default());
        let is_open = menu_ui(ui, &response.response, export, requests);
        ui.data_mut(|data| data.insert_temp(menu, is_open));
        if let Some(missing) = hint {
            hint_ui(ui, response.response.rect, missing);
        }
        if let Some(at) = response.response.interact_pointer_pos().filter(|_| response.response.clicked()) {
            requests.push(show_at(x.value(response.transform.value_from_position(at).x)));
        }
    }
}

impl CurvesUi<'_, '_> {
    pub fn curve(&mut self, name: &str, points: &[[f64; 2]], colour: Color32, width: f32) {
        let points = self.scaled(points);
        self.record(name, false, &points);
        let positions = self.axes.positions(&points);
        self.ends.extend(positions.last().map(|last| End { name: name.to_owned(), colour, position: *last }));
        plot::curve(self.plot, name, &positions, colour, width);
    }

    /// Draws the mean of a ROI within a band of one standard deviation to either side.
    pub fn band(&mut self, band: &MeanBand) {
        let shifted = |factor: f64| band.points.iter().map(|[at, mean, sd]| [*at, mean + factor * sd]).collect::<Vec<_>>();
        let [low, mean, high] = [-1.0, 0.0, 1.0].map(shifted);
        let [low, high] = [low, high].map(|points| self.scaled(&points).into_owned());
        self.record(&format!("{} − SD", band.name), false, &low);
        self.record(&format!("{} + SD", band.name), false, &high);
        let [low, high] = [low, high].map(|points| self.axes.positions(&points));
        // (The vertical axis is linear: both sides have the same points.)
        if low.len() == high.len() {
            let [at, low, high] =
                [(&low, 0), (&low, 1), (&high, 1)].map(|(points, axis)| points.iter().map(|p| p[axis]).collect::<Vec<f64>>());
            let area = FilledArea::new(format!("{} ± SD", band.name), &at, &low, &high);
            self.plot.add(area.fill_color(band.colour.gamma_multiply(0.2)));
        }
        self.curve(&band.name, &mean, band.colour, 1.8);
    }

    /// Draws a curve with gaps; its name is at the last piece.
    pub fn pieces(&mut self, name: &str, pieces: &Pieces, colour: Color32, width: f32) {
        for piece in pieces {
            self.ends.retain(|end| end.name != name);
            self.curve(name, piece, colour, width);
        }
    }

    /// Returns points in the unit of the plot.
    fn scaled<'p>(&self, points: &'p [[f64; 2]]) -> Cow<'p, [[f64; 2]]> {
        if self.factor == 1.0 {
            return Cow::Borrowed(points);
        }
        points.iter().map(|[x, y]| [*x, self.factor * y]).collect()
    }

    fn record(&mut self, name: &str, is_kept: bool, points: &[[f64; 2]]) {
        if let Some(drawn) = &mut self.drawn {
            drawn.push(Drawn { name: name.to_owned(), is_kept, points: points.to_vec() });
        }
    }

    /// Draws the curve of the run above those of earlier runs.
    pub fn with_kept(&mut self, name: &str, of: impl Fn(&Curves) -> &Vec<[f64; 2]>, colour: Color32, width: f32) {
        for index in 0..self.view.kept.len() {
            let points = of(self.view.kept[index].curves);
            self.kept_curve(index, name, points, colour);
        }
        self.curve(name, of(self.view.curves), colour, width);
    }

    /// Draws a curve for each ROI above those of earlier runs.
    pub fn of_rois(&mut self, of: impl Fn(&Curves) -> &Vec<Series>, is_thin: bool) {
        for index in 0..self.view.kept.len() {
            for series in of(self.view.kept[index].curves).iter().filter(|series| !series.is_earlier) {
                self.kept_curve(index, &series.name, &series.points, series.colour);
            }
        }
        self.of_own_rois(of(self.view.curves), is_thin);
    }

    /// Draws a curve for each ROI of the run.
    pub fn of_own_rois(&mut self, own: &[Series], is_thin: bool) {
        for series in own {
            let (colour, width) = match (series.is_earlier, is_thin) {
                (true, _) => (series.colour.gamma_multiply(0.3), 1.0),
                (false, true) => (series.colour.gamma_multiply(0.6), 1.0),
                (false, false) => (series.colour, 1.8),
            };
            self.curve(&series.name, &series.points, colour, width);
        }
    }

    /// Draws a curve of the earlier run with this index.
    pub fn kept_curve(&mut self, index: usize, name: &str, points: &[[f64; 2]], colour: Color32) {
        let name = format!("{name}{KEPT_OF}{}", self.view.kept[index].run);
        let points = self.scaled(points);
        self.record(&name, true, &points);
        let (colour, style) = (colour.gamma_multiply(KEPT_STRENGTH), kept_style(index));
        plot::styled_curve(self.plot, &name, &self.axes.positions(&points), colour, 1.2, style);
    }
}

/// Strength of the colours of earlier runs.
pub const KEPT_STRENGTH: f32 = 0.55;

/// Returns the line style of the earlier run with this index, the newest first.
pub fn kept_style(index: usize) -> LineStyle {
    match index {
        0 => LineStyle::Dashed { length: 7.0 },
        1 => LineStyle::Dotted { spacing: 4.0 },
        _ => LineStyle::Dashed { length: 3.0 },
    }
}

/// The same as a character.
pub const KEPT_LINES: [&str; 3] = ["– –", "· ·", "- -"];

/// Smallest width of a plot with names at its curves, points; largest part of its height that they take, and number of them.
const NAMES_WIDTH: f32 = 240.0;
const MAX_NAMES_PART: f32 = 0.6;
const MAX_NAMES: usize = 10;

/// Longest name at a curve, letters.
const MAX_NAME: usize = 22;

/// Writes the name of each curve above its last point; names that would overlap move down.
fn end_labels(ui: &Ui, area: egui::Rect, transform: &PlotTransform, mut ends: Vec<End>) {
    let font = egui::TextStyle::Small.resolve(ui.style());
    let height = ends.len() as f32 * ui.text_style_height(&egui::TextStyle::Small);
    let has_room = area.width() >= NAMES_WIDTH && height <= MAX_NAMES_PART * area.height();
    if !has_room || ends.len() > MAX_NAMES || ends.len() < 2 {
        return;
    }
    let painter = ui.painter().with_clip_rect(area);
    let shade = ui.visuals().panel_fill.gamma_multiply(0.75);
    ends.sort_by(|a, b| b.position[1].total_cmp(&a.position[1]));
    let mut bottom = area.top();
    for End { name, colour, position } in ends {
        let at = transform.position_from_point(&position.into());
        let text = painter.layout_no_wrap(format::elided(&name, MAX_NAME), font.clone(), colour);
        let top = (at.y - text.size().y).max(bottom).min(area.bottom() - text.size().y);
        let left = at.x.min(area.right()) - text.size().x - 2.0;
        let position = egui::pos2(left.max(area.left()), top);
        bottom = top + text.size().y;
        painter.rect_filled(egui::Rect::from_min_size(position, text.size()), 2.0, shade);
        painter.galley(position, text, colour);
    }
}

/// Draws a text in the middle of a plot.
fn hint_ui(ui: &Ui, rect: egui::Rect, words: &str) {
    let font = egui::TextStyle::Small.resolve(ui.style());
    let text = ui.painter().layout_no_wrap(words.to_owned(), font, ui.visuals().weak_text_color());
    let area = egui::Align2::CENTER_CENTER.anchor_size(rect.center(), text.size());
    ui.painter().rect_filled(area.expand(2.0), 2.0, ui.visuals().panel_fill);
    ui.painter().galley(area.min, text, ui.visuals().weak_text_color());
}

/// Draws the marks, and a line at the displayed stored iterate.
fn marks(plot: &mut PlotUi, view: &PlotsView, x: Scale, colours: &Colours) {
    for (at, mark) in &view.curves.marks {
        let (name, colour) = match mark {
            Mark::Accumulation(accumulation) => (format!("{accumulation} from here"), colours.accumulation_mark),
            Mark::Tuning(changes) => (format!("{changes} from here"), colours.accumulation_mark),
            Mark::Branch => ("ROIs edited".to_owned(), colours.branch_mark),
            Mark::Rule(words) => (words.clone(), colours.shown_mark),
        };
        if let Some(at) = x.position(*at) {
            plot.vline(VLine::new(name, at).color(colour).style(LineStyle::dashed_dense()));
        }
    }
    if let Some(at) = view.shown_at.and_then(|at| x.position(at)) {
        plot.vline(VLine::new("on the screen", at).color(colours.shown_mark).width(2.0));
    }
}

/// Labels the switches of the accumulation and the end by a stop rule, and adds both to the name of the plot. Labels that would
/// overlap go into the row below.
fn mark_labels(
    ui: &Ui,
    response: &egui::Response,
    transform: &PlotTransform,
    view: &PlotsView,
    x: Scale,
    colours: &Colours,
    label: &str,
) {
    const NUM_ROWS: usize = 3;
    let area = response.rect;
    let painter = ui.painter().with_clip_rect(area);
    let font = egui::TextStyle::Small.resolve(ui.style());
    let mut row_ends = [f32::NEG_INFINITY; NUM_ROWS];
    let mut words = label.to_owned();
    for (at, mark) in &view.curves.marks {
        let (label, colour) = match mark {
            Mark::Branch => continue,
            Mark::Rule(why) => {
                words += &format!("; {why}");
                ("stopped by a rule".to_owned(), colours.shown_mark)
            }
            Mark::Accumulation(accumulation) => {
                words += &format!("; from iteration {} on {accumulation}", format::short_number(*at));
                (accumulation.to_string(), colours.accumulation_mark)
            }
            Mark::Tuning(changes) => {
                words += &format!("; from iteration {} on {changes}", format::short_number(*at));
                (changes.clone(), colours.accumulation_mark)
            }
        };
        let Some(at) = x.position(*at) else { continue };
        let at = transform.position_from_point_x(at);
        let text = painter.layout_no_wrap(label, font.clone(), colour);
        // To the left of its line where there is no room to the right.
        let left = if at + text.size().x + 2.0 > area.right() { at - text.size().x - 2.0 } else { at + 2.0 };
        let left = left.max(area.left());
        let row = row_ends.iter().position(|end| *end <= left).unwrap_or(NUM_ROWS - 1);
        row_ends[row] = left + text.size().x;
        let position = egui::pos2(left, area.top() + 1.0 + row as f32 * text.size().y);
        painter.rect_filled(egui::Rect::from_min_size(position, text.size()), 2.0, ui.visuals().panel_fill.gamma_multiply(0.8));
        painter.galley(position, text, colour);
    }
    plot::name(response, &words);
}

/// Draws the title of curves that are measured without the post-filter.
pub fn title_ui(title: &str, view: &PlotsView, ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(title).strong());
        unfiltered_ui(view, ui);
    });
}

/// Shows that curves are not of the filtered image on the screen, where that is one.
pub fn unfiltered_ui(view: &PlotsView, ui: &mut Ui) {
    if view.filter_mm.is_some() {
        let words = RichText::new(format::UNFILTERED).small().color(theme::colours(ui.visuals()).warning);
        let help = "The curves are measured on every iterate as it is reconstructed; the post-filter is on the image alone";
        ui.add(egui::Label::new(words).truncate()).on_hover_text(help);
    }
}
