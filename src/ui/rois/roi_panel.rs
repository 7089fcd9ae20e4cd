//! The panel of the regions: what is done with them, the fields of the selected one, the table of their numbers.

use egui::Ui;
use strum::VariantArray as _;

use super::action::{NemaStandard, RoiAction};
use super::measured::RoiLabels;
use super::roi_fields::fields_ui;
use super::roi_table::{table_text, table_ui};
use crate::data::{Roi, ValueScale};
use crate::session::RoiNumbers;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::place::Place;

/// What the panel shows.
pub struct RoiView<'a> {
    /// The regions.
    pub rois: &'a [Roi],
    /// Their numbers, in the same order; shorter while there is no image.
    pub numbers: &'a [RoiNumbers],
    /// Their medians, likewise.
    pub medians: &'a [Option<f64>],
    /// The unit in which its values are shown.
    pub scale: ValueScale,
    /// Sides of its voxels, mm; `None` while there is none.
    pub voxel_mm: Option<[f64; 3]>,
    /// Beside which outlines the numbers stand.
    pub labels: RoiLabels,
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

/// Buttons, fields of the selected ROI, table. What the panel may show instead, `tabs`, stands before the buttons.
pub fn roi_ui(view: &RoiView, tabs: impl FnOnce(&mut Ui), ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    buttons_ui(view, tabs, ui, actions);
    if let Some((index, roi)) = view.selected.and_then(|index| Some((index, view.rois.get(index)?))) {
        fields_ui(index, roi, view, ui, actions);
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
        let is_selected = view.selected.is_some();
        button(is_selected, "Copy", "Copies the selected ROI (Ctrl+D)", RoiAction::CopySelected);
        let mirror = "The selected ROI on the other side of x = 0: left and right exchanged (Ctrl+M)";
        button(is_selected, "Mirror", mirror, RoiAction::MirrorSelected);
        button(is_selected, "Delete", "Delete the selected ROI (Del)", delete);
        button(view.can_undo, "Undo", "Undo the last edit (Ctrl+Z)", RoiAction::Undo);
        button(view.can_redo, "Redo", "Do it again (Ctrl+Y)", RoiAction::Redo);
        button(view.has_study_rois, "Reset ROIs", "Replaces all ROIs by those of the study", RoiAction::TakeFromStudy);
        button(true, "Load…", "Load a ROI file", RoiAction::AskLoad);
        button(!view.rois.is_empty(), "Save ROIs…", "Save a ROI file", RoiAction::AskSave);
        let help = if view.is_measured { "Numbers of every iterate as CSV" } else { NOTHING_MEASURED };
        button(view.is_measured, "Export CSV…", help, RoiAction::AskExport);
        if !view.rois.is_empty() {
            let help = "The table as text for a spreadsheet, to the clipboard";
            button(!view.numbers.is_empty(), "Copy table", help, RoiAction::CopyTable(table_text(view)));
            labels_ui(view.labels, ui, actions);
        }
        ui.menu_button("NEMA", |ui| nema_ui(ui, actions));
    });
}

/// What is done with an image of a NEMA phantom.
fn nema_ui(ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    for (words, help, action) in [
        (
            "NEMA NU 2 template",
            "Finds the body phantom in the image on the screen and takes its circles in place of the ROIs: six spheres, 12 × 5 backgrounds, lung",
            RoiAction::PlaceNema(NemaStandard::Body),
        ),
        (
            "NEMA report…",
            "NU 2 image quality of the image on the screen as PDF, at the template's circles where they are among the ROIs and as they were moved; the ratio of activities is that of the hot ROIs",
            RoiAction::AskNemaReport(NemaStandard::Body),
        ),
        (
            "NEMA NU 4 template",
            "Finds the small-animal phantom, its axis along z, in the image on the screen and takes its cylinders in place of the ROIs: uniform part, two cold cylinders, five rods",
            RoiAction::PlaceNema(NemaStandard::SmallAnimal),
        ),
        (
            "NEMA NU 4 report…",
            "NU 4 image quality of the image on the screen as PDF: uniformity, recovery of the rods, spill-over; at the template's axes where they are among the ROIs and as they were moved",
            RoiAction::AskNemaReport(NemaStandard::SmallAnimal),
        ),
    ] {
        if ui.button(words).on_hover_text(help).clicked() {
            actions.push(action);
            ui.close();
        }
    }
}

/// Beside which outlines in the slices the numbers stand.
fn labels_ui(current: RoiLabels, ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    let combo = egui::ComboBox::from_id_salt("roi labels").width(72.0).selected_text(format!("± {}", current.name()));
    let combo = combo.show_ui(ui, |ui| {
        for &labels in RoiLabels::VARIANTS {
            if ui.selectable_label(labels == current, labels.name()).clicked() {
                actions.push(RoiAction::ShowLabels(labels));
            }
        }
    });
    let label = format!("Numbers in the slices: {}", current.name());
    combo.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, &label));
    combo.response.on_hover_text("Shows mean ± SD next to the outlines in the slices");
}

/// Which image the table measures where the one on the screen is filtered.
fn filter_ui(fwhm_mm: f64, is_unfiltered: bool, ui: &mut Ui, actions: &mut Vec<RoiAction>) {
    ui.horizontal(|ui| {
        ui.label("Measure on");
        for (unfiltered, words, help) in [
            (false, format::filtered(fwhm_mm), "The image on the screen, after the post-filter"),
            (true, format::UNFILTERED.to_owned(), "The image as it was reconstructed, as in the curves and the exported numbers"),
        ] {
            let button = ui.selectable_label(is_unfiltered == unfiltered, words).on_hover_text(help);
            if is_unfiltered == unfiltered {
                Place::MeasuredImage.is_at(&button);
            }
            if button.clicked() {
                actions.push(RoiAction::MeasureUnfiltered(unfiltered));
            }
        }
    });
}
