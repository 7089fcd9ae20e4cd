//! Where the views of the image are in the window.

use egui::{Pos2, Rect};

use crate::data::RoiPlane;
use crate::geometry::Grid;
use crate::ui::widgets::theme;

/// A view of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    Slice(RoiPlane),
    /// Rotatable view.
    Turned,
}

impl Cell {
    /// Returns the plane with the size of the view; the rotatable view is like a coronal slice.
    pub fn plane(self) -> RoiPlane {
        match self {
            Cell::Slice(plane) => plane,
            Cell::Turned => RoiPlane::Coronal,
        }
    }
}

/// Part of the height of a tall area that the large view takes.
const LARGE_PART: f32 = 0.62;

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// The transaxial slice large, the other two small: next to each other if they are larger so, as of cubes, or in a column.
    #[default]
    #[strum(serialize = "One large, two small")]
    OneLarge,
    /// Two rows of two views, the last one rotatable.
    #[strum(serialize = "Two by two, with MIP or oblique slice")]
    Grid,
    /// Three slices in a row.
    #[strum(serialize = "Row of three")]
    Row,
}

impl Layout {
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the view that is larger than the others, if any.
    pub fn large(self) -> Option<Cell> {
        (self == Layout::OneLarge).then_some(Cell::Slice(RoiPlane::Transaxial))
    }

    /// Returns the views of an image on `grid` and their rectangles in an area. In a tall area, rows and columns change places.
    pub fn cells(self, area: Rect, grid: &Grid) -> Vec<(Cell, Rect)> {
        let (gap, slice) = (theme::SLICE_GAP, Cell::Slice);
        let [transaxial, coronal, sagittal] = [RoiPlane::Transaxial, RoiPlane::Coronal, RoiPlane::Sagittal].map(slice);
        match self {
            // The large view is larger above the small ones than left of them.
            Layout::OneLarge if (LARGE_PART * area.height()).min(area.width()) > (0.5 * area.width()).min(area.height()) => {
                let [upper, lower] = divided(area, (LARGE_PART * (area.height() - gap)).min(area.width()).floor());
                let [left, right] = columns(lower, (0.5 * (area.width() - gap)).floor());
                vec![(transaxial, upper), (coronal, left), (sagittal, right)]
            }
            Layout::OneLarge => {
                let left_width = (0.5 * (area.width() - gap)).min(area.height()).floor();
                let [left, right] = columns(area, left_width);
                let fit = |views: &[Rect; 2]| {
                    let of = |view: Rect, plane| fit_scale(grid, plane, view.size());
                    of(views[0], RoiPlane::Coronal).min(of(views[1], RoiPlane::Sagittal))
                };
                let beside = columns(right, (0.5 * (right.width() - gap)).floor());
                let above = rows(right);
                let [first, second] = if fit(&beside) > fit(&above) { beside } else { above };
                vec![(transaxial, left), (coronal, first), (sagittal, second)]
            }
            Layout::Grid => {
                let [left, right] = columns(area, (0.5 * (area.width() - gap)).floor());
                let ([a, c], [b, d]) = (rows(left), rows(right));
                vec![(transaxial, a), (coronal, b), (sagittal, c), (Cell::Turned, d)]
            }
            Layout::Row if area.height() > area.width() => {
                let height = ((area.height() - 2.0 * gap) / 3.0).floor();
                let [upper, rest] = divided(area, height);
                let [middle, lower] = divided(rest, height);
                vec![(transaxial, upper), (coronal, middle), (sagittal, lower)]
            }
            Layout::Row => {
                let width = ((area.width() - 2.0 * gap) / 3.0).floor();
                let [left, rest] = columns(area, width);
                let [middle, right] = columns(rest, width);
                vec![(transaxial, left), (coronal, middle), (sagittal, right)]
            }
        }
    }
}

/// Points per mm at which the grid fits into a rectangle, along the plane's axes.
pub fn fit_scale(grid: &Grid, plane: RoiPlane, size: egui::Vec2) -> f64 {
    let ([a, b], _) = plane.axes();
    let length = |axis: usize| grid.size[axis] as f64 * grid.voxel_mm[axis];
    (f64::from(size.x) / length(a)).min(f64::from(size.y) / length(b))
}

/// Divides an area into two columns; the left one has this width.
fn columns(area: Rect, left_width: f32) -> [Rect; 2] {
    let left = Rect::from_min_size(area.min, egui::vec2(left_width, area.height()));
    [left, Rect::from_min_max(Pos2::new(left.right() + theme::SLICE_GAP, area.top()), area.max)]
}

/// Divides an area into two rows of the same height.
fn rows(area: Rect) -> [Rect; 2] {
    divided(area, (0.5 * (area.height() - theme::SLICE_GAP)).floor())
}

/// Divides an area into two rows; the upper one has this height.
fn divided(area: Rect, upper_height: f32) -> [Rect; 2] {
    let upper = Rect::from_min_size(area.min, egui::vec2(area.width(), upper_height));
    [upper, Rect::from_min_max(Pos2::new(area.left(), upper.bottom() + theme::SLICE_GAP), area.max)]
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn views_fill_their_area_without_covering_each_other() {
        let sizes = [egui::vec2(640.0, 300.0), egui::vec2(320.0, 500.0)];
        let areas = sizes.map(|size| Rect::from_min_size(Pos2::new(10.0, 20.0), size));
        let grids = [[64, 64, 64], [160, 160, 47]].map(|size| Grid::centred(size, [1.0; 3]).unwrap());
        let cases = Layout::VARIANTS.iter().flat_map(|layout| areas.map(|area| (layout, area)));
        for (layout, area, grid) in cases.flat_map(|(layout, area)| grids.each_ref().map(|grid| (layout, area, grid))) {
            let cells = layout.cells(area, grid);
            for (at, (_, rect)) in cells.iter().enumerate() {
                assert!(area.contains_rect(*rect) && rect.is_positive(), "{layout:?}: {rect:?}");
                assert!(cells[at + 1..].iter().all(|(_, other)| !rect.intersects(*other)), "{layout:?}");
            }
            let covered: f32 = cells.iter().map(|(_, rect)| rect.area()).sum();
            assert!(covered > 0.97 * area.area(), "{layout:?}");
        }
    }

    #[test]
    fn the_small_views_are_placed_where_they_are_larger() {
        let area = Rect::from_min_size(Pos2::ZERO, egui::vec2(640.0, 215.0));
        let are_beside = |size: [usize; 3]| {
            let cells = Layout::OneLarge.cells(area, &Grid::centred(size, [1.0; 3]).unwrap());
            cells[1].1.top() == cells[2].1.top()
        };
        assert!(are_beside([64, 64, 64]));
        assert!(!are_beside([160, 160, 47]));
    }
}
