//! Segments of a DICOM segmentation as regions of an image.
//!
//! A segmentation on the voxels of the image has these voxels. Another one along the same axes keeps its own voxels: those of the
//! image count by their part inside. Of one that is turned against the image, voxels of the image with their centre inside belong
//! to a region.

use std::collections::BTreeSet;
use std::path::Path;

use nalgebra::{Matrix3, Vector3};

use super::lattice::Lattice;
use super::segmentation::{Filled, SegmentHead, Segmentation, SegmentationKind};
use super::stack::PITCH_TOLERANCE;
use crate::data::{ImageSpace, Notice, Placement, Roi, RoiShape, Voxels};
use crate::geometry::Grid;
use crate::io::error::IoError;
use crate::io::images::dicom::problem::DicomProblem;
use crate::io::images::orientation::placed;
use crate::io::notice;
use crate::text::counted;

/// Smallest cosine of the angle between the normal of a segmentation and an axis of an image with the same slices.
const SAME_NORMAL: f64 = 1.0 - 1e-6;

/// Notices on regions, by name.
#[derive(Default)]
struct Remarks {
    empty: Vec<String>,
    renamed: Vec<String>,
    outside: Vec<String>,
}

impl Segmentation {
    /// Returns a region of the image for each segment, and notices.
    ///
    /// # Errors
    /// Frames that make no slices, pixels that are not decoded, too many voxels, no segment with voxels.
    pub fn regions(&self, image: &ImageSpace) -> Result<(Vec<Roi>, Vec<Notice>), IoError> {
        let path = self.path.as_path();
        let refused = |problem: DicomProblem| IoError::unsupported(path, problem);
        let in_image = |direction: Vector3<f64>| image.placement.map_or(direction, |placement| inverse(placement) * direction);
        let lattice = self.lattice(|normal| slice_distance(image.grid, in_image(normal))).map_err(refused)?;
        let Lattice { axes, steps_mm, sides, first_mm, .. } = lattice;
        let first_mm = image.placement.map_or(first_mm, |placement| placement.own_mm(first_mm));
        // Along the axes of the image, or turned against them.
        let (orientation, turned) = placed(axes.map(in_image), steps_mm, sides, first_mm);
        let grid = orientation.grid(sides).map_err(|error| IoError::Grid(path.to_owned(), error))?;
        let filled = self.filled(&lattice, |voxel| orientation.voxel(sides, voxel))?;
        let mut notices = self.notices(image, &lattice);
        let same = if turned.is_none() { on_voxels(&grid, image.grid) } else { None };
        notices.extend(match (&turned, &same) {
            (Some(turned), _) => Some(notice::warning(
                path,
                format!(
                    "turned by {} against the image; voxels of the image with their centre inside belong to a region",
                    turned.angle_text()
                ),
            )),
            (None, None) => Some(notice::info(path, "on other voxels than the image; its voxels count by their part inside")),
            (None, Some(_)) => None,
        });
        let grid = same.unwrap_or(grid);
        let (mut regions, mut remarks, mut names) = (Vec::new(), Remarks::default(), BTreeSet::new());
        for (head, filled) in self.segments.iter().zip(filled) {
            let name = free_name(head, &mut names, &mut remarks);
            let Some(filled) = filled else {
                remarks.empty.push(format!("'{name}'"));
                continue;
            };
            let voxels = match &turned {
                Some(turned) => resampled(&filled, &grid, turned, image.grid).map(|filled| (filled, image.grid)),
                None => Some((filled, &grid)),
            };
            let Some((filled, grid)) = voxels else {
                remarks.outside.push(format!("'{name}'"));
                continue;
            };
            let [num_outside, num] = num_outside(&filled, grid, image.grid);
            if num_outside > 0 {
                remarks.outside.push(format!("'{name}' ({num_outside} of {})", counted(num, "voxel")));
            }
            regions.extend(region(name, head.colour, filled, grid));
        }
        notices.extend(remarks.notices(path));
        if regions.is_empty() {
            return Err(refused(DicomProblem::EmptySegmentation));
        }
        Ok((regions, notices))
    }

    /// Returns notices on patient, frame of reference, meaning and slices.
    fn notices(&self, image: &ImageSpace, lattice: &Lattice) -> Vec<Notice> {
        let mut notices = Vec::new();
        let path = self.path.as_path();
        if image.names.is_some_and(|names| names.is_other_patient(&self.names)) {
            notices.push(notice::warning(path, "the segmentation is of another patient"));
        }
        let text =
            "the segmentation has another frame of reference (FrameOfReferenceUID) than the image: its positions may not match";
        match image.names {
            Some(names) if names.is_other_frame_of_reference(&self.names) => notices.push(notice::warning(path, text)),
            Some(names) if !names.frame_of_reference.is_empty() && !self.names.frame_of_reference.is_empty() => {}
            _ => notices.push(notice::info(path, "the frames of reference of image and segmentation could not be compared")),
        }
        if let SegmentationKind::Fractional(max) = self.kind {
            let text = format!("fractional; voxels from half of the maximum of {max} belong to a region");
            notices.push(notice::info(path, text));
        }
        notices.extend(lattice.notice(path));
        notices
    }
}

impl Remarks {
    fn notices(&self, path: &Path) -> Vec<Notice> {
        let texts = [
            (&self.empty, "segments without voxels, so no regions"),
            (&self.renamed, "labels of several segments, numbered"),
            (&self.outside, "outside the image"),
        ];
        let of_some = texts.into_iter().filter(|(names, _)| !names.is_empty());
        of_some.map(|(names, text)| notice::warning(path, format!("{text}: {}", names.join(", ")))).collect()
    }
}

/// Returns the slice distance of a grid along a direction, if it is an axis.
fn slice_distance(grid: &Grid, direction: Vector3<f64>) -> Option<f64> {
    (0..3).find(|&axis| direction[axis].abs() > SAME_NORMAL).map(|axis| grid.voxel_mm[axis])
}

/// Returns the rotation from the world to the axes of an image.
fn inverse(placement: &Placement) -> Matrix3<f64> {
    Matrix3::from_fn(|row, column| placement.rotation[column][row])
}

/// Returns a grid moved onto the voxels of an image, if it lies on them to the tolerance of slices.
fn on_voxels(grid: &Grid, image: &Grid) -> Option<Grid> {
    let [part, mm] = PITCH_TOLERANCE;
    let [first, last] =
        [[0.0; 3], grid.size.map(|side| side as f64 - 1.0)].map(|end| image.voxel_from_mm(grid.mm_from_voxel(end)));
    let is_near = |axis: usize, at: f64| (at - at.round()).abs() * image.voxel_mm[axis] <= part * image.voxel_mm[axis] + mm;
    let is_same = (0..3).all(|axis| {
        let num = last[axis].round() - first[axis].round();
        let is_pitch = (grid.voxel_mm[axis] / image.voxel_mm[axis] - 1.0).abs() <= part;
        num == grid.size[axis] as f64 - 1.0 && is_pitch && is_near(axis, first[axis]) && is_near(axis, last[axis])
    });
    let origin_mm = image.mm_from_voxel(first.map(f64::round));
    is_same.then_some(Grid { size: grid.size, voxel_mm: image.voxel_mm, origin_mm })
}

/// Returns the voxels of an image with their centre in voxels of a grid that is turned against it; `None` without any.
fn resampled(filled: &Filled, grid: &Grid, turned: &Placement, image: &Grid) -> Option<Filled> {
    // Voxels of the image about the corners of the box.
    let corner = |corner: usize| {
        let at = std::array::from_fn(|axis| {
            let end = if corner >> axis & 1 == 1 { filled.size[axis] as f64 - 0.5 } else { -0.5 };
            filled.low[axis] as f64 + end
        });
        image.voxel_from_mm(turned.world_mm(grid.mm_from_voxel(at)))
    };
    let corners: [[f64; 3]; 8] = std::array::from_fn(corner);
    let range = |axis: usize| {
        let ends = corners.iter().map(|corner| corner[axis]);
        let [low, high] = ends.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], at| [low.min(at), high.max(at)]);
        low.ceil().max(0.0) as usize..((high.floor() + 1.0).max(0.0) as usize).min(image.size[axis])
    };
    let contains = |voxel: [usize; 3]| {
        let own = grid.voxel_from_mm(turned.own_mm(image.mm_from_voxel(voxel.map(|at| at as f64))));
        let at: [f64; 3] = std::array::from_fn(|axis| own[axis].round() - filled.low[axis] as f64);
        let is_in_box = (0..3).all(|axis| at[axis] >= 0.0 && at[axis] < filled.size[axis] as f64);
        let [x, y, z] = at.map(|at| at as usize);
        is_in_box && filled.is_inside[(z * filled.size[1] + y) * filled.size[0] + x]
    };
    let [x, y, z] = [0, 1, 2].map(range);
    let size = [x.len(), y.len(), z.len()];
    let low = [x.start, y.start, z.start];
    let places = z.flat_map(|k| {
        y.clone().flat_map({
            let x = x.clone();
            move |j| x.clone().map(move |i| [i, j, k])
        })
    });
    let is_inside: Vec<bool> = places.map(contains).collect();
    is_inside.contains(&true).then_some(Filled { low, size, is_inside })
}

/// Returns the number of voxels with their centre outside an image, and the number of all.
fn num_outside(filled: &Filled, grid: &Grid, image: &Grid) -> [usize; 2] {
    let [x, y, z] = [0, 1, 2].map(|axis| {
        let is_in_image = |at: usize| {
            let mm = grid.origin_mm[axis] + (filled.low[axis] + at) as f64 * grid.voxel_mm[axis];
            let at = (mm - image.origin_mm[axis]) / image.voxel_mm[axis];
            at > -0.5 && at < image.size[axis] as f64 - 0.5
        };
        (0..filled.size[axis]).map(is_in_image).collect::<Vec<bool>>()
    });
    let [nx, ny, _] = filled.size;
    let inside = || filled.is_inside.iter().enumerate().filter(|(_, is_inside)| **is_inside).map(|(index, _)| index);
    let is_outside = |index: &usize| !(x[index % nx] && y[index / nx % ny] && z[index / (nx * ny)]);
    [inside().filter(is_outside).count(), inside().count()]
}

/// Returns the region of a segment, about the middle of its box.
fn region(name: String, colour: Option<[u8; 3]>, filled: Filled, grid: &Grid) -> Option<Roi> {
    let half = |axis: usize| 0.5 * (filled.size[axis] as f64 - 1.0);
    let middle: [f64; 3] = std::array::from_fn(|axis| filled.low[axis] as f64 + half(axis));
    let origin_mm = std::array::from_fn(|axis| -half(axis) * grid.voxel_mm[axis]);
    let about = Grid { size: filled.size, voxel_mm: grid.voxel_mm, origin_mm };
    let voxels = Voxels::new(about, filled.is_inside)?;
    Some(Roi { colour, ..Roi::new(name, RoiShape::Voxels(voxels.into()), grid.mm_from_voxel(middle)) })
}

/// Returns the name of a segment: its label, with a number where another segment has the same.
fn free_name(head: &SegmentHead, names: &mut BTreeSet<String>, remarks: &mut Remarks) -> String {
    let label = if head.label.is_empty() { format!("segment {}", head.number) } else { head.label.clone() };
    let mut name = label.clone();
    let mut number = 1;
    while !names.insert(name.clone()) {
        number += 1;
        name = format!("{label} ({number})");
    }
    if number > 1 {
        remarks.renamed.push(format!("'{name}'"));
    }
    name
}
