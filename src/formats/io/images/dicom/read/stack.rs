//! Planes of a series as images over time: their order, their grid, their position in the world.
//!
//! Source: DICOM PS3.3, C.7.6.2.1.1 (image plane): pixel (i, j) lies at position + row direction · i · Δx + column direction · j · Δy.

use dicom_dictionary_std::tags;
use nalgebra::Vector3;

use super::attributes::{invalid, missing, name};
use super::instance::Plane;
use crate::data::Placement;
use crate::io::error::Mismatch;
use crate::io::images::dicom::problem::DicomProblem;
use crate::io::images::orientation::{Orientation, placed};

/// Planes that are nearer to each other are at one position, mm.
pub const SAME_POSITION_MM: f64 = 0.01;

/// Largest difference of a slice distance from the mean one: part of it, and mm.
pub const PITCH_TOLERANCE: [f64; 2] = [0.02, 0.01];

/// Largest shift along the planes from the first slice to the last, mm.
pub const SHEAR_TOLERANCE_MM: f64 = 0.1;

/// Largest difference of directions and, as a part, of pixel distances within a series.
const SAME_DIRECTION: f64 = 1e-4;

/// Planes in order.
pub struct Stack<'a> {
    /// Planes of each image, in the order of the voxels.
    pub images: Vec<Vec<&'a Plane>>,
    /// Orientation of the voxels in the world, or along the axes of an oblique image.
    pub orientation: Orientation,
    /// Position of an oblique image.
    pub placement: Option<Placement>,
    /// True if the distance of the only slice to the next is not known.
    pub is_pitch_assumed: bool,
}

/// Orders planes of `rows` by `columns` pixels.
///
/// # Errors
/// Planes of several orientations or pixel sizes, missing or duplicate slices, unequal distances, a tilted gantry.
pub fn stack(planes: &[Plane], [rows, columns]: [usize; 2]) -> Result<Stack<'_>, DicomProblem> {
    let first = planes.first().ok_or_else(|| missing(tags::PIXEL_DATA))?;
    check_alike(planes.iter().map(|plane| (plane.orientation, plane.spacing_mm)))?;
    let [row, column, normal] = directions(&first.orientation)?;
    let along = |plane: &Plane| Vector3::from(plane.position_mm).dot(&normal);
    let mut sorted: Vec<&Plane> = planes.iter().collect();
    sorted.sort_by(|a, b| along(a).total_cmp(&along(b)));
    let mut positions: Vec<Vec<&Plane>> =
        sorted.chunk_by(|a, b| along(b) - along(a) < SAME_POSITION_MM).map(<[_]>::to_vec).collect();
    let num_images = num_images(&positions, along)?;
    for planes in &mut positions {
        let compare = |a: &f64, b: &f64| a.total_cmp(b);
        planes.sort_by(|a, b| {
            a.order.iter().zip(&b.order).map(|(a, b)| compare(a, b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    let starts: Vec<&Plane> = positions.iter().map(|planes| planes[0]).collect();
    let (pitch_mm, is_pitch_assumed) = pitch(&starts, along)?;
    check_shear(&starts, normal)?;
    let images = (0..num_images).map(|image| positions.iter().map(|planes| planes[image]).collect()).collect();
    let sides = [columns, rows, starts.len()];
    let steps_mm = [first.spacing_mm[1], first.spacing_mm[0], pitch_mm];
    let first_mm = world(Vector3::from(starts[0].position_mm)).into();
    let (orientation, placement) = placed([row, column, normal].map(world), steps_mm, sides, first_mm);
    Ok(Stack { images, orientation, placement, is_pitch_assumed })
}

/// Refuses planes that differ in their directions or their pixel distances.
pub fn check_alike(planes: impl IntoIterator<Item = ([f64; 6], [f64; 2])>) -> Result<(), DicomProblem> {
    let differs = |a: &[f64], b: &[f64], tolerance: f64| a.iter().zip(b).any(|(a, b)| (a - b).abs() > tolerance);
    let mut planes = planes.into_iter();
    let Some((of_first, first_mm)) = planes.next() else { return Ok(()) };
    for (orientation, spacing_mm) in planes {
        if differs(&orientation, &of_first, SAME_DIRECTION) {
            return Err(DicomProblem::Mixed(name(tags::IMAGE_ORIENTATION_PATIENT)));
        }
        if differs(&spacing_mm, &first_mm, SAME_DIRECTION * first_mm[0]) {
            return Err(DicomProblem::Mixed(name(tags::PIXEL_SPACING)));
        }
    }
    Ok(())
}

/// Returns a direction of DICOM's patient (LPS) in our world, whose z is reversed.
pub fn world(direction: Vector3<f64>) -> Vector3<f64> {
    Vector3::new(direction.x, direction.y, -direction.z)
}

/// Returns the position of a plane along its normal, mm.
pub fn along_normal(plane: &Plane) -> f64 {
    let [a, b, c, d, e, f] = plane.orientation;
    Vector3::from(plane.position_mm).dot(&Vector3::new(a, b, c).cross(&Vector3::new(d, e, f)))
}

/// Returns the unit vectors of rows, of columns and of slices: from the first to the last along our +x, +y or +z, so that slices
/// along the patient need no copy.
pub fn directions(orientation: &[f64; 6]) -> Result<[Vector3<f64>; 3], DicomProblem> {
    let [a, b, c, d, e, f] = *orientation;
    let (row, column) = (Vector3::new(a, b, c), Vector3::new(d, e, f));
    let is_unit = |vector: &Vector3<f64>| (vector.norm() - 1.0).abs() < 1e-3;
    if !is_unit(&row) || !is_unit(&column) || row.dot(&column).abs() > 1e-3 {
        return Err(DicomProblem::Orientation(name(tags::IMAGE_ORIENTATION_PATIENT)));
    }
    let row = row.normalize();
    let column = (column - row * row.dot(&column)).normalize();
    let normal = row.cross(&column);
    let is_reversed = world(normal)[world(normal).iamax()] < 0.0;
    Ok([row, column, if is_reversed { -normal } else { normal }])
}

/// Returns the number of planes at each position.
fn num_images(positions: &[Vec<&Plane>], along: impl Fn(&Plane) -> f64) -> Result<usize, DicomProblem> {
    let mut counts: Vec<usize> = positions.iter().map(Vec::len).collect();
    counts.sort_unstable();
    let usual = counts[counts.len() / 2];
    match positions.iter().find(|planes| planes.len() != usual) {
        None => Ok(usual),
        Some(planes) => {
            let num = Mismatch { found: planes.len(), expected: usual };
            Err(DicomProblem::Duplicates { at_mm: along(planes[0]), num })
        }
    }
}

/// Returns the distance of the slices; true if it is assumed.
fn pitch(slices: &[&Plane], along: impl Fn(&Plane) -> f64) -> Result<(f64, bool), DicomProblem> {
    let [first, .., last] = slices else {
        let thickness_mm = slices.first().and_then(|plane| plane.thickness_mm);
        return Ok((thickness_mm.unwrap_or(1.0), thickness_mm.is_none()));
    };
    let pitch_mm = (along(last) - along(first)) / (slices.len() - 1) as f64;
    // That of most slices, for the message.
    let mut gaps_mm: Vec<f64> = slices.windows(2).map(|pair| along(pair[1]) - along(pair[0])).collect();
    let [part, mm] = PITCH_TOLERANCE;
    match gaps_mm.iter().position(|gap_mm| (gap_mm - pitch_mm).abs() > part * pitch_mm + mm) {
        None => Ok((pitch_mm, false)),
        Some(_) => {
            let unsorted = gaps_mm.clone();
            gaps_mm.sort_by(f64::total_cmp);
            let usual_mm = gaps_mm[gaps_mm.len() / 2];
            let farthest =
                |(_, a): &(usize, &f64), (_, b): &(usize, &f64)| (*a - usual_mm).abs().total_cmp(&(*b - usual_mm).abs());
            let at = unsorted.iter().enumerate().max_by(farthest).map_or(0, |(at, _)| at);
            Err(DicomProblem::Gap { between_mm: [along(slices[at]), along(slices[at + 1])], pitch_mm: usual_mm })
        }
    }
}

/// Refuses slices that are not above each other.
fn check_shear(slices: &[&Plane], normal: Vector3<f64>) -> Result<(), DicomProblem> {
    let [first, .., last] = slices else { return Ok(()) };
    let shift = Vector3::from(last.position_mm) - Vector3::from(first.position_mm);
    let in_plane_mm = (shift - normal * shift.dot(&normal)).norm();
    if in_plane_mm <= SHEAR_TOLERANCE_MM {
        return Ok(());
    }
    Err(DicomProblem::Sheared(in_plane_mm / (slices.len() - 1) as f64))
}

/// Refuses a pixel size that is not positive.
pub fn check_spacing(spacing_mm: [f64; 2]) -> Result<(), DicomProblem> {
    if spacing_mm.iter().all(|mm| *mm > 0.0) {
        return Ok(());
    }
    Err(invalid(tags::PIXEL_SPACING, format!("{}\\{}", spacing_mm[0], spacing_mm[1]), "two positive lengths"))
}
