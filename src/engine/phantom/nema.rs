//! The image-quality phantom of NEMA NU 2: a torso with six spheres around a lung insert.
//!
//! Dimensions as in the public implementations of the standard's phantom (NU 2-2001 and later); y is up there and down
//! here, so that the back of the torso lies towards +y. The spheres' centres are in the plane z = 0, which is 70 mm from
//! the lid (at −z) of the 180 mm long cavity. Linear attenuation at 511 keV from mass attenuation and density.

use super::draft::{Draft, PhantomInfo, WATER};
use super::object::Material;
use super::solid::Solid;
use crate::data::nema::{
    BODY_BACK_MM, BODY_FRONT_MM, BODY_MIDDLE_MM, BODY_SHOULDER_MM, LUNG_RADIUS_MM, SPHERE_DIAMETERS_MM, SPHERE_RING_MM,
};
use crate::data::{Roi, RoiRole};
use crate::scanner::ScanGeometry;

/// Angles of the centres of the spheres, smallest first, from +x towards up, degrees.
const SPHERE_ANGLES_DEG: [f64; 6] = [60.0, 120.0, 0.0, 240.0, 300.0, 180.0];
/// Activity of a hot sphere, relative to the background.
const HOT: f64 = 4.0;
/// Lowest and highest z of the cavity, mm.
const CAVITY_Z_MM: [f64; 2] = [-70.0, 110.0];
/// Thickness of the wall, mm.
const WALL_MM: f64 = 3.0;

pub(super) const PMMA: Material = Material { activity: 0.0, mu_per_mm: 0.0941 * 1.19 / 10.0 };
const LUNG: Material = Material { activity: 0.0, mu_per_mm: 0.096 * 0.3 / 10.0 };

/// Centres (x, up) of twelve circles of 37 mm in the background that keep 15 mm from the edge and avoid the spheres, mm.
const BACKGROUND_MM: [[f64; 2]; 12] = [
    [111.4, -13.5],
    [90.0, 34.2],
    [49.4, 67.2],
    [-1.7, 78.5],
    [-52.4, 65.7],
    [-92.0, 31.5],
    [-112.0, -16.8],
    [-100.6, -66.0],
    [-51.1, -78.5],
    [1.7, -78.5],
    [54.4, -78.5],
    [102.8, -63.5],
];

/// Returns the phantom with the spheres above `cold_from_mm` in diameter cold and the others hot.
pub(super) fn image_quality(info: PhantomInfo, geometry: &ScanGeometry, cold_from_mm: f64) -> Draft {
    let radius_mm = BODY_SHOULDER_MM.hypot(BODY_MIDDLE_MM) + BODY_BACK_MM + WALL_MM;
    let mut draft = Draft::new(info, radius_mm, 60.0, geometry);
    let [low, high] = CAVITY_Z_MM;
    torso(WALL_MM, [low - WALL_MM, high + WALL_MM]).into_iter().for_each(|solid| draft.part(solid, 0.0, PMMA));
    torso(0.0, CAVITY_Z_MM).into_iter().for_each(|solid| draft.part(solid, 1.0, WATER));
    draft.part(Solid::cylinder([0.0, 0.0], LUNG_RADIUS_MM, CAVITY_Z_MM), 0.0, LUNG);
    for (diameter, angle_deg) in SPHERE_DIAMETERS_MM.into_iter().zip(SPHERE_ANGLES_DEG) {
        let (sin, cos) = f64::to_radians(angle_deg).sin_cos();
        let centre_mm = [SPHERE_RING_MM * cos, -SPHERE_RING_MM * sin, 0.0];
        let hot = diameter < cold_from_mm;
        draft.part(Solid::ball(centre_mm, 0.5 * diameter), if hot { HOT } else { 0.0 }, WATER);
        let role = if hot { RoiRole::Hot } else { RoiRole::Cold };
        draft.circle(format!("sphere {}", draft.made_mm(diameter)), centre_mm, 0.5 * diameter, role, hot.then_some(HOT));
    }
    draft.rois.extend((1..).zip(BACKGROUND_MM).map(|(n, at)| background(n, at, 18.5)));
    draft.circle("lung", [0.0, -0.0, 0.0], 15.0, RoiRole::None, None);
    draft
}

/// Returns the torso's outline, `margin_mm` larger all around, between two heights.
fn torso(margin_mm: f64, z_mm: [f64; 2]) -> Vec<Solid> {
    let [large, small] = [BODY_FRONT_MM + margin_mm, BODY_BACK_MM + margin_mm];
    let (y, side) = (-BODY_MIDDLE_MM, BODY_SHOULDER_MM);
    let front = Solid::cuboid([-large, y - large, z_mm[0]], [large, y, z_mm[1]]);
    vec![
        Solid::cylinder([0.0, y], large, z_mm).and(front),
        Solid::cylinder([-side, y], small, z_mm),
        Solid::cylinder([side, y], small, z_mm),
        Solid::cuboid([-side, 0.0, z_mm[0]], [side, y + small, z_mm[1]]),
    ]
}

/// Returns the background region number `n`, a circle at (x, up) in the central slice.
fn background(n: usize, [x, up]: [f64; 2], radius_mm: f64) -> Roi {
    Roi::circle(format!("background {n}"), [x, -up, 0.0], radius_mm, RoiRole::Background)
}

/// Returns eight circles of 15 mm radius in the background of the central slice (Belzunce et al. 2012, figure 5, which gives
/// their number and size; the places are eight of the standard's twelve). `size` is the phantom's.
pub fn eight_background_rois(size: f64) -> Vec<Roi> {
    let at = [0, 1, 2, 4, 5, 6, 8, 10].map(|n| BACKGROUND_MM[n].map(|v| v * size));
    (1..).zip(at).map(|(n, at)| background(n, at, 15.0 * size)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RoiShape;

    #[test]
    fn background_circles_lie_in_the_background() {
        let geometry = &crate::scanner::find("discovery-ste").unwrap().geometry;
        let phantom = crate::phantom::by_name("nema-iq-2001", geometry).unwrap();
        assert_eq!(phantom.size, 1.0);
        let all: Vec<Roi> = [eight_background_rois(1.0), phantom.rois.clone()].concat();
        let circles: Vec<&Roi> = all.iter().filter(|roi| roi.role == RoiRole::Background).collect();
        assert_eq!(circles.len(), 8 + 12);
        for roi in circles {
            let RoiShape::Circle { radius_mm, .. } = roi.shape else { panic!("not a circle") };
            for step in 0..72 {
                let (sin, cos) = f64::to_radians(5.0 * f64::from(step)).sin_cos();
                let [x, y, z] = roi.centre_mm;
                let rim = [x + radius_mm * cos, y + radius_mm * sin, z];
                assert_eq!(phantom.material_at(rim).activity, 1.0, "{} at {rim:?}", roi.name);
            }
        }
    }
}
