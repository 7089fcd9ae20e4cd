//! Reads DICOM segmentations: their segments, and the voxels of each.
//!
//! Source: PS3.3, Segmentation IOD (A.51) and Label Map Segmentation IOD, Segmentation Image (C.8.20.2), functional groups
//! (C.7.6.16); bits of frames: PS3.5, 8.1.1. A frame has some voxels of one segment, a frame of a label map those of all. Frames
//! may be in any order, and those without voxels may be missing.
//!
//! A voxel of a fractional segmentation is inside from half of MaximumFractionalValue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dicom_dictionary_std::{tags, uids};

use super::attributes::{Attributes, invalid, missing};
use super::colour::rgb;
use super::decode::decode;
use super::elements::{Checked, PixelBytes, not_read};
use super::instance::{class_name, is_segmentation_class, names};
use super::lattice::{Distances, FramePlane, Lattice};
use super::layout::{Layout, check_size, segmentation_layout};
use super::stack::check_spacing;
use crate::data::{Notice, SeriesNames, Voxels};
use crate::io::bytes::{ByteOrder, zeroed};
use crate::io::error::{Excess, IoError};
use crate::io::images::dicom::problem::DicomProblem;

/// Largest number of voxels that the boxes of all segments have.
const MAX_VOXELS: usize = 2 * Voxels::MAX;

/// Meaning of the numbers of a segmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentationKind {
    /// Bits.
    Binary,
    /// Parts of this number.
    Fractional(u8),
    /// Numbers of segments.
    Labels,
}

impl SegmentationKind {
    /// Returns its SegmentationType, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            SegmentationKind::Binary => "binary",
            SegmentationKind::Fractional(_) => "fractional",
            SegmentationKind::Labels => "labelmap",
        }
    }
}

/// Segment of a segmentation that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHead {
    /// Its number.
    pub number: usize,
    /// Its label; possibly empty.
    pub label: String,
    /// Its recommended colour.
    pub colour: Option<[u8; 3]>,
}

/// Figures of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentFigures {
    /// Number, label, colour.
    pub head: SegmentHead,
    /// Number of its voxels.
    pub num_voxels: usize,
    /// Their volume, mL.
    pub volume_ml: f64,
}

/// A DICOM segmentation that was read.
pub struct Segmentation {
    pub(super) path: PathBuf,
    /// Names of its series.
    pub names: SeriesNames,
    /// Meaning of its numbers.
    pub kind: SegmentationKind,
    /// Its segments.
    pub segments: Vec<SegmentHead>,
    pub(super) frames: Vec<FramePlane>,
    pub(super) distances: Distances,
    /// Index of the segment of each frame; none of label maps.
    of_frame: Vec<usize>,
    /// Number of pixels without a segment.
    padding: f32,
    layout: Layout,
    checked: Checked,
}

/// Voxels of a segment in a box.
pub(super) struct Filled {
    /// First voxel of the box.
    pub low: [usize; 3],
    /// Sides of the box.
    pub size: [usize; 3],
    /// Which voxels of the box belong to the segment, the first index fastest.
    pub is_inside: Vec<bool>,
}

/// Reads a segmentation.
///
/// # Errors
/// No DICOM segmentation, missing attributes, pixel data of another size, a compression of bits.
pub fn read_segmentation(path: &Path) -> Result<Segmentation, IoError> {
    if path.is_dir() {
        return Err(IoError::NotAFile(path.to_owned()));
    }
    let bytes = std::fs::read(path).map_err(IoError::open(path))?;
    let of_bytes = || Segmentation::of(path, Checked::new(bytes)?);
    of_bytes().map_err(|problem: DicomProblem| IoError::unsupported(path, problem))
}

impl Segmentation {
    fn of(path: &Path, checked: Checked) -> Result<Self, DicomProblem> {
        let object = checked.attributes()?;
        let attributes = Attributes::of(&object);
        let class = attributes.text(tags::SOP_CLASS_UID).unwrap_or_default();
        if !is_segmentation_class(&class) {
            return Err(DicomProblem::NoSegmentation(class_name(&class)));
        }
        let kind = kind(&attributes, &class)?;
        let (bits, expected): (&[usize], _) = match kind {
            SegmentationKind::Binary => (&[1], "1 (BINARY)"),
            SegmentationKind::Fractional(_) => (&[8], "8 (FRACTIONAL)"),
            SegmentationKind::Labels => (&[8, 16], "8 or 16 (LABELMAP)"),
        };
        let layout = segmentation_layout(&attributes, bits, expected)?;
        match &checked.pixels {
            Some(PixelBytes::Native(tags::PIXEL_DATA, _)) if kind != SegmentationKind::Binary => {}
            // The order of bits in big-endian words, and compressed bits.
            Some(PixelBytes::Native(tags::PIXEL_DATA, _)) if checked.byte_order() == ByteOrder::Little => {}
            Some(PixelBytes::Encapsulated { .. }) if kind != SegmentationKind::Binary => {}
            Some(PixelBytes::Native(tags::PIXEL_DATA, _) | PixelBytes::Encapsulated { .. }) => {
                return Err(not_read(checked.syntax.uid(), checked.syntax.name()));
            }
            _ => return Err(missing(tags::PIXEL_DATA)),
        }
        if let Some(pixels) = &checked.pixels {
            check_size(pixels, &layout)?;
        }
        if attributes.all_of(tags::PER_FRAME_FUNCTIONAL_GROUPS_SEQUENCE).len() != layout.num_frames {
            let expected = "the number of items of PerFrameFunctionalGroupsSequence (5200,9230)";
            return Err(invalid(tags::NUMBER_OF_FRAMES, layout.num_frames.to_string(), expected));
        }
        let segments = segments(&attributes)?;
        let index: BTreeMap<usize, usize> = segments.iter().enumerate().map(|(index, segment)| (segment.number, index)).collect();
        if index.len() < segments.len() {
            return Err(invalid(tags::SEGMENT_NUMBER, "the same twice", "one segment of each number"));
        }
        let (mut frames, mut of_frame) = (Vec::new(), Vec::new());
        for frame in 0..layout.num_frames {
            let attributes = Attributes::of_frame(&object, frame);
            frames.push(FramePlane {
                orientation: attributes.numbers(tags::IMAGE_ORIENTATION_PATIENT)?,
                position_mm: attributes.numbers(tags::IMAGE_POSITION_PATIENT)?,
                spacing_mm: attributes.numbers(tags::PIXEL_SPACING)?,
            });
            if kind != SegmentationKind::Labels {
                let number = attributes.whole(tags::REFERENCED_SEGMENT_NUMBER, u16::MAX.into())?;
                let unknown = || invalid(tags::REFERENCED_SEGMENT_NUMBER, number.to_string(), "a number of SegmentSequence");
                of_frame.push(*index.get(&number).ok_or_else(unknown)?);
            }
        }
        frames.iter().try_for_each(|frame| check_spacing(frame.spacing_mm))?;
        let of_first = Attributes::of_frame(&object, 0);
        let length = |tag| Ok(of_first.number(tag)?.map(f64::abs).filter(|mm| *mm > 0.0));
        let distances =
            Distances { spacing_mm: length(tags::SPACING_BETWEEN_SLICES)?, thickness_mm: length(tags::SLICE_THICKNESS)? };
        let names = names(&attributes);
        let padding = attributes.number(tags::PIXEL_PADDING_VALUE)?.unwrap_or(0.0) as f32;
        Ok(Self { path: path.to_owned(), names, kind, segments, frames, distances, of_frame, padding, layout, checked })
    }

    /// Returns the slices of its frames. `of_image` returns the slice distance of an image along a direction, if it has slices
    /// there.
    ///
    /// # Errors
    /// As [`Lattice::new`].
    pub(super) fn lattice(&self, of_image: impl Fn(nalgebra::Vector3<f64>) -> Option<f64>) -> Result<Lattice, DicomProblem> {
        Lattice::new(&self.frames, [self.layout.rows, self.layout.columns], self.distances, of_image)
    }

    /// Returns the number and the volume of the voxels of each segment, and a notice on an assumed distance of slices.
    ///
    /// # Errors
    /// Frames that make no slices, pixels that are not decoded, too many voxels.
    pub fn figures(&self) -> Result<(Vec<SegmentFigures>, Vec<Notice>), IoError> {
        let refused = |problem: DicomProblem| IoError::unsupported(&self.path, problem);
        let lattice = self.lattice(|_| None).map_err(refused)?;
        let voxel_ml = 1e-3 * lattice.steps_mm.iter().product::<f64>();
        let filled = self.filled(&lattice, |voxel| voxel)?;
        let num_voxels =
            |filled: &Option<Filled>| filled.as_ref().map_or(0, |filled| filled.is_inside.iter().filter(|is| **is).count());
        let figures = self.segments.iter().zip(&filled).map(|(head, filled)| {
            let num_voxels = num_voxels(filled);
            SegmentFigures { head: head.clone(), num_voxels, volume_ml: num_voxels as f64 * voxel_ml }
        });
        Ok((figures.collect(), lattice.notice(&self.path).into_iter().collect()))
    }

    /// Returns the voxels of each segment, `None` without any; `place` returns the indices of a voxel (column, row, slice).
    ///
    /// # Errors
    /// Pixels that are not decoded, too many voxels.
    pub(super) fn filled(
        &self,
        lattice: &Lattice,
        place: impl Fn([usize; 3]) -> [usize; 3],
    ) -> Result<Vec<Option<Filled>>, IoError> {
        let columns = self.layout.columns;
        let at = |frame: usize, pixel: usize| place([pixel % columns, pixel / columns, lattice.slices[frame]]);
        let mut ends: Vec<Option<([usize; 3], [usize; 3])>> = vec![None; self.segments.len()];
        self.for_each(|segment, frame, pixel| {
            let voxel = at(frame, pixel);
            let (low, high) = ends[segment].get_or_insert((voxel, voxel));
            for axis in 0..3 {
                (low[axis], high[axis]) = (low[axis].min(voxel[axis]), high[axis].max(voxel[axis]));
            }
        })?;
        let boxes = ends.into_iter().map(|ends| {
            let (low, high) = ends?;
            Some((low, std::array::from_fn::<usize, 3, _>(|axis| high[axis] - low[axis] + 1)))
        });
        let boxes: Vec<Option<([usize; 3], [usize; 3])>> = boxes.collect();
        let num = |size: &[usize; 3]| size.iter().fold(1usize, |num, side| num.saturating_mul(*side));
        let nums = || boxes.iter().flatten().map(|(_, size)| num(size));
        for (found, max) in [(nums().max().unwrap_or(0), Voxels::MAX), (nums().fold(0, usize::saturating_add), MAX_VOXELS)] {
            if found > max {
                return Err(IoError::unsupported(&self.path, DicomProblem::ManyVoxels(Excess { found, max })));
            }
        }
        let mut filled: Vec<Option<Filled>> = boxes
            .into_iter()
            .map(|filled| filled.map(|(low, size)| Filled { low, size, is_inside: vec![false; num(&size)] }))
            .collect();
        self.for_each(|segment, frame, pixel| {
            if let Some(Filled { low, size, is_inside }) = &mut filled[segment] {
                let [x, y, z] = at(frame, pixel);
                is_inside[((z - low[2]) * size[1] + y - low[1]) * size[0] + x - low[0]] = true;
            }
        })?;
        Ok(filled)
    }

    /// Calls a function with the segment, the frame and the pixel of each voxel of a segment.
    fn for_each(&self, mut visit: impl FnMut(usize, usize, usize)) -> Result<(), IoError> {
        let num_pixels = self.layout.rows * self.layout.columns;
        if let (SegmentationKind::Binary, Some(PixelBytes::Native(_, range))) = (self.kind, &self.checked.pixels) {
            let bytes = self.checked.bytes(range);
            for (frame, &segment) in self.of_frame.iter().enumerate() {
                set_bits(bytes, frame * num_pixels, num_pixels).for_each(|pixel| visit(segment, frame, pixel));
            }
            return Ok(());
        }
        let refused = |problem: DicomProblem| IoError::unsupported(&self.path, problem);
        let index: BTreeMap<usize, usize> =
            self.segments.iter().enumerate().map(|(index, segment)| (segment.number, index)).collect();
        let mut values = zeroed(&self.path, num_pixels)?;
        for frame in 0..self.layout.num_frames {
            decode(&self.checked, &self.layout, frame, [1.0, 0.0], &mut values).map_err(refused)?;
            for (pixel, &value) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                match self.kind {
                    SegmentationKind::Fractional(max) if 2.0 * value >= f32::from(max) => {
                        visit(self.of_frame[frame], frame, pixel);
                    }
                    SegmentationKind::Labels if value != self.padding => {
                        let unknown =
                            || refused(invalid(tags::PIXEL_DATA, value.to_string(), "0 or a number of SegmentSequence"));
                        visit(*index.get(&(value as usize)).ok_or_else(unknown)?, frame, pixel);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Returns the set bits of a frame.
fn set_bits(bytes: &[u8], start: usize, num: usize) -> impl Iterator<Item = usize> {
    let end = start + num;
    let occupied = (start / 8..end.div_ceil(8)).filter_map(|at| Some((at, *bytes.get(at)?))).filter(|(_, byte)| *byte != 0);
    let bits = occupied.flat_map(|(at, byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| 8 * at + bit));
    bits.filter(move |bit| (start..end).contains(bit)).map(move |bit| bit - start)
}

/// Returns the meaning of the numbers.
fn kind(attributes: &Attributes, class: &str) -> Result<SegmentationKind, DicomProblem> {
    let of_class = (class == uids::LABEL_MAP_SEGMENTATION_STORAGE).then(|| "LABELMAP".to_owned());
    let kind = attributes.text(tags::SEGMENTATION_TYPE).or(of_class).ok_or_else(|| missing(tags::SEGMENTATION_TYPE))?;
    match kind.as_str() {
        "BINARY" => Ok(SegmentationKind::Binary),
        "FRACTIONAL" => match attributes.whole(tags::MAXIMUM_FRACTIONAL_VALUE, u8::MAX.into())? {
            0 => Err(invalid(tags::MAXIMUM_FRACTIONAL_VALUE, "0", "at least 1")),
            max => Ok(SegmentationKind::Fractional(max as u8)),
        },
        "LABELMAP" => Ok(SegmentationKind::Labels),
        _ => Err(invalid(tags::SEGMENTATION_TYPE, kind, "BINARY, FRACTIONAL or LABELMAP")),
    }
}

/// Returns the segments.
fn segments(attributes: &Attributes) -> Result<Vec<SegmentHead>, DicomProblem> {
    let items = attributes.all_of(tags::SEGMENT_SEQUENCE);
    if items.is_empty() {
        return Err(missing(tags::SEGMENT_SEQUENCE));
    }
    let head = |item: &Attributes| {
        Ok(SegmentHead {
            number: item.whole(tags::SEGMENT_NUMBER, u16::MAX.into())?,
            label: item.text(tags::SEGMENT_LABEL).unwrap_or_default(),
            colour: item.numbers(tags::RECOMMENDED_DISPLAY_CIE_LAB_VALUE).ok().map(rgb),
        })
    };
    items.iter().map(head).filter(|head| !matches!(head, Ok(SegmentHead { number: 0, .. }))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_frames_begin_within_bytes() {
        // Frames of 5 pixels: pixel 0 of the first, pixels 1 and 4 of the second.
        let bytes = [0b0100_0001, 0b0000_0010];
        let frames: Vec<Vec<usize>> = (0..3).map(|frame| set_bits(&bytes, 5 * frame, 5).collect()).collect();
        assert_eq!(frames, [vec![0], vec![1, 4], vec![]]);
        assert_eq!(set_bits(&[0xff; 4], 7, 18).collect::<Vec<_>>(), (0..18).collect::<Vec<_>>());
    }
}
