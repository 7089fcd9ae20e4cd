//! NumPy arrays (`.npy`, versions 1 to 3) of real numbers in either byte order and either index order.
//!
//! The header is one Python dictionary of three keys on one line, as NumPy writes it:
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (961, 500), }`. Anything else is refused.
//!
//! This is read by hand, not by a library: files may come from anybody, and here the length of the header, the number of values
//! and the file's size are checked against each other before anything is allocated, and every mistake is a sentence that names
//! the file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::IoError;
use super::blocks::{read_contiguous, regular_file_len};
use super::numbers::{ByteOrder, NumberFormat, NumberType};

/// Longest header that is read.
const MAX_HEADER: u64 = 1 << 16;

/// An array of one or two dimensions, in C order (the last index fastest).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    /// Rows and columns; an array of one dimension is one row.
    pub(super) shape: [usize; 2],
    pub(super) values: Vec<f32>,
    /// Bytes of the file that the header does not describe.
    pub(super) num_left: u64,
}

impl Array {
    /// The array with rows and columns exchanged.
    pub(super) fn transposed(self) -> Self {
        let [rows, columns] = self.shape;
        let values = (0..rows * columns).map(|i| self.values[i % rows * columns + i / rows]).collect();
        Self { shape: [columns, rows], values, ..self }
    }
}

/// Reads an array of one or two dimensions.
pub(super) fn read_array(path: &Path) -> Result<Array, IoError> {
    let len = regular_file_len(path)?;
    let mut start = Vec::new();
    let file = File::open(path).map_err(IoError::open(path))?;
    file.take(MAX_HEADER).read_to_end(&mut start).map_err(IoError::read(path))?;
    let refuse = |reason: String| IoError::unsupported(path, reason);
    let (header, offset) = header(&start).map_err(refuse)?;
    let format = number_format(entry(header, "descr").map_err(refuse)?).map_err(refuse)?;
    let is_fortran = match entry(header, "fortran_order").map_err(refuse)? {
        "True" => true,
        "False" => false,
        other => return Err(refuse(format!("its 'fortran_order' is '{}' where True or False is expected", quoted(other)))),
    };
    let shape = shape(entry(header, "shape").map_err(refuse)?).map_err(refuse)?;
    let num_values = shape[0].checked_mul(shape[1]).filter(|n| n.checked_mul(8).is_some());
    let num_values =
        num_values.ok_or_else(|| refuse(format!("its shape {} × {} is more than can be held", shape[0], shape[1])))?;
    let expected = offset.saturating_add((num_values * format.number_type.num_bytes()) as u64);
    if len < expected {
        let what = format!("a header and {} × {} numbers", shape[0], shape[1]);
        return Err(IoError::TooShort { path: path.to_owned(), what, expected, found: len });
    }
    let values = read_contiguous(path, format, offset, num_values)?;
    let ([rows, columns], num_left) = (shape, len - expected);
    let array = |shape| Array { shape, values, num_left };
    Ok(if is_fortran { array([columns, rows]).transposed() } else { array(shape) })
}

/// The header's text, and where the numbers begin.
fn header(start: &[u8]) -> Result<(&str, u64), String> {
    let Some((&[major, _minor], rest)) = start.strip_prefix(b"\x93NUMPY").and_then(|rest| rest.split_first_chunk::<2>()) else {
        return Err("it is not a NumPy array: the first bytes are not those of an .npy file".into());
    };
    let cut = || "its header is cut off or too long".to_owned();
    let (len, text) = match major {
        1 => rest.split_first_chunk::<2>().map(|(len, rest)| (usize::from(u16::from_le_bytes(*len)), rest)).ok_or_else(cut)?,
        2 | 3 => rest.split_first_chunk::<4>().map(|(len, rest)| (u32::from_le_bytes(*len) as usize, rest)).ok_or_else(cut)?,
        _ => return Err(format!("its version {major} of the .npy format is not known; versions 1 to 3 are")),
    };
    let text = text.get(..len).ok_or_else(cut)?;
    let offset = if major == 1 { 10 } else { 12 } + len as u64;
    Ok((std::str::from_utf8(text).map_err(|_| "its header is not text".to_owned())?, offset))
}

/// The value of a key, up to the comma or bracket that ends it; a tuple with its brackets.
fn entry<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let missing = || format!("its header has no '{key}'");
    let after = ['\'', '"'].iter().find_map(|q| header.split_once(&format!("{q}{key}{q}"))).ok_or_else(missing)?.1;
    let value = after.trim_start().strip_prefix(':').ok_or_else(missing)?.trim_start();
    let end = if value.starts_with('(') { value.find(')').map(|at| at + 1) } else { value.find([',', '}']) };
    Ok(value[..end.ok_or_else(missing)?].trim())
}

fn number_format(descr: &str) -> Result<NumberFormat, String> {
    let name = descr.trim_matches(['\'', '"']);
    let (order, kind) = match name.strip_prefix(['<', '|', '=']) {
        Some(kind) => (ByteOrder::Little, kind),
        None => (ByteOrder::Big, name.strip_prefix('>').unwrap_or_default()),
    };
    let number_type = match kind {
        "f4" => NumberType::Float32,
        "f8" => NumberType::Float64,
        "i1" => NumberType::Int8,
        "i2" => NumberType::Int16,
        "i4" => NumberType::Int32,
        "i8" => NumberType::Int64,
        "u1" => NumberType::Uint8,
        "u2" => NumberType::Uint16,
        "u4" => NumberType::Uint32,
        "u8" => NumberType::Uint64,
        _ => {
            return Err(format!("its numbers are of type '{}'; real ones are read: f4, f8, i1 to i8, u1 to u8", quoted(name)));
        }
    };
    Ok(NumberFormat { number_type, byte_order: order, scale: 1.0, intercept: 0.0 })
}

/// Rows and columns of a shape of one or two dimensions.
fn shape(text: &str) -> Result<[usize; 2], String> {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or_default();
    let sides = inner.split(',').map(str::trim).filter(|side| !side.is_empty());
    let sides: Option<Vec<usize>> = sides.map(|side| side.parse().ok().filter(|&n| n > 0)).collect();
    match sides.as_deref() {
        Some(&[columns]) => Ok([1, columns]),
        Some(&[rows, columns]) => Ok([rows, columns]),
        _ => Err(format!("its shape {} is not that of an array of one or two dimensions", quoted(text))),
    }
}

fn quoted(text: &str) -> String {
    text.chars().take(40).collect()
}
