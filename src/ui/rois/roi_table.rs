//! Table of the regions: their numbers in the displayed image.

use egui::{RichText, Sense, Ui};
use egui_extras::{Column, TableBuilder};

use super::action::{RoiAction, RoiEdit};
use super::measured::{contrast_to_noise_refusal, recovery_refusal};
use super::roi_view::{RoiView, SecondNumbers};
use crate::data::{Roi, RoiRole};
use crate::session::RoiNumbers;
use crate::ui::widgets::format;
use crate::ui::widgets::theme;

/// Column of the table.
struct NumberColumn {
    head: &'static str,
    /// Unit; `None`: that of the image.
    unit: Option<&'static str>,
    help: &'static str,
}

impl NumberColumn {
    const fn new(head: &'static str, unit: Option<&'static str>, help: &'static str) -> Self {
        Self { head, unit, help }
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

/// Columns. A voxel has the weight w, its part inside the region; W = Σ w.
const COLUMNS: [NumberColumn; 12] = [
    NumberColumn::new("ROI", Some(""), "Name of the region; a double click sets the crosshair to its centre"),
    NumberColumn::new("role", Some(""), "Role; for hot ROIs with the true activity ratio to the background"),
    NumberColumn::new(
        "mean",
        None,
        "Mean m = Σ w v / W of the values v of its voxels, each with the part w that lies inside, W = Σ w",
    ),
    NumberColumn::new("SD", None, "Standard deviation between its voxels, √((Σ w v² − W m²) / (W − 1))"),
    NumberColumn::new("median", None, "Half of the region lies below it; of the image on the screen only, not of every iterate"),
    NumberColumn::new("min", None, "Smallest value of a voxel that it touches"),
    NumberColumn::new("max", None, "Largest value of a voxel that it touches"),
    NumberColumn::new("voxels", Some(""), "Number of voxels that it touches"),
    NumberColumn::new("mL", Some("mL"), "Volume, W × volume of a voxel; of a flat region that of its slice"),
    NumberColumn::new("NSR (CV)", Some("%"), format::NSR_HELP),
    NumberColumn::new(
        "recovery",
        Some("%"),
        "Contrast recovery against the mean b of all background ROIs: hot (m/b − 1) / (true ratio − 1), cold 1 − m/b. A NEMA NU 2 report takes the background circles of the sphere's own size, and differs a little",
    ),
    NumberColumn::new("CNR", Some(""), format::CNR_HELP),
];

/// Column before that of the second image.
const BEFORE_SECOND: &str = "SD";

/// Height of a row, points.
const ROW_HEIGHT: f32 = 18.0;

/// Height of the heads, with their units below, points.
const HEAD_HEIGHT: f32 = 27.0;

/// Size of the units, points: the longest fits in a column.
const UNIT_TEXT: f32 = 9.0;

/// Draws the table. It scrolls to a newly selected region.
pub fn table_ui(view: &RoiView, ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    if view.rois().is_empty() {
        ui.label("None yet: choose Circle, Rectangle or Sphere above and drag in a slice.");
        return;
    }
    ui.spacing_mut().item_spacing.x = 3.0;
    let newly_selected = newly_selected(view, ui);
    let mut table = TableBuilder::new(ui)
        .striped(true)
        .sense(Sense::click())
        .cell_layout(egui::Layout::left_to_right(egui::Align::Center))
        .column(Column::initial(104.0).at_least(60.0).clip(true))
        .column(Column::initial(68.0).at_least(40.0).clip(true))
        .columns(Column::initial(47.0).at_least(34.0).clip(true), 2)
        .columns(Column::initial(74.0).at_least(34.0).clip(true), usize::from(view.second.is_some()))
        .columns(Column::initial(47.0).at_least(34.0).clip(true), COLUMNS.len() - 4)
        .auto_shrink([false, false])
        .min_scrolled_height(40.0);
    if let Some(selected) = newly_selected {
        table = table.scroll_to_row(selected, None);
    }
    let table = table.header(HEAD_HEIGHT, |mut header| {
        for column in &COLUMNS {
            header.col(|ui| {
                head_ui(column, view.scale.label(), ui);
            });
            if let Some(second) = view.second.filter(|_| column.head == BEFORE_SECOND) {
                header.col(|ui| second_head_ui(second, ui));
            }
        }
    });
    table.body(|body| {
        body.rows(ROW_HEIGHT, view.rois().len(), |mut row| {
            let index = row.index();
            row.set_selected(view.state.selected == Some(index));
            row.col(|ui| name_ui(view, index, ui, actions));
            for (column, cell) in COLUMNS[1..].iter().zip(cells(view, index)) {
                row.col(|ui| cell.show(column.head, &view.rois()[index].name, ui));
                if let Some(second) = view.second.filter(|_| column.head == BEFORE_SECOND) {
                    row.col(|ui| second_ui(second, index, &view.rois()[index].name, ui));
                }
            }
            let response = row.response();
            if response.clicked() {
                actions.push(RoiAction::Edit(RoiEdit::Select(Some(index))));
            }
            if response.double_clicked() {
                actions.push(RoiAction::GoTo(index));
            }
        });
    });
}

/// Draws the head of a column, and below it a unit that differs from the head.
fn head_ui(column: &NumberColumn, image: &str, ui: &mut Ui) {
    let help = column.tooltip(image);
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
    numbers.map_or_else(|| "–".to_owned(), |numbers| numbers.map(format::value).join(" ± "))
}

/// Returns the selected region if it was not selected in the last frame.
fn newly_selected(view: &RoiView, ui: &Ui) -> Option<usize> {
    let id = egui::Id::unique("selected region in the table");
    let before = ui.data(|data| data.get_temp::<Option<usize>>(id)).flatten();
    ui.data_mut(|data| data.insert_temp(id, view.state.selected));
    view.state.selected.filter(|_| view.state.selected != before)
}

/// Draws the colour of a region, and its name in a text colour that is readable in a selected row.
fn name_ui(view: &RoiView, index: usize, ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    let roi = &view.rois()[index];
    let is_selected = view.state.selected == Some(index);
    let (square, _) = ui.allocate_exact_size(egui::vec2(9.0, 9.0), Sense::hover());
    ui.painter().rect_filled(square, 2.0, theme::roi_colour(roi));
    let colour = if is_selected { ui.visuals().selection.stroke.color } else { ui.visuals().strong_text_color() };
    let text = RichText::new(&roi.name).color(colour).strong();
    if ui.add(egui::Label::new(text).truncate().sense(Sense::click())).clicked() {
        actions.push(RoiAction::Edit(RoiEdit::Select(Some(index))));
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

    fn show(self, head: &str, roi: &str, ui: &mut Ui) {
        let response = ui.add(egui::Label::new(RichText::new(&self.text).small()).extend());
        // The accessible name of numbers that may be missing contains column and region.
        if let "recovery" | "CNR" = head {
            let head = if head == "recovery" { "Recovery" } else { head };
            let label = format!("{head} of {roi}: {}", self.text);
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
        }
        if let Some(reason) = self.reason {
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
    let Some(n) = view.table.numbers().get(index) else {
        return std::array::from_fn(|k| if k == 0 { role.clone().into() } else { Cell::value(None) });
    };
    let scaled = |value: Option<f64>| Cell::value(value.map(|value| view.scale.value(value)));
    let end = |value: f32| scaled(n.mean.map(|_| f64::from(value)));
    let [recovery, contrast_to_noise] = contrasts(view.rois(), roi, n);
    [
        role.into(),
        scaled(n.mean),
        scaled(n.sd),
        scaled(view.table.medians().get(index).copied().flatten()),
        end(n.min),
        end(n.max),
        n.num_voxels.to_string().into(),
        format::value(n.volume_ml).into(),
        format::percent(n.nsr).into(),
        recovery,
        contrast_to_noise,
    ]
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
    let head = |column: &NumberColumn| match column.unit(view.scale.label()) {
        "" => column.head.to_owned(),
        unit if unit == column.head => unit.to_owned(),
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
