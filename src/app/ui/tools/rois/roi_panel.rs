//! Panel of the regions: buttons, fields of the selected region, table of numbers.

use egui::Ui;
use strum::VariantArray as _;

use super::roi_fields::fields_ui;
use super::roi_table::{table_text, table_ui};
use super::roi_view::RoiView;
use crate::ui::rois::action::RoiEdit;
use crate::ui::rois::measured::RoiLabels;
use crate::ui::tools::recovery::files::{BODY_REPORT, SMALL_ANIMAL_REPORT};
use crate::ui::widgets::fields::{anonymise_ui, button_if, item, name_menu, push_if_clicked};
use crate::ui::widgets::file_task::{FileTask, NemaStandard};
use crate::ui::widgets::format;
use crate::ui::widgets::icons::{self, Icon, IconButton, Prominence};
use crate::ui::widgets::place::Place;
use crate::ui::widgets::sheet::scroll_style;
use crate::ui::workspace::files::file_tasks::NOTHING_MEASURED;
use crate::ui::workspace::state::{Request, Workspace, anonymise, ask, edit_rois, request};

/// Smallest height of the table, points: the head, two rows and a scroll bar. Buttons and fields scroll in the rest.
const MIN_TABLE_HEIGHT: f32 = 75.0;

/// Draws buttons, fields of the selected ROI and table.
pub fn roi_ui(view: &RoiView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let height = (ui.available_height() - MIN_TABLE_HEIGHT).max(MIN_TABLE_HEIGHT);
    ui.scope(|ui| {
        ui.spacing_mut().scroll = scroll_style();
        let area = egui::ScrollArea::vertical().id_salt("roi fields").max_height(height).auto_shrink([false, true]);
        area.show(ui, |ui| {
            buttons_ui(view, ui, requests);
            if let Some((index, roi)) = view.state.selected.and_then(|index| Some((index, view.rois().get(index)?))) {
                fields_ui(index, roi, view, ui, requests);
            }
            if let Some(fwhm_mm) = view.filter_mm {
                filter_ui(fwhm_mm, view.state.measure_unfiltered, ui, requests);
            }
            if let Some(image) = &view.image {
                let help =
                    "The second image, where there is one, has its own column. Curves and exported numbers are of this radical too";
                ui.label(egui::RichText::new(format!("Regions in the image of {image}")).small()).on_hover_text(help);
            }
        });
    });
    table_ui(view, ui, requests);
}

fn buttons_ui(view: &RoiView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let state = view.state;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let add = IconButton::new(icons::ADD, "Add sphere").prominence(Prominence::Quiet);
        let add = ui.add(add).on_hover_text("A sphere at the crosshair (A)");
        push_if_clicked(add, requests, request(Workspace::add_sphere));
        let mut button = |enabled: bool, icon: Icon, title: &str, help: &str, request: Request| {
            let button = IconButton::new(icon, title).prominence(Prominence::Quiet).icon_only();
            button_if(ui, enabled, button, help, requests, request);
        };
        let is_selected = view.state.selected.is_some();
        button(is_selected, icons::COPY, "Copy", "Copies the selected ROI (Ctrl+D)", edit_rois(RoiEdit::CopySelected));
        let mirror = "The selected ROI on the other side of x = 0: left and right exchanged (Ctrl+M)";
        button(is_selected, icons::MIRROR, "Mirror", mirror, edit_rois(RoiEdit::MirrorSelected));
        button(is_selected, icons::DELETE, "Delete", "Delete the selected ROI (Del)", edit_rois(RoiEdit::DeleteSelected));
        button(
            state.undo.has_undo(&state.document),
            icons::UNDO,
            "Undo",
            "Undo the last edit (Ctrl+Z)",
            edit_rois(RoiEdit::Undo),
        );
        button(state.undo.has_redo(&state.document), icons::REDO, "Redo", "Do it again (Ctrl+Y)", edit_rois(RoiEdit::Redo));
        button(
            view.has_study_rois,
            icons::RESTART,
            "Reset ROIs",
            "Replaces all ROIs by those of the study",
            request(Workspace::take_rois_from_study),
        );
        button(true, icons::LOAD, "Load…", "Load a ROI file or a DICOM segmentation", ask(FileTask::LoadRois));
        button(!view.rois().is_empty(), icons::SAVE, "Save ROIs…", "Save a ROI file", ask(FileTask::SaveRois));
        let help = if view.is_measured { "Numbers of every iterate as CSV" } else { NOTHING_MEASURED };
        button(view.is_measured, icons::EXPORT, "Export CSV…", help, ask(FileTask::ExportCsv));
        if !view.rois().is_empty() {
            let copy = IconButton::new(icons::TABLE, "Copy table").prominence(Prominence::Quiet).icon_only();
            let help = "The table as text for a spreadsheet, to the clipboard";
            let copy = ui.add_enabled(view.table.is_current(), copy).on_hover_text(help).on_disabled_hover_text(help);
            if copy.clicked() {
                ui.ctx().copy_text(table_text(view));
            }
            labels_ui(state.labels, ui, requests);
        }
        ui.menu_button("NEMA", |ui| nema_ui(ui, requests));
        requests.extend(anonymise_ui(view.is_anonymous, ui).map(anonymise));
    });
}

/// Draws the menu of NEMA phantoms.
fn nema_ui(ui: &mut Ui, requests: &mut Vec<Request>) {
    for (title, help, action) in [
        (
            "NEMA NU 2 template",
            "Finds the body phantom in the image on the screen and takes its circles in place of the ROIs: six spheres, 12 × 5 backgrounds, lung",
            request(|work| work.place_nema(NemaStandard::Body)),
        ),
        (
            "NEMA report…",
            "NU 2 image quality of the image on the screen as PDF, at the template's circles where they are among the ROIs and as they were moved; the ratio of activities is that of the hot ROIs",
            ask(FileTask::OfTool(&BODY_REPORT)),
        ),
        (
            "NEMA NU 4 template",
            "Finds the small-animal phantom, its axis along z, in the image on the screen and takes its cylinders in place of the ROIs: uniform part, two cold cylinders, five rods",
            request(|work| work.place_nema(NemaStandard::SmallAnimal)),
        ),
        (
            "NEMA NU 4 report…",
            "NU 4 image quality of the image on the screen as PDF: uniformity, recovery of the rods, spill-over; at the template's axes where they are among the ROIs and as they were moved",
            ask(FileTask::OfTool(&SMALL_ANIMAL_REPORT)),
        ),
    ] {
        item(ui, title, requests, action).on_hover_text(help);
    }
}

/// Draws the choice of the outlines with numbers.
fn labels_ui(current: RoiLabels, ui: &mut Ui, requests: &mut Vec<Request>) {
    let combo = egui::ComboBox::from_id_salt("roi labels").width(72.0).selected_text(format!("± {}", current.name()));
    let combo = combo.show_ui(ui, |ui| {
        for &labels in RoiLabels::VARIANTS {
            let label = ui.selectable_label(labels == current, labels.name());
            push_if_clicked(label, requests, edit_rois(RoiEdit::ShowLabels(labels)));
        }
    });
    name_menu(&combo.response, &format!("Numbers in the slices: {}", current.name()));
    combo.response.on_hover_text("Shows mean ± SD next to the outlines in the slices");
}

/// Draws the choice between the filtered and the unfiltered image.
fn filter_ui(fwhm_mm: f64, is_unfiltered: bool, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal(|ui| {
        ui.label("Measure on");
        for (unfiltered, title, help) in [
            (false, format::filtered(fwhm_mm), "The image on the screen, after the post-filter"),
            (true, format::UNFILTERED.to_owned(), "The image as it was reconstructed, as in the curves and the exported numbers"),
        ] {
            let button = ui.selectable_label(is_unfiltered == unfiltered, title).on_hover_text(help);
            if is_unfiltered == unfiltered {
                Place::MeasuredImage.is_at(&button);
            }
            push_if_clicked(button, requests, edit_rois(RoiEdit::MeasureUnfiltered(unfiltered)));
        }
    });
}
