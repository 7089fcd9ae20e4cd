//! Overlay of a slice: crosshair, orientation letters, rulers, position, ROI outlines, line of the profile.

use egui::{Align2, Color32, CornerRadius, FontId, Painter, Pos2, Rect, Stroke, StrokeKind};

use super::oblique_line::ObliqueLine;
use super::outline::outline;
use super::slices_view::SlicesView;
use super::tool::Tool;
use super::view::{ProfileLine, SliceGeometry, slice_index};
use crate::data::Roi;
use crate::geometry::Point;
use crate::session::RoiNumbers;
use crate::ui::rois::document::DragHandle;
use crate::ui::rois::measured::mean_and_sd;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::AXIS_NAMES;
use crate::ui::widgets::theme;
use crate::ui::widgets::theme::Colours;

/// Rulers leave this much room on either side of the orientation letters, points.
const LETTER_ROOM: f32 = 16.0;

/// Width of a slice in which the title stays left of the middle, points.
const TITLE_ROOM: f32 = 470.0;

/// Draws everything over a slice.
pub fn draw(view: &SlicesView, slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    frame(view, slice, painter, colours);
    if view.view.show_rois {
        for (index, roi) in view.rois.iter().enumerate() {
            let table = view.table.filter(|_| view.labels.is_shown(view.selected == Some(index)));
            let numbers = table.and_then(|table| table.numbers().get(index)?.as_ref());
            draw_roi(view, slice, painter, colours, (roi, numbers), view.selected == Some(index));
        }
    }
    if let Some(draft) = view.draft {
        draw_roi(view, slice, painter, colours, (draft, None), true);
    }
    corners(view, slice, painter, colours);
    if view.view.show_crosshair {
        crosshair(view, slice, painter, colours);
        oblique_line(view, slice, painter, colours);
    }
    profile(view, slice, painter, colours);
    rulers(slice, painter, colours);
    orientation(&view.axes.ends, slice, painter, colours);
    title(view, slice, painter, colours);
}

/// Draws the edge of the image.
fn frame(view: &SlicesView, slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    let grid = &view.volume.grid;
    let corner = |end: usize| std::array::from_fn(|a| grid.extent_mm(a)[end]);
    let rect = Rect::from_two_pos(slice.screen_from_mm(corner(0)), slice.screen_from_mm(corner(1)));
    let stroke = Stroke::new(1.0, colours.overlay.gamma_multiply(0.35));
    painter.rect_stroke(rect, CornerRadius::ZERO, stroke, StrokeKind::Outside);
}

/// Draws a line on a darker one, visible on light and on dark colours.
pub(super) fn haloed_line(painter: &Painter, ends: [Pos2; 2], width: f32, colours: &Colours) {
    painter.line_segment(ends, Stroke::new(width + 2.0, theme::HALO));
    painter.line_segment(ends, Stroke::new(width, colours.crosshair));
}

fn crosshair(view: &SlicesView, slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    let at = slice.screen_from_mm(view.view.crosshair_mm);
    let (rect, gap) = (slice.rect, 9.0);
    for (from, to) in [
        (Pos2::new(rect.left(), at.y), Pos2::new(at.x - gap, at.y)),
        (Pos2::new(at.x + gap, at.y), Pos2::new(rect.right(), at.y)),
        (Pos2::new(at.x, rect.top()), Pos2::new(at.x, at.y - gap)),
        (Pos2::new(at.x, at.y + gap), Pos2::new(at.x, rect.bottom())),
    ] {
        haloed_line(painter, [from, to], 1.0, colours);
    }
}

/// Draws the line of the oblique slice, with the handles of its rotation.
fn oblique_line(view: &SlicesView, slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    let Some(line) = ObliqueLine::of(view.view, slice) else { return };
    painter.extend(egui::Shape::dashed_line(&line.ends(slice), Stroke::new(1.0, colours.profile), 6.0, 5.0));
    for handle in line.handles(slice) {
        painter.circle(handle, theme::HANDLE_SIZE + 0.5, Color32::WHITE, Stroke::new(1.0, colours.profile));
    }
}

/// Draws the lines of a ROI on a halo.
pub(super) fn outline_lines(painter: &Painter, lines: &[Vec<Pos2>], colour: Color32, is_selected: bool) {
    let width = if is_selected { 2.5 } else { 1.5 };
    for stroke in [Stroke::new(width + 2.0, theme::HALO), Stroke::new(width, colour)] {
        for line in lines {
            painter.line(line.clone(), stroke);
        }
    }
}

fn draw_roi(
    view: &SlicesView,
    slice: &SliceGeometry,
    painter: &Painter,
    colours: &Colours,
    (roi, numbers): (&Roi, Option<&RoiNumbers>),
    is_selected: bool,
) {
    let Some(outline) = outline(roi, slice, &view.volume.grid) else { return };
    let colour = theme::roi_colour(roi);
    outline_lines(painter, &outline.lines, colour, is_selected);
    let thin = Stroke::new(1.0, colour);
    for (handle, grip) in outline.handles.into_iter().filter(|_| is_selected) {
        if grip == DragHandle::Rotate {
            painter.circle(handle, theme::HANDLE_SIZE + 0.5, Color32::WHITE, thin);
        } else {
            let square = Rect::from_center_size(handle, egui::Vec2::splat(2.0 * theme::HANDLE_SIZE));
            painter.rect(square, CornerRadius::ZERO, Color32::WHITE, thin, StrokeKind::Middle);
        }
    }
    let name = is_selected.then(|| roi.name.clone());
    let is_pending = view.table.is_some_and(|table| !table.is_current());
    let numbers_text = |numbers| mean_and_sd(numbers, view.scale) + if is_pending { " …" } else { "" };
    let words: Vec<String> = name.into_iter().chain(numbers.map(numbers_text)).collect();
    if !words.is_empty() {
        let below = outline.bounds.center_bottom() + egui::vec2(0.0, 8.0);
        // Numbers have a background, for any image.
        let (ink, shade) = numbers.map_or((colour, None), |_| (colours.overlay, Some(colours.overlay_shade)));
        text(painter, below, Align2::CENTER_TOP, &words.join(": "), theme::OVERLAY_TEXT, ink, shade);
    }
}

/// Draws the corners of the polygon so far, and its sides to the pointer.
fn corners(view: &SlicesView, slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    let Some(corners) = view.corners.filter(|corners| corners.plane == slice.plane) else { return };
    let set: Vec<Pos2> = corners.points_mm.iter().map(|corner| slice.screen_from_mm(*corner)).collect();
    let pointer = painter.ctx().input(|input| input.pointer.hover_pos()).filter(|at| slice.rect.contains(*at));
    let path: Vec<Pos2> = set.iter().copied().chain(pointer).collect();
    outline_lines(painter, std::slice::from_ref(&path), colours.profile, false);
    if let [first, _, .., last] = path[..] {
        painter.extend(egui::Shape::dashed_line(&[last, first], Stroke::new(1.0, colours.profile), 4.0, 4.0));
    }
    for corner in set {
        let square = Rect::from_center_size(corner, egui::Vec2::splat(2.0 * theme::HANDLE_SIZE));
        painter.rect(square, CornerRadius::ZERO, Color32::WHITE, Stroke::new(1.0, colours.profile), StrokeKind::Middle);
    }
}

fn profile(view: &SlicesView, slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    let stroke = Stroke::new(2.0, colours.profile);
    let ([a, b], normal) = slice.plane.axes();
    let grid = &view.volume.grid;
    let (from, to) = match view.view.profile {
        ProfileLine::Between(from, to) => (from, to),
        // The crosshair shows the line; only a band about it is drawn.
        ProfileLine::Axis(axis) if axis != normal => {
            let end =
                |k: usize| std::array::from_fn(|i| if i == axis { grid.extent_mm(i)[k] } else { view.view.crosshair_mm[i] });
            return band(view, slice, painter, colours, [end(0), end(1)]);
        }
        ProfileLine::Axis(_) => return,
    };
    let ends = [slice.screen_from_mm(from), slice.screen_from_mm(to)];
    // In slices it does not lie in, the line is only hinted at.
    let lies_in = [from, to].iter().all(|p| (p[normal] - slice.middle_mm[normal]).abs() <= grid.voxel_mm[normal]);
    if lies_in && (from[a], from[b]) != (to[a], to[b]) {
        painter.line_segment(ends, stroke);
        for end in ends {
            painter.circle_filled(end, 3.5, colours.profile);
        }
        band(view, slice, painter, colours, [from, to]);
    } else if view.view.tool == Tool::Profile {
        painter.line_segment(ends, Stroke::new(1.0, colours.profile.gamma_multiply(0.4)));
    }
}

/// Draws the edges of the band over which the profile along a line in the slice is averaged.
fn band(view: &SlicesView, slice: &SliceGeometry, painter: &Painter, colours: &Colours, ends: [Point; 2]) {
    let width = (view.view.profile_width_mm * slice.scale) as f32;
    let [from, to] = ends.map(|end| slice.screen_from_mm(end));
    if width > 0.0 {
        let across = 0.5 * width * (to - from).normalized().rot90();
        let corners = vec![from + across, to + across, to - across, from - across, from + across];
        painter.line(corners, Stroke::new(1.0, colours.profile.gamma_multiply(0.8)));
    }
}

/// Draws the letters at the ends of the slice's axes.
fn orientation(ends: &[[&str; 2]; 3], slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    let ([a, b], _) = slice.plane.axes();
    let rect = slice.rect.shrink(5.0);
    let size = theme::ORIENTATION_TEXT;
    label(painter, rect.left_center(), Align2::LEFT_CENTER, ends[a][0], size, colours);
    label(painter, rect.right_center(), Align2::RIGHT_CENTER, ends[a][1], size, colours);
    // Below the title where that reaches the middle.
    let below = if rect.width() < TITLE_ROOM { 17.0 } else { 0.0 };
    let top = rect.center_top() + egui::vec2(0.0, below);
    label(painter, top, Align2::CENTER_TOP, ends[b][0], size, colours);
    label(painter, rect.center_bottom(), Align2::CENTER_BOTTOM, ends[b][1], size, colours);
}

/// Draws name and position of the slice.
fn title(view: &SlicesView, slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    let normal = slice.plane.axes().1;
    let grid = &view.volume.grid;
    let index = slice_index(grid, normal, slice.middle_mm[normal]);
    let mut words = if view.axes.is_slice {
        format!("{} to the right, {} down", view.axes.names[0], view.axes.names[1])
    } else {
        format!(
            "{} · {} = {:.1} mm · slice {} of {}",
            slice.plane.name(),
            AXIS_NAMES[normal],
            slice.middle_mm[normal],
            index + 1,
            grid.size[normal]
        )
    };
    if let Some(thickness) = view.view.thickness.text().filter(|_| !view.axes.is_slice) {
        words += &format!(" · {thickness}");
    }
    let at = slice.rect.min + egui::vec2(6.0, 5.0);
    label(painter, at, Align2::LEFT_TOP, &words, theme::OVERLAY_TEXT, colours);
}

/// Rulers in mm along the left and the lower edge.
fn rulers(slice: &SliceGeometry, painter: &Painter, colours: &Colours) {
    let ([a, b], _) = slice.plane.axes();
    let step = ruler_step(slice.scale);
    let stroke = Stroke::new(1.0, colours.overlay.gamma_multiply(0.8));
    let rect = slice.rect;
    let (first, last) = (slice.mm_from_screen(rect.min), slice.mm_from_screen(rect.max));
    for tick in ticks(first[a], last[a], step) {
        let mut point = slice.middle_mm;
        point[a] = tick;
        let x = slice.screen_from_mm(point).x;
        painter.line_segment([Pos2::new(x, rect.bottom()), Pos2::new(x, rect.bottom() - 5.0)], stroke);
        if x > rect.left() + 20.0 && x < rect.right() - 34.0 && (x - rect.center().x).abs() > LETTER_ROOM {
            let at = Pos2::new(x, rect.bottom() - 6.0);
            label(painter, at, Align2::CENTER_BOTTOM, &format!("{tick:.0}"), 10.0, colours);
        }
    }
    for tick in ticks(first[b], last[b], step) {
        let mut point = slice.middle_mm;
        point[b] = tick;
        let y = slice.screen_from_mm(point).y;
        painter.line_segment([Pos2::new(rect.left(), y), Pos2::new(rect.left() + 5.0, y)], stroke);
        if y > rect.top() + 28.0 && y < rect.bottom() - 22.0 && (y - rect.center().y).abs() > LETTER_ROOM {
            let at = Pos2::new(rect.left() + 7.0, y);
            label(painter, at, Align2::LEFT_CENTER, &format!("{tick:.0}"), 10.0, colours);
        }
    }
    label(painter, rect.right_bottom() - egui::vec2(5.0, 6.0), Align2::RIGHT_BOTTOM, "mm", 10.0, colours);
}

/// Returns a round step that is at least 45 points long.
fn ruler_step(scale: f64) -> f64 {
    format::round_step(45.0 / scale)
}

/// Multiples of `step` between two coordinates.
fn ticks(from: f64, to: f64, step: f64) -> impl Iterator<Item = f64> {
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    (first..=last).take(200).map(move |k| k as f64 * step)
}

/// Draws a label on a shade, in the colour of the overlay.
pub(super) fn label(painter: &Painter, at: Pos2, align: Align2, words: &str, size: f32, colours: &Colours) {
    text(painter, at, align, words, size, colours.overlay, Some(colours.overlay_shade));
}

/// Draws text over an image, on a shade if there is one.
fn text(painter: &Painter, at: Pos2, align: Align2, words: &str, size: f32, colour: Color32, shade: Option<Color32>) {
    let galley = painter.layout_no_wrap(words.to_owned(), FontId::proportional(size), colour);
    let rect = align.anchor_size(at, galley.size());
    if let Some(shade) = shade {
        painter.rect_filled(rect.expand2(egui::vec2(2.0, 0.0)), 2.0, shade);
    }
    painter.galley(rect.min, galley, colour);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ruler_steps_are_round_and_far_enough_apart() {
        for (scale, step) in [(0.8, 100.0), (1.0, 50.0), (4.0, 20.0), (30.0, 2.0), (45.0, 1.0)] {
            assert_eq!(ruler_step(scale), step);
        }
        assert_eq!(ticks(-120.0, 99.0, 50.0).collect::<Vec<_>>(), [-100.0, -50.0, 0.0, 50.0]);
    }
}
