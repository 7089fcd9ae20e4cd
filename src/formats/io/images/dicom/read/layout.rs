//! Layout of the pixels of a file, and its check against their bytes.

use std::ops::Range;

use dicom_dictionary_std::tags;

use super::attributes::{Attributes, invalid};
use super::elements::PixelBytes;
use crate::io::error::Mismatch;
use crate::io::images::dicom::problem::DicomProblem;

/// Largest number of frames of a file.
const MAX_FRAMES: usize = 1 << 20;

/// Largest number of decoded bytes of one encoded byte.
const MAX_RATIO: usize = 4096;

/// Numbers of the pixels of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Pixels along y.
    pub rows: usize,
    /// Pixels along x.
    pub columns: usize,
    /// Bits of a stored number, and those of them in use.
    pub bits: [usize; 2],
    /// True for signed numbers.
    pub is_signed: bool,
    /// Planes of the file.
    pub num_frames: usize,
}

/// Returns the layout of the pixels.
pub fn layout(attributes: &Attributes, pixels: &PixelBytes) -> Result<Layout, DicomProblem> {
    let [rows, columns] = sides(attributes)?;
    let samples = attributes.number(tags::SAMPLES_PER_PIXEL)?.unwrap_or(1.0);
    let photometric = attributes.text(tags::PHOTOMETRIC_INTERPRETATION).unwrap_or_default();
    if samples != 1.0 || !photometric.starts_with("MONOCHROME") {
        return Err(DicomProblem::Colours(photometric));
    }
    if attributes.has(tags::MODALITY_LUT_SEQUENCE) {
        return Err(DicomProblem::LookupTable);
    }
    let allocated = attributes.whole(tags::BITS_ALLOCATED, 64)?;
    let is_float = matches!(pixels, PixelBytes::Native(tag, _) if *tag != tags::PIXEL_DATA);
    let allowed: &[usize] = if is_float { &[32, 64] } else { &[8, 16, 32] };
    if !allowed.contains(&allocated) {
        return Err(invalid(tags::BITS_ALLOCATED, allocated.to_string(), "8, 16 or 32"));
    }
    let stored = if is_float { allocated } else { attributes.whole(tags::BITS_STORED, allocated)? };
    if stored == 0 {
        return Err(invalid(tags::BITS_STORED, "0", "at least 1"));
    }
    let num_frames = num_frames(attributes)?;
    let is_signed = !is_float && attributes.whole(tags::PIXEL_REPRESENTATION, 1)? == 1;
    Ok(Layout { rows, columns, bits: [allocated, stored], is_signed, num_frames })
}

/// Returns the layout of the pixels of a segmentation: bits, or unsigned numbers of some sizes.
pub fn segmentation_layout(attributes: &Attributes, bits: &[usize], expected: &'static str) -> Result<Layout, DicomProblem> {
    let [rows, columns] = sides(attributes)?;
    let allocated = attributes.whole(tags::BITS_ALLOCATED, 64)?;
    if !bits.contains(&allocated) {
        return Err(invalid(tags::BITS_ALLOCATED, allocated.to_string(), expected));
    }
    Ok(Layout { rows, columns, bits: [allocated; 2], is_signed: false, num_frames: num_frames(attributes)? })
}

/// Returns the numbers of rows and columns.
fn sides(attributes: &Attributes) -> Result<[usize; 2], DicomProblem> {
    let [rows, columns] = [tags::ROWS, tags::COLUMNS].map(|tag| attributes.whole(tag, u16::MAX.into()));
    let (rows, columns) = (rows?, columns?);
    for (side, tag) in [(rows, tags::ROWS), (columns, tags::COLUMNS)] {
        if side == 0 {
            return Err(invalid(tag, "0", "at least 1"));
        }
    }
    Ok([rows, columns])
}

/// Returns the number of frames.
fn num_frames(attributes: &Attributes) -> Result<usize, DicomProblem> {
    match attributes.number(tags::NUMBER_OF_FRAMES)? {
        None => Ok(1),
        Some(_) => Ok(attributes.whole(tags::NUMBER_OF_FRAMES, MAX_FRAMES)?.max(1)),
    }
}

/// Refuses a layout that the bytes of the pixels do not fill.
///
/// # Errors
/// Pixel data of another size.
pub fn check_size(pixels: &PixelBytes, layout: &Layout) -> Result<(), DicomProblem> {
    // Bits of all frames follow each other without gaps.
    let expected = (layout.rows * layout.columns * layout.bits[0] * layout.num_frames).div_ceil(8);
    match pixels {
        PixelBytes::Native(_, range) => {
            let found = range.len();
            // A value has an even number of bytes.
            let is_whole = found == expected || found == expected.next_multiple_of(2);
            if is_whole { Ok(()) } else { Err(DicomProblem::PixelBytes(Mismatch { found, expected })) }
        }
        PixelBytes::Encapsulated { offsets, fragments } => {
            frames(offsets, fragments, layout.num_frames)?;
            let max = fragments.iter().map(Range::len).sum::<usize>().saturating_mul(MAX_RATIO);
            if expected <= max { Ok(()) } else { Err(DicomProblem::PixelBytes(Mismatch { found: max, expected })) }
        }
    }
}

/// Returns the bytes of a frame's numbers, which are no bits.
pub fn frame_bytes(layout: &Layout) -> usize {
    layout.rows * layout.columns * layout.bits[0] / 8
}

/// Returns the fragments of each frame.
pub fn frames<'a>(
    offsets: &[u32],
    fragments: &'a [Range<usize>],
    num_frames: usize,
) -> Result<Vec<&'a [Range<usize>]>, DicomProblem> {
    if fragments.len() == num_frames {
        return Ok(fragments.chunks(1).collect());
    }
    if num_frames == 1 && !fragments.is_empty() {
        return Ok(vec![fragments]);
    }
    // Offsets count from the first fragment's item, each with a head of 8 bytes.
    let start = fragments.first().map_or(0, |fragment| fragment.start - 8);
    let index = |offset: &u32| fragments.iter().position(|fragment| fragment.start - 8 == start + *offset as usize);
    let starts: Option<Vec<usize>> = offsets.iter().map(index).collect();
    match starts.filter(|starts| starts.len() == num_frames && starts.is_sorted()) {
        Some(starts) => {
            let ends = starts[1..].iter().copied().chain([fragments.len()]);
            Ok(starts.iter().zip(ends).map(|(&start, end)| &fragments[start..end]).collect())
        }
        None => Err(DicomProblem::EncodedFrames(Mismatch { found: fragments.len(), expected: num_frames })),
    }
}
