//! The phantoms of Cabello et al. 2012 for crystal rings, in their own size, and a mouse of ellipsoids in place of theirs.
//!
//! Positions that the paper lacks are derived or chosen; their comments name them.

use super::catalogue::PhantomError;
use super::draft::{Entry, PhantomInfo, WATER, find_entry};
use super::object::{Material, Part, Phantom};
use super::solid::Solid;
use crate::data::{Roi, RoiPlane, RoiRole, RoiShape};
use crate::geometry::Point;

const CATALOGUE: [Entry<fn(&mut Phantom)>; 3] = [
    (PhantomInfo::new("rods", "Warm cylinder with a hot and a cold rod (Cabello et al. 2012)"), rods),
    (
        PhantomInfo::new("ellipsoid", "Warm ellipsoid with six point sources and six cold spheres (Cabello et al. 2012)"),
        ellipsoid,
    ),
    (PhantomInfo::new("mouse-like", "Mouse-like (ellipsoids where a mouse has its organs; no anatomical atlas)"), mouse_like),
];

/// Returns all phantoms of rings.
pub fn catalogue() -> impl Iterator<Item = PhantomInfo> {
    CATALOGUE.into_iter().map(|(info, _)| info)
}

/// Returns the phantom of this name.
///
/// # Errors
/// No phantom of rings has this name; the sentence lists those that there are.
pub fn by_name(name: &str) -> Result<Phantom, PhantomError> {
    let (info, build) = find_entry(&CATALOGUE, name, |name, known| PhantomError::UnknownOfRings { name, known })?;
    let mut phantom = Phantom { name: info.name.into(), title: info.title.into(), size: 1.0, ..Phantom::default() };
    build(&mut phantom);
    Ok(phantom)
}

fn part(phantom: &mut Phantom, solid: Solid, activity: f64) {
    phantom.parts.push(Part { solid, material: Material { activity, ..WATER } });
}

/// A region of the paper's size, 8 × 9 × 0.5 mm³: a rectangle in one slice.
fn rectangle(phantom: &mut Phantom, name: &str, centre_mm: Point, role: RoiRole, activity_ratio: Option<f64>) {
    let shape = RoiShape::Rectangle { size_mm: [8.0, 9.0], plane: RoiPlane::Transaxial };
    phantom.rois.push(Roi { role, activity_ratio, ..Roi::new(name, shape, centre_mm) });
}

/// 60 mm wide, 20 mm long, 3 : 1 : 0. The rods' middles are chosen half-way to the rim.
fn rods(phantom: &mut Phantom) {
    const Z_MM: [f64; 2] = [-10.0, 10.0];
    const SLICE_MM: f64 = 0.25;
    part(phantom, Solid::cylinder([0.0, 0.0], 30.0, Z_MM), 1.0);
    part(phantom, Solid::cylinder([15.0, 0.0], 10.0, Z_MM), 3.0);
    part(phantom, Solid::cylinder([-15.0, 0.0], 10.0, Z_MM), 0.0);
    rectangle(phantom, "hot", [15.0, 0.0, SLICE_MM], RoiRole::Hot, Some(3.0));
    rectangle(phantom, "warm", [0.0, -17.0, SLICE_MM], RoiRole::Background, None);
    rectangle(phantom, "cold", [-15.0, 0.0, SLICE_MM], RoiRole::Cold, None);
}

/// 35 × 20 × 2 mm, 12.5 mm off the axis; points of 0.5 mm at 0, 5, … 25 mm (derived), 200 : 1; cold spheres of 1.5 mm next to
/// them (their distance of 4 mm is chosen).
fn ellipsoid(phantom: &mut Phantom) {
    part(phantom, Solid::ellipsoid([12.5, 0.0, 0.0], [17.5, 10.0, 1.0], 0.0), 1.0);
    for number in 0..6 {
        let x = 5.0 * f64::from(number);
        part(phantom, Solid::ball([x, 0.0, 0.0], 0.25), 200.0);
        part(phantom, Solid::ball([x, -4.0, 0.0], 0.75), 0.0);
        let shape = RoiShape::Sphere { radius_mm: 1.0 };
        let name = format!("point {}", number + 1);
        phantom.rois.push(Roi::new(name, shape, [x, 0.0, 0.0]));
    }
    phantom.rois.push(Roi::circle("warm", [12.5, 5.0, 0.0], 2.0, RoiRole::Background));
}

/// A mouse of 76 mm from nose to rump, along z; a ring sees 18 mm at a time. Activities are chosen.
fn mouse_like(phantom: &mut Phantom) {
    let organs: [(&str, Point, [f64; 3], f64); 9] = [
        ("body", [0.0, 0.0, 6.0], [11.0, 10.0, 29.0], 1.0),
        ("head", [0.0, 0.0, -28.0], [8.0, 7.5, 11.0], 1.0),
        ("brain", [0.0, 2.0, -27.0], [4.5, 3.5, 6.0], 4.0),
        ("lungs", [0.0, 1.0, -9.0], [7.5, 6.0, 6.0], 0.5),
        ("heart", [1.0, -1.5, -8.0], [3.2, 3.0, 4.0], 8.0),
        ("liver", [0.0, -1.0, 3.0], [8.0, 6.0, 4.5], 2.0),
        ("kidney, left", [5.0, 4.0, 11.0], [2.0, 2.5, 4.0], 6.0),
        ("kidney, right", [-5.0, 4.0, 9.0], [2.0, 2.5, 4.0], 6.0),
        ("bladder", [0.0, -3.0, 27.0], [3.0, 3.0, 3.0], 12.0),
    ];
    for (name, centre_mm, semi_axes_mm, activity) in organs {
        part(phantom, Solid::ellipsoid(centre_mm, semi_axes_mm, 0.0), activity);
        if activity > 1.0 {
            let shape = RoiShape::Sphere { radius_mm: 1.5 };
            let activity_ratio = Some(activity);
            phantom.rois.push(Roi { role: RoiRole::Hot, activity_ratio, ..Roi::new(name, shape, centre_mm) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_lie_where_the_activity_is() {
        for info in catalogue() {
            let phantom = by_name(info.name).unwrap();
            for roi in &phantom.rois {
                let activity = phantom.material_at(roi.centre_mm).activity;
                let expected = match roi.role {
                    RoiRole::Hot => roi.activity_ratio.unwrap(),
                    RoiRole::Background => 1.0,
                    RoiRole::Cold => 0.0,
                    RoiRole::None => continue,
                };
                assert_eq!(activity, expected, "{} of {}", roi.name, phantom.name);
            }
        }
        assert!(matches!(by_name("banana"), Err(PhantomError::UnknownOfRings { known, .. }) if known.contains("mouse-like")));
    }
}
