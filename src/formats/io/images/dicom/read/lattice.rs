//! Slices of a segmentation: the frames of its segments at equal distances, possibly with missing slices.

use std::path::Path;

use nalgebra::Vector3;

use super::stack::{PITCH_TOLERANCE, SAME_POSITION_MM, SHEAR_TOLERANCE_MM, check_alike, directions, world};
use crate::data::Notice;
use crate::geometry::Point;
use crate::io::images::dicom::problem::DicomProblem;
use crate::io::notice;

/// Largest number of slices.
const MAX_SLICES: f64 = 65_535.0;

/// Largest deviation of several slices together from their distance, as a part of it.
const MAX_DEVIATION: f64 = 0.25;

/// Position of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FramePlane {
    /// Direction of a row and of a column in the patient, LPS.
    pub orientation: [f64; 6],
    /// Middle of the first pixel in the patient, LPS, mm.
    pub position_mm: [f64; 3],
    /// Distance of rows and of columns, mm.
    pub spacing_mm: [f64; 2],
}

/// Distances of slices by the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distances {
    /// SpacingBetweenSlices, mm.
    pub spacing_mm: Option<f64>,
    /// SliceThickness, mm.
    pub thickness_mm: Option<f64>,
}

/// Slices at equal distances.
pub struct Lattice {
    /// Directions of rows, columns and slices in the world.
    pub axes: [Vector3<f64>; 3],
    /// Distances along them, mm.
    pub steps_mm: [f64; 3],
    /// Numbers along them.
    pub sides: [usize; 3],
    /// World position of the first voxel, mm.
    pub first_mm: Point,
    /// Slice of each frame.
    pub slices: Vec<usize>,
    /// Origin of the distance of the slices, where the file has none.
    assumed: Option<&'static str>,
}

impl Lattice {
    /// Returns the slices of frames of `rows` by `columns` pixels. `of_image` returns the slice distance of an image along a
    /// direction, if it has slices there.
    ///
    /// # Errors
    /// Frames of several orientations or pixel sizes, unequal distances, frames that are shifted in their plane.
    pub fn new(
        frames: &[FramePlane],
        [rows, columns]: [usize; 2],
        distances: Distances,
        of_image: impl Fn(Vector3<f64>) -> Option<f64>,
    ) -> Result<Self, DicomProblem> {
        let first = frames.first().ok_or(DicomProblem::EmptySegmentation)?;
        check_alike(frames.iter().map(|frame| (frame.orientation, frame.spacing_mm)))?;
        let [row, column, normal] = directions(&first.orientation)?;
        let along = |frame: &FramePlane| Vector3::from(frame.position_mm).dot(&normal);
        let start = frames.iter().min_by(|a, b| along(a).total_cmp(&along(b))).unwrap_or(first);
        for frame in frames {
            let shift = Vector3::from(frame.position_mm) - Vector3::from(start.position_mm);
            let in_plane_mm = (shift - normal * shift.dot(&normal)).norm();
            // NaN is not near.
            let is_near = in_plane_mm <= SHEAR_TOLERANCE_MM;
            if !is_near {
                return Err(DicomProblem::FrameShift(in_plane_mm));
            }
        }
        let mut positions: Vec<f64> = frames.iter().map(along).collect();
        positions.sort_by(f64::total_cmp);
        positions.dedup_by(|next, kept| *next - *kept < SAME_POSITION_MM);
        let (pitch_mm, assumed) = pitch(&positions, distances, of_image(world(normal)))?;
        let mut starts = vec![0];
        for pair in positions.windows(2) {
            starts.push(starts.last().copied().unwrap_or(0) + num_slices(pair, pitch_mm) as usize);
        }
        let slice = |frame: &FramePlane| {
            let at = positions.partition_point(|position| *position <= along(frame));
            starts[at.saturating_sub(1)]
        };
        let last = starts.last().copied().unwrap_or(0);
        let pitch_mm = if last > 0 { (positions[positions.len() - 1] - positions[0]) / last as f64 } else { pitch_mm };
        Ok(Self {
            axes: [row, column, normal].map(world),
            steps_mm: [first.spacing_mm[1], first.spacing_mm[0], pitch_mm],
            sides: [columns, rows, last + 1],
            first_mm: world(Vector3::from(start.position_mm)).into(),
            slices: frames.iter().map(slice).collect(),
            assumed,
        })
    }

    /// Returns the notice on slices whose distance the file does not have.
    pub fn notice(&self, path: &Path) -> Option<Notice> {
        let text = |origin| format!("no SpacingBetweenSlices (0018,0088); slices {:.4} mm apart: {origin}", self.steps_mm[2]);
        self.assumed.map(|origin| notice::warning(path, text(origin)))
    }
}

/// Returns the distance of the slices, and its origin where the file does not have it.
///
/// Without SpacingBetweenSlices it is that of the image if two frames are neighbours there. Else it is the first of these that
/// divides all distances: the thickness of a slice, the distance of the image, the smallest distance of two frames.
fn pitch(positions: &[f64], distances: Distances, of_image_mm: Option<f64>) -> Result<(f64, Option<&'static str>), DicomProblem> {
    let gap = |pair: &[f64]| pair[1] - pair[0];
    let smallest_mm = positions.windows(2).map(gap).reduce(f64::min);
    let misfit = |pitch_mm: f64| positions.windows(2).find(|pair| !is_multiple(pair, pitch_mm));
    if let Some(pitch_mm) = distances.spacing_mm {
        return match misfit(pitch_mm) {
            None => Ok((pitch_mm, None)),
            Some(pair) => Err(DicomProblem::FrameGap { between_mm: [pair[0], pair[1]], pitch_mm }),
        };
    }
    let of_neighbours = of_image_mm.zip(smallest_mm).filter(|(pitch_mm, gap_mm)| num_slices(&[0.0, *gap_mm], *pitch_mm) == 1.0);
    let candidates = [
        (of_neighbours.map(|(pitch_mm, _)| pitch_mm), "that of the image"),
        (distances.thickness_mm, "SliceThickness (0018,0050)"),
        (of_image_mm, "that of the image"),
        (smallest_mm.or(Some(1.0)), if smallest_mm.is_some() { "that of the nearest frames" } else { "assumed" }),
    ];
    let known = candidates.into_iter().filter_map(|(pitch_mm, origin)| Some((pitch_mm?, origin)));
    let mut pitch_mm = 1.0;
    for (candidate_mm, origin) in known {
        if misfit(candidate_mm).is_none() {
            return Ok((candidate_mm, Some(origin)));
        }
        pitch_mm = candidate_mm;
    }
    let between_mm = misfit(pitch_mm).map_or([0.0; 2], |pair| [pair[0], pair[1]]);
    Err(DicomProblem::FrameGap { between_mm, pitch_mm })
}

/// Returns the number of slices from one position to the next.
fn num_slices(pair: &[f64], pitch_mm: f64) -> f64 {
    ((pair[1] - pair[0]) / pitch_mm).round()
}

/// Returns true if the distance of two positions is a multiple of that of the slices.
fn is_multiple(pair: &[f64], pitch_mm: f64) -> bool {
    let num = num_slices(pair, pitch_mm);
    let [part, mm] = PITCH_TOLERANCE;
    let tolerance_mm = (num * part).min(MAX_DEVIATION) * pitch_mm + mm;
    (1.0..=MAX_SLICES).contains(&num) && (pair[1] - pair[0] - num * pitch_mm).abs() <= tolerance_mm
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice(z_mm: &[f64], distances: Distances, of_image_mm: Option<f64>) -> Result<Lattice, DicomProblem> {
        let frame = |z: &f64| FramePlane {
            orientation: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            position_mm: [1.0, 2.0, *z],
            spacing_mm: [2.0, 3.0],
        };
        let frames: Vec<FramePlane> = z_mm.iter().map(frame).collect();
        Lattice::new(&frames, [4, 5], distances, |_| of_image_mm)
    }

    fn pitch_and_slices(z_mm: &[f64], distances: [Option<f64>; 2], of_image_mm: Option<f64>) -> Option<(f64, Vec<usize>)> {
        let [spacing_mm, thickness_mm] = distances;
        let lattice = lattice(z_mm, Distances { spacing_mm, thickness_mm }, of_image_mm).ok()?;
        Some((lattice.steps_mm[2], lattice.slices))
    }

    #[test]
    fn slices_are_numbered_in_any_order_and_with_gaps() {
        // Our z is reversed: the frame at the largest one is the first.
        assert_eq!(pitch_and_slices(&[9.0, 3.0, 9.0, -3.0], [Some(3.0), None], None), Some((3.0, vec![0, 2, 0, 4])));
        // Positions in tenths of a mm.
        let (pitch_mm, slices) = pitch_and_slices(&[-6.5, 0.0, -3.3], [Some(3.27), None], None).unwrap();
        assert!((pitch_mm - 3.25).abs() < 1e-12 && slices == [2, 0, 1], "{pitch_mm} {slices:?}");
        let refused = lattice(&[0.0, -4.0], Distances { spacing_mm: Some(3.0), thickness_mm: None }, None);
        assert!(matches!(refused.err(), Some(DicomProblem::FrameGap { pitch_mm: 3.0, .. })));
        let far = lattice(&[0.0, 1e300], Distances { spacing_mm: Some(3.0), thickness_mm: None }, None);
        assert!(matches!(far.err(), Some(DicomProblem::FrameGap { .. })));
    }

    #[test]
    fn a_missing_slice_distance_is_found() {
        let none = [None; 2];
        assert_eq!(pitch_and_slices(&[0.0, -3.0, -9.0], none, None), Some((3.0, vec![0, 1, 3])));
        // Neighbours in the image, for any thickness; a thickness of two slices of the image; a distance of the image.
        assert_eq!(pitch_and_slices(&[0.0, -3.0, -9.0], [None, Some(1.5)], Some(3.0)), Some((3.0, vec![0, 1, 3])));
        assert_eq!(pitch_and_slices(&[0.0, -6.0], [None, Some(6.0)], Some(3.0)), Some((6.0, vec![0, 1])));
        assert_eq!(pitch_and_slices(&[0.0, -6.0], [None, Some(5.0)], Some(3.0)), Some((3.0, vec![0, 2])));
        assert_eq!(pitch_and_slices(&[0.0], [None, Some(5.0)], Some(3.0)), Some((5.0, vec![0])));
        assert_eq!(lattice(&[0.0], Distances::default(), None).unwrap().assumed, Some("assumed"));
    }
}
