//! Pixels of a frame as values: numbers as they are, or decoded by a library.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dicom_dictionary_std::{tags, uids};
use dicom_encoding::adapters::{PixelDataObject, RawPixelData};
use dicom_encoding::transfer_syntax::Codec;

use super::elements::{Checked, PixelBytes, not_read};
use super::layout::{Layout, frame_bytes, frames};
use crate::io::bytes::{ByteOrder, NumberFormat, NumberType};
use crate::io::error::Mismatch;
use crate::io::images::dicom::problem::DicomProblem;

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
    let num_bytes = frame_bytes(layout);
    let (bytes, byte_order, is_float) = match &checked.pixels {
        None => return Err(super::attributes::missing(tags::PIXEL_DATA)),
        Some(PixelBytes::Native(tag, range)) => {
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
        let number =
            if layout.is_signed { ((number << above) as i64 >> above) as f64 } else { (number << above >> above) as f64 };
        *value = (number * scale + intercept) as f32;
    }
    Ok(())
}

/// Decodes a frame into little-endian numbers.
fn decoded(checked: &Checked, layout: &Layout, encoded: Vec<u8>, num_bytes: usize) -> Result<Vec<u8>, DicomProblem> {
    let Codec::EncapsulatedPixelData(Some(reader), _) = checked.syntax.codec() else {
        return Err(not_read(checked.syntax.uid(), checked.syntax.name()));
    };
    let mut bytes = Vec::new();
    // The library panics on some invalid data.
    let decoded = catch_unwind(AssertUnwindSafe(|| {
        check_sides(checked.syntax.uid(), &encoded, layout)?;
        let frame = EncodedFrame { uid: checked.syntax.uid(), layout, encoded };
        reader.decode_frame(&frame, 0, &mut bytes).map_err(|error| DicomProblem::Pixels(error.to_string()))
    }));
    match decoded {
        Ok(Ok(())) if bytes.len() == num_bytes => Ok(bytes),
        Ok(Ok(())) => Err(DicomProblem::PixelBytes(Mismatch { found: bytes.len(), expected: num_bytes })),
        Ok(Err(problem)) => Err(problem),
        Err(_) => Err(DicomProblem::Pixels("invalid data".to_owned())),
    }
}

/// Refuses encoded pixels whose own head has other sides than the file: the library allocates by that head.
fn check_sides(uid: &str, encoded: &[u8], layout: &Layout) -> Result<(), DicomProblem> {
    let sides = match uid {
        // JPEG: the first frame header (ITU-T T.81, B.2.2), after segments with their lengths.
        uids::JPEG_BASELINE8_BIT | uids::JPEG_EXTENDED12_BIT | uids::JPEG_LOSSLESS | uids::JPEG_LOSSLESS_SV1 => {
            jpeg_sides(encoded)
        }
        #[cfg(feature = "jpegxl")]
        uids::JPEGXL_LOSSLESS | uids::JPEGXLJPEG_RECOMPRESSION | uids::JPEGXL => {
            let image =
                jxl_oxide::JxlImage::read_with_defaults(encoded).map_err(|error| DicomProblem::Pixels(error.to_string()))?;
            Some([image.height() as usize, image.width() as usize])
        }
        _ => return Ok(()),
    };
    if sides == Some([layout.rows, layout.columns]) {
        return Ok(());
    }
    Err(DicomProblem::Pixels("the encoded image has other sides than Rows and Columns".to_owned()))
}

/// Returns the rows and columns of JPEG data.
fn jpeg_sides(bytes: &[u8]) -> Option<[usize; 2]> {
    let two = |at: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    let mut at = 2;
    loop {
        let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        match (mark, kind) {
            (0xff, 0xff) => at += 1,
            // Start of frame, of all kinds; C4, C8 and CC are other segments.
            (0xff, 0xc0..=0xcf) if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => return Some([two(at + 5)?, two(at + 7)?]),
            (0xff, _) => at += 2 + two(at + 2)?,
            _ => return None,
        }
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
        (fragment == 0).then_some(Cow::Borrowed(self.encoded.as_slice()))
    }

    fn offset_table(&self) -> Option<Cow<'_, [u32]>> {
        None
    }

    fn raw_pixel_data(&self) -> Option<RawPixelData> {
        Some(RawPixelData { fragments: [self.encoded.clone()].into_iter().collect(), offset_table: Default::default() })
    }
}
