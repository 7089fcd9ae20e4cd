//! Pointer in the views, and the line that describes its effect.

use egui::{PointerButton, Pos2, Response, Ui};

use super::action::{Drag, ViewAction};
use super::oblique_line::ObliqueLine;
use super::outline::{HitArea, roi_at, selected_grip_at};
use super::slices_view::SlicesView;
use super::tool::Tool;
use super::view::SliceGeometry;
use super::view_layout::Cell;
use crate::data::RoiPlane;
use crate::geometry::Point;
use crate::ui::rois::document::DragHandle;
use crate::ui::widgets::theme;

/// Position of the pointer in a view.
pub struct Pointed {
    /// The plane, if it is one of the image's.
    pub plane: Option<RoiPlane>,
    /// The point, mm, where the view has a plane.
    pub point: Option<Point>,
    /// Effect of the pointer.
    pub help: String,
}

/// Returns the object of a drag with a button and modifier keys, the same in every view.
pub(super) fn common_drag(ui: &Ui, response: &Response) -> Option<Drag> {
    let modifiers = ui.input(|input| input.modifiers);
    let by = |button: PointerButton| response.dragged_by(button);
    if by(PointerButton::Middle) || (by(PointerButton::Primary) && modifiers.command) {
        return Some(Drag::Pan);
    }
    let is_window = by(PointerButton::Secondary) || (by(PointerButton::Primary) && modifiers.shift);
    is_window.then_some(Drag::Window)
}

pub(super) fn slice_pointer(
    view: &SlicesView,
    slice: &SliceGeometry,
    ui: &Ui,
    response: &Response,
    actions: &mut Vec<ViewAction>,
) -> Option<Pointed> {
    drag(view, slice, ui, response, actions);
    if response.double_clicked() && view.view.tool == Tool::Polygon {
        actions.push(ViewAction::ClosePolygon);
    } else if response.double_clicked() {
        actions.push(ViewAction::ToggleMaximised(Cell::Slice(slice.plane)));
    } else if response.clicked()
        && let Some(position) = response.interact_pointer_pos()
    {
        click(view, slice, ui, position, actions);
    }
    let position = response.hover_pos()?;
    let normal = slice.plane.axes().1;
    let (zoom, slices) = (ui.input(|input| f64::from(input.zoom_delta())), wheel_slices(ui));
    if zoom != 1.0 {
        actions.push(ViewAction::Zoom { off: slice.delta_mm(position - slice.rect.center()), factor: zoom });
    } else if slices != 0 {
        actions.push(ViewAction::StepSlice(normal, slices));
    }
    if view.drag.is_none() {
        ui.set_cursor_icon(cursor(view, slice, position));
    }
    let help = slice_help(view, slice, position);
    Some(Pointed { plane: Some(slice.plane), point: Some(slice.mm_from_screen(position)), help })
}

fn drag(view: &SlicesView, slice: &SliceGeometry, ui: &Ui, response: &Response, actions: &mut Vec<ViewAction>) {
    if response.drag_started()
        && let Some(position) = ui.input(|input| input.pointer.press_origin())
        && let Some(drag) = common_drag(ui, response).or_else(|| tool_drag(view, slice, response, position))
    {
        actions.push(ViewAction::BeginDrag { drag, plane: slice.plane, at: slice.mm_from_screen(position) });
    }
    if response.dragged()
        && let Some(position) = response.interact_pointer_pos()
    {
        let delta = response.drag_delta();
        actions.push(ViewAction::MoveDrag { to: slice.mm_from_screen(position), delta, delta_mm: slice.delta_mm(delta) });
    }
    if response.drag_stopped() {
        actions.push(ViewAction::EndDrag);
    }
}

/// Returns the object of a drag with the left button that begins here.
fn tool_drag(view: &SlicesView, slice: &SliceGeometry, response: &Response, position: Pos2) -> Option<Drag> {
    if !response.dragged_by(PointerButton::Primary) {
        return None;
    }
    Some(match view.view.tool {
        Tool::Crosshair if is_at_oblique(view, slice, position) => Drag::Oblique,
        Tool::Crosshair => selected_grip(view, slice, position).map_or(Drag::Crosshair, |(index, grip)| Drag::Roi(index, grip)),
        Tool::Profile => Drag::Profile,
        Tool::Polygon => return None,
        tool => Drag::Draw(tool),
    })
}

/// Handles a click: it sets the crosshair and selects a ROI by its line. With Alt it only selects the ROI around it. With the tool
/// for polygons it sets a corner.
fn click(view: &SlicesView, slice: &SliceGeometry, ui: &Ui, position: Pos2, actions: &mut Vec<ViewAction>) {
    let at = |reach| roi_at(view.visible_rois(), slice, &view.volume.grid, position, reach);
    if ui.input(|input| input.modifiers.alt) {
        actions.push(ViewAction::SelectRoi(at(HitArea::Inside)));
        actions.push(ViewAction::Click(None));
        return;
    }
    if view.view.tool == Tool::Polygon {
        actions.push(ViewAction::AddCorner { plane: slice.plane, at: slice.mm_from_screen(position) });
        return;
    }
    let stays = || selected_grip(view, slice, position).map(|(index, _)| index);
    actions.push(ViewAction::SelectRoi(at(HitArea::Line).or_else(stays)));
    let is_crosshair = view.view.tool == Tool::Crosshair;
    actions.push(ViewAction::Click(is_crosshair.then(|| slice.mm_from_screen(position))));
}

/// True if a handle of the oblique slice is at a position.
fn is_at_oblique(view: &SlicesView, slice: &SliceGeometry, position: Pos2) -> bool {
    let line = ObliqueLine::of(view.view, slice).filter(|_| view.view.show_crosshair);
    line.is_some_and(|line| line.handles(slice).iter().any(|handle| handle.distance(position) <= theme::GRAB_DISTANCE))
}

fn selected_grip(view: &SlicesView, slice: &SliceGeometry, position: Pos2) -> Option<(usize, DragHandle)> {
    selected_grip_at(view.visible_rois(), view.selected, slice, &view.volume.grid, position)
}

/// Returns the number of slices that the wheel requests in this frame: one per notch. Trackpads count 30 points as one; the rest
/// counts in the next frame.
pub(super) fn wheel_slices(ui: &Ui) -> i64 {
    let (mut notches, mut points) = (0.0, 0.0);
    ui.input(|input| {
        for event in &input.raw.events {
            if let egui::Event::MouseWheel { unit, delta, modifiers, .. } = event
                && !modifiers.command
            {
                match unit {
                    egui::MouseWheelUnit::Line => notches -= delta.y.signum() * delta.y.abs().ceil(),
                    egui::MouseWheelUnit::Point => points -= delta.y / 30.0,
                    egui::MouseWheelUnit::Page => notches -= 10.0 * delta.y,
                }
            }
        }
    });
    if points != 0.0 {
        ui.data_mut(|data| {
            let rest: &mut f32 = data.get_temp_mut_or_default(egui::Id::unique("wheel rest"));
            *rest += points;
            notches += rest.trunc();
            *rest -= rest.trunc();
        });
    }
    notches.round() as i64
}

fn cursor(view: &SlicesView, slice: &SliceGeometry, position: Pos2) -> egui::CursorIcon {
    if view.view.tool != Tool::Crosshair {
        return egui::CursorIcon::Crosshair;
    }
    if is_at_oblique(view, slice, position) {
        return egui::CursorIcon::Grab;
    }
    match selected_grip(view, slice, position) {
        Some((_, DragHandle::Move)) => egui::CursorIcon::Move,
        Some((_, DragHandle::Rotate)) => egui::CursorIcon::Grab,
        Some((_, DragHandle::Corner(_))) => egui::CursorIcon::Crosshair,
        Some((_, DragHandle::Resize(_, 0))) => egui::CursorIcon::ResizeHorizontal,
        Some((_, DragHandle::Resize(0, _))) => egui::CursorIcon::ResizeVertical,
        Some((_, DragHandle::Resize(x, y))) if x == y => egui::CursorIcon::ResizeNwSe,
        Some((_, DragHandle::Resize(..))) => egui::CursorIcon::ResizeNeSw,
        None => egui::CursorIcon::Crosshair,
    }
}

/// Effect of buttons and wheel in every view.
pub(super) const HELP_EVERYWHERE: &str =
    "Ctrl+wheel: zoom · Right or Shift+drag: window/level · Middle or Ctrl+drag: pan · Double-click: enlarge";

/// Returns the line on the effect of the pointer in a slice.
pub fn help_text(tool: Tool) -> String {
    let here = match tool {
        Tool::Crosshair => "Click or drag: crosshair · Click an outline or Alt+click inside: select the ROI",
        Tool::Circle | Tool::Sphere => "Drag from the centre outwards to draw a ROI · Esc: back to the crosshair",
        Tool::Rectangle | Tool::Ellipse | Tool::Box | Tool::Ellipsoid => {
            "Drag from corner to corner to draw a ROI · Esc: back to the crosshair"
        }
        Tool::Polygon => "Click: corner · Double-click or Enter: close the polygon · Esc: back to the crosshair",
        Tool::Freehand => "Drag once around the region · Esc: back to the crosshair",
        Tool::Isocontour => "Drag a ball that holds the maximum, from its centre outwards · Esc: back to the crosshair",
        Tool::Profile => "Drag along the line of the profile · Esc: back to the crosshair",
    };
    format!("{here} · Wheel: slice · {HELP_EVERYWHERE}")
}

/// Returns the line on the effect of the pointer at a position.
fn slice_help(view: &SlicesView, slice: &SliceGeometry, position: Pos2) -> String {
    if view.view.tool != Tool::Crosshair {
        return help_text(view.view.tool);
    }
    if is_at_oblique(view, slice, position) {
        return format!("Drag: turn the oblique slice · Click: crosshair · Wheel: slice · {HELP_EVERYWHERE}");
    }
    let at = |reach| roi_at(view.visible_rois(), slice, &view.volume.grid, position, reach);
    let here = match (selected_grip(view, slice, position), at(HitArea::Line), at(HitArea::Inside)) {
        (Some((_, DragHandle::Move)), ..) => "Drag: move this ROI · Click: crosshair",
        (Some((_, DragHandle::Rotate)), ..) => "Drag: turn this ROI · Click: crosshair",
        (Some((_, DragHandle::Corner(_))), ..) => "Drag: this corner of the ROI · Click: crosshair",
        (Some(_), ..) => "Drag: size of this ROI · Click: crosshair",
        (None, Some(_), _) => "Click: select this ROI, and crosshair · Drag: crosshair",
        (None, None, Some(_)) => "Click or drag: crosshair · Alt+click: select this ROI",
        (None, None, None) => return help_text(Tool::Crosshair),
    };
    format!("{here} · Wheel: slice · {HELP_EVERYWHERE}")
}
