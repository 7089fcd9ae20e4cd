//! Tumour-like phantom: tissue of one oxygen pressure with compartments of others.

use super::draft::Draft;
use super::{Body, Part};
use crate::data::{Roi, RoiRole, RoiShape};
use crate::geometry::Point;

/// Oxygen pressure of the tissue, torr.
const TISSUE_TORR: f64 = 40.0;

/// Middle of the region in the tissue, mm, at a distance from all compartments.
const IN_TISSUE_MM: Point = [3.5, 0.0, 0.0];

/// Radius of a region relative to that of its compartment: its voxels are away from the edge.
const ROI_PART: f64 = 0.6;

/// Returns the phantom: a core without oxygen, three hypoxic to normoxic balls, and a vessel along z, in an ellipsoid of tissue. A part
/// replaces the tissue in its place.
pub(super) fn tumour() -> Draft {
    let ball = |centre: Point, radius_mm: f64, po2: f64| (Body::ball(centre, radius_mm), centre, radius_mm, po2);
    let vessel = Body::cylinder([7.5, -6.0, -6.0], [7.5, -6.0, 6.0], 3.0);
    let compartments = [
        ball([-6.5, 0.0, 0.0], 4.5, 0.0),
        ball([-0.5, 8.5, 0.0], 3.5, 5.0),
        ball([-0.5, -8.5, 0.0], 3.5, 10.0),
        ball([7.5, 6.0, 0.0], 3.2, 20.0),
        (vessel, [7.5, -6.0, 0.0], 3.0, 60.0),
    ];
    let tissue = Body::Ellipsoid { centre_mm: [0.0; 3], semi_axes_mm: [16.0, 15.0, 12.0] };
    let (mut parts, mut oxygen_torr) = (vec![Part { body: tissue, density: 1.0 }], vec![TISSUE_TORR]);
    let roi = |centre_mm: Point, radius_mm: f64| {
        let shape = RoiShape::Sphere { radius_mm: ROI_PART * radius_mm };
        Roi { role: RoiRole::Background, ..Roi::new(String::new(), shape, centre_mm) }
    };
    let mut rois = Vec::new();
    for (body, centre_mm, radius_mm, po2) in compartments {
        parts.extend([(1.0, body.clone()), (-1.0, body)].map(|(density, body)| Part { body, density }));
        oxygen_torr.extend([po2, TISSUE_TORR]);
        rois.push(roi(centre_mm, radius_mm));
    }
    rois.push(roi(IN_TISSUE_MM, 3.5));
    for (index, roi) in rois.iter_mut().enumerate() {
        roi.name = format!("part {}", index + 1);
    }
    Draft { parts, oxygen_torr, rois }
}
