//! Fields of the selected ROI: name, role, position, size.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, Ui};
use strum::VariantArray as _;

use super::roi_view::{RoiView, go_to};
use crate::data::{ContourThreshold, Isocontour, Roi, RoiPlane, RoiRole, RoiShape};
use crate::session::RoiNumbers;
use crate::ui::rois::action::RoiEdit;
use crate::ui::rois::search::RoiQuery;
use crate::ui::widgets::fields::{choice, name, name_menu, push_if_clicked, together, typed_ui};
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::AXIS_NAMES;
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, edit_rois, request};

/// Threshold of an isocontour that is no fixed value any more, % of the maximum.
const DEFAULT_PERCENT: f64 = 50.0;

/// Largest side of a region, mm.
const MAX_SIDE_MM: f64 = 2000.0;

/// Draws the fields of the selected ROI.
pub fn fields_ui(index: usize, roi: &Roi, view: &RoiView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let mut edited = roi.clone();
    ui.horizontal_wrapped(|ui| {
        together(ui, "name", |ui| {
            colour_ui(&mut edited, ui);
            let label = ui.label("Name");
            ui.add(egui::TextEdit::singleline(&mut edited.name).desired_width(110.0)).labelled_by(label.id);
        });
        role_ui(&mut edited, ui);
        if roi.role == RoiRole::Hot {
            together(ui, "ratio", |ui| ratio_ui(index, roi, ui, requests));
        }
        together(ui, "centre", |ui| {
            ui.label("centre");
            for (axis, centre) in view.axes.shown().iter().zip(&mut edited.centre_mm) {
                name(&ui.add(DragValue::new(centre).speed(0.5).max_decimals(1)), &format!("ROI centre {axis}, mm"));
            }
            ui.label("mm");
        });
        if !matches!(roi.shape, RoiShape::Polygon { .. } | RoiShape::Isocontour(_) | RoiShape::Voxels(_)) {
            together(ui, "size", |ui| size_ui(&mut edited, ui));
        }
        if let RoiShape::Isocontour(contour) = &roi.shape {
            together(ui, "contour", |ui| contour_ui(index, contour, view, ui, requests));
        }
        if roi.shape.can_turn() {
            together(ui, "angle", |ui| turn_ui(&mut edited, ui));
        }
        if roi.shape.is_flat() && !view.axes.is_slice {
            together(ui, "thickness", |ui| thickness_ui(&mut edited, view.voxel_mm, ui));
        }
        let button = ui.button("Go to").on_hover_text("Crosshair to its centre");
        push_if_clicked(button, requests, go_to(index));
    });
    if edited != *roi {
        requests.push(edit_rois(RoiEdit::Replace(index, Box::new(edited))));
    }
}

/// Draws the field of a length.
fn length_ui(length: &mut f64, label: &str, ui: &mut Ui) {
    name(&ui.add(DragValue::new(length).range(0.5..=MAX_SIDE_MM).speed(0.2).max_decimals(1)), label);
}

fn size_ui(roi: &mut Roi, ui: &mut Ui) {
    match &mut roi.shape {
        RoiShape::Circle { radius_mm, .. } | RoiShape::Sphere { radius_mm } => {
            ui.label("radius");
            length_ui(radius_mm, "ROI radius, mm", ui);
        }
        RoiShape::Rectangle { size_mm, .. } | RoiShape::Ellipse { size_mm, .. } => {
            ui.label("size");
            for (side, label) in size_mm.iter_mut().zip(["ROI width, mm", "ROI height, mm"]) {
                length_ui(side, label, ui);
            }
        }
        RoiShape::Ellipsoid { size_mm, .. } | RoiShape::Box { size_mm, .. } => {
            ui.label("size");
            for (side, axis) in size_mm.iter_mut().zip(AXIS_NAMES) {
                length_ui(side, &format!("ROI size along {axis}, mm"), ui);
            }
        }
        RoiShape::Polygon { .. } | RoiShape::Isocontour(_) | RoiShape::Voxels(_) => return,
    }
    ui.label("mm");
}

/// Draws the angle; for solid shapes also the axis.
fn turn_ui(roi: &mut Roi, ui: &mut Ui) {
    ui.label("turned");
    let angle = DragValue::new(&mut roi.angle_deg).range(-360.0..=360.0).speed(0.5).max_decimals(1).suffix("°");
    let response = ui.add(angle);
    name(&response, "ROI angle, degrees");
    response.on_hover_text("Turned about its centre; in a slice seen here positive is clockwise");
    if let RoiShape::Ellipsoid { plane, .. } | RoiShape::Box { plane, .. } = &mut roi.shape {
        let axis = |plane: RoiPlane| format!("about {}", AXIS_NAMES[plane.axes().1]);
        let menu = choice(ui, "axis of the turn", 62.0, plane, RoiPlane::VARIANTS, axis);
        name_menu(&menu, &format!("Turned {}", axis(*plane)));
    }
}

/// Draws the thickness of a flat ROI, in mm and in slices.
fn thickness_ui(roi: &mut Roi, voxel_mm: Option<[f64; 3]>, ui: &mut Ui) {
    let mut thickness = roi.thickness_mm.unwrap_or(0.0);
    ui.label("thickness");
    let thickness_text = |thickness: f64, _| if thickness > 0.0 { format!("{thickness:.1} mm") } else { "1 slice".to_owned() };
    let field =
        DragValue::new(&mut thickness).range(0.0..=MAX_SIDE_MM).speed(0.2).max_decimals(1).custom_formatter(thickness_text);
    let response = ui.add(field);
    name(&response, "ROI thickness, mm");
    response.on_hover_text("Thickness along the normal of its plane; 0: the slice nearest to its centre");
    if let Some((voxel_mm, plane)) = voxel_mm.zip(roi.shape.plane()) {
        let slice_mm = voxel_mm[plane.axes().1];
        let before = (thickness / slice_mm).round().max(1.0);
        let mut slices = before;
        let field = DragValue::new(&mut slices).range(1.0..=2000.0).speed(0.05).max_decimals(0).suffix(" slices");
        name(&ui.add(field), "ROI thickness in slices");
        if slices != before {
            thickness = if slices > 1.0 { slices.round() * slice_mm } else { 0.0 };
        }
    }
    roi.thickness_mm = (thickness > 0.0).then_some(thickness);
}

/// Draws the recipe of an isocontour. An edit finds the contour again in the displayed image.
fn contour_ui(index: usize, contour: &Isocontour, view: &RoiView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let shown = match view.state.search.query() {
        Some(RoiQuery::Contour(searched, _, recipe)) if *searched == index => *recipe,
        _ => contour.recipe,
    };
    let mut recipe = shown;
    let background = background_mean(view.rois(), view.table.numbers());
    let mut is_fixed = matches!(shown.threshold, ContourThreshold::Value(_));
    let response = ui.checkbox(&mut is_fixed, "fixed");
    response.on_hover_text("A fixed threshold, and not a part of the maximum");
    if is_fixed != matches!(shown.threshold, ContourThreshold::Value(_)) {
        let of_maximum = ContourThreshold::percent(DEFAULT_PERCENT);
        recipe.threshold = if is_fixed { ContourThreshold::Value(contour.threshold) } else { of_maximum };
    }
    let described = match &mut recipe.threshold {
        ContourThreshold::Value(value) => {
            let (scale, mut displayed) = (view.scale, view.scale.value(*value));
            let field = DragValue::new(&mut displayed).speed(0.02).max_decimals(3).suffix(format!(" {}", scale.label()));
            let response = ui.add(field);
            name(&response, "Isocontour threshold");
            if response.changed() {
                *value = displayed / scale.factor;
            }
            String::new()
        }
        ContourThreshold::OfMaximum { percent, background: zero } => {
            let field = DragValue::new(percent).range(1.0..=100.0).speed(0.2).max_decimals(1).suffix(" %");
            name(&ui.add(field), "Isocontour threshold, %");
            let mut from_background = zero.is_some();
            let is_enabled = from_background || background.is_some();
            let response = ui.add_enabled(is_enabled, egui::Checkbox::new(&mut from_background, "above background"));
            let help = "Counts the threshold from the mean of the background ROIs, as it was when this was found, and not from 0";
            response.on_hover_text(help).on_disabled_hover_text("Needs a ROI of the role background");
            if from_background != zero.is_some() {
                *zero = background.filter(|_| from_background);
            }
            let zero = zero.map_or_else(|| "0".to_owned(), |zero| format::value(view.scale.value(zero)));
            format!("{percent:.1} % of it, counted from {zero}: ")
        }
    };
    let help = format!(
        "The voxels that hang together with the maximum within {:.1} mm of the centre and reach {described}at least {} {}. They stay as they were found, on every iterate; this finds them anew in the image on the screen",
        recipe.seed_radius_mm,
        format::value(view.scale.value(contour.threshold)),
        view.scale.label()
    );
    let again = ui.button("Find again").on_hover_text(help).clicked();
    if let (true, ContourThreshold::OfMaximum { background: Some(zero), .. }) = (again, &mut recipe.threshold) {
        *zero = background.unwrap_or(*zero);
    }
    if again || recipe != shown {
        requests.push(request(move |work| work.find_contour(index, recipe)));
    }
}

/// Returns the mean over all background ROIs in the displayed image; `None` without such ROIs.
fn background_mean(rois: &[Roi], numbers: &[Option<RoiNumbers>]) -> Option<f64> {
    let of_role = rois.iter().zip(numbers).filter(|(roi, _)| roi.role == RoiRole::Background);
    let measured =
        of_role.filter_map(|(_, numbers)| numbers.as_ref().and_then(|numbers| Some((numbers.mean?, numbers.volume_ml))));
    let (sum, volume) = measured.fold((0.0, 0.0), |(sum, all), (mean, volume)| (sum + mean * volume, all + volume));
    (volume > 0.0).then(|| sum / volume)
}

/// Side of the square in the colour of the region, points.
const SQUARE_SIZE: f32 = 12.0;

/// Draws the choice of the colour: one of the palette, or any other.
fn colour_ui(roi: &mut Roi, ui: &mut Ui) {
    let (square, _) = ui.allocate_exact_size(egui::Vec2::splat(SQUARE_SIZE), egui::Sense::hover());
    ui.painter().rect_filled(square, 2.0, theme::roi_colour(roi));
    let button = MenuButton::new("Colour");
    let stays_open = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let (button, _) = button.config(stays_open).ui(ui, |ui| {
        ui.horizontal(|ui| {
            for (number, colour) in (1..).zip(theme::ROI_COLOURS) {
                let [red, green, blue] = colour;
                let swatch = egui::Button::new("").fill(egui::Color32::from_rgb(red, green, blue));
                let swatch = ui.add(swatch.min_size(egui::Vec2::splat(theme::TARGET_SIZE)));
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
    let menu = choice(ui, "role", 90.0, &mut roi.role, RoiRole::VARIANTS, |role| role.name().to_owned());
    name_menu(&menu, &format!("Role: {}", roi.role.name()));
}

/// Width of the field of a ratio with its hint, points.
const RATIO_WIDTH: f32 = 60.0;

/// Draws the true activity ratio of a hot ROI, empty at first. The typed text takes effect when the field loses the focus.
fn ratio_ui(index: usize, roi: &Roi, ui: &mut Ui, requests: &mut Vec<Request>) {
    let known = roi.activity_ratio.map_or_else(String::new, |ratio| ratio.to_string());
    let label = ui.label("true ratio");
    let id = ui.scope_id().with(("true ratio", index));
    let (response, typed) = typed_ui(ui, id, &known, (label.id, RATIO_WIDTH, "enter"));
    requests.extend(typed.map(|text| edit_rois(RoiEdit::Ratio(index, text))));
    response.on_hover_text("True activity of the region over that of the background, for the recovery: positive and not 1");
}
