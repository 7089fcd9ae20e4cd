//! Settings of the slices for the images of all runs: position, zoom, tool; and the geometry of a slice on the screen.
//!
//! Screen right is +x (transaxial, coronal) or +y (sagittal); screen down is +y (transaxial) or +z. With +x to the patient's left
//! this is the radiological convention: the patient's right is on the viewer's left.

use egui::{Pos2, Rect};

use super::comparison::CompareMode;
use super::rotatable_view::{RotatableContent, Rotation, middle_of};
use super::tool::Tool;
use super::view_layout::{Cell, Layout};
use crate::data::{RoiPlane, Volume};
use crate::geometry::{Grid, Point};
use crate::render::{Combination, Interpolation, Slab};
use crate::ui::widgets::fields::held_within;

/// Smallest and largest zoom.
const MIN_ZOOM: f64 = 0.25;
const MAX_ZOOM: f64 = 40.0;

/// Where the profile runs.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileLine {
    /// Through the crosshair along an axis (0 = x, 1 = y, 2 = z).
    Axis(usize),
    /// Between two points, mm.
    Between(Point, Point),
}

/// Thickness of the slices.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Thickness {
    /// Thickness, mm; 0: one voxel.
    pub mm: f64,
    /// Combination of the values behind each other.
    pub combination: Combination,
}

impl Thickness {
    /// Returns the slab of the slices whose middle lies within, at this distance along an axis or a line of sight; `None` for a
    /// single slice.
    pub fn slab(self, distance_mm: f64, step: [f32; 3]) -> Option<Slab> {
        let each_side = (0.5 * self.mm / distance_mm + 1e-6).floor() as u32;
        (each_side > 0).then_some(Slab { step, num_samples: 2 * each_side + 1, combination: self.combination })
    }

    pub fn text(self) -> Option<String> {
        let what = match self.combination {
            Combination::Mean => "mean",
            Combination::Maximum => "maximum",
        };
        (self.mm > 0.0).then(|| format!("{what} of {:.1} mm", self.mm))
    }
}

/// Settings of the views for the images of all runs. They are not part of the document: undo and ROI files leave them out, a
/// saved session contains the lasting ones.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ViewState {
    pub crosshair_mm: Point,
    /// The point in the middle of every slice, mm.
    pub focus_mm: Point,
    /// 1 = the image fits.
    pub zoom: f64,
    /// Between voxel centres.
    pub interpolation: Interpolation,
    pub layout: Layout,
    /// The only view shown, if one is.
    pub maximised: Option<Cell>,
    pub thickness: Thickness,
    /// Content of the rotatable view.
    pub turned: RotatableContent,
    /// Rotation of this view.
    pub turn: Rotation,
    /// True during a continuous rotation.
    #[serde(skip)]
    pub spins: bool,
    /// Tool of the left button.
    #[serde(skip)]
    pub tool: Tool,
    pub profile: ProfileLine,
    /// Side of the square about the line over which the profile is averaged, mm; 0 = the line alone.
    pub profile_width_mm: f64,
    pub show_rois: bool,
    /// Comparison with the reference image.
    #[serde(skip)]
    pub beside: CompareMode,
    /// Where the two images meet that are swiped over each other, as a part of a slice's width.
    #[serde(skip)]
    pub swipe: f32,
    pub show_crosshair: bool,
    /// True if the settings for the reproduction of papers are shown.
    pub shows_research: bool,
}

impl Default for ViewState {
    fn default() -> Self {
        Self {
            crosshair_mm: [0.0; 3],
            focus_mm: [0.0; 3],
            zoom: 1.0,
            interpolation: Interpolation::default(),
            layout: Layout::default(),
            maximised: None,
            thickness: Thickness { mm: 0.0, combination: Combination::Mean },
            turned: RotatableContent::default(),
            turn: Rotation::default(),
            spins: false,
            tool: Tool::default(),
            profile: ProfileLine::Axis(0),
            profile_width_mm: 0.0,
            show_rois: true,
            beside: CompareMode::default(),
            swipe: 0.5,
            show_crosshair: true,
            shows_research: false,
        }
    }
}

impl ViewState {
    /// Corrects values of a file that the window would not make.
    pub fn sanitize(&mut self) {
        let usual = Self::default();
        let is_point = |point: &Point| point.iter().all(|c| c.is_finite());
        self.crosshair_mm = if is_point(&self.crosshair_mm) { self.crosshair_mm } else { usual.crosshair_mm };
        self.focus_mm = if is_point(&self.focus_mm) { self.focus_mm } else { usual.focus_mm };
        self.zoom = held_within(self.zoom, MIN_ZOOM, MAX_ZOOM);
        self.thickness.mm = held_within(self.thickness.mm, 0.0, 500.0);
        self.profile_width_mm = held_within(self.profile_width_mm, 0.0, 500.0);
        let Rotation { azimuth_deg, elevation_deg } = self.turn;
        self.turn = Rotation {
            azimuth_deg: held_within(azimuth_deg, 0.0, 360.0),
            elevation_deg: held_within(elevation_deg, -90.0, 90.0),
        };
        let is_line = match &self.profile {
            ProfileLine::Axis(axis) => *axis < 3,
            ProfileLine::Between(from, to) => is_point(from) && is_point(to),
        };
        self.profile = if is_line { self.profile } else { usual.profile };
    }

    /// Shows the whole grid, keeping the crosshair where it lies inside.
    pub fn reset_for(&mut self, grid: &Grid) {
        let middle = middle_of(grid);
        self.focus_mm = middle;
        self.zoom = 1.0;
        let inside = (0..3).all(|a| {
            let [low, high] = grid.extent_mm(a);
            (low..=high).contains(&self.crosshair_mm[a])
        });
        if !inside {
            self.crosshair_mm = middle;
        }
    }

    /// Zooms to a box, given as its lower and upper corner in mm: to its first `num_axes` axes. (The field of view fills its short
    /// z axis, which has room anyhow.)
    pub fn fit(&mut self, grid: &Grid, [low, high]: [Point; 2], num_axes: usize) {
        self.focus_mm = std::array::from_fn(|a| 0.5 * (low[a] + high[a]));
        let margin = 1.15;
        let zoom = (0..num_axes)
            .map(|a| grid.size[a] as f64 * grid.voxel_mm[a] / (margin * (high[a] - low[a])))
            .fold(f64::INFINITY, f64::min);
        self.zoom = zoom.clamp(1.0, MAX_ZOOM);
    }

    /// True if the rotatable view is in the window.
    pub fn shows_turned(&self) -> bool {
        self.maximised.map_or(self.layout == Layout::Grid, |cell| cell == Cell::Turned)
    }

    /// Returns the voxel of the three slices; `None` if other parts of an image are displayed, too.
    pub fn slices_at(&self, grid: &Grid) -> Option<[usize; 3]> {
        let is_more = self.thickness.mm > 0.0 || self.shows_turned() || self.beside != CompareMode::Off;
        (!is_more).then(|| std::array::from_fn(|a| slice_index(grid, a, self.crosshair_mm[a])))
    }

    /// Turns the oblique slice about the crosshair as a point of a plane moves from one place to another.
    pub fn turn_oblique(&mut self, plane: RoiPlane, from_to: [Point; 2]) {
        let ([a, b], _) = plane.axes();
        let [from, to] = from_to.map(|point| (point[b] - self.crosshair_mm[b]).atan2(point[a] - self.crosshair_mm[a]));
        self.turn = self.turn.about(plane, to - from);
    }

    /// Moves the crosshair, held inside the grid.
    pub fn set_crosshair(&mut self, grid: &Grid, point: Point) {
        self.crosshair_mm = std::array::from_fn(|a| {
            let [low, high] = grid.extent_mm(a);
            let half = 0.5 * grid.voxel_mm[a];
            point[a].clamp(low + half.min(0.5 * (high - low)), (high - half).max(low + half))
        });
    }

    /// Moves the crosshair by whole voxels along an axis.
    pub fn step_slice(&mut self, grid: &Grid, axis: usize, slices: i64) {
        let mut point = self.crosshair_mm;
        let voxel = slice_index(grid, axis, point[axis]) as i64 + slices;
        let voxel = voxel.clamp(0, grid.size[axis] as i64 - 1);
        point[axis] = grid.origin_mm[axis] + voxel as f64 * grid.voxel_mm[axis];
        self.crosshair_mm = point;
    }

    /// Zooms by a factor; a point so far from the middle (mm) stays where it is on the screen.
    pub fn zoom_about(&mut self, off: Point, factor: f64) {
        let zoom = (self.zoom * factor).clamp(MIN_ZOOM, MAX_ZOOM);
        let ratio = self.zoom / zoom;
        self.focus_mm = std::array::from_fn(|a| self.focus_mm[a] + off[a] * (1.0 - ratio));
        self.zoom = zoom;
    }
}

/// Lower and upper corner (mm) of the box around the active voxels: those above half the mean of all that lie above the
/// image's mean, and above what noise and streaks reach (as far up as they go down below zero). `None` where there is none.
pub fn active_bounds_mm(volume: &Volume) -> Option<[Point; 2]> {
    let grid = &volume.grid;
    let values = volume.as_slice();
    let mean = volume.sum() / values.len() as f64;
    let active: Vec<f32> = values.iter().copied().filter(|v| f64::from(*v) > mean).collect();
    let threshold = 0.5 * active.iter().map(|v| f64::from(*v)).sum::<f64>() / active.len() as f64;
    let threshold = threshold.max(-f64::from(volume.range().0));
    let mut bounds = [[usize::MAX; 3], [0usize; 3]];
    for ((z, y, x), value) in volume.values.indexed_iter() {
        if f64::from(*value) > threshold {
            for (a, at) in [x, y, z].into_iter().enumerate() {
                bounds[0][a] = bounds[0][a].min(at);
                bounds[1][a] = bounds[1][a].max(at);
            }
        }
    }
    (bounds[0][0] <= bounds[1][0]).then(|| bounds.map(|corner| grid.mm_from_voxel(corner.map(|i| i as f64))))
}

/// Returns the slice of a coordinate.
pub fn slice_index(grid: &Grid, axis: usize, mm: f64) -> usize {
    let voxel = ((mm - grid.origin_mm[axis]) / grid.voxel_mm[axis]).round();
    voxel.clamp(0.0, grid.size[axis] as f64 - 1.0) as usize
}

/// A slice on the screen: which plane, where, and at which scale.
#[derive(Clone, Copy, Debug)]
pub struct SliceGeometry {
    pub plane: RoiPlane,
    pub rect: Rect,
    /// Points per mm.
    pub scale: f64,
    /// The point in the middle of the rectangle; its normal coordinate is the slice's.
    pub middle_mm: Point,
}

impl SliceGeometry {
    /// Returns the position of a point (its projection onto the slice).
    pub fn screen_from_mm(&self, point: Point) -> Pos2 {
        let ([a, b], _) = self.plane.axes();
        let centre = self.rect.center();
        Pos2::new(
            centre.x + ((point[a] - self.middle_mm[a]) * self.scale) as f32,
            centre.y + ((point[b] - self.middle_mm[b]) * self.scale) as f32,
        )
    }

    /// Converts a distance on the screen to one in the slice, mm.
    pub fn delta_mm(&self, delta: egui::Vec2) -> Point {
        let ([a, b], _) = self.plane.axes();
        let mut offset = [0.0; 3];
        offset[a] = f64::from(delta.x) / self.scale;
        offset[b] = f64::from(delta.y) / self.scale;
        offset
    }

    /// Returns the point of the slice under a screen position.
    pub fn mm_from_screen(&self, position: Pos2) -> Point {
        let offset = self.delta_mm(position - self.rect.center());
        std::array::from_fn(|k| self.middle_mm[k] + offset[k])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid::centred([10, 20, 5], [2.0, 2.0, 4.0]).unwrap()
    }

    #[test]
    fn screen_and_mm_are_inverse() {
        let slice = SliceGeometry {
            plane: RoiPlane::Coronal,
            rect: Rect::from_min_size(Pos2::new(10.0, 20.0), egui::vec2(300.0, 200.0)),
            scale: 1.7,
            middle_mm: [1.0, 2.0, 3.0],
        };
        let point = [-20.0, 2.0, 11.0];
        let back = slice.mm_from_screen(slice.screen_from_mm(point));
        for a in 0..3 {
            assert!((back[a] - point[a]).abs() < 1e-4, "{back:?}");
        }
        // Left of the patient (+x) is to the right, inferior (+z) is down.
        assert!(slice.screen_from_mm([5.0, 2.0, 3.0]).x > slice.rect.center().x);
        assert!(slice.screen_from_mm([1.0, 2.0, 9.0]).y > slice.rect.center().y);
    }

    #[test]
    fn a_slab_has_the_slices_whose_middle_lies_within() {
        let step = [0.0, 0.0, 1.0];
        let num = |mm: f64| {
            let slab = Thickness { mm, combination: Combination::Maximum }.slab(2.0, step);
            slab.map(|slab| (slab.num_samples, slab.combination))
        };
        assert_eq!([num(0.0), num(3.9)], [None, None]);
        assert_eq!(num(4.0), Some((3, Combination::Maximum)));
        assert_eq!(num(11.0), Some((5, Combination::Maximum)));
    }

    #[test]
    fn crosshair_stays_in_the_grid_and_steps_by_voxels() {
        let mut view = ViewState::default();
        view.set_crosshair(&grid(), [1e9, -1e9, 0.0]);
        assert_eq!(view.crosshair_mm, [9.0, -19.0, 0.0]);
        view.step_slice(&grid(), 2, 1);
        assert_eq!(view.crosshair_mm[2], 4.0);
        view.step_slice(&grid(), 2, 100);
        assert_eq!(view.crosshair_mm[2], 8.0);
    }

    #[test]
    fn zoom_keeps_the_point_under_the_pointer() {
        let mut view = ViewState { focus_mm: [1.0, 2.0, 0.0], ..Default::default() };
        let point = [5.0, -4.0, 0.0];
        let before = (point[0] - view.focus_mm[0]) * view.zoom;
        view.zoom_about(std::array::from_fn(|a| point[a] - view.focus_mm[a]), 2.0);
        assert!(((point[0] - view.focus_mm[0]) * view.zoom - before).abs() < 1e-12);
        assert_eq!(view.zoom, 2.0);
    }

    #[test]
    fn the_object_is_found_and_fitted() {
        let mut volume = Volume::filled(Grid::centred([40, 40, 10], [2.0; 3]).unwrap(), 0.0);
        assert_eq!(active_bounds_mm(&volume), None);
        for ((z, y, x), value) in volume.values.indexed_iter_mut() {
            if (10..20).contains(&x) && (20..30).contains(&y) && z == 4 {
                *value = 3.0;
            }
        }
        let bounds = active_bounds_mm(&volume).unwrap();
        assert_eq!(bounds, [[-19.0, 1.0, -1.0], [-1.0, 19.0, -1.0]]);
        // Streaks of both signs do not hide it.
        for (index, value) in volume.as_mut_slice().iter_mut().enumerate() {
            *value += if index % 2 == 0 { 0.9 } else { -0.9 };
        }
        assert_eq!(active_bounds_mm(&volume), Some(bounds));
        let mut view = ViewState::default();
        view.fit(&volume.grid, bounds, 2);
        assert_eq!(view.focus_mm, [-10.0, 10.0, -1.0]);
        assert!((view.zoom - 80.0 / (1.15 * 18.0)).abs() < 1e-12);
    }
}
