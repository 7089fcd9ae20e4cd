//! The bar above the slices: tool, palette, views, window.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, Ui};
use strum::VariantArray as _;

use super::action::ViewAction;
use super::rotatable_view::RotatableContent;
use super::tool::Tool;
use super::view::{Thickness, ViewState};
use super::view_layout::Layout;
use crate::data::ValueScale;
use crate::render::{Combination, Interpolation, Palette};
use crate::ui::widgets::colour_scale::{ColourScale, WindowPercentile, has_negative};
use crate::ui::widgets::fields::name;
use crate::ui::widgets::format;

/// What the bars show.
pub struct ToolbarView<'a> {
    /// Tool, interpolation, …
    pub view: &'a ViewState,
    /// Palette and window of the image.
    pub colouring: &'a ColourScale,
    /// Smallest and largest value of the image.
    pub range: [f32; 2],
    /// The unit in which values are shown.
    pub scale: ValueScale,
    /// Whether the image is a single slice, of which there are no other views.
    pub is_slice: bool,
    /// Whether the values shown have a window of their own, which is not the image's and cannot be dragged.
    pub has_own_window: bool,
}

/// Width from which the bar has one row.
const ONE_ROW_WIDTH: f32 = 960.0;

/// Width of the list of palettes, of the longest name, points.
const PALETTE_WIDTH: f32 = 118.0;

/// Width of the fields of the window's ends, points: longer numbers do not move what is beside them.
const END_WIDTH: f32 = 62.0;

/// The bar above the slices, in one row or two; what is wider still goes on below: never beyond the edge.
pub fn toolbar_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let is_one_row = ui.available_width() >= ONE_ROW_WIDTH;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        look_ui(view, ui, actions);
        if is_one_row {
            ui.separator();
            window_ui(view, ui, actions);
        }
    });
    if !is_one_row {
        ui.horizontal_wrapped(|ui| window_ui(view, ui, actions));
    }
}

/// Tool, palette, interpolation, ROIs.
fn look_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let choose = |ui: &mut Ui, tool: Tool| {
        ui.selectable_label(view.view.tool == tool, tool.name()).on_hover_text(tool.help()).clicked().then_some(tool)
    };
    let mut chosen = None;
    for &tool in Tool::VARIANTS.iter().filter(|tool| !tool.is_in_menu()) {
        chosen = choose(ui, tool).or(chosen);
    }
    let is_current = view.view.tool.is_in_menu();
    let words = if is_current { format!("More: {}", view.view.tool.name()) } else { "More…".to_owned() };
    let (menu, _) = MenuButton::from_button(egui::Button::new(words).selected(is_current)).ui(ui, |ui| {
        for &tool in Tool::VARIANTS.iter().filter(|tool| tool.is_in_menu()) {
            chosen = choose(ui, tool).or(chosen);
        }
    });
    menu.on_hover_text("More shapes of regions");
    actions.extend(chosen.map(ViewAction::SetTool));
    ui.separator();
    palette_ui(view.colouring.palette, ui, actions);
    let smooth = view.view.interpolation == Interpolation::Linear;
    let mut toggle = |is_on: bool, label: &str, help: &str, action: fn(bool) -> ViewAction| {
        let mut wanted = is_on;
        ui.checkbox(&mut wanted, label).on_hover_text(help);
        if wanted != is_on {
            actions.push(action(wanted));
        }
    };
    toggle(smooth, "Smooth", "Interpolate between voxel centres", |smooth| {
        ViewAction::SetInterpolation(if smooth { Interpolation::Linear } else { Interpolation::Nearest })
    });
    toggle(view.view.show_rois, "ROIs", "Show the outlines of the regions of interest", ViewAction::ShowRois);
}

fn button_ui(name: &str, help: &str, action: ViewAction, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    if ui.button(name).on_hover_text(help).clicked() {
        actions.push(action);
    }
}

/// Zoom, crosshair, layout, thickness of the slices, and the view that can be turned.
fn views_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    ui.horizontal(|ui| {
        button_ui("Fit object", "Zooms to the active region (F)", ViewAction::FitObject, ui, actions);
        button_ui("Whole image", "The whole image in view (Home)", ViewAction::Reset, ui, actions);
    });
    let is_slice = view.is_slice;
    let view = view.view;
    let mut crosshair = view.show_crosshair;
    if ui.checkbox(&mut crosshair, "Crosshair").on_hover_text("Shows the crosshair").clicked() {
        actions.push(ViewAction::ShowCrosshair(crosshair));
    }
    let mut research = view.shows_research;
    let help = "Shows settings that only the reproduction of a paper needs, among the settings for the next run";
    if ui.checkbox(&mut research, "Research settings").on_hover_text(help).clicked() {
        actions.push(ViewAction::ShowResearch(research));
    }
    if is_slice {
        return;
    }
    ui.separator();
    ui.strong("Layout");
    for &layout in Layout::VARIANTS {
        if ui.radio(view.layout == layout, layout.name()).clicked() {
            actions.push(ViewAction::SetLayout(layout));
        }
    }
    ui.separator();
    ui.strong("Thick slices");
    thickness_ui(view.thickness, ui, actions);
    ui.separator();
    ui.strong("Rotatable view");
    for &content in RotatableContent::VARIANTS {
        let help = match content {
            RotatableContent::Mip => "Maximum intensity projection: the largest value along the line of sight",
            RotatableContent::Oblique => "The slice through the crosshair, at any angle",
        };
        if ui.radio(view.turned == content, content.name()).on_hover_text(help).clicked() {
            actions.push(ViewAction::ShowTurned(content));
            if !view.shows_turned() {
                actions.push(ViewAction::SetLayout(Layout::Grid));
            }
        }
    }
    let mut spins = view.spins;
    if ui.checkbox(&mut spins, "Rotate continuously").clicked() {
        actions.push(ViewAction::SetSpin(spins));
    }
    if ui.button("Reset rotation").on_hover_text("Returns to the coronal view").clicked() {
        actions.push(ViewAction::Straighten);
    }
}

fn thickness_ui(thickness: Thickness, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let mut wanted = thickness;
    ui.horizontal(|ui| {
        let value = DragValue::new(&mut wanted.mm).range(0.0..=500.0).speed(0.5).max_decimals(1).suffix(" mm");
        let response = ui.add(value).on_hover_text("Slices whose middle lies within are shown together; 0: one slice");
        name(&response, "Thickness");
        for (combination, label) in [(Combination::Mean, "mean"), (Combination::Maximum, "maximum")] {
            ui.radio_value(&mut wanted.combination, combination, label);
        }
    });
    if wanted != thickness {
        actions.push(ViewAction::SetThickness(wanted));
    }
}

fn palette_ui(palette: Palette, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let combo = egui::ComboBox::from_id_salt("palette").width(PALETTE_WIDTH).selected_text(palette.name()).show_ui(ui, |ui| {
        for &choice in Palette::VARIANTS {
            if ui.selectable_label(choice == palette, choice.name()).clicked() {
                actions.push(ViewAction::SetPalette(choice));
            }
        }
    });
    let label = format!("Palette: {}", palette.name());
    combo.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, &label));
}

/// Window and views.
fn window_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let shown = |ends: [f32; 2]| ends.map(|end| view.scale.value(end) as f32);
    let before = shown(view.colouring.window);
    let (mut window, range) = (before, shown(view.range));
    let speed = f64::from(range[1] - range[0]).abs().max(1e-6) / 300.0;
    // As little as may lie between the ends.
    let least = 1e-3 * (range[1] - range[0]).abs();
    let is_signed = view.colouring.palette == Palette::Signed;
    let lowest = if has_negative(range) || is_signed { f32::NEG_INFINITY } else { 0.0 };
    let allowed = [(lowest, window[1] - least), (window[0] + least, f32::INFINITY)];
    ui.label("Window").on_hover_text(view.scale.label());
    for ((end, label), (low, high)) in window.iter_mut().zip(["Window bottom", "Window top"]).zip(allowed) {
        let mut value = DragValue::new(end).speed(speed).custom_formatter(|v, _| format::value(v));
        if !is_signed {
            value = value.range(low.min(high)..=high);
        }
        let response = ui.add_sized([END_WIDTH, ui.spacing().interact_size.y], value);
        name(&response, label);
        if is_signed {
            response.on_hover_text("Signed colours are white at 0, so their window is symmetric about it");
        }
    }
    if window != before {
        // An end that was not edited stays to the last bit.
        let of_image = |end: usize| (f64::from(window[end]) / view.scale.factor) as f32;
        let kept = |end: usize| if window[end] == before[end] { view.colouring.window[end] } else { of_image(end) };
        actions.push(ViewAction::SetWindow([kept(0), kept(1)]));
    }
    follow_ui(view.colouring, ui, actions);
    button_ui("Full", "From the smallest to the largest value", ViewAction::FullWindow, ui, actions);
    let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let menu = MenuButton::new("Views").config(stays);
    let (response, _) = menu.ui(ui, |ui| views_ui(view, ui, actions));
    response.on_hover_text("Zoom, crosshair, layout, thick slices, MIP, oblique slice");
}

/// Whether the window follows the image, and up to which share of its values, or is locked.
fn follow_ui(colouring: &ColourScale, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    const LOCKED: &str = "locked";
    let now = if colouring.auto_window { colouring.top.name() } else { LOCKED };
    let combo = egui::ComboBox::from_id_salt("window follows").width(60.0).selected_text(now).show_ui(ui, |ui| {
        for &top in WindowPercentile::VARIANTS {
            let help = match top {
                WindowPercentile::NearlyAll => "The window follows the image: up to its largest values, but for a few outliers",
                _ => "The window follows the image: percentage of the non-zero values below its top",
            };
            if ui.selectable_label(now == top.name(), top.name()).on_hover_text(help).clicked() {
                actions.push(ViewAction::FollowWindow(top));
            }
        }
        let help = "The window stays as it is, for every iterate and every run of this study";
        if ui.selectable_label(now == LOCKED, LOCKED).on_hover_text(help).clicked() {
            actions.push(ViewAction::LockWindow);
        }
    });
    let label = format!("Window follows: {now}");
    combo.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, &label));
}
