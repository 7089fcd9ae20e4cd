//! Panel of the second image: file, order, opacity, palette, window, registration.

use egui::{DragValue, RichText, Slider, Ui};
use strum::VariantArray as _;

use super::edit_image;
use crate::render::Palette;
use crate::ui::layer::second_image::{Display, LayerOrder, MAX_SHIFT, Registration, SecondImage};
use crate::ui::layer::state::LayerState;
use crate::ui::widgets::fields::{button, name, name_menu};
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::theme;
use crate::ui::widgets::window_presets::window_presets;
use crate::ui::workspace::state::{Request, Workspace, ask, request};

/// Second images that need no file.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnLayers {
    pub has_attenuation: bool,
    /// True if the run has replicates.
    pub has_deviation: bool,
}

pub fn layer_ui(state: &LayerState, own: OwnLayers, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.separator();
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Second image").strong());
        let help = "CT, MR or PET over or under the displayed image: a DICOM series, NIfTI, Interfile or NumPy";
        button(ui, "Add image…", help, requests, ask(FileTask::OpenLayer));
        if own.has_deviation && !state.shows_deviation {
            let help = "Draws the standard deviation of each voxel between the replicates over the displayed image, after each iteration. \
                        The noise of randoms and scatter estimates is not included";
            button(ui, "Show standard deviations", help, requests, request(|work| work.layer.follow_deviation()));
        }
        if own.has_attenuation && state.shown_attenuation().is_none() {
            let help = "Draws the attenuation map of the study over the displayed image, with adjustable opacity";
            button(ui, "Show attenuation map", help, requests, request(|work| work.show_attenuation(None)));
        }
        if state.image.is_some() || state.shows_deviation {
            button(ui, "Remove", "Removes the second image", requests, request(Workspace::remove_layer));
        }
    });
    if let Some(title) = state.loading() {
        ui.add(egui::ProgressBar::new(0.0).animate(true).text(format!("Reading {title}")));
        button(ui, "Cancel reading", "Gives up the second image", requests, request(|work| work.layer.cancel()));
    }
    if let Some(image) = &state.image {
        image_ui(image, ui, requests);
    }
}

fn image_ui(image: &SecondImage, ui: &mut Ui, requests: &mut Vec<Request>) {
    let names = &image.series.names;
    let description = [image.series.modality.name(), &names.description].join(" ");
    ui.add(egui::Label::new(format!("{}: {}", image.title, description.trim())).wrap());
    if let Some(difference) = &image.difference {
        let colour = theme::colours(ui.visuals()).warning;
        ui.add(egui::Label::new(RichText::new(format!("Check: {difference}")).color(colour)).wrap());
        if !image.is_confirmed {
            button(ui, "Fuse anyway", "Draws both images", requests, edit_image(|image| image.is_confirmed = true));
            return;
        }
    }
    let mut display = image.display.clone();
    display_ui(image, &mut display, ui);
    if display != image.display {
        requests.push(request(|work| work.layer.set_display(display)));
    }
    // Standard deviations and maps lie on the image that they are of.
    if !image.is_of_run() {
        registration_ui(image, ui, requests);
    }
}

/// Draws order and opacity of the second image in a row.
pub fn blend_ui(image: &SecondImage, ui: &mut Ui, requests: &mut Vec<Request>) {
    let mut display = image.display.clone();
    ui.horizontal(|ui| {
        ui.label(format!("{}:", image.title)).on_hover_text("Second image");
        for &order in LayerOrder::VARIANTS {
            ui.selectable_value(&mut display.order, order, order.name()).on_hover_text(order.help());
        }
        let label = ui.label("Opacity");
        let slider = Slider::new(&mut display.opacity, 0.0..=1.0).show_value(false);
        let response = ui.add_enabled(display.order != LayerOrder::Swipe, slider).labelled_by(label.id);
        response.on_hover_text("Opacity of the upper image");
    });
    if display != image.display {
        requests.push(request(|work| work.layer.set_display(display)));
    }
}

/// Draws palette and window.
fn display_ui(image: &SecondImage, display: &mut Display, ui: &mut Ui) {
    ui.horizontal(|ui| {
        let colouring = &mut display.colouring;
        let menu = egui::ComboBox::from_id_salt("palette of the second image").selected_text(colouring.palette.name());
        let menu = menu.show_ui(ui, |ui| {
            for &palette in Palette::VARIANTS {
                ui.selectable_value(&mut colouring.palette, palette, palette.name());
            }
        });
        name_menu(&menu.response, &format!("Palette of the second image: {}", colouring.palette.name()));
        let [low, high] = colouring.window;
        let speed = f64::from(high - low).max(1e-6) / 300.0;
        let decimals = (2.0 - (high - low).log10().floor()).clamp(2.0, 8.0) as usize;
        for (end, label) in colouring.window.iter_mut().zip(["Bottom of the second image", "Top of the second image"]) {
            let response = ui.add(DragValue::new(end).speed(speed).max_decimals(decimals));
            name(&response, label);
        }
        if colouring.window[0] >= colouring.window[1] {
            colouring.window = [low, high];
        }
        let presets = window_presets(image.volume.unit);
        if !presets.is_empty() {
            ui.menu_button("Window", |ui| {
                for preset in presets {
                    if ui.button(preset.name).clicked() {
                        colouring.window = preset.window;
                        ui.close();
                    }
                }
            });
        }
        ui.label(RichText::new(image.volume.unit.label()).weak());
    });
}

/// Draws shift and rotation.
fn registration_ui(image: &SecondImage, ui: &mut Ui, requests: &mut Vec<Request>) {
    let mut edited = image.registration;
    let field = |ui: &mut Ui, value: &mut f64, label: String, suffix: &str| {
        let drag = DragValue::new(value)
            .speed(0.2)
            .range(-MAX_SHIFT..=MAX_SHIFT)
            .max_decimals(1)
            .suffix(suffix)
            .update_while_editing(false);
        name(&ui.add(drag), &label);
    };
    egui::Grid::new("registration").num_columns(4).spacing([6.0, 4.0]).show(ui, |ui| {
        ui.label("Shift").on_hover_text("Shift of the second image along x, y, z");
        for (axis, value) in ["x", "y", "z"].into_iter().zip(&mut edited.shift_mm) {
            field(ui, value, format!("Shift {axis}, mm"), " mm");
        }
        ui.end_row();
        ui.label("Rotation").on_hover_text("Rotation of the second image about x, y, z through its middle");
        for (axis, value) in ["x", "y", "z"].into_iter().zip(&mut edited.rotation_deg) {
            field(ui, value, format!("Rotation {axis}, degrees"), "°");
        }
        ui.end_row();
    });
    ui.horizontal(|ui| {
        let undo = ui.add_enabled(!image.undo.is_empty(), egui::Button::new("Undo shift"));
        if undo.on_hover_text("Returns to the position before the last change").clicked() {
            requests.push(edit_image(SecondImage::undo_registration));
        }
        let is_moved = image.registration != Registration::default();
        if ui.add_enabled(is_moved, egui::Button::new("Reset shift")).on_hover_text("Position by the world coordinates").clicked()
        {
            requests.push(edit_image(|image| image.register(Registration::default())));
        }
    });
    if edited != image.registration {
        requests.push(edit_image(move |image| image.register(edited)));
    }
}
