//! How a ROI looks in a slice, and which part of it the pointer is at.

use egui::{Pos2, Rect};

use super::view::SliceGeometry;
use crate::data::{Roi, RoiShape};
use crate::geometry::Grid;
use crate::ui::rois::document::Grip;
use crate::ui::widgets::theme;

/// The cut of a ROI with a slice, on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outline {
    /// A circle.
    Circle(Pos2, f32),
    /// A rectangle.
    Rectangle(Rect),
    /// A flat ROI seen from its edge.
    Edge(Pos2, Pos2),
}

/// The cut of a ROI with a slice; `None` where they do not meet.
pub fn outline(roi: &Roi, slice: &SliceGeometry, grid: &Grid) -> Option<Outline> {
    let ([a, b], normal) = slice.plane.axes();
    let offset_mm = slice.middle_mm[normal] - roi.centre_mm[normal];
    let centre = slice.screen_from_mm(roi.centre_mm);
    let in_slice = offset_mm.abs() <= 0.5 * grid.voxel_mm[normal] * (1.0 + 1e-9);
    // A flat ROI of another plane is cut along a line, if the slice reaches it.
    let edge = |half: [f64; 3]| {
        if offset_mm.abs() > half[normal] {
            return None;
        }
        let mut ends = [roi.centre_mm; 2];
        for axis in [a, b] {
            ends[0][axis] -= half[axis];
            ends[1][axis] += half[axis];
        }
        Some(Outline::Edge(slice.screen_from_mm(ends[0]), slice.screen_from_mm(ends[1])))
    };
    match roi.shape {
        RoiShape::Sphere { radius_mm } => {
            let square = radius_mm * radius_mm - offset_mm * offset_mm;
            (square > 0.0).then(|| Outline::Circle(centre, (square.sqrt() * slice.scale) as f32))
        }
        RoiShape::Circle { radius_mm, plane } if plane == slice.plane => {
            in_slice.then_some(Outline::Circle(centre, (radius_mm * slice.scale) as f32))
        }
        RoiShape::Circle { radius_mm, plane } => {
            let across = (radius_mm * radius_mm - offset_mm * offset_mm).max(0.0).sqrt();
            let mut half = [across; 3];
            half[normal] = radius_mm;
            half[plane.axes().1] = 0.0;
            edge(half)
        }
        RoiShape::Rectangle { size_mm, plane } => {
            let (axes, flat) = plane.axes();
            let mut half = [0.0; 3];
            half[axes[0]] = 0.5 * size_mm[0];
            half[axes[1]] = 0.5 * size_mm[1];
            if flat != normal {
                return edge(half);
            }
            let size = egui::vec2((size_mm[0] * slice.scale) as f32, (size_mm[1] * slice.scale) as f32);
            in_slice.then(|| Outline::Rectangle(Rect::from_center_size(centre, size)))
        }
    }
}

impl Outline {
    /// Handles by which the size is dragged.
    pub fn handles(&self) -> Vec<(Pos2, Grip)> {
        let offsets = |half: egui::Vec2, centre: Pos2, corners: bool| {
            let all = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)];
            let count = if corners { 8 } else { 4 };
            all[..count]
                .iter()
                .map(|&(x, y)| (centre + egui::vec2(half.x * f32::from(x), half.y * f32::from(y)), Grip::Resize(x, y)))
                .collect()
        };
        match *self {
            Outline::Circle(centre, radius) => offsets(egui::vec2(radius, radius), centre, false),
            Outline::Rectangle(rect) => offsets(0.5 * rect.size(), rect.center(), true),
            Outline::Edge(..) => Vec::new(),
        }
    }

    /// Distance of a position from the line, points.
    fn distance(&self, position: Pos2) -> f32 {
        match *self {
            Outline::Circle(centre, radius) => (position.distance(centre) - radius).abs(),
            Outline::Rectangle(rect) => rect.signed_distance_to_pos(position).abs(),
            Outline::Edge(from, to) => {
                let along = to - from;
                let t = ((position - from).dot(along) / along.length_sq().max(1e-6)).clamp(0.0, 1.0);
                position.distance(from + t * along)
            }
        }
    }

    /// Half of its smaller side, points.
    fn half_size(&self) -> f32 {
        match *self {
            Outline::Circle(_, radius) => radius,
            Outline::Rectangle(rect) => 0.5 * rect.width().min(rect.height()),
            Outline::Edge(from, to) => 0.5 * from.distance(to),
        }
    }

    /// Its middle.
    pub fn middle(&self) -> Pos2 {
        match *self {
            Outline::Circle(centre, _) => centre,
            Outline::Rectangle(rect) => rect.center(),
            Outline::Edge(from, to) => from + 0.5 * (to - from),
        }
    }

    /// Whether a position lies within.
    fn contains(&self, position: Pos2) -> bool {
        match *self {
            Outline::Circle(centre, radius) => position.distance(centre) <= radius,
            Outline::Rectangle(rect) => rect.contains(position),
            Outline::Edge(..) => false,
        }
    }

    /// Whether a position is at the line. Within a small one there is room beside the line.
    fn is_at_line(&self, position: Pos2) -> bool {
        let reach = if self.contains(position) { theme::GRAB_DISTANCE.min(0.5 * self.half_size()) } else { theme::GRAB_DISTANCE };
        self.distance(position) <= reach
    }

    /// The part of a selected ROI at a position: a handle (where it is large enough to have them apart), or the whole, by its
    /// line or anywhere within.
    fn grip_at(&self, position: Pos2) -> Option<Grip> {
        let nearest = self
            .handles()
            .into_iter()
            .map(|(handle, grip)| (handle.distance(position), grip))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(distance, _)| *distance <= theme::GRAB_DISTANCE && self.half_size() >= 2.0 * theme::GRAB_DISTANCE);
        let is_held = self.contains(position) || self.is_at_line(position);
        nearest.map(|(_, grip)| grip).or_else(|| is_held.then_some(Grip::Move))
    }
}

/// The part of the selected ROI at a position: only what was selected before can be dragged, so that no ROI is moved by
/// mistake.
pub fn selected_grip_at(
    rois: &[Roi],
    selected: Option<usize>,
    slice: &SliceGeometry,
    grid: &Grid,
    at: Pos2,
) -> Option<(usize, Grip)> {
    let index = selected?;
    Some((index, outline(rois.get(index)?, slice, grid)?.grip_at(at)?))
}

/// Which part of a ROI selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Its line.
    Line,
    /// Its line and all that lies within.
    Inside,
}

/// The ROI at a position, the last drawn first.
pub fn roi_at(rois: &[Roi], slice: &SliceGeometry, grid: &Grid, at: Pos2, reach: Reach) -> Option<usize> {
    let is_at = |outline: Outline| outline.is_at_line(at) || (reach == Reach::Inside && outline.contains(at));
    (0..rois.len()).rev().find(|&index| outline(&rois[index], slice, grid).is_some_and(is_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RoiPlane, RoiRole};

    fn slice(plane: RoiPlane) -> SliceGeometry {
        SliceGeometry { plane, rect: Rect::from_min_size(Pos2::ZERO, egui::vec2(200.0, 200.0)), scale: 2.0, middle_mm: [0.0; 3] }
    }

    fn roi(shape: RoiShape, centre_mm: [f64; 3]) -> Roi {
        Roi { name: "r".into(), shape, centre_mm, role: RoiRole::None, activity_ratio: None, colour: None }
    }

    #[test]
    fn a_sphere_is_cut_by_every_slice_that_reaches_it() {
        let grid = Grid::centred([50, 50, 50], [2.0; 3]).unwrap();
        let sphere = roi(RoiShape::Sphere { radius_mm: 5.0 }, [10.0, 0.0, 3.0]);
        let cut = outline(&sphere, &slice(RoiPlane::Transaxial), &grid).unwrap();
        assert_eq!(cut, Outline::Circle(Pos2::new(120.0, 100.0), 8.0));
        assert!(outline(&sphere, &slice(RoiPlane::Sagittal), &grid).is_none());
    }

    #[test]
    fn a_flat_roi_is_a_line_in_the_other_planes() {
        let grid = Grid::centred([50, 50, 51], [2.0; 3]).unwrap();
        let circle = roi(RoiShape::Circle { radius_mm: 10.0, plane: RoiPlane::Transaxial }, [0.0; 3]);
        let cut = outline(&circle, &slice(RoiPlane::Coronal), &grid).unwrap();
        assert_eq!(cut, Outline::Edge(Pos2::new(80.0, 100.0), Pos2::new(120.0, 100.0)));
        let shape = RoiShape::Rectangle { size_mm: [20.0, 40.0], plane: RoiPlane::Transaxial };
        let rectangle = roi(shape, [0.0, 0.0, 0.5]);
        let cut = outline(&rectangle, &slice(RoiPlane::Transaxial), &grid).unwrap();
        assert_eq!(cut, Outline::Rectangle(Rect::from_min_max(Pos2::new(80.0, 60.0), Pos2::new(120.0, 140.0))));
        assert!(outline(&roi(shape, [0.0, 0.0, 5.0]), &slice(RoiPlane::Transaxial), &grid).is_none());
    }

    #[test]
    fn the_selected_one_is_moved_from_within_and_resized_by_its_handles() {
        let grid = Grid::centred([50, 50, 51], [2.0; 3]).unwrap();
        let rois = [roi(RoiShape::Sphere { radius_mm: 20.0 }, [0.0; 3])];
        let slice = slice(RoiPlane::Transaxial);
        let right = Pos2::new(140.0, 100.0);
        let grip = |selected, at| selected_grip_at(&rois, selected, &slice, &grid, at);
        assert_eq!(grip(None, right), None);
        assert_eq!(grip(Some(0), right), Some((0, Grip::Resize(1, 0))));
        assert_eq!(grip(Some(0), Pos2::new(128.0, 128.0)), Some((0, Grip::Move)));
        assert_eq!(grip(Some(0), Pos2::new(100.0, 100.0)), Some((0, Grip::Move)));
        assert_eq!(grip(Some(0), Pos2::new(120.0, 100.0)), Some((0, Grip::Move)));
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
            assert_eq!([at_line, within].map(|x| found(x, Reach::Line)), [Some(0), None], "{radius_mm} mm");
            assert_eq!([at_line, within].map(|x| found(x, Reach::Inside)), [Some(0), Some(0)], "{radius_mm} mm");
            assert_eq!(found(150.0, Reach::Inside), None);
        }
    }
}
