//! Outline of a ROI in a slice, and its parts under the pointer.

use egui::{Pos2, Rect};

use super::view::SliceGeometry;
use crate::data::{Roi, RoiShape};
use crate::geometry::Grid;
use crate::ui::rois::document::{DragHandle, side_mm};
use crate::ui::widgets::theme;

/// Distance of the rotation handle from the shape, points.
const TURN_HANDLE: f32 = 22.0;

/// The cut of a ROI with a slice, on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Lines of straight pieces.
    pub lines: Vec<Vec<Pos2>>,
    pub bounds: Rect,
    /// Where the whole is taken.
    pub middle: Pos2,
    /// Handles by which size, angle and corners are dragged.
    pub handles: Vec<(Pos2, DragHandle)>,
}

/// Returns the cut of a ROI with a slice; `None` if they do not meet.
pub fn outline(roi: &Roi, slice: &SliceGeometry, grid: &Grid) -> Option<Outline> {
    let ([a, b], normal) = slice.plane.axes();
    let on_screen = |[horizontal, vertical]: [f64; 2]| {
        let mut point = slice.middle_mm;
        (point[a], point[b]) = (horizontal, vertical);
        slice.screen_from_mm(point)
    };
    let cuts = roi.cut(slice.plane, slice.middle_mm[normal], grid.voxel_mm[normal]);
    let lines: Vec<Vec<Pos2>> = cuts.into_iter().map(|line| line.into_iter().map(on_screen).collect()).collect();
    let bounds = Rect::from_points(&lines.concat());
    let outline = Outline { handles: handles(roi, slice, bounds), middle: slice.screen_from_mm(roi.centre_mm), bounds, lines };
    (!outline.lines.is_empty()).then_some(outline)
}

/// Returns the handles of a ROI in a slice that cuts it within these bounds.
fn handles(roi: &Roi, slice: &SliceGeometry, bounds: Rect) -> Vec<(Pos2, DragHandle)> {
    let centre = slice.screen_from_mm(roi.centre_mm);
    let is_own_plane = roi.shape.plane() == Some(slice.plane);
    let place = |point: [f64; 2]| {
        let [u, v] = if is_own_plane { roi.turned(point) } else { point };
        centre + egui::vec2((u * slice.scale) as f32, (v * slice.scale) as f32)
    };
    let (sides, corners) = match &roi.shape {
        // Diameter of the sphere's cut with this slice.
        RoiShape::Sphere { .. } => ([Some(f64::from(bounds.width()) / slice.scale); 2], false),
        RoiShape::Circle { radius_mm, .. } if is_own_plane => ([Some(2.0 * radius_mm); 2], false),
        _ => ([0, 1].map(|k| side_mm(roi, slice.plane, k)), true),
    };
    let all = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)];
    let has = |sign: i8, side: Option<f64>| sign == 0 || side.is_some();
    let stretching = all.into_iter().filter(|&(x, y)| has(x, sides[0]) && has(y, sides[1]) && (corners || x == 0 || y == 0));
    let half = sides.map(|side| 0.5 * side.unwrap_or(0.0));
    let handle = |(x, y)| (place([f64::from(x) * half[0], f64::from(y) * half[1]]), DragHandle::Resize(x, y));
    let mut handles: Vec<(Pos2, DragHandle)> = stretching.map(handle).collect();
    let mut top = -half[1];
    if let RoiShape::Polygon { points_mm, .. } = &roi.shape
        && is_own_plane
    {
        handles.extend(points_mm.iter().enumerate().map(|(corner, point)| (place(*point), DragHandle::Corner(corner))));
        top = points_mm.iter().map(|point| point[1]).fold(top, f64::min);
    }
    if is_own_plane && roi.shape.can_turn() {
        handles.push((place([0.0, top - f64::from(TURN_HANDLE) / slice.scale]), DragHandle::Rotate));
    }
    handles
}

impl Outline {
    /// Returns the distance of a position from the lines, points.
    fn distance(&self, position: Pos2) -> f32 {
        let from_piece = |piece: &[Pos2]| {
            let along = piece[1] - piece[0];
            let t = ((position - piece[0]).dot(along) / along.length_sq().max(1e-6)).clamp(0.0, 1.0);
            position.distance(piece[0] + t * along)
        };
        self.lines.iter().flat_map(|line| line.windows(2)).map(from_piece).fold(f32::INFINITY, f32::min)
    }

    /// Returns half of the smaller side; of a flat ROI seen from its edge half of the length, points.
    fn half_size(&self) -> f32 {
        let (width, height) = (self.bounds.width(), self.bounds.height());
        let is_edge = self.lines.iter().all(|line| line.len() == 2);
        0.5 * if is_edge { width.max(height) } else { width.min(height) }
    }

    /// True if a position lies inside, by the number of lines to the right of it.
    fn contains(&self, position: Pos2) -> bool {
        let crosses = |piece: &[Pos2]| {
            let ([low, high], part) = ([piece[0], piece[1]], (position.y - piece[0].y) / (piece[1].y - piece[0].y));
            (low.y > position.y) != (high.y > position.y) && position.x < low.x + part * (high.x - low.x)
        };
        let areas = self.lines.iter().filter(|line| line.len() > 2);
        areas.flat_map(|line| line.windows(2)).filter(|piece| crosses(piece)).count() % 2 == 1
    }

    /// True if a position is at the line. Small outlines keep some space inside.
    fn is_at_line(&self, position: Pos2) -> bool {
        let reach = if self.contains(position) { theme::GRAB_DISTANCE.min(0.5 * self.half_size()) } else { theme::GRAB_DISTANCE };
        self.distance(position) <= reach
    }

    /// Returns the part of a selected ROI at a position: a handle, if they are far enough apart, or the whole, by its line or
    /// inside.
    fn grip_at(&self, position: Pos2) -> Option<DragHandle> {
        let nearest = self
            .handles
            .iter()
            .map(|(handle, grip)| (handle.distance(position), *grip))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(distance, _)| *distance <= theme::GRAB_DISTANCE && self.half_size() >= 2.0 * theme::GRAB_DISTANCE);
        let is_held = self.contains(position) || self.is_at_line(position);
        nearest.map(|(_, grip)| grip).or_else(|| is_held.then_some(DragHandle::Move))
    }
}

/// Returns the part of the selected ROI at a position. Only a selected ROI can be dragged, so that no ROI is moved by mistake.
pub fn selected_grip_at(
    rois: &[Roi],
    selected: Option<usize>,
    slice: &SliceGeometry,
    grid: &Grid,
    at: Pos2,
) -> Option<(usize, DragHandle)> {
    let index = selected?;
    Some((index, outline(rois.get(index)?, slice, grid)?.grip_at(at)?))
}

/// Which part of a ROI selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitArea {
    Line,
    /// Its line and all that lies within.
    Inside,
}

/// Returns the ROI at a position, the last drawn first.
pub fn roi_at(rois: &[Roi], slice: &SliceGeometry, grid: &Grid, at: Pos2, reach: HitArea) -> Option<usize> {
    let is_at = |outline: Outline| outline.is_at_line(at) || (reach == HitArea::Inside && outline.contains(at));
    (0..rois.len()).rev().find(|&index| outline(&rois[index], slice, grid).is_some_and(is_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RoiPlane;

    fn slice(plane: RoiPlane) -> SliceGeometry {
        SliceGeometry { plane, rect: Rect::from_min_size(Pos2::ZERO, egui::vec2(200.0, 200.0)), scale: 2.0, middle_mm: [0.0; 3] }
    }

    fn roi(shape: RoiShape, centre_mm: [f64; 3]) -> Roi {
        Roi::new("r", shape, centre_mm)
    }

    #[test]
    fn a_sphere_is_cut_by_every_slice_that_reaches_it() {
        let grid = Grid::centred([50, 50, 50], [2.0; 3]).unwrap();
        let sphere = roi(RoiShape::Sphere { radius_mm: 5.0 }, [10.0, 0.0, 3.0]);
        let cut = outline(&sphere, &slice(RoiPlane::Transaxial), &grid).unwrap();
        assert_eq!(
            (cut.middle, cut.bounds),
            (Pos2::new(120.0, 100.0), Rect::from_center_size(cut.middle, egui::vec2(16.0, 16.0)))
        );
        assert!(outline(&sphere, &slice(RoiPlane::Sagittal), &grid).is_none());
    }

    #[test]
    fn a_flat_roi_is_a_line_in_the_other_planes() {
        let grid = Grid::centred([50, 50, 51], [2.0; 3]).unwrap();
        let circle = roi(RoiShape::Circle { radius_mm: 10.0, plane: RoiPlane::Transaxial }, [0.0; 3]);
        let cut = outline(&circle, &slice(RoiPlane::Coronal), &grid).unwrap();
        assert_eq!(cut.lines, [[Pos2::new(80.0, 100.0), Pos2::new(120.0, 100.0)]]);
        assert!(cut.handles.is_empty());
        let shape = RoiShape::Rectangle { size_mm: [20.0, 40.0], plane: RoiPlane::Transaxial };
        let rectangle = roi(shape.clone(), [0.0, 0.0, 0.5]);
        let cut = outline(&rectangle, &slice(RoiPlane::Transaxial), &grid).unwrap();
        assert_eq!(cut.bounds, Rect::from_min_max(Pos2::new(80.0, 60.0), Pos2::new(120.0, 140.0)));
        assert!(outline(&roi(shape.clone(), [0.0, 0.0, 5.0]), &slice(RoiPlane::Transaxial), &grid).is_none());
    }

    #[test]
    fn a_turned_shape_has_its_handles_where_its_sides_are() {
        let grid = Grid::centred([50, 50, 51], [2.0; 3]).unwrap();
        let plane = RoiPlane::Transaxial;
        let shape = RoiShape::Box { size_mm: [40.0, 20.0, 30.0], plane };
        let turned = Roi { angle_deg: 90.0, ..roi(shape, [0.0; 3]) };
        let cut = |plane| outline(&turned, &slice(plane), &grid).unwrap();
        let at = |outline: &Outline, grip| outline.handles.iter().find(|handle| handle.1 == grip).map(|handle| handle.0.round());
        let transaxial = cut(plane);
        assert_eq!(transaxial.bounds, Rect::from_min_max(Pos2::new(80.0, 60.0), Pos2::new(120.0, 140.0)));
        // Its right side points down, its top to the right.
        assert_eq!(at(&transaxial, DragHandle::Resize(1, 0)), Some(Pos2::new(100.0, 140.0)));
        assert_eq!(at(&transaxial, DragHandle::Rotate), Some(Pos2::new(142.0, 100.0)));
        // Seen from the side it is 20 mm wide and 30 mm high, and only the height, which is not turned, is stretched.
        let coronal = cut(RoiPlane::Coronal);
        assert_eq!(coronal.bounds.size().round(), egui::vec2(40.0, 60.0));
        let grips: Vec<DragHandle> = coronal.handles.iter().map(|handle| handle.1).collect();
        assert_eq!(grips, [DragHandle::Resize(0, 1), DragHandle::Resize(0, -1)]);
        // A slab is cut over its thickness, and not beyond.
        let shape = RoiShape::Circle { radius_mm: 10.0, plane };
        let slab = Roi { thickness_mm: Some(12.0), ..roi(shape, [0.0, 0.0, 6.5]) };
        assert!(outline(&slab, &slice(plane), &grid).is_some());
        assert!(outline(&Roi { thickness_mm: Some(10.0), ..slab.clone() }, &slice(plane), &grid).is_none());
        let side = outline(&slab, &slice(RoiPlane::Sagittal), &grid).unwrap();
        assert_eq!(side.bounds.size().round(), egui::vec2(40.0, 24.0));
    }

    #[test]
    fn the_selected_one_is_moved_from_within_and_resized_by_its_handles() {
        let grid = Grid::centred([50, 50, 51], [2.0; 3]).unwrap();
        let rois = [roi(RoiShape::Sphere { radius_mm: 20.0 }, [0.0; 3])];
        let slice = slice(RoiPlane::Transaxial);
        let right = Pos2::new(140.0, 100.0);
        let grip = |selected, at| selected_grip_at(&rois, selected, &slice, &grid, at);
        assert_eq!(grip(None, right), None);
        assert_eq!(grip(Some(0), right), Some((0, DragHandle::Resize(1, 0))));
        assert_eq!(grip(Some(0), Pos2::new(128.0, 128.0)), Some((0, DragHandle::Move)));
        assert_eq!(grip(Some(0), Pos2::new(100.0, 100.0)), Some((0, DragHandle::Move)));
        assert_eq!(grip(Some(0), Pos2::new(120.0, 100.0)), Some((0, DragHandle::Move)));
        assert_eq!(grip(Some(0), Pos2::new(150.0, 100.0)), None);
    }

    #[test]
    fn a_click_takes_a_roi_at_its_line_and_has_room_within() {
        let grid = Grid::centred([50, 50, 51], [2.0; 3]).unwrap();
        let slice = slice(RoiPlane::Transaxial);
        // 40 and 5 points.
        for (radius_mm, at_line, within) in [(20.0, 136.0, 125.0), (2.5, 104.0, 101.0)] {
            let rois = [roi(RoiShape::Sphere { radius_mm }, [0.0; 3])];
            let found = |x, reach| roi_at(&rois, &slice, &grid, Pos2::new(x, 100.0), reach);
            assert_eq!([at_line, within].map(|x| found(x, HitArea::Line)), [Some(0), None], "{radius_mm} mm");
            assert_eq!([at_line, within].map(|x| found(x, HitArea::Inside)), [Some(0), Some(0)], "{radius_mm} mm");
            assert_eq!(found(150.0, HitArea::Inside), None);
        }
    }
}
