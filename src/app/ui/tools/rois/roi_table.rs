//! Table of the regions: their numbers in the displayed image.

use egui::{RichText, Sense, Ui};

use super::roi_view::{RoiView, go_to};
use crate::data::{Roi, RoiRole, ValueScale};
use crate::measure::uncertainty_of_deviation;
use crate::session::RoiNumbers;
use crate::ui::rois::action::RoiEdit;
use crate::ui::rois::measured::{contrast_to_noise_refusal, recovery_refusal};
use crate::ui::rois::second_numbers::SecondNumbers;
use crate::ui::widgets::elided::{fitted_of, text_width};
use crate::ui::widgets::format;
use crate::ui::widgets::sheet::{Sheet, bar_width, width_of};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, edit_rois};

struct NumberColumn {
    head: &'static str,
    /// Unit; `None`: that of the image.
    unit: Option<&'static str>,
    /// Width, points.
    width: f32,
    help: &'static str,
}

impl NumberColumn {
    const fn new(head: &'static str, unit: Option<&'static str>, width: f32, help: &'static str) -> Self {
        Self { head, unit, width, help }
    }

    /// Returns its unit for an image in `unit`.
    fn unit<'a>(&self, unit: &'a str) -> &'a str {
        self.unit.unwrap_or(unit)
    }

    /// Returns its meaning and its unit.
    fn tooltip(&self, unit: &str) -> String {
        match self.unit(unit) {
            "" => self.help.to_owned(),
            unit => format!("{}; in {unit}", self.help),
        }
    }
}

/// Columns; those that matter first, because a narrow table cuts the last ones. A voxel has the weight w, its part inside the
/// region; W = Σ w.
const COLUMNS: [NumberColumn; 12] = [
    NumberColumn::new("ROI", Some(""), 0.0, "Name of the region; a double click sets the crosshair to its centre"),
    NumberColumn::new(
        "mean",
        None,
        60.0,
        "Mean m = Σ w v / W of the values v of its voxels, each with the part w that lies inside, W = Σ w",
    ),
    NumberColumn::new("SD", None, 60.0, "Standard deviation between its voxels, √((Σ w v² − W m²) / (W − 1))"),
    NumberColumn::new(
        "recovery",
        Some("%"),
        60.0,
        "Contrast recovery against the mean b of all background ROIs: hot (m/b − 1) / (true ratio − 1), cold 1 − m/b. A NEMA NU 2 report takes the background circles of the sphere's own size, and differs a little",
    ),
    NumberColumn::new("NSR (CV)", Some("%"), 60.0, format::NSR_HELP),
    NumberColumn::new("CNR", Some(""), 48.0, format::CNR_HELP),
    NumberColumn::new("role", Some(""), 76.0, "Role; for hot ROIs with the true activity ratio to the background"),
    NumberColumn::new("mL", Some("mL"), 52.0, "Volume, W × volume of a voxel; of a flat region that of its slice"),
    NumberColumn::new("max", None, 60.0, "Largest value of a voxel that it touches"),
    NumberColumn::new(
        "median",
        None,
        60.0,
        "Half of the region lies below it; of the image on the screen only, not of every iterate",
    ),
    NumberColumn::new("min", None, 60.0, "Smallest value of a voxel that it touches"),
    NumberColumn::new("voxels", Some(""), 52.0, "Number of voxels that it touches"),
];

/// Place of the column of the second image: after mean and standard deviation.
const SECOND: usize = 3;

/// Width of the column of the second image, points.
const SECOND_WIDTH: f32 = 76.0;

/// Smallest width of the names if other columns are cut, as a fraction of the table's width.
const MIN_NAME_PART: f32 = 0.28;

/// Width of means with their standard deviations, points.
const WITH_DEVIATION_WIDTH: f32 = 104.0;

/// Width of the square in the colour of the region, with its gap, points.
const SQUARE_WIDTH: f32 = 14.0;

/// Height of a row, points.
const ROW_HEIGHT: f32 = 18.0;

/// Height of the heads, with their units below, points.
const HEAD_HEIGHT: f32 = 27.0;

/// Size of the units, points: the longest fits in a column.
const UNIT_TEXT: f32 = 9.0;

/// Draws the table. It scrolls to a newly selected region.
pub fn table_ui(view: &RoiView, ui: &mut Ui, requests: &mut Vec<Request>) {
    if view.rois().is_empty() {
        ui.label("None yet: choose Circle, Rectangle or Sphere above and drag in a slice.");
        return;
    }
    let mut widths: Vec<f32> = COLUMNS.iter().map(|column| column.width).collect();
    if view.second.is_some() {
        widths.insert(SECOND, SECOND_WIDTH);
    }
    if view.deviations.is_some() {
        widths[1] = WITH_DEVIATION_WIDTH;
    }
    widths[0] = name_width(view, width_of(&widths), ui);
    let sheet = Sheet {
        id: "roi table",
        widths: &widths,
        num_rows: view.rois().len(),
        head_height: HEAD_HEIGHT,
        row_height: ROW_HEIGHT,
        selected: view.state.selected,
    };
    // The numbers of the row that is being drawn.
    let mut row_cells: Option<(usize, [Cell; COLUMNS.len() - 1])> = None;
    let clicks = sheet.show(ui, |ui, row, column| {
        let second = view.second.filter(|_| column == SECOND);
        let place = column - usize::from(view.second.is_some() && column > SECOND);
        match (row, second) {
            (None, Some(second)) => second_head_ui(second, ui),
            (None, None) => head_ui(&COLUMNS[place], view.scale.label(), deviation_help(view).filter(|_| place == 1), ui),
            (Some(row), _) if column == 0 => name_ui(view, row, ui, requests),
            (Some(row), Some(second)) => second_ui(second, row, &view.rois()[row].name, ui),
            (Some(row), None) => {
                if row_cells.as_ref().is_none_or(|(of, _)| *of != row) {
                    row_cells = Some((row, cells(view, row)));
                }
                let cell = row_cells.as_ref().map(|(_, cells)| &cells[place - 1]);
                let of = &view.rois()[row].name;
                cell.into_iter().for_each(|cell| cell.show(COLUMNS[place].head, of, view.table.is_current(), ui));
            }
        }
    });
    requests.extend(clicks.clicked.map(|row| edit_rois(RoiEdit::Select(Some(row)))));
    requests.extend(clicks.double_clicked.map(go_to));
}

/// Returns the width of the names: that of the longest one, if the other columns leave room.
fn name_width(view: &RoiView, others: f32, ui: &Ui) -> f32 {
    let font = egui::TextStyle::Body.resolve(ui.style());
    let longest = view.rois().iter().map(|roi| text_width(ui, &roi.name, &font)).fold(0.0, f32::max);
    let room = ui.available_width() - others - bar_width();
    (SQUARE_WIDTH + longest + 1.0).min(room.max(MIN_NAME_PART * ui.available_width()))
}

/// Draws the head of a column, and below it a unit that differs from the head.
fn head_ui(column: &NumberColumn, image: &str, more: Option<String>, ui: &mut Ui) {
    let help = column.tooltip(image) + &more.unwrap_or_default();
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let head = egui::Label::new(RichText::new(column.head).small().weak()).extend();
        ui.add(head).on_hover_text(&help);
        let unit = column.unit(image);
        if !unit.is_empty() && unit != column.head {
            ui.add(egui::Label::new(RichText::new(unit).size(UNIT_TEXT).weak()).extend()).on_hover_text(&help);
        }
    });
}

/// Returns the meaning of the standard deviations of means.
fn deviation_help(view: &RoiView) -> Option<String> {
    let (_, num) = view.deviations.as_ref()?;
    Some(format!(
        ". ± standard deviation of the mean between {num} replicates of the data, each known to ± {:.0} %; the noise of randoms and \
         scatter estimates is not included",
        100.0 * uncertainty_of_deviation(*num)
    ))
}

/// Draws the head of the column of the second image.
fn second_head_ui(second: &SecondNumbers, ui: &mut Ui) {
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let help = "Mean ± standard deviation in the second image, interpolated at the voxels of the displayed image";
        ui.add(egui::Label::new(RichText::new(&second.name).small().weak()).extend()).on_hover_text(help);
        ui.add(egui::Label::new(RichText::new(second.unit).size(UNIT_TEXT).weak()).extend()).on_hover_text(help);
    });
}

/// Draws the numbers of a region in the second image.
fn second_ui(second: &SecondNumbers, index: usize, roi: &str, ui: &mut Ui) {
    let text = second_text(second, index);
    let response = ui.add(egui::Label::new(RichText::new(&text).small()).extend());
    let label = format!("{} of {roi}: {text}", second.name);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
}

fn second_text(second: &SecondNumbers, index: usize) -> String {
    let numbers = second.means.get(index).copied().flatten();
    numbers.map_or_else(|| "–".to_owned(), |[mean, sd]| format::with_sd(mean, sd))
}

/// Draws the colour of a region, and its name in a text colour that is readable in a selected row. A name without room is
/// shortened before the word that distinguishes it.
fn name_ui(view: &RoiView, index: usize, ui: &mut Ui, requests: &mut Vec<Request>) {
    let roi = &view.rois()[index];
    let is_selected = view.state.selected == Some(index);
    ui.spacing_mut().item_spacing.x = 5.0;
    let (square, _) = ui.allocate_exact_size(egui::Vec2::splat(SQUARE_WIDTH - 5.0), Sense::hover());
    ui.painter().rect_filled(square, 2.0, theme::roi_colour(roi));
    let colour = if is_selected { ui.visuals().selection.stroke.color } else { ui.visuals().strong_text_color() };
    let font = egui::TextStyle::Body.resolve(ui.style());
    let names = view.rois().iter().map(|roi| roi.name.as_str());
    let name = fitted_of(ui, &roi.name, names, &font, ui.available_width());
    let text = RichText::new(&name).color(colour).strong();
    let response = ui.add(egui::Label::new(text).extend().sense(Sense::click()));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &roi.name));
    let response = if name == roi.name { response } else { response.on_hover_text(&roi.name) };
    if response.clicked() {
        requests.push(edit_rois(RoiEdit::Select(Some(index))));
    }
    if response.double_clicked() {
        requests.push(go_to(index));
    }
}

/// Number of a region, or a dash with an optional reason.
struct Cell {
    text: String,
    reason: Option<&'static str>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, reason: None }
    }
}

impl Cell {
    /// Returns the cell of a value, or of a dash.
    fn value(value: Option<f64>) -> Self {
        value.map_or_else(|| "–".to_owned(), format::value).into()
    }

    fn show(&self, head: &str, roi: &str, is_current: bool, ui: &mut Ui) {
        let text = RichText::new(&self.text).small();
        let response = ui.add(egui::Label::new(if is_current { text } else { text.weak() }).extend());
        // The accessible name of numbers that may be missing, and of means with their deviation, contains column and region.
        let head = match head {
            "recovery" => Some("Recovery"),
            "CNR" => Some("CNR"),
            "mean" if self.text.contains('±') => Some("Mean"),
            _ => None,
        };
        if let Some(head) = head {
            let label = format!("{head} of {roi}: {}", self.text);
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
        }
        let pending = Some("In the image before; the displayed image is being measured").filter(|_| !is_current);
        if let Some(reason) = pending.or(self.reason) {
            response.on_hover_text(reason);
        }
    }
}

/// Returns the cells of a row after the name.
fn cells(view: &RoiView, index: usize) -> [Cell; COLUMNS.len() - 1] {
    let roi = &view.rois()[index];
    let role = match (roi.role, roi.activity_ratio) {
        (RoiRole::Hot, Some(ratio)) => format!("hot {ratio}:1"),
        (RoiRole::Hot, None) => "hot ?:1".into(),
        (role, _) => role.name().to_owned(),
    };
    let Some(numbers) = view.table.numbers().get(index) else {
        return std::array::from_fn(|k| if COLUMNS[k + 1].head == "role" { role.clone().into() } else { Cell::value(None) });
    };
    let Some(n) = numbers else {
        return std::array::from_fn(|k| if COLUMNS[k + 1].head == "role" { &role } else { "…" }.to_owned().into());
    };
    let scaled = |value: Option<f64>| Cell::value(value.map(|value| view.scale.value(value)));
    let end = |value: f32| scaled(n.mean.map(|_| f64::from(value)));
    let [recovery, contrast_to_noise] = contrasts(view.rois(), roi, n);
    let deviation = view.deviations.as_ref().and_then(|(deviations, _)| *deviations.get(index)?);
    [
        mean(n.mean, deviation, view.scale),
        scaled(n.sd),
        recovery,
        format::percent(n.nsr).into(),
        contrast_to_noise,
        role.into(),
        format::value(n.volume_ml).into(),
        end(n.max),
        scaled(view.table.medians().get(index).copied().flatten()),
        end(n.min),
        n.num_voxels.to_string().into(),
    ]
}

/// Returns the cell of a mean, with its standard deviation between replicates if it is known.
fn mean(mean: Option<f64>, deviation: Option<f64>, scale: ValueScale) -> Cell {
    match mean.zip(deviation) {
        Some((mean, deviation)) => format::with_sd(scale.value(mean), scale.value(deviation)).into(),
        None => Cell::value(mean.map(|value| scale.value(value))),
    }
}

/// Returns recovery and contrast-to-noise ratio of a region, or the reasons of their absence.
fn contrasts(rois: &[Roi], roi: &Roi, numbers: &RoiNumbers) -> [Cell; 2] {
    let why = |value: Option<f64>, reason: fn(&[Roi], &Roi) -> &'static str| value.is_none().then(|| reason(rois, roi));
    let RoiNumbers { recovery, contrast_to_noise, .. } = *numbers;
    [
        Cell { text: format::percent(recovery), reason: why(recovery, recovery_refusal) },
        Cell { reason: why(contrast_to_noise, contrast_to_noise_refusal), ..Cell::value(contrast_to_noise) },
    ]
}

/// Returns the table as text: a line per row, tabs between cells, units in the heads.
pub fn table_text(view: &RoiView) -> String {
    let image = view.image.as_ref().map_or_else(String::new, |image| format!("{image} "));
    let head = |column: &NumberColumn| match column.unit(view.scale.label()) {
        "" => column.head.to_owned(),
        unit if unit == column.head => unit.to_owned(),
        unit if column.unit.is_none() => format!("{image}{} [{unit}]", column.head),
        unit => format!("{} [{unit}]", column.head),
    };
    let second_head = view.second.map(|second| format!("{} mean ± SD [{}]", second.name, second.unit));
    let heads: Vec<String> = COLUMNS.iter().map(head).chain(second_head).collect();
    let row = |index: usize| {
        // A tab or the end of a line in a name would begin another cell.
        let name = view.rois()[index].name.replace(['\t', '\n', '\r'], " ");
        let cells = cells(view, index).into_iter().map(|cell| cell.text.trim_end_matches(" %").to_owned());
        let second = view.second.map(|second| second_text(second, index));
        std::iter::once(name).chain(cells).chain(second).collect::<Vec<_>>().join("\t")
    };
    let rows: Vec<String> = std::iter::once(heads.join("\t")).chain((0..view.rois().len()).map(row)).collect();
    rows.join("\n") + "\n"
}
