//! The bar above the slices: tool, palette, window, iterate; and the colour bar beside them.

use egui::containers::menu::MenuButton;
use egui::{Align2, Color32, DragValue, FontId, Mesh, Pos2, Rect, Sense, Ui};
use strum::VariantArray as _;

use super::action::ViewAction;
use super::tool::Tool;
use super::view::ViewState;
use crate::render::{Interpolation, Palette};
use crate::ui::widgets::colouring::Colouring;
use crate::ui::widgets::fields::name;
use crate::ui::widgets::format;
use crate::ui::widgets::theme;

/// What the bars show.
pub struct ToolbarView<'a> {
    /// Tool, interpolation, …
    pub view: &'a ViewState,
    /// Palette and window of the image.
    pub colouring: &'a Colouring,
    /// Smallest and largest value of the image.
    pub range: [f32; 2],
    /// Unit of the values.
    pub unit: &'a str,
}

/// Width from which the bar has one row.
const ONE_ROW_WIDTH: f32 = 960.0;

/// The bar above the slices, in one row or two; what is wider still goes on below: never beyond the edge.
pub fn toolbar_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let is_one_row = ui.available_width() >= ONE_ROW_WIDTH;
    ui.horizontal_wrapped(|ui| {
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
    let mut wanted = smooth;
    ui.checkbox(&mut wanted, "Smooth").on_hover_text("Interpolate between voxel centres");
    if wanted != smooth {
        let interpolation = if wanted { Interpolation::Linear } else { Interpolation::Nearest };
        actions.push(ViewAction::SetInterpolation(interpolation));
    }
    let mut rois = view.view.show_rois;
    ui.checkbox(&mut rois, "ROIs").on_hover_text("Show the outlines of the regions of interest");
    if rois != view.view.show_rois {
        actions.push(ViewAction::ShowRois(rois));
    }
}

fn palette_ui(palette: Palette, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let combo = egui::ComboBox::from_id_salt("palette").selected_text(palette.name()).show_ui(ui, |ui| {
        for &choice in Palette::VARIANTS {
            if ui.selectable_label(choice == palette, choice.name()).clicked() {
                actions.push(ViewAction::SetPalette(choice));
            }
        }
    });
    let label = format!("Palette: {}", palette.name());
    combo.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, &label));
}

/// Window and zoom.
fn window_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let mut window = view.colouring.window;
    let speed = f64::from(view.range[1] - view.range[0]).abs().max(1e-6) / 300.0;
    ui.label("Window");
    for (end, label) in window.iter_mut().zip(["Window bottom", "Window top"]) {
        let value = DragValue::new(end).speed(speed).custom_formatter(|v, _| format::value(v));
        let response = ui.add(value);
        name(&response, label);
        if view.colouring.palette == Palette::Signed {
            response.on_hover_text("Signed colours are white at 0, so their window is symmetric about it");
        }
    }
    if window != view.colouring.window {
        actions.push(ViewAction::SetWindow(window));
    }
    let mut auto = view.colouring.auto_window;
    ui.checkbox(&mut auto, "auto").on_hover_text("The window follows the image");
    if auto != view.colouring.auto_window {
        actions.push(ViewAction::SetAutoWindow(auto));
    }
    let mut button = |name: &str, help: &str, action: ViewAction| {
        if ui.button(name).on_hover_text(help).clicked() {
            actions.push(action);
        }
    };
    button("Full", "From the smallest to the largest value", ViewAction::FullWindow);
    button("Fit object", "Zoom to what is active in the image (F)", ViewAction::FitObject);
    button("Reset view", "Whole image in view (Home)", ViewAction::Reset);
}

/// The colour bar with its unit, the ends of the window and round values between.
pub fn colour_bar_ui(view: &ToolbarView, ui: &mut Ui) {
    let rect = ui.available_rect_before_wrap();
    let response = ui.interact(rect, ui.scope_id().with("colour bar"), Sense::hover());
    let label = format!(
        "Colour bar from {} to {} {}",
        format::value(f64::from(view.colouring.window[0])),
        format::value(f64::from(view.colouring.window[1])),
        view.unit
    );
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &label));
    let colours = theme::colours(ui.visuals());
    let bar = Rect::from_min_max(rect.min + egui::vec2(4.0, 22.0), Pos2::new(rect.left() + 22.0, rect.bottom() - 8.0));
    if bar.height() < 20.0 {
        return;
    }
    let painter = ui.painter_at(rect);
    painter.add(gradient(bar, view.colouring.palette));
    painter.rect_stroke(bar, 0.0, egui::Stroke::new(1.0, colours.overlay), egui::StrokeKind::Outside);
    let font = FontId::proportional(11.0);
    painter.text(rect.left_top() + egui::vec2(4.0, 2.0), Align2::LEFT_TOP, view.unit, font.clone(), colours.overlay);
    let [low, high] = view.colouring.window.map(f64::from);
    for k in 0..=4 {
        let t = f64::from(k) / 4.0;
        let y = bar.bottom() - (t * f64::from(bar.height())) as f32;
        painter.line_segment([Pos2::new(bar.right(), y), Pos2::new(bar.right() + 4.0, y)], (1.0, colours.overlay));
        let words = format::value(low + t * (high - low));
        painter.text(Pos2::new(bar.right() + 6.0, y), Align2::LEFT_CENTER, words, font.clone(), colours.overlay);
    }
}

/// A mesh that runs through a palette from the bottom to the top.
fn gradient(bar: Rect, palette: Palette) -> Mesh {
    const STEPS: u32 = 64;
    let mut mesh = Mesh::default();
    for k in 0..=STEPS {
        let t = k as f32 / STEPS as f32;
        let [r, g, b] = palette.colour(f64::from(t));
        let colour = Color32::from_rgb(r, g, b);
        let y = bar.bottom() - t * bar.height();
        mesh.colored_vertex(Pos2::new(bar.left(), y), colour);
        mesh.colored_vertex(Pos2::new(bar.right(), y), colour);
        if k > 0 {
            let i = 2 * (k - 1);
            mesh.add_triangle(i, i + 1, i + 2);
            mesh.add_triangle(i + 1, i + 2, i + 3);
        }
    }
    mesh
}
