//! Pixels of a frame as values: numbers as they are, or decoded by a library.

use std::borrow::Cow;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dicom_dictionary_std::tags;
use dicom_encoding::adapters::{PixelDataObject, RawPixelData};
use dicom_encoding::transfer_syntax::Codec;

use super::elements::{Checked, PixelBytes, not_read};
use super::instance::Layout;
use crate::io::bytes::{ByteOrder, NumberFormat, NumberType};
use crate::io::error::{DicomProblem, Mismatch};

/// Decodes a frame into values, rows by rows: stored number · slope + intercept.
///
/// # Errors
/// Pixel data of another size, a transfer syntax that is not read, pixels that the library refuses.
pub fn decode(
    checked: &Checked,
    layout: &Layout,
    frame: usize,
    [scale, intercept]: [f64; 2],
    values: &mut [f32],
) -> Result<(), DicomProblem> {
    let [allocated, stored] = layout.bits;
    let num_bytes = layout.rows * layout.columns * allocated / 8;
    let (bytes, byte_order, is_float) = match &checked.pixels {
        None => return Err(super::attributes::missing(tags::PIXEL_DATA)),
        Some(PixelBytes::Native(tag, range)) => {
            let (found, expected) = (range.len(), num_bytes * layout.num_frames);
            // A value has an even number of bytes.
            if found != expected && found != expected.next_multiple_of(2) {
                return Err(DicomProblem::PixelBytes(Mismatch { found, expected }));
            }
            let start = range.start + frame * num_bytes;
            (Cow::Borrowed(checked.bytes(&(start..start + num_bytes))), checked.byte_order(), *tag != tags::PIXEL_DATA)
        }
        Some(PixelBytes::Encapsulated { offsets, fragments }) => {
            let frames = frames(offsets, fragments, layout.num_frames)?;
            let encoded: Vec<u8> = frames[frame].iter().flat_map(|range| checked.bytes(range)).copied().collect();
            (Cow::Owned(decoded(checked, layout, encoded, num_bytes)?), ByteOrder::Little, false)
        }
    };
    let number_type = match (allocated, is_float, layout.is_signed) {
        (32, true, _) => NumberType::Float32,
        (_, true, _) => NumberType::Float64,
        (8, _, _) => NumberType::Uint8,
        (16, _, false) => NumberType::Uint16,
        (16, _, true) => NumberType::Int16,
        (_, _, false) => NumberType::Uint32,
        (_, _, true) => NumberType::Int32,
    };
    if is_float || (stored == allocated && (allocated > 8 || !layout.is_signed)) {
        NumberFormat { number_type, byte_order, scale, intercept }.decode(&bytes, values);
        return Ok(());
    }
    // Bits above those in use have another meaning (overlays).
    let width = allocated / 8;
    for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(width)) {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let number = match byte_order {
            ByteOrder::Little => bytes.iter().rev().fold(0, add),
            ByteOrder::Big => bytes.iter().fold(0, add),
        };
        let above = 64 - stored;
        let number = if layout.is_signed { ((number << above) as i64 >> above) as f64 } else { (number << above >> above) as f64 };
        *value = (number * scale + intercept) as f32;
    }
    Ok(())
}

/// Returns the fragments of each frame.
fn frames<'a>(offsets: &[u32], fragments: &'a [Range<usize>], num_frames: usize) -> Result<Vec<&'a [Range<usize>]>, DicomProblem> {
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

/// Decodes a frame into little-endian numbers.
fn decoded(checked: &Checked, layout: &Layout, encoded: Vec<u8>, num_bytes: usize) -> Result<Vec<u8>, DicomProblem> {
    let Codec::EncapsulatedPixelData(Some(reader), _) = checked.syntax.codec() else {
        return Err(not_read(checked.syntax.uid(), checked.syntax.name()));
    };
    let frame = EncodedFrame { uid: checked.syntax.uid(), layout, encoded };
    let mut bytes = Vec::new();
    // The library panics on some invalid data.
    match catch_unwind(AssertUnwindSafe(|| reader.decode_frame(&frame, 0, &mut bytes))) {
        Ok(Ok(())) if bytes.len() == num_bytes => Ok(bytes),
        Ok(Ok(())) => Err(DicomProblem::PixelBytes(Mismatch { found: bytes.len(), expected: num_bytes })),
        Ok(Err(error)) => Err(DicomProblem::Pixels(error.to_string())),
        Err(_) => Err(DicomProblem::Pixels("invalid data".to_owned())),
    }
}

/// One encoded frame as the library sees it.
struct EncodedFrame<'a> {
    uid: &'a str,
    layout: &'a Layout,
    encoded: Vec<u8>,
}

impl PixelDataObject for EncodedFrame<'_> {
    fn transfer_syntax_uid(&self) -> &str {
        self.uid
    }

    fn rows(&self) -> Option<u16> {
        u16::try_from(self.layout.rows).ok()
    }

    fn cols(&self) -> Option<u16> {
        u16::try_from(self.layout.columns).ok()
    }

    fn samples_per_pixel(&self) -> Option<u16> {
        Some(1)
    }

    fn bits_allocated(&self) -> Option<u16> {
        u16::try_from(self.layout.bits[0]).ok()
    }

    fn bits_stored(&self) -> Option<u16> {
        u16::try_from(self.layout.bits[1]).ok()
    }

    fn photometric_interpretation(&self) -> Option<&str> {
        Some("MONOCHROME2")
    }

    fn number_of_frames(&self) -> Option<u32> {
        Some(1)
    }

    fn number_of_fragments(&self) -> Option<u32> {
        Some(1)
    }

    fn fragment(&self, fragment: usize) -> Option<Cow<'_, [u8]>> {
        (fragment == 0).then(|| Cow::Borrowed(self.encoded.as_slice()))
    }

    fn offset_table(&self) -> Option<Cow<'_, [u32]>> {
        None
    }

    fn raw_pixel_data(&self) -> Option<RawPixelData> {
        Some(RawPixelData { fragments: [self.encoded.clone()].into_iter().collect(), offset_table: Default::default() })
    }
}
