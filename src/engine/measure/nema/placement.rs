//! Where the phantom lies in an image, and the circles that follow from it.

use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{Roi, RoiPlane, RoiRole, RoiShape};
use crate::geometry::Point;

/// Distances of the five slices of the background from the spheres' plane, mm.
pub(super) const BACKGROUND_SLICES_MM: [f64; 5] = [0.0, -10.0, 10.0, -20.0, 20.0];
/// Circles of the background in a slice.
pub(super) const NUM_CIRCLES: usize = 12;

/// Diameter of the circle in the lung insert, mm.
const LUNG_CIRCLE_MM: f64 = 30.0;
/// Diameter of the largest sphere, mm.
pub(super) const LARGEST_MM: f64 = SPHERE_DIAMETERS_MM[5];

/// One of the six spheres.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct NemaSphere {
    /// Inner diameter, mm.
    pub diameter_mm: f64,
    /// True if it is hotter than the background.
    pub is_hot: bool,
    /// Its centre, world mm.
    pub centre_mm: Point,
}

/// Known values of a phantom before the search.
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
    /// Centres of the circles of the background, world mm: as they are found twelve in each of five slices.
    pub background_mm: Vec<Point>,
    /// Axis of the lung insert (x, y), mm; `None` where none was found.
    pub lung_mm: Option<[f64; 2]>,
    /// z of the first and of the last slice that is all phantom, mm.
    pub body_z_mm: [f64; 2],
    /// Largest shift of a circle from its automatic position, mm; `None` without a shift of at least a tenth.
    pub moved_mm: Option<f64>,
}

/// Half of the distance of neighbouring slices of the background, mm.
const HALF_SLICE_DISTANCE_MM: f64 = 5.0;

/// Returns a point that lies (x, up) from a centre, in a frame turned from +x towards −y.
pub(super) fn turned(centre_mm: Point, turn_rad: f64, [x, up]: [f64; 2]) -> Point {
    let (sin, cos) = turn_rad.sin_cos();
    [centre_mm[0] + x * cos - up * sin, centre_mm[1] - (x * sin + up * cos), centre_mm[2]]
}

/// Returns the angle of the sphere at a place of the ring from its first one, rad.
pub(super) fn place_rad(place: usize) -> f64 {
    place as f64 * std::f64::consts::FRAC_PI_3
}

/// Name of the circle in the lung insert.
const LUNG: &str = "lung";

/// Returns the name of the circle of a sphere.
fn sphere_name(diameter_mm: f64) -> String {
    format!("sphere {diameter_mm} mm")
}

/// Returns names of the circles of the background, slice by slice.
fn background_names() -> impl Iterator<Item = String> {
    let name = |from_plane_mm: f64, n: usize| match from_plane_mm {
        0.0 => format!("background {n}"),
        _ => format!("background {n}, {from_plane_mm:+} mm"),
    };
    BACKGROUND_SLICES_MM.into_iter().flat_map(move |from_plane| (1..=NUM_CIRCLES).map(move |n| name(from_plane, n)))
}

/// Returns the centres of the circles of the background of the five slices, from those (x, y) in a slice.
pub(super) fn in_five_slices(places: &[[f64; 2]], plane_mm: f64) -> Vec<Point> {
    let slice = |from_plane: f64| places.iter().map(move |&[x, y]| [x, y, plane_mm + from_plane]);
    BACKGROUND_SLICES_MM.into_iter().flat_map(slice).collect()
}

fn circle(name: String, centre_mm: Point, diameter_mm: f64, role: RoiRole) -> Roi {
    Roi::circle(name, centre_mm, 0.5 * diameter_mm, role)
}

/// Circles that lie this near to where they were found were not moved, mm: reports have tenths.
pub(in crate::measure) const MIN_MOVED_MM: f64 = 0.05;

impl NemaPlacement {
    /// Returns the circle of the sphere at a place of the ring.
    pub(super) fn sphere_roi(&self, place: usize) -> Roi {
        let NemaSphere { diameter_mm, is_hot, centre_mm } = self.spheres[place];
        let role = if is_hot { RoiRole::Hot } else { RoiRole::Cold };
        circle(sphere_name(diameter_mm), centre_mm, diameter_mm, role)
    }

    /// Returns the circles of the background with this diameter.
    pub(super) fn background_rois(&self, diameter_mm: f64) -> Vec<Roi> {
        let roi = |(name, &centre_mm)| circle(name, centre_mm, diameter_mm, RoiRole::Background);
        background_names().zip(&self.background_mm).map(roi).collect()
    }

    /// Returns the circles of 37 mm of the background in the slice at a height: those of the nearest of the five.
    pub(super) fn background_rois_at(&self, z_mm: f64) -> Vec<Roi> {
        let off = |roi: &Roi| (roi.centre_mm[2] - z_mm).abs();
        let rois = self.background_rois(LARGEST_MM);
        let nearest = rois.iter().map(off).fold(f64::INFINITY, f64::min);
        let near = rois.into_iter().filter(|roi| off(roi) <= nearest + HALF_SLICE_DISTANCE_MM);
        near.map(|roi| Roi { centre_mm: [roi.centre_mm[0], roi.centre_mm[1], z_mm], ..roi }).collect()
    }

    /// Returns the circle in the lung insert at a height, if there is one.
    pub(super) fn lung_roi(&self, z_mm: f64) -> Option<Roi> {
        let [x, y] = self.lung_mm?;
        Some(circle(LUNG.into(), [x, y, z_mm], LUNG_CIRCLE_MM, RoiRole::None))
    }

    /// Returns the template as regions to look at and to edit: the six spheres, smallest first, twelve circles of 37 mm in each
    /// of the five slices of the background, and the lung insert in the spheres' plane. `activity_ratio`, where it is known, is
    /// the hot spheres'.
    pub fn rois(&self, activity_ratio: Option<f64>) -> Vec<Roi> {
        let mut spheres: Vec<Roi> = self.by_diameter().into_iter().map(|place| self.sphere_roi(place)).collect();
        spheres.iter_mut().filter(|roi| roi.role == RoiRole::Hot).for_each(|roi| roi.activity_ratio = activity_ratio);
        let background = self.background_rois(LARGEST_MM);
        spheres.into_iter().chain(background).chain(self.lung_roi(self.centre_mm[2])).collect()
    }

    /// Returns the placement with the circles at the regions with the names of the template, which the user may have moved, and
    /// with their hot and cold roles; deleted circles of the background are left out. Sizes stay the standard's. `None` without a
    /// template among the regions: six spheres, and backgrounds of more than one slice.
    pub fn with_rois(&self, rois: &[Roi]) -> Option<Self> {
        let is_circle = |roi: &Roi| matches!(roi.shape, RoiShape::Circle { plane: RoiPlane::Transaxial, .. });
        let find = |name: &str| rois.iter().find(|roi| roi.name == name && is_circle(roi));
        let mut moved_mm: f64 = 0.0;
        let mut far = |from: Point, to: Point| {
            let squares: f64 = (0..3).map(|a| (to[a] - from[a]).powi(2)).sum();
            moved_mm = moved_mm.max(squares.sqrt());
            to
        };
        let mut placed = self.clone();
        for sphere in &mut placed.spheres {
            let roi = find(&sphere_name(sphere.diameter_mm))?;
            sphere.centre_mm = far(sphere.centre_mm, roi.centre_mm);
            sphere.is_hot = if sphere.is_hot { roi.role != RoiRole::Cold } else { roi.role == RoiRole::Hot };
        }
        let backgrounds = background_names().zip(&self.background_mm).enumerate();
        let found: Vec<(usize, Point)> =
            backgrounds.filter_map(|(index, (name, &from))| Some((index, far(from, find(&name)?.centre_mm)))).collect();
        found.iter().any(|(index, _)| *index >= NUM_CIRCLES).then_some(())?;
        placed.background_mm = found.into_iter().map(|(_, at)| at).collect();
        if let (Some([x, y]), Some(roi)) = (self.lung_mm, find(LUNG)) {
            let [to_x, to_y, _] = roi.centre_mm;
            far([x, y, 0.0], [to_x, to_y, 0.0]);
            placed.lung_mm = Some([to_x, to_y]);
        }
        placed.centre_mm = std::array::from_fn(|a| placed.spheres.iter().map(|sphere| sphere.centre_mm[a] / 6.0).sum());
        placed.moved_mm = Some(moved_mm).filter(|mm| *mm >= MIN_MOVED_MM);
        Some(placed)
    }

    /// Returns places of the ring by the diameters of their spheres, the smallest first.
    pub(super) fn by_diameter(&self) -> [usize; 6] {
        let mut places = [0, 1, 2, 3, 4, 5];
        places.sort_by(|&a, &b| self.spheres[a].diameter_mm.total_cmp(&self.spheres[b].diameter_mm));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::nema::SPHERE_RING_MM;

    fn placement() -> NemaPlacement {
        let (centre_mm, order) = ([5.0, -3.0, 12.0], [17.0, 10.0, 13.0, 37.0, 22.0, 28.0]);
        let spheres = std::array::from_fn(|place| NemaSphere {
            diameter_mm: order[place],
            is_hot: order[place] < 25.0,
            centre_mm: turned(centre_mm, place_rad(place), [SPHERE_RING_MM, 0.0]),
        });
        let places: Vec<[f64; 2]> = (0..12).map(|n| [10.0 * f64::from(n), 80.0]).collect();
        NemaPlacement {
            centre_mm,
            body_turn_rad: 0.0,
            ring_turn_rad: 0.0,
            spheres,
            background_mm: in_five_slices(&places, centre_mm[2]),
            lung_mm: Some([5.0, -3.0]),
            body_z_mm: [-50.0, 50.0],
            moved_mm: None,
        }
    }

    #[test]
    fn a_template_that_was_moved_is_taken_where_it_is() {
        let placement = placement();
        let mut rois = placement.rois(None);
        let same = placement.with_rois(&rois).unwrap();
        assert_eq!(same.moved_mm, None);
        assert_eq!(
            (&same.spheres, &same.background_mm, same.lung_mm),
            (&placement.spheres, &placement.background_mm, placement.lung_mm)
        );
        // The sphere of 37 mm by 5 mm, as hot; a background a slice away and another away altogether.
        rois[5].centre_mm[0] += 3.0;
        rois[5].centre_mm[1] -= 4.0;
        rois[5].role = RoiRole::Hot;
        rois[6 + 13].centre_mm[2] += 1.0;
        rois.remove(6 + 59);
        let moved = placement.with_rois(&rois).unwrap();
        assert!((moved.moved_mm.unwrap() - 5.0).abs() < 1e-12);
        assert_eq!((moved.spheres[3].centre_mm, moved.spheres[3].is_hot), (rois[5].centre_mm, true));
        assert_eq!(moved.spheres[..3], placement.spheres[..3]);
        assert_eq!((moved.background_mm.len(), moved.background_mm[13][2]), (59, 3.0));
        assert!((moved.centre_mm[0] - 5.5).abs() < 1e-9);
        // Regions of a study may have names of the template without being one.
        let of_a_study: Vec<Roi> = rois[..18].to_vec();
        assert_eq!(placement.with_rois(&of_a_study), None);
        rois[0].shape = RoiShape::Sphere { radius_mm: 5.0 };
        assert_eq!(placement.with_rois(&rois), None);
    }

    #[test]
    fn the_template_has_six_spheres_sixty_backgrounds_and_a_lung() {
        let placement = placement();
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
