//! Toolbar above the slices: tool, palette, views, window.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{DragValue, Ui};
use strum::VariantArray as _;

use super::action::ViewAction;
use super::rotatable_view::{RotatableContent, Rotation};
use super::tool::Tool;
use super::view::ViewState;
use super::view_layout::Layout;
use crate::data::ValueScale;
use crate::render::{Combination, Interpolation, Palette};
use crate::ui::widgets::colour_scale::{ColourScale, WindowPercentile, has_negative};
use crate::ui::widgets::fields::name;
use crate::ui::widgets::format;
use crate::ui::widgets::icons::{IconButton, Prominence};
use crate::ui::widgets::window_presets::window_presets;

/// Input of the toolbar and the colour bar.
pub struct ToolbarView<'a> {
    pub view: &'a ViewState,
    pub colouring: &'a ColourScale,
    /// Smallest and largest value of the image.
    pub range: [f32; 2],
    /// Displayed unit.
    pub scale: ValueScale,
    /// True if the image is a single slice.
    pub is_slice: bool,
    /// Mean of the liver's region in the image's own unit.
    pub liver_mean: Option<f64>,
    /// True if the displayed values have a fixed window, not that of the image.
    pub has_own_window: bool,
}

/// Smallest width of a bar with one row, points.
const ONE_ROW_WIDTH: f32 = 960.0;

/// Smallest width of a bar with icons and labels of the tools, points.
const LABELS_WIDTH: f32 = 1240.0;

/// Size of the colours of a palette in the list, points.
const SWATCH: egui::Vec2 = egui::vec2(64.0, 14.0);

/// Width of the list of palettes, which fits the longest name, points.
const PALETTE_WIDTH: f32 = 118.0;

/// Width of the fields of the window's ends, points. Longer numbers do not move other fields.
const END_WIDTH: f32 = 62.0;

/// Draws the toolbar in one row or two, and wraps longer rows.
pub fn toolbar_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let is_one_row = ui.available_width() >= ONE_ROW_WIDTH;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        display_ui(view, ui, actions);
        if is_one_row {
            ui.separator();
            window_ui(view, ui, actions);
        }
    });
    if !is_one_row {
        ui.horizontal_wrapped(|ui| window_ui(view, ui, actions));
    }
}

/// Draws tool, palette, interpolation and ROIs.
fn display_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let has_labels = ui.available_width() >= LABELS_WIDTH;
    let choose = |ui: &mut Ui, tool: Tool| {
        let button = IconButton::new(tool.icon(), tool.name()).prominence(Prominence::Quiet).selected(view.view.tool == tool);
        let button = if has_labels || tool.is_in_menu() { button } else { button.icon_only() };
        let help = format!("{}: {}", tool.name(), tool.help());
        ui.add(button).on_hover_text(help).clicked().then_some(tool)
    };
    let mut chosen = None;
    for &tool in Tool::VARIANTS.iter().filter(|tool| !tool.is_in_menu()) {
        chosen = choose(ui, tool).or(chosen);
    }
    let is_current = view.view.tool.is_in_menu();
    let text = if is_current { format!("More: {}", view.view.tool.name()) } else { "More…".to_owned() };
    let (menu, _) = MenuButton::from_button(egui::Button::new(text).selected(is_current)).ui(ui, |ui| {
        for &tool in Tool::VARIANTS.iter().filter(|tool| tool.is_in_menu()) {
            chosen = choose(ui, tool).or(chosen);
        }
    });
    menu.on_hover_text("More shapes of regions");
    actions.extend(chosen.map(ViewAction::SetTool));
    ui.separator();
    palette_ui(view.colouring.palette, ui, actions);
    edit_ui(view.view, ui, actions, |edited, ui| {
        let mut smooth = edited.interpolation == Interpolation::Linear;
        ui.checkbox(&mut smooth, "Smooth").on_hover_text("Interpolate between voxel centres");
        edited.interpolation = if smooth { Interpolation::Linear } else { Interpolation::Nearest };
        ui.checkbox(&mut edited.show_rois, "ROIs").on_hover_text("Show the outlines of the regions of interest");
    });
}

/// Draws fields of the views' settings; pushes the settings after an edit.
fn edit_ui(view: &ViewState, ui: &mut Ui, actions: &mut Vec<ViewAction>, fields: impl FnOnce(&mut ViewState, &mut Ui)) {
    let mut edited = view.clone();
    fields(&mut edited, ui);
    if edited != *view {
        actions.push(ViewAction::Edit(Box::new(edited)));
    }
}

fn button_ui(name: &str, help: &str, action: ViewAction, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    if ui.button(name).on_hover_text(help).clicked() {
        actions.push(action);
    }
}

/// Draws zoom, crosshair, layout, thickness of the slices, and rotatable view.
fn views_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    ui.horizontal(|ui| {
        button_ui("Fit object", "Zooms to the active region (F)", ViewAction::FitObject, ui, actions);
        button_ui("Whole image", "The whole image in view (Home)", ViewAction::Reset, ui, actions);
    });
    edit_ui(view.view, ui, actions, |edited, ui| {
        ui.checkbox(&mut edited.show_crosshair, "Crosshair").on_hover_text("Shows the crosshair");
        let help = "Shows settings that only the reproduction of a paper needs, among the settings for the next run";
        ui.checkbox(&mut edited.shows_research, "Research settings").on_hover_text(help);
        if !view.is_slice {
            volume_ui(edited, ui);
        }
    });
}

/// Draws the settings of views that a single slice does not have.
fn volume_ui(view: &mut ViewState, ui: &mut Ui) {
    ui.separator();
    ui.strong("Layout");
    for &layout in Layout::VARIANTS {
        if ui.radio(view.layout == layout, layout.name()).clicked() {
            (view.layout, view.maximised) = (layout, None);
        }
    }
    ui.separator();
    ui.strong("Thick slices");
    ui.horizontal(|ui| {
        let value = DragValue::new(&mut view.thickness.mm).range(0.0..=500.0).speed(0.5).max_decimals(1).suffix(" mm");
        let response = ui.add(value).on_hover_text("Slices whose middle lies within are shown together; 0: one slice");
        name(&response, "Thickness");
        for (combination, label) in [(Combination::Mean, "mean"), (Combination::Maximum, "maximum")] {
            ui.radio_value(&mut view.thickness.combination, combination, label);
        }
    });
    ui.separator();
    ui.strong("Rotatable view");
    for &content in RotatableContent::VARIANTS {
        let help = match content {
            RotatableContent::Mip => "Maximum intensity projection: the largest value along the line of sight",
            RotatableContent::Oblique => "The slice through the crosshair, at any angle",
        };
        if ui.radio(view.turned == content, content.name()).on_hover_text(help).clicked() {
            view.turned = content;
            if !view.shows_turned() {
                (view.layout, view.maximised) = (Layout::Grid, None);
            }
        }
    }
    ui.checkbox(&mut view.spins, "Rotate continuously");
    if ui.button("Reset rotation").on_hover_text("Returns to the coronal view").clicked() {
        (view.turn, view.spins) = (Rotation::default(), false);
    }
}

fn palette_ui(palette: Palette, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let combo = egui::ComboBox::from_id_salt("palette").width(PALETTE_WIDTH);
    menu(ui, combo, "Palette", palette.name(), |ui| {
        for &choice in Palette::VARIANTS {
            ui.horizontal(|ui| {
                swatch_ui(choice, ui);
                if ui.selectable_label(choice == palette, choice.name()).clicked() {
                    actions.push(ViewAction::SetPalette(choice));
                    ui.close();
                }
            });
        }
    });
}

/// Draws the colours of a palette.
fn swatch_ui(palette: Palette, ui: &mut Ui) {
    const NUM_PARTS: usize = 16;
    let (rect, _) = ui.allocate_exact_size(SWATCH, egui::Sense::hover());
    let table = palette.table();
    for part in 0..NUM_PARTS {
        let [r, g, b, _] = table[part * (table.len() - 1) / (NUM_PARTS - 1)];
        let left = rect.left() + SWATCH.x * part as f32 / NUM_PARTS as f32;
        let size = egui::vec2(SWATCH.x / NUM_PARTS as f32, SWATCH.y);
        ui.painter().rect_filled(
            egui::Rect::from_min_size(egui::pos2(left, rect.top()), size),
            0.0,
            egui::Color32::from_rgb(r, g, b),
        );
    }
}

/// Draws a menu that is called "label: current" for screen readers and tests.
fn menu(ui: &mut Ui, combo: egui::ComboBox, label: &str, current: &str, contents: impl FnOnce(&mut Ui)) {
    let response = combo.selected_text(current).show_ui(ui, contents).response;
    let label = format!("{label}: {current}");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, &label));
}

fn window_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let shown = |ends: [f32; 2]| ends.map(|end| view.scale.value(end) as f32);
    let before = shown(view.colouring.window);
    let (mut window, range) = (before, shown(view.range));
    let speed = f64::from(range[1] - range[0]).abs().max(1e-6) / 300.0;
    // Smallest distance of the ends.
    let min_width = 1e-3 * (range[1] - range[0]).abs();
    let is_signed = view.colouring.palette == Palette::Signed;
    let lowest = if has_negative(range) || is_signed { f32::NEG_INFINITY } else { 0.0 };
    let allowed = [(lowest, window[1] - min_width), (window[0] + min_width, f32::INFINITY)];
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
        // An end that was not edited keeps all bits.
        let of_image = |end: usize| (f64::from(window[end]) / view.scale.factor) as f32;
        let kept = |end: usize| if window[end] == before[end] { view.colouring.window[end] } else { of_image(end) };
        actions.push(ViewAction::SetWindow([kept(0), kept(1)]));
    }
    follow_ui(view, ui, actions);
    button_ui("Full", "From the smallest to the largest value", ViewAction::FullWindow, ui, actions);
    let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let views = MenuButton::new("Views").config(stays);
    let (response, _) = views.ui(ui, |ui| views_ui(view, ui, actions));
    response.on_hover_text("Zoom, crosshair, layout, thick slices, MIP, oblique slice");
}

/// Top of the window of uptake values relative to the liver's mean.
const LIVER_FACTOR: f64 = 3.0;

/// Draws the choice of the percentile that the window follows, of a locked window, or of a usual one.
fn follow_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    const LOCKED: &str = "locked";
    let colouring = view.colouring;
    let now = if colouring.auto_window { colouring.top.name() } else { LOCKED };
    let combo = egui::ComboBox::from_id_salt("window follows").width(60.0);
    menu(ui, combo, "Window follows", now, |ui| {
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
        let presets = window_presets(view.scale.unit);
        if !presets.is_empty() {
            ui.separator();
        }
        if let Some(mean) = view.liver_mean.filter(|mean| *mean > 0.0 && !presets.is_empty()) {
            let help = "From 0 to three times the mean of the region whose name contains 'liver'";
            if ui.selectable_label(false, "0 to 3 × liver").on_hover_text(help).clicked() {
                actions.push(ViewAction::SetWindow([0.0, (LIVER_FACTOR * mean) as f32]));
            }
        }
        for preset in presets {
            if ui.selectable_label(false, preset.name).clicked() {
                actions.push(ViewAction::SetWindow(preset.window.map(|end| (f64::from(end) / view.scale.factor) as f32)));
            }
        }
    });
}
