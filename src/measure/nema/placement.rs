//! Where the phantom lies in an image, and the circles that follow from it.

use crate::data::nema::{SPHERE_DIAMETERS_MM, SPHERE_RING_MM};
use crate::data::{Roi, RoiPlane, RoiRole, RoiShape};
use crate::geometry::Point;

/// Distances of the five slices of the background from the spheres' plane, mm.
pub(super) const BACKGROUND_SLICES_MM: [f64; 5] = [0.0, -10.0, 10.0, -20.0, 20.0];
/// Diameter of the circle in the lung insert, mm.
const LUNG_CIRCLE_MM: f64 = 30.0;
/// Diameter of the largest sphere, mm.
pub(super) const LARGEST_MM: f64 = SPHERE_DIAMETERS_MM[5];

/// One of the six spheres.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct NemaSphere {
    /// Inner diameter, mm.
    pub diameter_mm: f64,
    /// Whether it is hotter than the background.
    pub is_hot: bool,
}

/// What is known of a phantom before it is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NemaKnown {
    /// Middle of the ring of spheres, world mm.
    pub centre_mm: Option<Point>,
    /// Turn of the ring of spheres, rad, as [`NemaPlacement::ring_turn_rad`].
    pub ring_turn_rad: Option<f64>,
    /// Diameters of the spheres in the order of [`NemaPlacement::spheres`], mm.
    pub order_mm: Option<[f64; 6]>,
}

/// Where the phantom lies in an image.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct NemaPlacement {
    /// Middle of the ring of spheres, world mm; its z is that of the spheres' plane.
    pub centre_mm: Point,
    /// By how much the body is turned from +x towards −y, rad: at 0 its front points towards −y.
    pub body_turn_rad: f64,
    /// Angle of the first sphere from +x towards −y, rad. It need not be the body's turn: the ring can be taken out.
    pub ring_turn_rad: f64,
    /// The spheres, 60° apart, in the direction from +x towards −y.
    pub spheres: [NemaSphere; 6],
    /// Centres (x, y) of the circles of the background, world mm.
    pub background_mm: Vec<[f64; 2]>,
    /// Axis of the lung insert (x, y), mm; `None` where none was found.
    pub lung_mm: Option<[f64; 2]>,
    /// z of the first and of the last slice that is all phantom, mm.
    pub body_z_mm: [f64; 2],
}

/// A point that lies (x, up) from a centre, in a frame turned from +x towards −y.
pub(super) fn turned(centre_mm: Point, turn_rad: f64, [x, up]: [f64; 2]) -> Point {
    let (sin, cos) = turn_rad.sin_cos();
    [centre_mm[0] + x * cos - up * sin, centre_mm[1] - (x * sin + up * cos), centre_mm[2]]
}

/// Angle of the sphere at a place of the ring from its first one, rad.
pub(super) fn place_rad(place: usize) -> f64 {
    place as f64 * std::f64::consts::FRAC_PI_3
}

fn circle(name: String, centre_mm: Point, diameter_mm: f64, role: RoiRole) -> Roi {
    let shape = RoiShape::Circle { radius_mm: 0.5 * diameter_mm, plane: RoiPlane::Transaxial };
    Roi { role, ..Roi::new(name, shape, centre_mm) }
}

impl NemaPlacement {
    /// Centre of the sphere at a place of the ring, world mm.
    pub fn sphere_mm(&self, place: usize) -> Point {
        turned(self.centre_mm, self.ring_turn_rad + place_rad(place), [SPHERE_RING_MM, 0.0])
    }

    /// The circle of the sphere at a place of the ring.
    pub(super) fn sphere_roi(&self, place: usize) -> Roi {
        let NemaSphere { diameter_mm, is_hot } = self.spheres[place];
        let role = if is_hot { RoiRole::Hot } else { RoiRole::Cold };
        circle(format!("sphere {diameter_mm} mm"), self.sphere_mm(place), diameter_mm, role)
    }

    /// The circles of the background with this diameter, so far from the spheres' plane.
    pub(super) fn background_rois(&self, diameter_mm: f64, from_plane_mm: f64) -> Vec<Roi> {
        let name = |n: usize| match from_plane_mm {
            0.0 => format!("background {n}"),
            _ => format!("background {n}, {from_plane_mm:+} mm"),
        };
        let z_mm = self.centre_mm[2] + from_plane_mm;
        let roi = |(n, [x, y]): (usize, [f64; 2])| circle(name(n), [x, y, z_mm], diameter_mm, RoiRole::Background);
        (1..).zip(self.background_mm.iter().copied()).map(roi).collect()
    }

    /// The circle in the lung insert at a height, if there is one.
    pub(super) fn lung_roi(&self, z_mm: f64) -> Option<Roi> {
        let [x, y] = self.lung_mm?;
        Some(circle("lung".into(), [x, y, z_mm], LUNG_CIRCLE_MM, RoiRole::None))
    }

    /// The template as regions to look at and to edit: the six spheres, smallest first, twelve circles of 37 mm in each of the
    /// five slices of the background, and the lung insert in the spheres' plane. `activity_ratio`, where it is known, is the hot
    /// spheres'.
    pub fn rois(&self, activity_ratio: Option<f64>) -> Vec<Roi> {
        let mut spheres: Vec<Roi> = self.by_diameter().into_iter().map(|place| self.sphere_roi(place)).collect();
        spheres.iter_mut().filter(|roi| roi.role == RoiRole::Hot).for_each(|roi| roi.activity_ratio = activity_ratio);
        let background = BACKGROUND_SLICES_MM.into_iter().flat_map(|from_plane| self.background_rois(LARGEST_MM, from_plane));
        spheres.into_iter().chain(background).chain(self.lung_roi(self.centre_mm[2])).collect()
    }

    /// Places of the ring by the diameters of their spheres, the smallest first.
    pub(super) fn by_diameter(&self) -> [usize; 6] {
        let mut places = [0, 1, 2, 3, 4, 5];
        places.sort_by(|&a, &b| self.spheres[a].diameter_mm.total_cmp(&self.spheres[b].diameter_mm));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_has_six_spheres_sixty_backgrounds_and_a_lung() {
        let spheres =
            [17.0, 10.0, 13.0, 37.0, 22.0, 28.0].map(|diameter_mm| NemaSphere { diameter_mm, is_hot: diameter_mm < 25.0 });
        let placement = NemaPlacement {
            centre_mm: [5.0, -3.0, 12.0],
            body_turn_rad: 0.0,
            ring_turn_rad: 0.0,
            spheres,
            background_mm: (0..12).map(|n| [10.0 * f64::from(n), 80.0]).collect(),
            lung_mm: Some([5.0, -3.0]),
            body_z_mm: [-50.0, 50.0],
        };
        let rois = placement.rois(Some(4.0));
        assert_eq!(rois.len(), 67);
        assert_eq!(rois[0].name, "sphere 10 mm");
        assert_eq!((rois[0].role, rois[0].activity_ratio), (RoiRole::Hot, Some(4.0)));
        // At 60° from +x towards −y.
        let [x, y, z] = rois[0].centre_mm;
        assert!((x - 5.0 - 28.6).abs() < 1e-9 && (y + 3.0 + 57.2 * 0.75f64.sqrt()).abs() < 1e-9 && z == 12.0);
        assert_eq!((rois[5].name.as_str(), rois[5].role, rois[5].activity_ratio), ("sphere 37 mm", RoiRole::Cold, None));
        assert!((rois[5].centre_mm[0] - (5.0 - 57.2)).abs() < 1e-9);
        assert_eq!(rois.iter().filter(|roi| roi.role == RoiRole::Background).count(), 60);
        assert_eq!(rois.iter().filter(|roi| roi.centre_mm[2] == 32.0).count(), 12);
        let names: std::collections::BTreeSet<&str> = rois.iter().map(|roi| roi.name.as_str()).collect();
        assert_eq!(names.len(), 67);
    }
}
