//! The phantoms by name, each made to fit a scanner.

use super::draft::{Draft, Entry, PhantomInfo, WATER, find_entry};
use super::object::{Material, Phantom};
use super::solid::Solid;
use super::{nema, nema_nu4};
use crate::coded::coded;
use crate::data::{Roi, RoiRole, RoiShape};
use crate::geometry::Point;
use crate::scanner::ScanGeometry;

/// Cortical bone without activity (0.0896 cm²/g × 1.92 g/cm³).
const BONE: Material = Material { activity: 0.0, mu_per_mm: 0.0172 };

/// Reason why there is no such phantom.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhantomError {
    /// The name is not in the catalogue.
    #[error("there is no phantom '{name}'; known are {known}")]
    Unknown {
        /// Requested name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The name is not in the catalogue of phantoms for rings of crystals.
    #[error("there is no phantom '{name}' for rings of crystals; known are {known}")]
    UnknownOfRings {
        /// Requested name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The name is not in the catalogue of EPRI phantoms.
    #[error("there is no EPRI phantom '{name}'; known are {known}")]
    UnknownEpri {
        /// Requested name.
        name: String,
        /// Those that there are.
        known: String,
    },
}

coded!(PhantomError = "phantom");

/// Makes a phantom in its usual size for a scanner.
type Make = fn(PhantomInfo, &ScanGeometry) -> Draft;

const CATALOGUE: [Entry<Make>; 11] = [
    (PhantomInfo::new("nema-iq-2001", "NEMA image quality (NU 2-2001: four spheres hot, two cold)"), |info, geometry| {
        nema::image_quality(info, geometry, 25.0)
    }),
    (PhantomInfo::new("nema-iq-2018", "NEMA image quality (NU 2-2018: six spheres hot)"), |info, geometry| {
        nema::image_quality(info, geometry, f64::INFINITY)
    }),
    (PhantomInfo::new("nema-nu4", "NEMA image quality for small animals (NU 4-2008)"), nema_nu4::small_animal),
    (PhantomInfo::new("cylinder", "Uniform cylinder"), cylinder),
    (PhantomInfo::new("derenzo", "Derenzo (hot rods in six sectors)"), derenzo),
    (PhantomInfo::new("points", "Point sources"), points),
    (PhantomInfo::new("rods", "Line sources"), rods),
    (PhantomInfo::new("brain-like", "Brain-like (ellipsoids)"), brain_like),
    (PhantomInfo::new("rat-like", "Rat-like (ellipsoids where a rat has its organs; no anatomical atlas)"), rat_like),
    (PhantomInfo::new("line-source", "Line source (on the axis and off it)"), line_source),
    (PhantomInfo::new("ellipsoid", "Uniform ellipsoid"), ellipsoid),
];

/// Returns all phantoms.
pub fn catalogue() -> impl Iterator<Item = PhantomInfo> {
    CATALOGUE.into_iter().map(|(info, _)| info)
}

/// Returns the entry of this name in the catalogue.
///
/// # Errors
/// No phantom has this name; the sentence lists those that there are.
pub fn find(name: &str) -> Result<PhantomInfo, PhantomError> {
    Ok(entry(name)?.0)
}

fn entry(name: &str) -> Result<Entry<Make>, PhantomError> {
    find_entry(&CATALOGUE, name, |name, known| PhantomError::Unknown { name, known })
}

/// Returns the phantom of this name, scaled down if its usual size does not fit the scanner's field of view (with a notice).
///
/// # Errors
/// No phantom has this name.
pub fn by_name(name: &str, geometry: &ScanGeometry) -> Result<Phantom, PhantomError> {
    let (info, make) = entry(name)?;
    Ok(make(info, geometry).fitted(geometry))
}

/// Returns water with activity, 200 mm wide and 190 mm long.
fn cylinder(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    let mut draft = Draft::new(info, 100.0, 50.0, geometry);
    draft.part(Solid::cylinder([0.0, 0.0], 100.0, [-95.0, 95.0]), 1.0, WATER);
    draft.circle("background", [0.0; 3], 25.0, RoiRole::Background, None);
    draft
}

/// Returns one ellipsoid of water with activity.
fn ellipsoid(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    let mut draft = Draft::new(info, 90.0, 110.0, geometry);
    draft.part(Solid::ellipsoid([0.0; 3], [90.0, 60.0, 50.0], 0.0), 1.0, WATER);
    draft.circle("background", [0.0; 3], 25.0, RoiRole::Background, None);
    draft
}

/// Rods of six diameters in six sectors, each in a triangular lattice whose pitch is twice the diameter; hot in cold
/// water. The diameters are those of a common clinical insert.
fn derenzo(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    const RADIUS_MM: f64 = 108.0;
    const Z_MM: [f64; 2] = [-93.0, 93.0];
    let mut draft = Draft::new(info, RADIUS_MM, 50.0, geometry);
    draft.part(Solid::cylinder([0.0, 0.0], RADIUS_MM, Z_MM), 0.0, WATER);
    for (sector, diameter) in [4.8, 6.4, 7.9, 9.5, 11.1, 12.7].into_iter().enumerate() {
        let (sin, cos) = (sector as f64 * std::f64::consts::FRAC_PI_3).sin_cos();
        let pitch = 2.0 * diameter;
        let mut first = true;
        for row in 0..32 {
            let along = pitch * (1.0 + f64::from(row) * 0.75f64.sqrt());
            for place in 0..=row {
                let across = pitch * (f64::from(place) - 0.5 * f64::from(row));
                if along.hypot(across) + 0.5 * diameter > RADIUS_MM - 6.0 {
                    continue;
                }
                let centre = [along * cos - across * sin, along * sin + across * cos];
                draft.part(Solid::cylinder(centre, 0.5 * diameter, Z_MM), 1.0, WATER);
                if std::mem::take(&mut first) {
                    let name = format!("first rod {}", draft.made_mm(diameter));
                    draft.circle(name, [centre[0], centre[1], 0.0], 0.5 * diameter, RoiRole::None, None);
                }
            }
        }
    }
    draft
}

/// Returns the radius of a thin source that no view misses: three quarters of the wider of bin and plane distance, mm. Given for
/// the usual size of a phantom that is to be made `size` times as large.
fn thin_mm(geometry: &ScanGeometry, size: f64) -> f64 {
    0.75 * geometry.central_bin_mm().max(0.5 * geometry.ring_spacing_mm) / size
}

/// Returns small balls in air at the places of NEMA NU 2's resolution test: 10 mm and 100 mm from the axis, in the middle and a
/// quarter of the axial length from it.
fn points(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    let axial_mm = geometry.axial_length_mm();
    let mut draft = Draft::new(info, 110.0, axial_mm, geometry);
    let radius_mm = thin_mm(geometry, draft.size);
    for z in [0.0, 0.25 * axial_mm] {
        for [x, y] in [[0.0, -10.0], [0.0, -100.0], [100.0, 0.0]] {
            let centre_mm = [x, y, z];
            draft.part(Solid::ball(centre_mm, radius_mm), 1.0, Material::default());
            let shape = RoiShape::Sphere { radius_mm: 10.0 };
            let name = format!("point {}", draft.rois.len() + 1);
            draft.rois.push(Roi::new(name, shape, centre_mm));
        }
    }
    draft
}

/// Returns thin rods in air: two along z, one along x, one along y and an oblique one.
fn rods(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    let axial_mm = geometry.axial_length_mm();
    let mut draft = Draft::new(info, 120.0, axial_mm, geometry);
    let radius_mm = thin_mm(geometry, draft.size);
    let z = |share: f64| share * axial_mm;
    for x in [0.0, 100.0] {
        draft.part(Solid::cylinder([x, 0.0], radius_mm, [z(-0.4), z(0.4)]), 1.0, Material::default());
        draft.circle(format!("line along z at x = {}", draft.made_mm(x)), [x, 0.0, 0.0], 10.0, RoiRole::None, None);
    }
    let tilted: [[Point; 2]; 3] = [
        [[-80.0, -60.0, z(0.125)], [80.0, -60.0, z(0.125)]],
        [[-60.0, -40.0, z(-0.125)], [-60.0, 100.0, z(-0.125)]],
        [[-40.0, 70.0, z(-0.3)], [70.0, 40.0, z(0.3)]],
    ];
    for [from, to] in tilted {
        draft.part(Solid::rod(from, to, radius_mm), 1.0, Material::default());
    }
    draft
}

/// Ellipsoids arranged like a head: scalp, skull, grey and white matter, ventricles, deep nuclei and two lesions. Not
/// anatomy; activity 1 is that of white matter.
fn brain_like(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    let mut draft = Draft::new(info, 100.0, 150.0, geometry);
    draft.part(Solid::ellipsoid([0.0; 3], [80.0, 100.0, 88.0], 0.0), 0.3, WATER);
    draft.part(Solid::ellipsoid([0.0; 3], [75.0, 95.0, 83.0], 0.0), 0.1, BONE);
    draft.part(Solid::ellipsoid([0.0; 3], [69.0, 89.0, 76.0], 0.0), 4.0, WATER);
    for side in [-1.0, 1.0] {
        let at = |x: f64, y: f64, z: f64| [side * x, y, z];
        draft.part(Solid::ellipsoid(at(29.0, 0.0, 5.0), [27.0, 68.0, 55.0], 0.0), 1.0, WATER);
        draft.part(Solid::ellipsoid(at(9.0, -8.0, 10.0), [5.0, 22.0, 12.0], side * 0.15), 0.0, WATER);
        draft.part(Solid::ellipsoid(at(25.0, -6.0, 2.0), [7.0, 16.0, 10.0], side * -0.2), 5.0, WATER);
        draft.part(Solid::ellipsoid(at(10.0, 20.0, 2.0), [8.0, 10.0, 9.0], 0.0), 4.0, WATER);
        let name = if side < 0.0 { "right" } else { "left" };
        draft.circle(format!("white matter, {name}"), at(30.0, 36.0, 0.0), 9.0, RoiRole::Background, None);
        draft.circle(format!("deep nucleus, {name}"), at(25.0, -6.0, 2.0), 5.0, RoiRole::Hot, Some(5.0));
        draft.circle(format!("ventricle, {name}"), at(9.0, -8.0, 10.0), 4.0, RoiRole::Cold, None);
    }
    draft.part(Solid::ball([-40.0, -38.0, 12.0], 6.0), 6.0, WATER);
    draft.circle("hot lesion", [-40.0, -38.0, 12.0], 6.0, RoiRole::Hot, Some(6.0));
    draft.part(Solid::ball([36.0, -38.0, 12.0], 6.0), 0.0, WATER);
    draft.circle("cold lesion", [36.0, -38.0, 12.0], 6.0, RoiRole::Cold, None);
    draft
}

/// Ellipsoids arranged as a rat has its organs, in the 45 mm that a small scanner sees along the axis: a body with brain, heart
/// with a cold chamber, two kidneys and bladder. No anatomical atlas; activity 1 is that of the body.
fn rat_like(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    let mut draft = Draft::new(info, 22.0, 44.0, geometry);
    draft.part(Solid::ellipsoid([0.0; 3], [22.0, 19.0, 22.0], 0.0), 1.0, WATER);
    let organs = [
        ("brain", [0.0, 2.0, -14.0], [5.0, 4.0, 5.0], 3.0),
        ("heart", [3.0, -3.0, -4.0], [5.5, 5.0, 6.0], 6.0),
        ("kidney, right", [-9.0, 5.0, 6.0], [3.0, 4.0, 5.5], 4.0),
        ("kidney, left", [9.0, 5.0, 6.0], [3.0, 4.0, 5.5], 4.0),
        ("bladder", [0.0, -4.0, 15.0], [4.0, 4.0, 4.0], 8.0),
    ];
    for (name, centre_mm, semi_axes_mm, activity) in organs {
        draft.part(Solid::ellipsoid(centre_mm, semi_axes_mm, 0.0), activity, WATER);
        // The heart's own middle is cold: its wall is hot.
        if name != "heart" {
            draft.circle(name, centre_mm, 2.0, RoiRole::Hot, Some(activity));
        }
    }
    let chamber_mm = [3.0, -3.0, -4.0];
    draft.part(Solid::ellipsoid(chamber_mm, [2.5, 2.2, 3.0], 0.0), 0.0, WATER);
    draft.circle("heart, wall", [7.0, -3.0, -4.0], 1.0, RoiRole::Hot, Some(6.0));
    draft.circle("heart, chamber", chamber_mm, 1.5, RoiRole::Cold, None);
    draft.circle("body", [-10.0, -4.0, -3.0], 3.0, RoiRole::Background, None);
    draft
}

/// Returns two thin lines along z in air, one on the axis and one 20 mm off it.
fn line_source(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    let axial_mm = geometry.axial_length_mm();
    let mut draft = Draft::new(info, 22.0, axial_mm, geometry);
    let radius_mm = thin_mm(geometry, draft.size);
    for x in [0.0, 20.0] {
        draft.part(Solid::cylinder([x, 0.0], radius_mm, [-0.4 * axial_mm, 0.4 * axial_mm]), 1.0, Material::default());
        draft.circle(format!("line at x = {}", draft.made_mm(x)), [x, 0.0, 0.0], 3.0, RoiRole::None, None);
    }
    draft
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;
    use crate::task::Task;

    #[test]
    fn the_ellipsoids_of_the_rat_like_phantom_match_their_volumes() {
        let phantom = by_name("rat-like", &crate::scanner::find("vrpet").unwrap().geometry).unwrap();
        assert_eq!(phantom.size, 1.0);
        let grid = Grid::centred([120, 120, 120], [0.4; 3]).unwrap();
        let truth = phantom.truth(&grid, 1.0, &Task::new()).unwrap();
        let volume = |[a, b, c]: [f64; 3]| 4.0 / 3.0 * std::f64::consts::PI * a * b * c;
        let chamber = volume([2.5, 2.2, 3.0]);
        let expected = volume([22.0, 19.0, 22.0]) + 2.0 * volume([5.0, 4.0, 5.0]) + 5.0 * volume([5.5, 5.0, 6.0]) - 6.0 * chamber
            + 2.0 * 3.0 * volume([3.0, 4.0, 5.5])
            + 7.0 * volume([4.0; 3]);
        let found = truth.sum() * 0.4f64.powi(3);
        assert!((found / expected - 1.0).abs() < 2e-3, "{found} mm³ where {expected} are expected");
        for roi in &phantom.rois {
            let sums = roi.mask(&grid).sums(truth.as_slice());
            let expected = phantom.material_at(roi.centre_mm).activity;
            assert!((sums.sum / sums.weight - expected).abs() < 1e-3, "{}", roi.name);
        }
    }

    #[test]
    fn a_line_source_is_two_thin_lines_of_the_same_activity() {
        let geometry = &crate::scanner::find("vrpet").unwrap().geometry;
        let phantom = by_name("line-source", geometry).unwrap();
        let grid = Grid::centred([420, 20, 60], [0.1, 0.1, 0.76]).unwrap();
        let truth = phantom.truth(&grid, 1.0, &Task::new()).unwrap();
        let line = std::f64::consts::PI * (0.75 * 0.5 * geometry.ring_spacing_mm).powi(2) * 0.8 * geometry.axial_length_mm();
        let found = truth.sum() * 0.1 * 0.1 * 0.76;
        assert!((found / (2.0 * line) - 1.0).abs() < 5e-3, "{found} mm³ where {} are expected", 2.0 * line);
        assert_eq!([0.0, 20.0, 10.0].map(|x| phantom.material_at([x, 0.0, 5.0]).activity), [1.0, 1.0, 0.0]);
    }

    #[test]
    fn every_phantom_fits_every_scanner_and_reports_its_scale() {
        for scanner in crate::scanner::catalogue() {
            let geometry = &scanner.geometry;
            for info in catalogue() {
                let phantom = by_name(info.name, geometry).unwrap();
                assert_eq!(phantom.notices.is_empty(), phantom.size == 1.0, "{} on {}", info.name, scanner.name);
                assert!(!phantom.rois.is_empty());
                // Nothing outside the field of view, on lines along z around it.
                for step in 0..360 {
                    let (sin, cos) = f64::from(step).to_radians().sin_cos();
                    let rim = [1.0001 * geometry.fov_radius_mm * cos, 1.0001 * geometry.fov_radius_mm * sin];
                    let line = crate::geometry::Line { start: [rim[0], rim[1], -1e3], end: [rim[0], rim[1], 1e3] };
                    assert_eq!(phantom.line_integrals(&line), Default::default(), "{} on {}", info.name, scanner.name);
                }
            }
        }
        assert!(by_name("nema-iq-2001", &crate::scanner::find("small").unwrap().geometry).unwrap().size < 0.5);
    }

    #[test]
    fn hot_and_cold_regions_lie_where_the_activity_is() {
        let geometry = &crate::scanner::find("discovery-ste").unwrap().geometry;
        for info in catalogue() {
            let phantom = by_name(info.name, geometry).unwrap();
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
    }

    #[test]
    fn the_names_of_regions_tell_the_lengths_that_were_made() {
        let of = |scanner: &str, name: &str| by_name(name, &crate::scanner::find(scanner).unwrap().geometry).unwrap();
        let derenzo = of("vrpet", "derenzo");
        assert!((derenzo.size - 0.4).abs() < 0.01, "{}", derenzo.size);
        assert_eq!([&derenzo.rois[0].name, &derenzo.rois[5].name], ["first rod 1.92 mm", "first rod 5.09 mm"]);
        assert_eq!(of("discovery-ste", "derenzo").rois[0].name, "first rod 4.8 mm");
        for (scanner, name) in [("vrpet", "derenzo"), ("small", "nema-iq-2001"), ("vrpet", "nema-iq-2018"), ("vrpet", "nema-nu4")]
        {
            for roi in of(scanner, name).rois.iter().filter(|roi| roi.name.ends_with(" mm")) {
                let RoiShape::Circle { radius_mm, .. } = roi.shape else { continue };
                let told: f64 = roi.name.split(' ').nth_back(1).unwrap().parse().unwrap();
                assert!((told / (2.0 * radius_mm) - 1.0).abs() < 0.005, "{}: radius {radius_mm} mm", roi.name);
            }
        }
        let rods = of("small", "rods");
        assert!(rods.size < 1.0);
        let told: f64 = rods.rois[1].name.split(' ').nth_back(1).unwrap().parse().unwrap();
        assert!((told / rods.rois[1].centre_mm[0] - 1.0).abs() < 0.005, "{}", rods.rois[1].name);
    }

    #[test]
    fn an_unknown_phantom_is_answered_with_the_known_ones() {
        let geometry = &crate::scanner::find("small").unwrap().geometry;
        let sentence = by_name("banana", geometry).unwrap_err().to_string();
        assert!(sentence.contains("banana") && sentence.contains("nema-iq-2001") && sentence.contains("ellipsoid"));
    }
}
