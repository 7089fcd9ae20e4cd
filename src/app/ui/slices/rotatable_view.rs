//! Rotatable view: the maximum along the line of sight (maximum intensity projection, MIP), or an oblique slice through the
//! crosshair.
//!
//! Without rotation it is oriented as the coronal slice: right is +x, down +z, away from the viewer +y. It rotates about z by the
//! azimuth, then about its own right by the elevation. At an azimuth of 90° right is +y, as in the sagittal slice.

use egui::{Pos2, Rect};

use crate::data::{RoiPlane, Volume};
use crate::geometry::{Grid, Point, dot};

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum RotatableContent {
    /// The largest value along the line of sight.
    #[default]
    #[strum(serialize = "MIP")]
    Mip,
    /// The slice through the crosshair.
    #[strum(serialize = "Oblique slice")]
    Oblique,
}

impl RotatableContent {
    /// Returns the name, also for the accessibility tree.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Rotation of the view, degrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rotation {
    /// About z, 0 to 360.
    pub azimuth_deg: f64,
    /// About the view's right, −90 to 90.
    pub elevation_deg: f64,
}

impl Rotation {
    /// Returns the rotation after further angles.
    pub fn by(self, azimuth_deg: f64, elevation_deg: f64) -> Self {
        Self {
            azimuth_deg: (self.azimuth_deg + azimuth_deg).rem_euclid(360.0),
            elevation_deg: (self.elevation_deg + elevation_deg).clamp(-90.0, 90.0),
        }
    }

    /// Returns the rotation after its plane has turned by an angle about a plane's normal, from the plane's horizontal axis
    /// towards the vertical one.
    pub fn about(self, plane: RoiPlane, angle_rad: f64) -> Self {
        let ([a, b], _) = plane.axes();
        let mut away = self.basis()[2];
        let (sin, cos) = angle_rad.sin_cos();
        (away[a], away[b]) = (cos * away[a] - sin * away[b], sin * away[a] + cos * away[b]);
        let level = away[0].hypot(away[1]);
        // From straight above or below, the azimuth is undefined.
        let azimuth_deg = if level < 1e-9 { self.azimuth_deg } else { (-away[0]).atan2(away[1]).to_degrees().rem_euclid(360.0) };
        Self { azimuth_deg, elevation_deg: away[2].atan2(level).to_degrees() }
    }

    /// Returns the unit vectors to the right, down, and away from the viewer.
    pub fn basis(self) -> [Point; 3] {
        let (sin_a, cos_a) = self.azimuth_deg.to_radians().sin_cos();
        let (sin_e, cos_e) = self.elevation_deg.to_radians().sin_cos();
        [[cos_a, sin_a, 0.0], [sin_e * sin_a, -sin_e * cos_a, cos_e], [-cos_e * sin_a, cos_e * cos_a, sin_e]]
    }
}

fn moved(from: Point, direction: Point, by: f64) -> Point {
    std::array::from_fn(|k| from[k] + by * direction[k])
}

/// The view on the screen.
#[derive(Clone, Copy, Debug)]
pub struct TurnedGeometry {
    pub rect: Rect,
    /// Points per mm.
    pub scale: f64,
    /// The point in the middle of the rectangle.
    pub middle_mm: Point,
    /// To the right, down, and away from the viewer.
    pub basis: [Point; 3],
}

impl TurnedGeometry {
    /// Returns the view whose plane contains a point, with the projection of `focus` in the middle.
    pub fn through(plane_point: Point, focus: Point, turn: Rotation, rect: Rect, scale: f64) -> Self {
        let basis = turn.basis();
        let off = dot(std::array::from_fn(|k| plane_point[k] - focus[k]), basis[2]);
        Self { rect, scale, middle_mm: moved(focus, basis[2], off), basis }
    }

    /// Returns the position of a point (its projection along the line of sight).
    pub fn screen_from_mm(&self, point: Point) -> Pos2 {
        let off = std::array::from_fn(|k| point[k] - self.middle_mm[k]);
        self.rect.center()
            + egui::vec2((dot(off, self.basis[0]) * self.scale) as f32, (dot(off, self.basis[1]) * self.scale) as f32)
    }

    /// Returns the point of the plane under a screen position.
    pub fn mm_from_screen(&self, position: Pos2) -> Point {
        let off = position - self.rect.center();
        moved(moved(self.middle_mm, self.basis[0], f64::from(off.x) / self.scale), self.basis[1], f64::from(off.y) / self.scale)
    }

    /// Converts a distance on the screen to one in the plane, mm.
    pub fn delta_mm(&self, delta: egui::Vec2) -> Point {
        let [right, down, _] = self.basis;
        std::array::from_fn(|k| (f64::from(delta.x) * right[k] + f64::from(delta.y) * down[k]) / self.scale)
    }
}

pub fn middle_of(grid: &Grid) -> Point {
    std::array::from_fn(|a| 0.5 * grid.extent_mm(a).iter().sum::<f64>())
}

/// Returns the distance of the samples along a line of sight, which meets every voxel, mm.
pub fn sample_distance_mm(grid: &Grid) -> f64 {
    grid.voxel_mm.into_iter().fold(f64::INFINITY, f64::min)
}

/// Returns the number of samples from one end of the image to the other, in any direction.
pub fn num_samples_through(grid: &Grid) -> u32 {
    let diagonal: f64 = (0..3).map(|a| (grid.size[a] as f64 * grid.voxel_mm[a]).powi(2)).sum();
    (diagonal.sqrt() / sample_distance_mm(grid)).ceil() as u32
}

/// Returns the middle of the voxel with the largest value on the line of sight through a point; `None` if it misses the image.
pub fn brightest_mm(volume: &Volume, point: Point, away: Point) -> Option<Point> {
    let grid = &volume.grid;
    let step = sample_distance_mm(grid);
    let half = 0.5 * f64::from(num_samples_through(grid));
    let voxels = (0..=2 * half as i64).filter_map(|k| {
        let voxel = grid.voxel_from_mm(moved(point, away, (k as f64 - half) * step)).map(f64::round);
        (0..3).all(|a| voxel[a] >= 0.0 && voxel[a] < grid.size[a] as f64).then(|| voxel.map(|v| v as usize))
    });
    let value = |voxel: &[usize; 3]| volume.values[[voxel[2], voxel[1], voxel[0]]];
    let brightest = voxels.max_by(|a, b| value(a).total_cmp(&value(b)))?;
    Some(grid.mm_from_voxel(brightest.map(|v| v as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_begins_as_the_coronal_slice_and_turns_into_the_sagittal_and_the_transaxial_one() {
        let near = |turn: Rotation, expected: [Point; 3]| {
            for (direction, expected) in turn.basis().iter().flatten().zip(expected.iter().flatten()) {
                assert!((direction - expected).abs() < 1e-12, "{turn:?}: {:?}", turn.basis());
            }
        };
        let (x, y, z) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
        near(Rotation::default(), [x, z, y]);
        near(Rotation::default().by(90.0, 0.0), [y, z, [-1.0, 0.0, 0.0]]);
        near(Rotation::default().by(360.0, -90.0), [x, y, [0.0, 0.0, -1.0]]);
    }

    #[test]
    fn screen_and_plane_are_inverse_and_the_plane_goes_through_its_point() {
        let rect = Rect::from_min_size(Pos2::new(10.0, 20.0), egui::vec2(300.0, 200.0));
        let turn = Rotation { azimuth_deg: 30.0, elevation_deg: -50.0 };
        let turned = TurnedGeometry::through([4.0, -7.0, 2.0], [10.0, 0.0, 1.0], turn, rect, 1.7);
        for position in [rect.center(), Pos2::new(40.0, 150.0)] {
            let point = turned.mm_from_screen(position);
            assert!(turned.screen_from_mm(point).distance(position) < 1e-3);
            let off = std::array::from_fn(|k| point[k] - [4.0, -7.0, 2.0][k]);
            assert!(dot(off, turned.basis[2]).abs() < 1e-6, "{point:?} is not in the plane");
        }
        assert!(turned.screen_from_mm([10.0, 0.0, 1.0]).distance(rect.center()) < 1e-3);
    }

    #[test]
    fn the_brightest_voxel_is_found_on_the_line_of_sight_only() {
        let mut volume = Volume::filled(Grid::centred([21, 21, 11], [2.0, 2.0, 3.0]).unwrap(), 1.0);
        volume.values[[5, 4, 13]] = 8.0;
        volume.values[[0, 0, 0]] = 90.0;
        let hot = volume.grid.mm_from_voxel([13.0, 4.0, 5.0]);
        let away = Rotation { azimuth_deg: 25.0, elevation_deg: 10.0 }.basis()[2];
        assert_eq!(brightest_mm(&volume, moved(hot, away, 17.0), away), Some(hot));
        assert_eq!(brightest_mm(&volume, [500.0, 0.0, 0.0], [0.0, 1.0, 0.0]), None);
    }
}
