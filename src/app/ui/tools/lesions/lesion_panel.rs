//! Tab of the lesions: rule, table, comparison, files.

use egui::{Button, DragValue, Response, RichText, ScrollArea, Sense, Ui};

use super::files::{REPORT, SEGMENTATION, TABLE};
use super::saved::PERCENT;
use super::state::LesionState;
use crate::data::{Roi, ValueScale};
use crate::measure::lesions::LesionThreshold;
use crate::report::LesionsShown;
use crate::ui::rois::action::RoiEdit;
use crate::ui::slices::action::ViewAction;
use crate::ui::widgets::fields::{anonymise_ui, button, button_if, name, name_menu};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::icons::{self, Icon, IconButton, Prominence};
use crate::ui::widgets::sheet::{Sheet, bar_width, width_of};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, anonymise, ask, request};

/// Threshold that a choice begins with: % of the maximum, and a fixed value in SUV.
const FIRST_PERCENT: f64 = 41.0;
const FIRST_VALUE: f64 = 4.0;

/// Height of a row, points.
const ROW_HEIGHT: f32 = 18.0;

/// Widths of the names and of a column of numbers, points.
const WIDTHS: [f32; 2] = [110.0, 62.0];

/// Height below the table for the sentences, points.
const REMARKS_HEIGHT: f32 = 60.0;

/// Rows of a small pane, with the head; its sentences scroll.
const MIN_ROWS: f32 = 4.0;

pub struct LesionView<'a> {
    pub state: &'a LesionState,
    pub rois: &'a [Roi],
    /// Kind of the second image and its unit.
    pub second: Option<[&'a str; 2]>,
    /// Scale of the displayed values.
    pub scale: ValueScale,
    /// True if written files are anonymous.
    pub is_anonymous: bool,
}

impl<'a> LesionView<'a> {
    /// Returns the numbers with their comparison; `None` while there are none.
    fn shown(&self) -> Option<LesionsShown<'a>> {
        let table = self.state.table()?;
        let has_second = table.measured().any(|(_, figures)| figures.second.is_some());
        Some(LesionsShown { table, second: self.second.filter(|_| has_second), baseline: self.state.changes() })
    }
}

/// Edit of the rule or the baseline.
pub enum LesionEdit {
    Threshold(LesionThreshold),
    /// Sets the name of the region in the liver.
    Liver(String),
    /// The numbers of the displayed image become the baseline.
    SetBaseline,
    ClearBaseline,
}

pub fn lesions_ui(view: &LesionView, ui: &mut Ui, edits: &mut Vec<LesionEdit>, requests: &mut Vec<Request>) {
    let shown = view.shown();
    ui.horizontal_wrapped(|ui| {
        threshold_ui(view, ui, edits);
        files_ui(view, shown.as_ref(), ui, edits, requests);
    });
    match view.state.measured() {
        _ if !view.state.has_lesions(view.rois) => {
            ui.label("No lesion yet: each ROI of the role none or hot is one. Draw a sphere or an isocontour about it.");
        }
        Some(Err(reason)) => _ = ui.label(format!("No numbers: {reason}.")),
        Some(Ok(_)) => {
            if let Some(shown) = shown {
                let height = (ui.available_height() - REMARKS_HEIGHT).max(MIN_ROWS * ROW_HEIGHT);
                ScrollArea::vertical().id_salt("lesion scroll").auto_shrink(false).show(ui, |ui| {
                    table_ui(&shown, view.rois, height, ui, requests);
                    remarks_ui(view, &shown, ui);
                });
            }
        }
        None if view.state.is_measuring() => _ = ui.label("Measuring…"),
        None => _ = ui.label("No image to measure yet."),
    }
}

/// Draws the rule that selects the voxels, and the region in the liver.
fn threshold_ui(view: &LesionView, ui: &mut Ui, edits: &mut Vec<LesionEdit>) {
    let current = view.state.threshold;
    let percent = if let LesionThreshold::Percent(percent) = current { percent } else { FIRST_PERCENT };
    let value = if let LesionThreshold::Value(value) = current { value } else { FIRST_VALUE };
    let choices = [
        (LesionThreshold::Regions, "regions as drawn"),
        (LesionThreshold::Percent(percent), "% of maximum"),
        (LesionThreshold::Value(value), "fixed value"),
        (LesionThreshold::Percist, "PERCIST"),
    ];
    let title = choices.iter().find(|(threshold, _)| *threshold == current).map_or("", |(_, title)| title);
    ui.label("Voxels");
    let menu = egui::ComboBox::from_id_salt("lesion threshold").width(118.0).selected_text(title).show_ui(ui, |ui| {
        for (threshold, title) in choices {
            if ui.selectable_label(threshold == current, title).clicked() {
                edits.push(LesionEdit::Threshold(threshold));
            }
        }
    });
    name_menu(&menu.response, &format!("Voxels of lesions: {title}"));
    menu.response.on_hover_text(
        "Voxels of a lesion: its region as drawn; or those that reach a threshold and are connected with its maximum, within the region. An isocontour is found again",
    );
    let mut edited = current;
    match &mut edited {
        LesionThreshold::Percent(percent) => {
            let field = DragValue::new(percent).range(PERCENT[0]..=PERCENT[1]).speed(0.2).max_decimals(1).suffix(" %");
            name(&ui.add(field), "Lesion threshold, %");
        }
        LesionThreshold::Value(value) => {
            let field = DragValue::new(value).speed(0.02).max_decimals(3).suffix(format!(" {}", view.scale.label()));
            name(&ui.add(field), "Lesion threshold");
        }
        LesionThreshold::Regions | LesionThreshold::Percist => {}
    }
    if edited != current {
        edits.push(LesionEdit::Threshold(edited));
    }
    ui.label("Liver");
    let liver = &view.state.liver;
    let menu = egui::ComboBox::from_id_salt("liver region").width(70.0).selected_text(liver).show_ui(ui, |ui| {
        for roi in view.rois {
            if ui.selectable_label(roi.name == *liver, &roi.name).clicked() {
                edits.push(LesionEdit::Liver(roi.name.clone()));
            }
        }
    });
    name_menu(&menu.response, &format!("Liver region: {liver}"));
    menu.response.on_hover_text("Region in the liver, no lesion: PERCIST takes a sphere of 3 cm about its centre, in SUL");
}

fn quiet(icon: Icon, title: &str) -> IconButton<'_> {
    IconButton::new(icon, title).prominence(Prominence::Quiet).icon_only()
}

/// Draws the buttons of the baseline and the files.
fn files_ui(
    view: &LesionView,
    shown: Option<&LesionsShown>,
    ui: &mut Ui,
    edits: &mut Vec<LesionEdit>,
    requests: &mut Vec<Request>,
) {
    let has_numbers = shown.is_some_and(|shown| shown.table.total.num_lesions > 0);
    let help =
        "Stores these numbers; other images (another run, frame or study) then show the change, by the names of the lesions";
    button_if(ui, has_numbers, Button::new("Set baseline"), help, edits, LesionEdit::SetBaseline);
    let help = "The table as text for a spreadsheet, to the clipboard";
    let copy = ui.add_enabled(has_numbers, quiet(icons::TABLE, "Copy lesions"));
    if copy.on_hover_text(help).on_disabled_hover_text(help).clicked() {
        shown.into_iter().for_each(|shown| ui.ctx().copy_text(table_text(shown)));
    }
    let table = quiet(icons::EXPORT, "Export lesions…");
    button_if(ui, has_numbers, table, "Exports the numbers as CSV", requests, ask(FileTask::OfTool(&TABLE)));
    for (title, help, file) in [
        ("Export segmentation…", "Exports the voxels as a DICOM segmentation (SEG)", &SEGMENTATION),
        ("Lesion report…", "Table, projection and definitions as PDF", &REPORT),
    ] {
        button_if(ui, has_numbers, Button::new(title), help, requests, ask(FileTask::OfTool(file)));
    }
    requests.extend(anonymise_ui(view.is_anonymous, ui).map(anonymise));
    if let Some(baseline) = &view.state.baseline {
        button(ui, "Clear baseline", &format!("The baseline is {}", baseline.title), edits, LesionEdit::ClearBaseline);
    }
    if view.state.is_measuring() {
        ui.spinner();
    }
}

/// Draws the table, no higher than `max_height`. A click on a lesion moves the crosshair to its maximum.
fn table_ui(shown: &LesionsShown, rois: &[Roi], max_height: f32, ui: &mut Ui, requests: &mut Vec<Request>) {
    let (titles, rows) = (shown.titles(), shown.cells_of_rows());
    let widths = [vec![WIDTHS[0]], vec![WIDTHS[1]; titles.len()]].concat();
    let bar = if width_of(&widths) > ui.available_width() { bar_width() } else { 0.0 };
    let height = ((rows.len() + 1) as f32 * ROW_HEIGHT + bar).min(max_height);
    let sheet = Sheet {
        id: "lesions",
        widths: &widths,
        num_rows: rows.len(),
        head_height: ROW_HEIGHT,
        row_height: ROW_HEIGHT,
        selected: None,
    };
    let go_to = |row: usize| {
        let lesion = shown.table.lesions.get(row)?;
        let (point, name) = (lesion.figures.as_ref().ok()?.max_mm, lesion.name.clone());
        Some(request(move |work| {
            work.edit_rois(RoiEdit::Select(work.rois.document.rois.iter().position(|roi| roi.name == name)));
            work.apply_view(ViewAction::SetCrosshair(point));
        }))
    };
    ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
        let clicks = sheet.show(ui, |ui, row, column| match (row, column.checked_sub(1)) {
            (None, None) => _ = ui.label(RichText::new("lesion").small().weak()),
            (None, Some(column)) => {
                let head = titles[column].split(" [").next().unwrap_or_default();
                ui.add(egui::Label::new(RichText::new(head).small().weak()).extend()).on_hover_text(&titles[column]);
            }
            (Some(row), None) => {
                if name_ui(shown, row, &rows[row][0], rois, ui).clicked() {
                    requests.extend(go_to(row));
                }
            }
            (Some(row), Some(column)) => {
                let [name, cell] = [&rows[row][0], &rows[row][column + 1]];
                let response = ui.add(egui::Label::new(RichText::new(cell).small()).extend());
                let label = format!("{} of {name}: {cell}", titles[column]);
                response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
            }
        });
        requests.extend(clicks.clicked.and_then(go_to));
    });
}

/// Draws the colour and the name of a lesion, or the name of the total.
fn name_ui(shown: &LesionsShown, row: usize, name: &str, rois: &[Roi], ui: &mut Ui) -> Response {
    ui.spacing_mut().item_spacing.x = 3.0;
    let lesion = shown.table.lesions.get(row);
    if let Some(roi) = lesion.and_then(|lesion| rois.iter().find(|roi| roi.name == lesion.name)) {
        let (square, _) = ui.allocate_exact_size(egui::vec2(9.0, 9.0), Sense::hover());
        ui.painter().rect_filled(square, 2.0, theme::roi_colour(roi));
    }
    let response = ui.add(egui::Label::new(RichText::new(name).strong()).truncate().sense(Sense::click()));
    let label = if lesion.is_some() { format!("Lesion {name}") } else { name.to_owned() };
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
    response
}

/// Draws the sentences below the table.
fn remarks_ui(view: &LesionView, shown: &LesionsShown, ui: &mut Ui) {
    for remark in shown.remarks() {
        ui.add(egui::Label::new(RichText::new(remark).small().weak()).wrap());
    }
    let other_unit = view.state.baseline.as_ref().filter(|_| view.state.changes().is_none());
    if let Some(baseline) = other_unit {
        let units = [baseline.numbers.unit, shown.table.unit].map(|unit| unit.label());
        let text = format!("No change: the baseline is in {}, this image in {}.", units[0], units[1]);
        ui.add(egui::Label::new(RichText::new(text).small().color(theme::colours(ui.visuals()).warning)).wrap());
    }
}

/// Returns the table as text: a line per row, tabs between cells.
fn table_text(shown: &LesionsShown) -> String {
    let plain = |text: &String| text.replace(['\t', '\n', '\r'], " ");
    let heads = std::iter::once("lesion".to_owned()).chain(shown.titles()).collect::<Vec<_>>().join("\t");
    let rows = shown.cells_of_rows().into_iter().map(|row| row.iter().map(plain).collect::<Vec<_>>().join("\t"));
    std::iter::once(heads).chain(rows).collect::<Vec<_>>().join("\n") + "\n"
}
