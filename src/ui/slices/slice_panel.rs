//! The linked slices: pictures, and what the pointer does in them.

use egui::{PointerButton, Pos2, Rect, Sense, Ui};

use super::action::{Drag, ViewAction};
use super::outline::{roi_at, selected_grip_at};
use super::overlay;
use super::slice_paint::{SlicePaint, slice_view};
use super::tool::Tool;
use super::view::{SliceGeometry, ViewState, fit_scale, slice_index};
use crate::data::{Roi, RoiPlane, Volume};
use crate::geometry::{Grid, Point};
use crate::session::RoiNumbers;
use crate::ui::rois::measured::RoiLabels;
use crate::ui::widgets::colouring::Colouring;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::theme;

/// What the slices are drawn from.
pub struct SlicesView<'a> {
    /// Position, zoom, tool, …
    pub view: &'a ViewState,
    /// Palette and window of the image.
    pub colouring: &'a Colouring,
    /// The image on the screen.
    pub volume: &'a Volume,
    /// Regions of interest.
    pub rois: &'a [Roi],
    /// Their numbers, in the same order; shorter while there are none.
    pub numbers: &'a [RoiNumbers],
    /// Beside which outlines the numbers stand.
    pub labels: RoiLabels,
    /// The selected one.
    pub selected: Option<usize>,
    /// The one being drawn.
    pub draft: Option<&'a Roi>,
    /// The drag under way and the plane it began in.
    pub drag: Option<(Drag, RoiPlane)>,
    /// The image's axes.
    pub axes: ImageAxes,
    /// Whether there is an adapter to draw with.
    pub has_renderer: bool,
}

/// Draws the slices and pushes what the pointer asks for. Gives back the plane and the point under
/// the pointer.
pub fn slices_ui(view: &SlicesView, ui: &mut Ui, actions: &mut Vec<ViewAction>) -> Option<(RoiPlane, Point)> {
    let area = ui.available_rect_before_wrap();
    let only = if view.axes.is_slice { Some(RoiPlane::Transaxial) } else { view.view.maximised };
    let cells = layout(area, only);
    let grid = &view.volume.grid;
    let scale = cells.iter().map(|(plane, rect)| fit_scale(grid, *plane, rect.shrink(4.0).size())).fold(f64::INFINITY, f64::min);
    let mut hovered = None;
    for (slot, (plane, rect)) in cells.into_iter().enumerate() {
        if rect.width() < 8.0 || rect.height() < 8.0 {
            continue;
        }
        let mut middle_mm = view.view.focus_mm;
        let normal = plane.axes().1;
        let index = slice_index(grid, normal, view.view.crosshair_mm[normal]);
        middle_mm[normal] = grid.origin_mm[normal] + index as f64 * grid.voxel_mm[normal];
        let slice = SliceGeometry { plane, rect, scale: scale * view.view.zoom, middle_mm };
        hovered = slice_ui(view, &slice, slot, ui, actions).map(|point| (plane, point)).or(hovered);
    }
    hovered
}

/// Transaxial on the left, coronal over sagittal on the right; or the only one.
fn layout(area: Rect, only: Option<RoiPlane>) -> Vec<(RoiPlane, Rect)> {
    if let Some(plane) = only {
        return vec![(plane, area)];
    }
    let gap = theme::SLICE_GAP;
    let left_width = (0.5 * (area.width() - gap)).min(area.height()).floor();
    let right = Rect::from_min_max(Pos2::new(area.left() + left_width + gap, area.top()), area.max);
    let half = (0.5 * (area.height() - gap)).floor();
    let left = Rect::from_min_size(area.min, egui::vec2(left_width, area.height()));
    let upper = Rect::from_min_size(right.min, egui::vec2(right.width(), half));
    let lower = Rect::from_min_max(Pos2::new(right.left(), right.top() + half + gap), right.max);
    vec![(RoiPlane::Transaxial, left), (RoiPlane::Coronal, upper), (RoiPlane::Sagittal, lower)]
}

/// One slice.
fn slice_ui(view: &SlicesView, slice: &SliceGeometry, slot: usize, ui: &mut Ui, actions: &mut Vec<ViewAction>) -> Option<Point> {
    let response = ui.interact(slice.rect, ui.scope_id().with(slice.plane.name()), Sense::click_and_drag());
    let label = view.axes.view_name(slice.plane);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &label));
    let colours = theme::colours(ui.visuals());
    let painter = ui.painter_at(slice.rect);
    // A viewport that reaches beyond the window would be shifted: only the visible part is drawn.
    let visible = slice.rect.intersect(ui.clip_rect());
    if view.has_renderer && visible.is_positive() {
        let shown = slice_view(slice, visible, &view.volume.grid, view.colouring, colours.slice_background);
        let paint = SlicePaint { slot, view: shown, interpolation: view.view.interpolation };
        painter.add(eframe::egui_wgpu::Callback::new_paint_callback(visible, paint));
    }
    overlay::draw(view, slice, &painter, &colours);
    pointer(view, slice, ui, &response, actions);
    response.hover_pos().map(|position| slice.mm_from_screen(position))
}

/// What the pointer does in a slice.
fn pointer(view: &SlicesView, slice: &SliceGeometry, ui: &Ui, response: &egui::Response, actions: &mut Vec<ViewAction>) {
    let grid = &view.volume.grid;
    let ([a, b], normal) = slice.plane.axes();
    let mut push = |action| actions.push(action);
    if response.double_clicked() {
        push(ViewAction::ToggleMaximised(slice.plane));
    }
    if response.drag_started()
        && let Some(position) = ui.input(|input| input.pointer.press_origin())
        && let Some(drag) = drag_at(view, slice, ui, response, position)
    {
        push(ViewAction::BeginDrag { drag, plane: slice.plane, at: slice.mm_from_screen(position) });
    }
    if response.dragged()
        && let Some(position) = response.interact_pointer_pos()
    {
        push(ViewAction::MoveDrag { to: slice.mm_from_screen(position), delta: response.drag_delta(), scale: slice.scale });
    }
    if response.drag_stopped() {
        push(ViewAction::EndDrag);
    }
    if response.clicked()
        && let Some(position) = response.interact_pointer_pos()
    {
        let roi = roi_at(visible_rois(view), slice, grid, position);
        if view.view.tool == Tool::Crosshair && roi.is_none() {
            push(ViewAction::SetCrosshair(slice.mm_from_screen(position)));
        }
        push(ViewAction::SelectRoi(roi));
    }
    let Some(position) = response.hover_pos() else { return };
    let (zoom, slices) = (ui.input(|input| f64::from(input.zoom_delta())), wheel_slices(ui));
    if zoom != 1.0 {
        let about = slice.mm_from_screen(position);
        actions.push(ViewAction::Zoom { about, axes: [a, b], factor: zoom });
    } else if slices != 0 {
        actions.push(ViewAction::StepSlice(normal, slices));
    }
    if view.drag.is_none() {
        ui.set_cursor_icon(cursor(view, slice, position));
    }
}

/// What a drag that begins here moves.
fn drag_at(view: &SlicesView, slice: &SliceGeometry, ui: &Ui, response: &egui::Response, position: Pos2) -> Option<Drag> {
    if response.dragged_by(PointerButton::Middle) {
        return Some(Drag::Pan);
    }
    if response.dragged_by(PointerButton::Secondary) {
        return Some(Drag::Window);
    }
    if !response.dragged_by(PointerButton::Primary) {
        return None;
    }
    let modifiers = ui.input(|input| input.modifiers);
    if modifiers.command {
        return Some(Drag::Pan);
    }
    if modifiers.shift {
        return Some(Drag::Window);
    }
    Some(match view.view.tool {
        Tool::Crosshair => match selected_grip_at(visible_rois(view), view.selected, slice, &view.volume.grid, position) {
            Some((index, grip)) => Drag::Roi(index, grip),
            None => Drag::Crosshair,
        },
        Tool::Profile => Drag::Profile,
        tool => Drag::Draw(tool),
    })
}

/// The ROIs that can be taken: none while they are hidden.
fn visible_rois<'a>(view: &SlicesView<'a>) -> &'a [Roi] {
    if view.view.show_rois { view.rois } else { &[] }
}

/// Slices that the wheel asks for in this frame: one per notch; trackpads count 30 points as one, and what is left of
/// them is kept for the next frame.
fn wheel_slices(ui: &Ui) -> i64 {
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
    use crate::ui::rois::document::Grip;
    if view.view.tool != Tool::Crosshair {
        return egui::CursorIcon::Crosshair;
    }
    match selected_grip_at(visible_rois(view), view.selected, slice, &view.volume.grid, position) {
        Some((_, Grip::Move)) => egui::CursorIcon::Move,
        Some((_, Grip::Turn)) => egui::CursorIcon::Grab,
        Some((_, Grip::Corner(_))) => egui::CursorIcon::Crosshair,
        Some((_, Grip::Resize(_, 0))) => egui::CursorIcon::ResizeHorizontal,
        Some((_, Grip::Resize(0, _))) => egui::CursorIcon::ResizeVertical,
        Some((_, Grip::Resize(x, y))) if x == y => egui::CursorIcon::ResizeNwSe,
        Some((_, Grip::Resize(..))) => egui::CursorIcon::ResizeNeSw,
        None => egui::CursorIcon::Crosshair,
    }
}

/// The line that says what the pointer does here.
pub fn help_text(tool: Tool) -> &'static str {
    match tool {
        Tool::Crosshair => {
            "Drag: crosshair, or the selected ROI · Click an outline: select · Wheel: slice · Ctrl+wheel: zoom · Right or Shift+drag: window/level · Middle or Ctrl+drag: pan · Double-click: enlarge"
        }
        Tool::Circle | Tool::Sphere => "Drag from the centre outwards to draw a ROI · Esc: back to the crosshair",
        Tool::Rectangle | Tool::Ellipse | Tool::Box | Tool::Ellipsoid => {
            "Drag from corner to corner to draw a ROI · Esc: back to the crosshair"
        }
        Tool::Polygon => "Drag once around the region · Esc: back to the crosshair",
        Tool::Isocontour => "Drag a ball that holds the maximum, from its centre outwards · Esc: back to the crosshair",
        Tool::Profile => "Drag along the line of the profile · Esc: back to the crosshair",
    }
}

/// The value under a point, in words.
pub fn pointer_text(point: Point, volume: &Volume, axes: &ImageAxes) -> String {
    let grid: &Grid = &volume.grid;
    let voxel = grid.voxel_from_mm(point).map(f64::round);
    let place = format!("{} mm", axes.words(point));
    if (0..3).any(|a| voxel[a] < 0.0 || voxel[a] >= grid.size[a] as f64) {
        return format!("{place} · outside the image");
    }
    let index = voxel.map(|v| v as usize);
    let value = volume.values.get([index[2], index[1], index[0]]).copied().unwrap_or(f32::NAN);
    let [x, y, z] = index;
    format!("{place} · voxel {x}, {y}, {z} · {} {}", crate::ui::widgets::format::value(f64::from(value)), volume.unit.label())
}
