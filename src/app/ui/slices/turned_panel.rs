//! Rotatable view: its picture, overlay and pointer.

use egui::{Align2, Painter, PointerButton, Pos2, Rect, Response, Sense, Ui};

use super::action::{Drag, ViewAction};
use super::comparison::{Picture, panel};
use super::fusion::{Planes, composed};
use super::overlay;
use super::overlay::{haloed_line, label};
use super::pointer::{HELP_EVERYWHERE, Pointed, common_drag, wheel_slices};
use super::rotatable_view::{RotatableContent, TurnedGeometry, brightest_mm, middle_of, sample_distance_mm};
use super::slice_paint;
use super::slice_paint::{Budget, ViewSettings};
use super::slices_view::{SlicesView, picture_menu_ui};
use super::view_layout::Cell;
use crate::data::CutPlane;
use crate::geometry::{Grid, Point};
use crate::render::VolumeSlot;
use crate::ui::widgets::theme;
use crate::ui::widgets::theme::Colours;

/// Degrees that a point of a drag turns.
const DEG_PER_POINT: f64 = 0.5;

/// Draws the view and pushes the actions of the pointer. Returns the position of the pointer.
pub(super) fn turned_ui(
    view: &SlicesView,
    rect: Rect,
    scale: f64,
    picture: Picture,
    num_drawn: &mut usize,
    ui: &mut Ui,
    actions: &mut Vec<ViewAction>,
) -> Option<Pointed> {
    let content = view.view.turned;
    let response = ui.interact(rect, ui.scope_id().with(("turned", picture)), Sense::click_and_drag());
    let name = view.picture_name(content.name(), picture);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &name));
    picture_menu_ui(&response, actions);
    let grid = &view.volume.grid;
    let plane_point = match content {
        RotatableContent::Mip => middle_of(grid),
        RotatableContent::Oblique => view.view.crosshair_mm,
    };
    let turned = TurnedGeometry::through(plane_point, view.view.focus_mm, view.view.turn, rect, scale);
    let painter = ui.painter_at(rect);
    let visible = rect.intersect(ui.clip_rect());
    if let Some(adapter) = view.adapter.filter(|_| visible.is_positive()) {
        let in_motion = view.view.spins || response.dragged();
        let budget = Budget { adapter, in_motion, pixels_per_point: ui.pixels_per_point() };
        let settings = view.view_settings(ui);
        let plane = |grid: &Grid, volume| slice_paint::turned_view(&turned, visible, grid, ViewSettings { volume, ..settings });
        let planes = Planes {
            own: plane(grid, VolumeSlot::First),
            reference: view.beside.map(|beside| plane(&beside.volume.grid, VolumeSlot::Second)),
            layer: view
                .layer
                .map(|image| slice_paint::turned_layer_view(&turned, visible, (grid, view.placement), image, settings)),
        };
        for part in composed(view, picture, &planes, ui) {
            let shape = slice_paint::stored(visible, *num_drawn, part.picture, content, budget);
            ui.painter_at(part.rect(rect)).add(shape);
            *num_drawn += 1;
        }
    }
    if content == RotatableContent::Oblique {
        outlines(view, &turned, &painter);
    }
    overlay(view, &turned, &painter, &theme::colours(ui.visuals()));
    let pointed = pointer(view, &turned, ui, &response, actions);
    panel::overlay_ui(view, (picture, &name), rect, ui, actions);
    pointed
}

/// Draws the cuts of the oblique slice with the ROIs.
fn outlines(view: &SlicesView, turned: &TurnedGeometry, painter: &Painter) {
    let thickness_mm = sample_distance_mm(&view.volume.grid);
    let plane = CutPlane { origin_mm: turned.middle_mm, ways: turned.basis, thickness_mm };
    let middle = turned.rect.center();
    let on_screen = |[x, y]: [f64; 2]| middle + egui::vec2((x * turned.scale) as f32, (y * turned.scale) as f32);
    for (index, roi) in view.visible_rois().iter().enumerate() {
        let lines: Vec<Vec<Pos2>> =
            roi.cut_by(&plane).into_iter().map(|line| line.into_iter().map(on_screen).collect()).collect();
        overlay::outline_lines(painter, &lines, theme::roi_colour(roi), view.selected == Some(index));
    }
}

fn overlay(view: &SlicesView, turned: &TurnedGeometry, painter: &Painter, colours: &Colours) {
    let rect = turned.rect;
    if view.view.show_crosshair {
        // The axes through the crosshair as they are seen from here.
        for axis in 0..3 {
            let ends = [-1.0, 1.0].map(|side| {
                let mut end = view.view.crosshair_mm;
                end[axis] += side * 12.0 / turned.scale;
                turned.screen_from_mm(end)
            });
            haloed_line(painter, ends, 1.0, colours);
        }
    }
    let turn = view.view.turn;
    let mut words = format!("{} · turned {:.0}°, tilted {:.0}°", view.view.turned.name(), turn.azimuth_deg, turn.elevation_deg);
    if let Some(thickness) = view.view.thickness.text().filter(|_| view.view.turned == RotatableContent::Oblique) {
        words += &format!(" · {thickness}");
    }
    label(painter, rect.min + egui::vec2(6.0, 5.0), Align2::LEFT_TOP, &words, theme::OVERLAY_TEXT, colours);
    let inner = rect.shrink(5.0);
    for (direction, low, high) in [
        (turned.basis[0], (inner.left_center(), Align2::LEFT_CENTER), (inner.right_center(), Align2::RIGHT_CENTER)),
        (
            turned.basis[1],
            (inner.center_top() + egui::vec2(0.0, 17.0), Align2::CENTER_TOP),
            (inner.center_bottom(), Align2::CENTER_BOTTOM),
        ),
    ] {
        let ends = ends_of(direction, &view.axes.ends);
        for ((at, align), words) in [low, high].into_iter().zip(ends) {
            label(painter, at, align, &words, theme::ORIENTATION_TEXT, colours);
        }
    }
}

/// Returns the letters at both ends of a direction through the image: those of the axes with a component of at least a third, the
/// largest first.
fn ends_of(direction: Point, axes: &[[&str; 2]; 3]) -> [String; 2] {
    let mut along: Vec<usize> = (0..3).filter(|&a| direction[a].abs() > 1.0 / 3.0).collect();
    along.sort_by(|&a, &b| direction[b].abs().total_cmp(&direction[a].abs()));
    [0, 1].map(|end| along.iter().map(|&a| axes[a][if direction[a] > 0.0 { end } else { 1 - end }]).collect())
}

/// Handles the pointer: a drag rotates the view, a click moves the crosshair.
fn pointer(
    view: &SlicesView,
    turned: &TurnedGeometry,
    ui: &Ui,
    response: &Response,
    actions: &mut Vec<ViewAction>,
) -> Option<Pointed> {
    let delta = response.drag_delta();
    if response.dragged() && delta != egui::Vec2::ZERO {
        match common_drag(ui, response) {
            Some(Drag::Pan) => actions.push(ViewAction::Pan(turned.delta_mm(delta))),
            Some(_) => actions.push(ViewAction::DragWindow(delta)),
            // The front follows the pointer.
            None if response.dragged_by(PointerButton::Primary) => {
                let turn = [-f64::from(delta.x), f64::from(delta.y)].map(|points| DEG_PER_POINT * points);
                actions.push(ViewAction::Rotate(turn));
            }
            None => {}
        }
    }
    let is_mip = view.view.turned == RotatableContent::Mip;
    let point_at = |position: Pos2| {
        let point = turned.mm_from_screen(position);
        if is_mip { brightest_mm(view.volume, point, turned.basis[2]) } else { Some(point) }
    };
    if response.double_clicked() {
        actions.push(ViewAction::ToggleMaximised(Cell::Turned));
    } else if response.clicked() {
        actions.push(ViewAction::Click(response.interact_pointer_pos().and_then(point_at)));
    }
    let position = response.hover_pos()?;
    let (zoom, slices) = (ui.input(|input| f64::from(input.zoom_delta())), wheel_slices(ui));
    if zoom != 1.0 {
        actions.push(ViewAction::Zoom { off: turned.delta_mm(position - turned.rect.center()), factor: zoom });
    } else if slices != 0 && !is_mip {
        let by = slices as f64 * sample_distance_mm(&view.volume.grid);
        let point = std::array::from_fn(|k| view.view.crosshair_mm[k] + by * turned.basis[2][k]);
        actions.push(ViewAction::SetCrosshair(point));
    }
    let here = if is_mip {
        "Drag: turn · Click: crosshair to the largest value behind"
    } else {
        "Drag: turn · Click: crosshair · Wheel: slice before, behind"
    };
    let help = format!("{here} · {HELP_EVERYWHERE}");
    Some(Pointed { plane: None, point: (!is_mip).then(|| turned.mm_from_screen(position)), help })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::slices::rotatable_view::Rotation;
    use crate::ui::widgets::image_axes::ImageAxes;

    #[test]
    fn the_ends_of_the_view_have_the_letters_of_where_they_point() {
        let ends = |turn: Rotation, direction: usize| ends_of(turn.basis()[direction], &ImageAxes::PATIENT.ends);
        assert_eq!(ends(Rotation::default(), 0), ["R", "L"]);
        assert_eq!(ends(Rotation::default(), 1), ["S", "I"]);
        assert_eq!(ends(Rotation::default().by(180.0, 0.0), 0), ["L", "R"]);
        assert_eq!(ends(Rotation::default().by(30.0, 0.0), 0), ["RA", "LP"]);
    }
}
