//! Colour bar of the slices: the colours of round values. Its ends and its middle change the window.

use egui::{Align2, Color32, FontId, Mesh, Pos2, Rect, Sense, Ui};

use super::action::ViewAction;
use super::slices_view::picture_menu_ui;
use super::toolbar::ToolbarView;
use crate::render::{NUM_COLOURS, Palette};
use crate::ui::widgets::format;
use crate::ui::widgets::theme;

/// Distance of round values, at least, points.
const LABEL_DISTANCE: f32 = 34.0;

/// The part of the bar at either end by which that end is dragged.
const END_PART: f32 = 0.2;

/// Part of the window that a drag changes.
#[derive(Clone, Copy)]
enum Part {
    Top,
    Bottom,
    Level,
}

impl Part {
    fn at(bar: Rect, y: f32) -> Self {
        let t = (bar.bottom() - y) / bar.height();
        match t {
            _ if t < END_PART => Part::Bottom,
            _ if t > 1.0 - END_PART => Part::Top,
            _ => Part::Level,
        }
    }
}

/// Draws the colour bar with its unit and round values. Returns the effect of the pointer.
pub fn colour_bar_ui(view: &ToolbarView, ui: &mut Ui, actions: &mut Vec<ViewAction>) -> Option<String> {
    let rect = ui.available_rect_before_wrap();
    let response = ui.interact(rect, ui.scope_id().with("colour bar"), Sense::click_and_drag());
    let label = format!(
        "Colour bar from {} to {} {}",
        format::value(view.scale.value(view.colouring.window[0])),
        format::value(view.scale.value(view.colouring.window[1])),
        view.scale.label()
    );
    picture_menu_ui(&response, actions);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &label));
    let bar = Rect::from_min_max(rect.min + egui::vec2(4.0, 22.0), Pos2::new(rect.left() + 22.0, rect.bottom() - 8.0));
    if bar.height() < 20.0 {
        return None;
    }
    draw(view, ui, rect, bar);
    if view.has_own_window {
        return None;
    }
    let delta = response.drag_delta().y;
    if delta != 0.0
        && let Some(origin) = ui.input(|input| input.pointer.press_origin())
    {
        actions.push(dragged(view, Part::at(bar, origin.y), -delta / bar.height()));
    }
    if response.hovered() {
        ui.set_cursor_icon(egui::CursorIcon::ResizeVertical);
    }
    let here = match Part::at(bar, response.hover_pos()?.y) {
        Part::Top => "Drag: the value of the last colour",
        Part::Bottom => "Drag: the value of the first colour",
        Part::Level => "Drag: the level in the middle of the window",
    };
    Some(format!("{here} · ends of the bar: first and last colour, middle: level"))
}

/// Returns the action of a drag of a part upwards by a fraction of the bar.
fn dragged(view: &ToolbarView, part: Part, up: f32) -> ViewAction {
    let [low, high] = view.colouring.window;
    let by = up * (high - low);
    match part {
        Part::Top => ViewAction::SetWindow([low, high + by]),
        Part::Bottom => ViewAction::SetWindow([low + by, high]),
        Part::Level => ViewAction::MoveLevel(by),
    }
}

fn draw(view: &ToolbarView, ui: &Ui, rect: Rect, bar: Rect) {
    let colours = theme::colours(ui.visuals());
    let painter = ui.painter_at(rect);
    painter.add(gradient(bar, view.colouring.palette));
    painter.rect_stroke(bar, 0.0, egui::Stroke::new(1.0, colours.overlay), egui::StrokeKind::Outside);
    let font = FontId::proportional(11.0);
    painter.text(rect.left_top() + egui::vec2(4.0, 2.0), Align2::LEFT_TOP, view.scale.label(), font.clone(), colours.overlay);
    let [low, high] = view.colouring.window.map(|end| view.scale.value(end));
    let (step, decimals) = round_step((high - low) * f64::from(LABEL_DISTANCE / bar.height()));
    let exponent = is_unhandy(low.abs().max(high.abs()), decimals);
    for k in (low / step).ceil() as i64..=(high / step).floor() as i64 {
        let value = k as f64 * step;
        let y = bar.bottom() - ((value - low) / (high - low)) as f32 * bar.height();
        painter.line_segment([Pos2::new(bar.right(), y), Pos2::new(bar.right() + 4.0, y)], (1.0, colours.overlay));
        let words = match (k, exponent) {
            (0, true) => "0".to_owned(),
            (_, true) => format!("{value:.1e}"),
            (_, false) => format!("{value:.decimals$}"),
        };
        painter.text(Pos2::new(bar.right() + 6.0, y), Align2::LEFT_CENTER, words, font.clone(), colours.overlay);
    }
}

/// The least 1, 2 or 5 times a power of ten that is not below `least`, and how many decimals its multiples have.
fn round_step(least: f64) -> (f64, usize) {
    let least = if least.is_finite() && least > 0.0 { least } else { 1.0 };
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= least * (1.0 - 1e-9));
    let step = step.unwrap_or(10.0 * power);
    (step, (-(step * (1.0 + 1e-9)).log10().floor()).max(0.0) as usize)
}

/// True if numbers of this size and number of decimals are too wide for the bar.
fn is_unhandy(size: f64, decimals: usize) -> bool {
    size >= 1e6 || decimals > 5
}

/// Returns the colours of a palette from the bottom to the top.
fn gradient(bar: Rect, palette: Palette) -> Mesh {
    let mut mesh = Mesh::default();
    let height = bar.height() / NUM_COLOURS as f32;
    for (k, [r, g, b, _]) in palette.table().into_iter().enumerate() {
        let bottom = bar.bottom() - k as f32 * height;
        let part = Rect::from_min_max(Pos2::new(bar.left(), bottom - height), Pos2::new(bar.right(), bottom));
        mesh.add_colored_rect(part, Color32::from_rgb(r, g, b));
    }
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beside_the_bar_are_round() {
        for (least, step, decimals) in
            [(0.0003, 0.0005, 4), (0.1, 0.1, 1), (0.21, 0.5, 1), (1.0, 1.0, 0), (7.0, 10.0, 0), (130.0, 200.0, 0)]
        {
            let (found, places) = round_step(least);
            assert!((found / step - 1.0).abs() < 1e-9 && places == decimals, "{least}: {found}, {places}");
        }
        assert_eq!(round_step(f64::NAN), (1.0, 0));
    }

    #[test]
    fn parts_of_the_bar_are_its_ends_and_its_middle() {
        let bar = Rect::from_min_size(Pos2::new(0.0, 100.0), egui::vec2(20.0, 200.0));
        assert!(matches!(Part::at(bar, 110.0), Part::Top));
        assert!(matches!(Part::at(bar, 200.0), Part::Level));
        assert!(matches!(Part::at(bar, 290.0), Part::Bottom));
    }
}
