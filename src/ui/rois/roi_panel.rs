//! The ROI table with the numbers of the image on the screen, and the fields of the selected ROI.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, RichText, Ui};
use egui_extras::{Column, TableBuilder};
use strum::VariantArray as _;

use super::action::RoiAction;
use super::measured::{why_no_contrast_to_noise, why_no_recovery};
use crate::data::{Roi, RoiRole, RoiShape};
use crate::session::RoiNumbers;
use crate::ui::widgets::fields::name;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::theme;

/// What the panel shows.
pub struct RoiView<'a> {
    /// The regions.
    pub rois: &'a [Roi],
    /// Their numbers, in the same order; shorter while there is no image.
    pub numbers: &'a [RoiNumbers],
    /// The selected one.
    pub selected: Option<usize>,
    /// Whether there is something to undo.
    pub can_undo: bool,
    /// Whether there is something to do again.
    pub can_redo: bool,
    /// Whether the study brought ROIs of its own.
    pub has_study_rois: bool,
    /// Whether any iterate was measured.
    pub is_measured: bool,
    /// FWHM of the filter on the image on the screen, mm.
    pub filter_mm: Option<f64>,
    /// Whether the numbers are of the image without it.
    pub is_unfiltered: bool,
    /// The image's axes.
    pub axes: ImageAxes,
}

/// Why there are no numbers to export.
pub const NOTHING_MEASURED: &str = "no iterate of this study has been measured yet; start its reconstruction first";

/// Columns of the table with what they mean, where their names do not say it.
const COLUMNS: [(&str, &str); 11] = [
    ("ROI", ""),
    ("role", ""),
    ("mean", ""),
    ("SD", ""),
    ("min", ""),
    ("max", ""),
    ("voxels", ""),
    ("mL", ""),
    ("NSR", format::NSR_HELP),
    ("recovery", "Contrast recovery: measured contrast to the background ROIs over the true one"),
    ("CNR", format::CNR_HELP),
];

/// Buttons, fields of the selected ROI, table. What the panel may show instead, `tabs`, stands before the buttons.
pub fn roi_ui(view: &RoiView, tabs: impl FnOnce(&mut Ui), ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    buttons_ui(view, tabs, ui, actions);
    if let Some((index, roi)) = view.selected.and_then(|index| Some((index, view.rois.get(index)?))) {
        fields_ui(index, roi, &view.axes, ui, actions);
    }
    if let Some(fwhm_mm) = view.filter_mm {
        filter_ui(fwhm_mm, view.is_unfiltered, ui, actions);
    }
    egui::ScrollArea::horizontal().id_salt("roi table").show(ui, |ui| table_ui(view, ui, actions));
}

fn buttons_ui(view: &RoiView, tabs: impl FnOnce(&mut Ui), ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    ui.horizontal_wrapped(|ui| {
        tabs(ui);
        ui.separator();
        let mut button = |enabled: bool, words: &str, help: &str, action: RoiAction| {
            let response = ui.add_enabled(enabled, egui::Button::new(words).small()).on_hover_text(help);
            if response.on_disabled_hover_text(help).clicked() {
                actions.push(action);
            }
        };
        button(true, "Add sphere", "A sphere at the crosshair", RoiAction::AddAtCrosshair);
        let delete = RoiAction::DeleteSelected;
        button(view.selected.is_some(), "Delete", "Delete the selected ROI (Del)", delete);
        button(view.can_undo, "Undo", "Undo the last edit (Ctrl+Z)", RoiAction::Undo);
        button(view.can_redo, "Redo", "Do it again (Ctrl+Y)", RoiAction::Redo);
        button(view.has_study_rois, "Study's", "The ROIs that came with the study", RoiAction::TakeFromStudy);
        button(true, "Load…", "Load a ROI file", RoiAction::AskLoad);
        button(!view.rois.is_empty(), "Save ROIs…", "Save a ROI file", RoiAction::AskSave);
        let help = if view.is_measured { "Numbers of every iterate as CSV" } else { NOTHING_MEASURED };
        button(view.is_measured, "Export CSV…", help, RoiAction::AskExport);
        ui.menu_button("NEMA", |ui| nema_ui(ui, actions));
    });
}

/// What is done with an image of the NEMA body phantom.
fn nema_ui(ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    for (words, help, action) in [
        (
            "NEMA NU 2 template",
            "Finds the body phantom in the image on the screen and takes its circles in place of the ROIs: six spheres, 12 × 5 backgrounds, lung",
            RoiAction::PlaceNema,
        ),
        (
            "NEMA report…",
            "Image quality of the image on the screen as PDF; the ratio of activities is that of the hot ROIs",
            RoiAction::AskNemaReport,
        ),
    ] {
        if ui.button(words).on_hover_text(help).clicked() {
            actions.push(action);
            ui.close();
        }
    }
}

/// Which image the table measures where the one on the screen is filtered.
fn filter_ui(fwhm_mm: f64, is_unfiltered: bool, ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    ui.horizontal(|ui| {
        ui.label("Numbers of the image");
        for (unfiltered, words, help) in [
            (false, format::filtered(fwhm_mm), "The image on the screen, after the post-filter"),
            (true, format::UNFILTERED.to_owned(), "The image as it was reconstructed, as in the curves and the exported numbers"),
        ] {
            if ui.selectable_label(is_unfiltered == unfiltered, words).on_hover_text(help).clicked() {
                actions.push(RoiAction::MeasureUnfiltered(unfiltered));
            }
        }
    });
}

/// Fields to edit the selected ROI exactly.
fn fields_ui(index: usize, roi: &Roi, axes: &ImageAxes, ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    let mut edited = roi.clone();
    ui.horizontal_wrapped(|ui| {
        colour_ui(&mut edited, ui);
        let label = ui.label("Name");
        ui.add(egui::TextEdit::singleline(&mut edited.name).desired_width(110.0)).labelled_by(label.id);
        role_ui(&mut edited, ui);
        if roi.role == RoiRole::Hot {
            ratio_ui(index, roi, ui, actions);
        }
        ui.label("centre");
        for (axis, centre) in axes.shown().iter().zip(&mut edited.centre_mm) {
            name(&ui.add(DragValue::new(centre).speed(0.5).max_decimals(1)), &format!("ROI centre {axis}, mm"));
        }
        match &mut edited.shape {
            RoiShape::Circle { radius_mm, .. } | RoiShape::Sphere { radius_mm } => {
                ui.label("radius");
                name(&ui.add(DragValue::new(radius_mm).range(0.5..=1000.0).speed(0.2).max_decimals(1)), "ROI radius, mm");
            }
            RoiShape::Rectangle { size_mm, .. } => {
                ui.label("size");
                for (side, label) in size_mm.iter_mut().zip(["ROI width, mm", "ROI height, mm"]) {
                    name(&ui.add(DragValue::new(side).range(0.5..=2000.0).speed(0.2).max_decimals(1)), label);
                }
            }
        }
        ui.label("mm");
        if ui.small_button("Go to").on_hover_text("Crosshair to its centre").clicked() {
            actions.push(RoiAction::GoTo(index));
        }
    });
    if edited != *roi {
        actions.push(RoiAction::Replace(index, Box::new(edited)));
    }
}

/// The choice of its colour: one of the palette, or any other.
fn colour_ui(roi: &mut Roi, ui: &mut Ui) {
    let button = MenuButton::new(RichText::new("Colour").color(theme::roi_colour(roi)).strong());
    let stays_open = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let (button, _) = button.config(stays_open).ui(ui, |ui| {
        ui.horizontal(|ui| {
            for (number, colour) in (1..).zip(theme::ROI_COLOURS) {
                let [red, green, blue] = colour;
                let swatch = egui::Button::new("").fill(egui::Color32::from_rgb(red, green, blue));
                let swatch = ui.add(swatch.min_size(egui::Vec2::splat(18.0)));
                swatch.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Colour {number}")));
                if swatch.clicked() {
                    roi.colour = Some(colour);
                    ui.close();
                }
            }
        });
        ui.horizontal(|ui| {
            let mut colour = roi.colour.unwrap_or_default();
            for (part, part_name) in colour.iter_mut().zip(["Red", "Green", "Blue"]) {
                ui.label(part_name);
                name(&ui.add(DragValue::new(part)), part_name);
            }
            roi.colour = Some(colour);
        });
    });
    button.on_hover_text("Colour of its outline and curves");
}

fn role_ui(roi: &mut Roi, ui: &mut Ui) {
    let combo = egui::ComboBox::from_id_salt("role").width(90.0).selected_text(roi.role.name());
    let combo = combo.show_ui(ui, |ui| {
        for &role in RoiRole::VARIANTS {
            ui.selectable_value(&mut roi.role, role, role.name());
        }
    });
    let label = format!("Role: {}", roi.role.name());
    combo.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, &label));
}

/// The true ratio of a hot ROI, empty until somebody enters it. What is being typed lives in the field until it is left.
fn ratio_ui(index: usize, roi: &Roi, ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    let typing = ui.scope_id().with(("true ratio", index));
    let known = roi.activity_ratio.map_or_else(String::new, |ratio| ratio.to_string());
    let typed: Option<String> = ui.data(|data| data.get_temp(typing));
    let mut text = typed.unwrap_or_else(|| known.clone());
    let label = ui.label("true ratio");
    let field = egui::TextEdit::singleline(&mut text).id(typing.with("field")).desired_width(48.0).hint_text("enter");
    let response = ui.add(field).labelled_by(label.id);
    if response.has_focus() {
        ui.data_mut(|data| data.insert_temp(typing, text));
    } else {
        ui.data_mut(|data| data.remove_temp::<String>(typing));
        if response.lost_focus() && text != known {
            actions.push(RoiAction::EnterRatio(index, text));
        }
    }
    response.on_hover_text("True activity of the region over that of the background, for the recovery: positive and not 1");
}

fn table_ui(view: &RoiView, ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    if view.rois.is_empty() {
        ui.label("None yet: choose Circle, Rectangle or Sphere above and drag in a slice.");
        return;
    }
    ui.spacing_mut().item_spacing.x = 3.0;
    let table = TableBuilder::new(ui)
        .striped(true)
        .sense(egui::Sense::click())
        .column(Column::initial(88.0).at_least(60.0).clip(true))
        .column(Column::initial(68.0).at_least(40.0).clip(true))
        .columns(Column::initial(44.0).at_least(34.0).clip(true), COLUMNS.len() - 2)
        .auto_shrink([false, false])
        .min_scrolled_height(40.0);
    let table = table.header(18.0, |mut header| {
        for (column, help) in COLUMNS {
            header.col(|ui| {
                let response = ui.add(egui::Label::new(RichText::new(column).small().weak()).extend());
                if !help.is_empty() {
                    response.on_hover_text(help);
                }
            });
        }
    });
    table.body(|body| {
        body.rows(18.0, view.rois.len(), |mut row| {
            let index = row.index();
            let roi = &view.rois[index];
            row.set_selected(view.selected == Some(index));
            row.col(|ui| {
                let text = RichText::new(&roi.name).color(theme::roi_colour(roi)).strong();
                if ui.add(egui::Label::new(text).truncate().sense(egui::Sense::click())).clicked() {
                    actions.push(RoiAction::Select(Some(index)));
                }
            });
            let numbers = view.numbers.get(index);
            for cell in cells(roi, numbers) {
                row.col(|ui| {
                    ui.add(egui::Label::new(RichText::new(cell).small()).extend());
                });
            }
            let [recovery, contrast_to_noise] = contrasts(view.rois, roi, numbers);
            row.col(|ui| recovery.show(ui));
            row.col(|ui| contrast_to_noise.show(ui));
            let response = row.response();
            if response.clicked() {
                actions.push(RoiAction::Select(Some(index)));
            }
            if response.double_clicked() {
                actions.push(RoiAction::GoTo(index));
            }
        });
    });
}

/// A number of a ROI that it has or lacks for a reason.
struct Contrast {
    label: String,
    words: String,
    why_none: Option<&'static str>,
}

impl Contrast {
    fn show(self, ui: &mut Ui) {
        let Self { label, words, why_none } = self;
        let response = ui.add(egui::Label::new(RichText::new(&words).small()).extend());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{label}: {words}")));
        if let Some(reason) = why_none {
            response.on_hover_text(reason);
        }
    }
}

/// A ROI's recovery and contrast-to-noise ratio, or why there are none.
fn contrasts(rois: &[Roi], roi: &Roi, numbers: Option<&RoiNumbers>) -> [Contrast; 2] {
    let contrast = |name: &str, value: Option<f64>, words: String, reason: fn(&[Roi], &Roi) -> &'static str| Contrast {
        label: format!("{name} of {}", roi.name),
        words,
        why_none: numbers.filter(|_| value.is_none()).map(|_| reason(rois, roi)),
    };
    let recovery = numbers.and_then(|numbers| numbers.recovery);
    let cnr = numbers.and_then(|numbers| numbers.contrast_to_noise);
    [
        contrast("Recovery", recovery, format::percent(recovery), why_no_recovery),
        contrast("CNR", cnr, cnr.map_or_else(|| "–".into(), format::value), why_no_contrast_to_noise),
    ]
}

/// A row's text between its name and its recovery.
fn cells(roi: &Roi, numbers: Option<&RoiNumbers>) -> [String; 8] {
    let role = match (roi.role, roi.activity_ratio) {
        (RoiRole::Hot, Some(ratio)) => format!("hot {ratio}:1"),
        (RoiRole::Hot, None) => "hot ?:1".into(),
        (role, _) => role.name().to_owned(),
    };
    let Some(n) = numbers else { return std::array::from_fn(|k| if k == 0 { role.clone() } else { "–".into() }) };
    [
        role,
        n.mean.map_or_else(|| "–".into(), format::value),
        n.sd.map_or_else(|| "–".into(), format::value),
        format::value(f64::from(n.min)),
        format::value(f64::from(n.max)),
        n.num_voxels.to_string(),
        format::value(n.volume_ml),
        format::percent(n.nsr),
    ]
}
