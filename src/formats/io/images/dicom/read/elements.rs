//! The bytes of a DICOM file, checked before a library parses them: every length lies within the bytes of its parent, so that
//! nothing is allocated by a claimed size, and sequences are nested to a limit. Of private elements only those that a reader uses
//! are parsed.
//!
//! Source: DICOM PS3.5, sections 7.1 (data elements), 7.5 (sequences), A.4 (encapsulated pixels), A.5 (deflated); PS3.10, section 7.1
//! (the file's meta information).

use std::io::Read as _;
use std::ops::Range;

use dicom_core::VR;
use dicom_core::dictionary::{DataDictionary as _, DataDictionaryEntry as _};
use dicom_dictionary_std::{StandardDataDictionary, tags, uids};
use dicom_encoding::TransferSyntaxIndex as _;
use dicom_encoding::transfer_syntax::{Codec, TransferSyntax};
use dicom_object::{InMemDicomObject, Tag};
use dicom_transfer_syntax_registry::TransferSyntaxRegistry;

use crate::io::bytes::ByteOrder;
use crate::io::error::Mismatch;
use crate::io::images::dicom::problem::DicomProblem;
use crate::text::shortened;

/// Bytes of a damaged file in which the UID of its series is looked for.
const SEARCHED_BYTES: usize = 1 << 16;

/// First byte of the meta information: a preamble of 128 bytes and 'DICM' come before it.
const META_START: usize = 132;

/// First bytes of the meta information: its group.
const META_GROUP: [u8; 4] = [2, 0, 0, 0];

/// Deepest nesting of sequences.
const MAX_DEPTH: usize = 16;

/// Largest number of bytes of a deflated data set.
const MAX_INFLATED: usize = 1 << 30;

/// Tag of a sequence's item, of the end of an item, and of the end of a sequence.
const ITEM: Tag = Tag(0xfffe, 0xe000);
const ITEM_END: Tag = Tag(0xfffe, 0xe00d);
const SEQUENCE_END: Tag = Tag(0xfffe, 0xe0dd);

/// Value representations of explicit syntaxes with lengths of 16 bits; those of all others have 32.
const SHORT: [&[u8; 2]; 20] = [
    b"AE", b"AS", b"AT", b"CS", b"DA", b"DS", b"DT", b"FL", b"FD", b"IS", b"LO", b"LT", b"PN", b"SH", b"SL", b"SS", b"ST", b"TM",
    b"UI", b"UL",
];

/// Groups of private elements that are read: GE's and Philips' of PET.
const PRIVATE: [u16; 2] = [0x0009, 0x7053];

/// A DICOM file with checked lengths.
pub struct Checked {
    /// Its transfer syntax.
    pub syntax: &'static TransferSyntax,
    /// The bytes with its data set.
    bytes: Vec<u8>,
    /// Bytes of the elements before the pixels that are parsed.
    attributes: Vec<u8>,
    /// Position of the pixels.
    pub pixels: Option<PixelBytes>,
    /// False for a data set that begins the file.
    pub has_preamble: bool,
}

/// Position of the pixels in the bytes of a file.
pub enum PixelBytes {
    /// Numbers, with the tag of their element.
    Native(Tag, Range<usize>),
    /// Encoded fragments, and the offset of each frame in them.
    Encapsulated {
        /// Offsets of the frames, possibly none.
        offsets: Vec<u32>,
        /// The fragments.
        fragments: Vec<Range<usize>>,
    },
}

impl Checked {
    /// Checks the bytes of a file.
    ///
    /// # Errors
    /// No DICOM file, a length beyond the end, deep nesting, a transfer syntax that is not known.
    pub fn new(bytes: Vec<u8>) -> Result<Self, DicomProblem> {
        let has_preamble = bytes.get(META_START - 4..META_START) == Some(b"DICM");
        let (start, uid) = match has_preamble {
            true => meta_information(&bytes, META_START)?,
            false if bytes.starts_with(&META_GROUP) => meta_information(&bytes, 0)?,
            false => (0, syntax_of_bare(&bytes).ok_or(DicomProblem::NotDicom)?.to_owned()),
        };
        let syntax = TransferSyntaxRegistry.get(&uid).ok_or_else(|| not_read(&uid, &uid))?;
        let (bytes, start) = match uid.as_str() {
            uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN => (inflated(&bytes[start..])?, 0),
            // Pixels on a server, or of a video.
            _ if matches!(syntax.codec(), Codec::Dataset(_)) || uid.starts_with("1.2.840.10008.1.2.4.10") => {
                return Err(not_read(&uid, syntax.name()));
            }
            _ => (bytes, start),
        };
        let elements = Elements {
            bytes: &bytes,
            is_explicit: uid != uids::IMPLICIT_VR_LITTLE_ENDIAN,
            order: if uid == "1.2.840.10008.1.2.2" { ByteOrder::Big } else { ByteOrder::Little },
        };
        let (attributes, pixels) = elements.data_set(start)?;
        Ok(Self { syntax, attributes, pixels, bytes, has_preamble })
    }

    /// Parses the attributes before the pixels.
    ///
    /// # Errors
    /// Elements that the library refuses.
    pub fn attributes(&self) -> Result<InMemDicomObject, DicomProblem> {
        // The bytes of a deflated data set are unpacked by now.
        let is_deflated = self.syntax.uid() == uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN;
        let uid = if is_deflated { uids::EXPLICIT_VR_LITTLE_ENDIAN } else { self.syntax.uid() };
        let syntax = TransferSyntaxRegistry.get(uid).unwrap_or(self.syntax);
        InMemDicomObject::read_dataset_with_ts(self.attributes.as_slice(), syntax)
            .map_err(|error| DicomProblem::Elements(error.to_string()))
    }

    /// Returns bytes of the pixels.
    pub fn bytes(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Returns the order of the bytes of numbers.
    pub fn byte_order(&self) -> ByteOrder {
        if self.syntax.uid() == "1.2.840.10008.1.2.2" { ByteOrder::Big } else { ByteOrder::Little }
    }
}

/// Returns the error of a transfer syntax that is not read.
pub fn not_read(uid: &str, name: &str) -> DicomProblem {
    let remedy = match uid {
        "1.2.840.10008.1.2.4.80" | "1.2.840.10008.1.2.4.81" => "dcmdjpls IN OUT (dcmtk), or gdcmconv --raw IN OUT",
        _ => "gdcmconv --raw IN OUT",
    };
    DicomProblem::TransferSyntax { name: shortened(name), remedy }
}

/// Returns the transfer syntax of a data set without preamble and meta information, which old programs wrote: it begins with the
/// identifying group (0008) and belongs to a series.
fn syntax_of_bare(bytes: &[u8]) -> Option<&'static str> {
    series_uid_in(bytes).filter(|_| bytes.starts_with(&[8, 0]))?;
    let is_explicit = bytes.get(4..6)?.iter().all(u8::is_ascii_uppercase);
    Some(if is_explicit { uids::EXPLICIT_VR_LITTLE_ENDIAN } else { uids::IMPLICIT_VR_LITTLE_ENDIAN })
}

/// Returns the UID of the series in the first bytes of a file that may be cut, in little endian.
pub fn series_uid_in(bytes: &[u8]) -> Option<String> {
    let bytes = &bytes[..bytes.len().min(SEARCHED_BYTES)];
    let at = bytes.windows(4).position(|tag| tag == [0x20, 0, 0x0e, 0])? + 4;
    let [a, b, c, d] = *bytes.get(at..at + 4)?.first_chunk()?;
    let length = if [a, b] == *b"UI" { u16::from_le_bytes([c, d]) } else { u16::from_le_bytes([a, b]) };
    let text = std::str::from_utf8(bytes.get(at + 4..at + 4 + usize::from(length))?).ok()?;
    let text = text.trim_matches(['\0', ' ']);
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then(|| text.to_owned())
}

/// Returns the first byte after the meta information, which begins at `start`, and the UID of the transfer syntax.
fn meta_information(bytes: &[u8], start: usize) -> Result<(usize, String), DicomProblem> {
    let elements = Elements { bytes, is_explicit: true, order: ByteOrder::Little };
    let (mut at, mut uid) = (start, None);
    while at < bytes.len() {
        let header = elements.header(at, bytes.len())?;
        if header.tag.group() != 2 {
            break;
        }
        let value = elements.value(&header, bytes.len())?;
        if header.tag == tags::TRANSFER_SYNTAX_UID {
            uid = Some(uid_text(&bytes[value.clone()]));
        }
        at = value.end;
    }
    let uid = uid.ok_or_else(|| DicomProblem::Missing("TransferSyntaxUID (0002,0010)".into()))?;
    Ok((at, uid))
}

/// Returns the UID of the class from the first bytes of a file; `None` where they do not have it.
pub fn class_uid(bytes: &[u8]) -> Option<String> {
    bytes.get(META_START - 4..META_START).filter(|mark| *mark == b"DICM")?;
    let elements = Elements { bytes, is_explicit: true, order: ByteOrder::Little };
    let mut at = META_START;
    loop {
        let header = elements.header(at, bytes.len()).ok().filter(|header| header.tag.group() == 2)?;
        let value = elements.value(&header, bytes.len()).ok()?;
        if header.tag == tags::MEDIA_STORAGE_SOP_CLASS_UID {
            return Some(uid_text(&bytes[value]));
        }
        at = value.end;
    }
}

/// Returns a UID without its padding.
fn uid_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches(['\0', ' ']).to_owned()
}

/// Unpacks a deflated data set.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, DicomProblem> {
    let mut unpacked = Vec::new();
    let limited = flate2::read::DeflateDecoder::new(bytes).take(MAX_INFLATED as u64 + 1).read_to_end(&mut unpacked);
    limited.map_err(|error| DicomProblem::Elements(error.to_string()))?;
    if unpacked.len() > MAX_INFLATED { Err(DicomProblem::Deflated(MAX_INFLATED)) } else { Ok(unpacked) }
}

/// Data elements in bytes.
struct Elements<'a> {
    bytes: &'a [u8],
    /// True if elements contain their value representation.
    is_explicit: bool,
    order: ByteOrder,
}

/// Head of a data element.
struct Header {
    tag: Tag,
    /// Position of the element.
    at: usize,
    /// True if its value is a sequence.
    is_sequence: bool,
    /// True if its value representation is UN.
    is_unknown: bool,
    /// Length of the value; `None` = up to a delimiter.
    length: Option<usize>,
    /// Position of the value.
    value: usize,
}

impl Elements<'_> {
    /// Checks a data set up to its pixels or its end; returns the elements that are parsed and the position of the pixels.
    fn data_set(&self, start: usize) -> Result<(Vec<u8>, Option<PixelBytes>), DicomProblem> {
        let (mut at, end, mut parsed) = (start, self.bytes.len(), Vec::new());
        while at < end {
            let header = self.header(at, end)?;
            if matches!(header.tag, tags::PIXEL_DATA | tags::FLOAT_PIXEL_DATA | tags::DOUBLE_FLOAT_PIXEL_DATA) {
                let pixels = match header.length {
                    Some(_) => PixelBytes::Native(header.tag, self.value(&header, end)?),
                    None => self.fragments(header.value, end)?,
                };
                return Ok((parsed, Some(pixels)));
            }
            at = self.element(&header, end, 0)?;
            let is_private = header.tag.group() % 2 == 1 && !PRIVATE.contains(&header.tag.group());
            if !is_private && !header.is_unknown {
                parsed.extend_from_slice(&self.bytes[header.at..at]);
            }
        }
        Ok((parsed, None))
    }

    /// Checks an element and returns its end.
    fn element(&self, header: &Header, end: usize, depth: usize) -> Result<usize, DicomProblem> {
        match header.length {
            Some(_) => {
                let value = self.value(header, end)?;
                if header.is_sequence {
                    self.items(value.start, value.end, false, depth + 1)?;
                }
                Ok(value.end)
            }
            // Of unknown representation, its items are in the implicit syntax (PS3.5, 6.2.2).
            None if header.is_unknown => {
                let implicit = Elements { is_explicit: false, order: ByteOrder::Little, ..*self };
                implicit.items(header.value, end, true, depth + 1)
            }
            None => self.items(header.value, end, true, depth + 1),
        }
    }

    /// Checks the items of a sequence, which ends at `end` or, if it is delimited, before; returns its end.
    fn items(&self, start: usize, end: usize, is_delimited: bool, depth: usize) -> Result<usize, DicomProblem> {
        if depth > MAX_DEPTH {
            return Err(DicomProblem::Deep(MAX_DEPTH));
        }
        let mut at = start;
        while is_delimited || at < end {
            let header = self.header(at, end)?;
            at = match (header.tag, header.length) {
                (ITEM, Some(_)) => {
                    let value = self.value(&header, end)?;
                    self.item(value.start, value.end, false, depth)?;
                    value.end
                }
                (ITEM, None) => self.item(header.value, end, true, depth)?,
                (SEQUENCE_END, _) if is_delimited => return Ok(header.value),
                _ => return Err(DicomProblem::Structure(at)),
            };
        }
        Ok(at)
    }

    /// Checks the elements of an item; returns its end.
    fn item(&self, start: usize, end: usize, is_delimited: bool, depth: usize) -> Result<usize, DicomProblem> {
        let mut at = start;
        while is_delimited || at < end {
            let header = self.header(at, end)?;
            match header.tag {
                ITEM_END if is_delimited => return Ok(header.value),
                Tag(0xfffe, _) => return Err(DicomProblem::Structure(at)),
                _ => at = self.element(&header, end, depth)?,
            }
        }
        Ok(at)
    }

    /// Returns the offset table and the fragments of encapsulated pixels.
    fn fragments(&self, start: usize, end: usize) -> Result<PixelBytes, DicomProblem> {
        let (mut at, mut items) = (start, Vec::new());
        loop {
            let header = self.header(at, end)?;
            match header.tag {
                ITEM if header.length.is_some() => items.push(self.value(&header, end)?),
                SEQUENCE_END => break,
                _ => return Err(DicomProblem::Structure(at)),
            }
            at = items.last().map_or(end, |item| item.end);
        }
        let mut items = items.into_iter();
        let table = items.next().map(|table| &self.bytes[table]).unwrap_or_default();
        let (offsets, _) = table.as_chunks::<4>();
        Ok(PixelBytes::Encapsulated {
            offsets: offsets.iter().map(|&offset| u32::from_le_bytes(offset)).collect(),
            fragments: items.collect(),
        })
    }

    /// Returns the range of a value of known length.
    fn value(&self, header: &Header, end: usize) -> Result<Range<usize>, DicomProblem> {
        let length = header.length.ok_or(DicomProblem::Structure(header.at))?;
        let found = end - header.value;
        if length <= found {
            return Ok(header.value..header.value + length);
        }
        let Tag(group, element) = header.tag;
        Err(DicomProblem::Cut { tag: (group, element), position: header.at, length: Mismatch { found, expected: length } })
    }

    /// Reads the head of the element at a position.
    fn header(&self, at: usize, end: usize) -> Result<Header, DicomProblem> {
        let bytes = self.bytes.get(at..end).unwrap_or_default();
        let two = |from: usize| {
            let pair = bytes.get(from..from + 2).and_then(|pair| pair.try_into().ok()).ok_or(DicomProblem::Structure(at))?;
            Ok(if self.order == ByteOrder::Big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
        };
        let four = |from: usize| {
            let [first, second] = [u32::from(two(from)?), u32::from(two(from + 2)?)];
            Ok(if self.order == ByteOrder::Big { first << 16 | second } else { second << 16 | first })
        };
        let tag = Tag(two(0)?, two(2)?);
        let is_delimiter = tag.group() == 0xfffe;
        let vr = bytes.get(4..6).unwrap_or_default();
        let (length, head) = match self.is_explicit && !is_delimiter {
            true if SHORT.iter().any(|short| short.as_slice() == vr) || vr == b"US" => (u32::from(two(6)?), 8),
            true => (four(8)?, 12),
            false => (four(4)?, 8),
        };
        let is_sequence = if self.is_explicit { vr == b"SQ" } else { is_sequence(tag) };
        let length = (length != u32::MAX).then_some(length as usize);
        let is_unknown = self.is_explicit && vr == b"UN";
        // Only sequences, and what may be one, end at a delimiter.
        let may_be_delimited = !self.is_explicit || is_delimiter || is_sequence || is_unknown || tag == tags::PIXEL_DATA;
        if length.is_none() && !may_be_delimited {
            return Err(DicomProblem::Structure(at));
        }
        Ok(Header { tag, at, is_sequence: is_sequence && !is_delimiter, is_unknown, length, value: at + head })
    }
}

/// Returns true if the dictionary has a sequence of this tag.
fn is_sequence(tag: Tag) -> bool {
    StandardDataDictionary.by_tag(tag).is_some_and(|entry| entry.vr().relaxed() == VR::SQ)
}
