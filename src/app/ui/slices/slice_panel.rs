//! Linked views of the image: pictures and overlays.

use egui::{Key, Modifiers, Rect, Sense, Ui};

use super::action::ViewAction;
use super::comparison::{Picture, panel};
use super::fusion::{Planes, composed};
use super::overlay;
use super::pointer;
use super::pointer::Pointed;
use super::slice_paint;
use super::slice_paint::ViewSettings;
use super::slices_view::{SlicesView, picture_menu_ui};
use super::turned_panel::turned_ui;
use super::view::{SliceGeometry, slice_index};
use super::view_layout::{Cell, fit_scale};
use crate::data::{RoiPlane, ValueScale, Volume};
use crate::geometry::{Grid, Point};
use crate::render::VolumeSlot;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::theme;

/// Draws the views and pushes the actions of the pointer. Returns the position of the pointer.
pub fn slices_ui(view: &SlicesView, ui: &mut Ui, actions: &mut Vec<ViewAction>) -> Option<Pointed> {
    let area = ui.available_rect_before_wrap();
    let only = if view.axes.is_slice { Some(Cell::Slice(RoiPlane::Transaxial)) } else { view.view.maximised };
    let sides = view.beside.map_or_else(|| vec![(Picture::Run, area)], |beside| beside.pictures(area));
    let of_side = |(picture, area): (Picture, Rect)| {
        let cells = only.map_or_else(|| view.view.layout.cells(area, &view.volume.grid), |cell| vec![(cell, area)]);
        cells.into_iter().map(move |(cell, rect)| (cell, picture, rect))
    };
    let pictures: Vec<(Cell, Picture, Rect)> = sides.into_iter().flat_map(of_side).collect();
    // The views share a scale, except a large one next to small ones.
    let is_large = |cell: Cell| only.is_none() && view.view.layout.large() == Some(cell);
    let fit = |is_of_group: bool| {
        let group = pictures.iter().filter(|(cell, ..)| is_large(*cell) == is_of_group);
        let fits = group.map(|(cell, _, rect)| fit_scale(&view.volume.grid, cell.plane(), rect.shrink(4.0).size()));
        view.view.zoom * fits.fold(f64::INFINITY, f64::min)
    };
    let [small, large] = [false, true].map(fit);
    let is_free = |ui: &Ui| ui.memory(|memory| memory.focused().is_none());
    if view.corners.is_some() && is_free(ui) && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter)) {
        actions.push(ViewAction::ClosePolygon);
    }
    let mut pointed = None;
    let mut num_drawn = 0;
    for (cell, picture, rect) in pictures.iter().copied() {
        if rect.width() < 8.0 || rect.height() < 8.0 {
            continue;
        }
        let scale = if is_large(cell) { large } else { small };
        let found = match cell {
            Cell::Slice(plane) => slice_ui(view, &slice_geometry(view, plane, rect, scale), picture, &mut num_drawn, ui, actions),
            Cell::Turned => turned_ui(view, rect, scale, picture, &mut num_drawn, ui, actions),
        };
        pointed = found.or(pointed);
    }
    pointed
}

/// Returns the slice through the voxels of the crosshair.
fn slice_geometry(view: &SlicesView, plane: RoiPlane, rect: Rect, scale: f64) -> SliceGeometry {
    let grid = &view.volume.grid;
    let mut middle_mm = view.view.focus_mm;
    let normal = plane.axes().1;
    let voxel = slice_index(grid, normal, view.view.crosshair_mm[normal]);
    middle_mm[normal] = grid.origin_mm[normal] + voxel as f64 * grid.voxel_mm[normal];
    SliceGeometry { plane, rect, scale, middle_mm }
}

fn slice_ui(
    view: &SlicesView,
    slice: &SliceGeometry,
    picture: Picture,
    num_drawn: &mut usize,
    ui: &mut Ui,
    actions: &mut Vec<ViewAction>,
) -> Option<Pointed> {
    let response = ui.interact(slice.rect, ui.scope_id().with((slice.plane.name(), picture)), Sense::click_and_drag());
    let label = view.picture_name(view.axes.view_name(slice.plane), picture);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &label));
    picture_menu_ui(&response, actions);
    let painter = ui.painter_at(slice.rect);
    // A viewport that reaches beyond the window would be shifted: only the visible part is drawn.
    let visible = slice.rect.intersect(ui.clip_rect());
    if view.adapter.is_some() && visible.is_positive() {
        let settings = view.view_settings(ui);
        let plane = |grid: &Grid, volume| slice_paint::slice_view(slice, visible, grid, ViewSettings { volume, ..settings });
        let displayed = (&view.volume.grid, view.placement);
        let planes = Planes {
            own: plane(&view.volume.grid, VolumeSlot::First),
            reference: view.beside.map(|beside| plane(&beside.volume.grid, VolumeSlot::Second)),
            layer: view.layer.map(|image| slice_paint::layer_view(slice, visible, displayed, image, settings)),
        };
        for part in composed(view, picture, &planes, ui) {
            let shape = slice_paint::drawn(visible, *num_drawn, part.picture);
            ui.painter_at(part.rect(slice.rect)).add(shape);
            *num_drawn += 1;
        }
    }
    overlay::draw(view, slice, &painter, &theme::colours(ui.visuals()));
    let pointed = pointer::slice_pointer(view, slice, ui, &response, actions);
    panel::overlay_ui(view, (picture, &label), slice.rect, ui, actions);
    pointed
}

/// Describes a point: its position, its voxel (indices from 0) and the value there.
pub fn pointer_text(point: Point, volume: &Volume, scale: ValueScale, axes: &ImageAxes) -> String {
    let grid: &Grid = &volume.grid;
    let place = format!("{} mm", axes.text(point));
    let Some(value) = volume.at_mm(point) else { return format!("{place} · outside the image") };
    let [x, y, z] = grid.voxel_from_mm(point).map(f64::round);
    let (value, unit) = (format::value(scale.value(value)), scale.label());
    format!("{place} · voxel index {x}, {y}, {z} (from 0) · {value} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Unit;

    #[test]
    fn the_value_under_the_pointer_has_the_unit_shown_and_an_index_from_0() {
        let mut volume = Volume::filled(Grid::centred([4, 3, 2], [1.0; 3]).unwrap(), 2.0);
        volume.values[[1, 0, 3]] = 0.5;
        let words = |point, bq_per_ml: Option<f64>| {
            let scale = bq_per_ml.map_or(ValueScale::own(Unit::CountsPerMm), ValueScale::calibrated);
            pointer_text(point, &volume, scale, &ImageAxes::PATIENT)
        };
        let corner = [1.5, -1.0, 0.5];
        assert!(words(corner, None).ends_with("voxel index 3, 0, 1 (from 0) · 0.5000 counts/mm"), "{}", words(corner, None));
        assert!(words(corner, Some(1000.0)).ends_with(" · 500.0 Bq/mL"), "{}", words(corner, Some(1000.0)));
        assert!(words([90.0; 3], None).ends_with("outside the image"));
    }
}
