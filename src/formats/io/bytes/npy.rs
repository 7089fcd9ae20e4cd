//! NumPy arrays (`.npy`, versions 1 to 3) of real numbers in either byte order and either index order.
//!
//! The header is one Python dictionary of three keys on one line, as NumPy writes it:
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (961, 500), }`. Anything else is refused.
//!
//! This is read by hand, not by a library: files may come from anybody, and here the length of the header, the number of values
//! and the file's size are checked against each other before anything is allocated, and every mistake is a sentence that names
//! the file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::blocks::{read_contiguous, regular_file_len};
use super::numbers::{ByteOrder, NumberFormat, NumberType};
use crate::coded::coded;
use crate::io::error::IoError;

/// Longest header that is read.
const MAX_HEADER: u64 = 1 << 16;

/// First bytes of a file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// An array in C order (the last index fastest).
#[derive(Clone, Debug, PartialEq)]
pub struct Array<const N: usize> {
    /// Sides; an array of one dimension is one row of two.
    pub shape: [usize; N],
    pub values: Vec<f32>,
    /// Bytes of the file that the header does not describe.
    pub num_left: u64,
}

impl Array<2> {
    /// Returns the array with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        let [rows, columns] = self.shape;
        let values = (0..rows * columns).map(|i| self.values[i % rows * columns + i / rows]).collect();
        Self { shape: [columns, rows], values, ..self }
    }
}

/// Reads an array of one or two dimensions.
pub fn read_array(path: &Path) -> Result<Array<2>, IoError> {
    let header = Header::read(path)?;
    let shape = match header.shape[..] {
        [columns] => [1, columns],
        [rows, columns] => [rows, columns],
        _ => return Err(header.refuse_shape("one or two dimensions")),
    };
    let (values, num_left) = header.read_values()?;
    let array = |shape| Array { shape, values, num_left };
    let [rows, columns] = shape;
    Ok(if header.is_fortran { array([columns, rows]).transposed() } else { array(shape) })
}

/// Reads an array of three dimensions.
pub fn read_array3(path: &Path) -> Result<Array<3>, IoError> {
    let header = Header::read(path)?;
    let [nz, ny, nx] = header.shape[..] else {
        return Err(header.refuse_shape("three dimensions, z, y and x"));
    };
    let (mut values, num_left) = header.read_values()?;
    if header.is_fortran {
        let stored = |z, y, x| z + nz * (y + ny * x);
        let order = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| stored(z, y, x))));
        values = order.map(|index| values[index]).collect();
    }
    Ok(Array { shape: [nz, ny, nx], values, num_left })
}

/// Writes the header of an array of little-endian 32-bit floats in C order (version 1; the numbers begin at a multiple of 64
/// bytes, as NumPy has it).
pub fn write_header(writer: &mut dyn Write, shape: [usize; 3]) -> io::Result<()> {
    let [nz, ny, nx] = shape;
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({nz}, {ny}, {nx}), }}");
    let num_before = MAGIC.len() + 4;
    let len = (num_before + text.len() + 1).next_multiple_of(64) - num_before;
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0, len as u8, (len >> 8) as u8])?;
    writeln!(writer, "{text:width$}", width = len - 1)
}

/// Content of a file before its numbers.
struct Header<'a> {
    path: &'a Path,
    format: NumberFormat,
    is_fortran: bool,
    shape: Vec<usize>,
    /// Where the numbers begin.
    offset: u64,
    file_len: u64,
}

impl<'a> Header<'a> {
    fn read(path: &'a Path) -> Result<Self, IoError> {
        let file_len = regular_file_len(path)?;
        let mut start = Vec::new();
        let file = File::open(path).map_err(IoError::open(path))?;
        file.take(MAX_HEADER).read_to_end(&mut start).map_err(IoError::read(path))?;
        let refuse = |problem: NpyProblem| IoError::unsupported(path, problem);
        let (header, offset) = header(&start).map_err(refuse)?;
        let format = number_format(entry(header, "descr").map_err(refuse)?).map_err(refuse)?;
        let is_fortran = match entry(header, "fortran_order").map_err(refuse)? {
            "True" => true,
            "False" => false,
            other => return Err(refuse(NpyProblem::Order(quoted(other)))),
        };
        let shape = shape(entry(header, "shape").map_err(refuse)?).map_err(refuse)?;
        Ok(Self { path, format, is_fortran, shape, offset, file_len })
    }

    /// Reads all numbers in the file's order; returns them and the number of bytes after them.
    fn read_values(&self) -> Result<(Vec<f32>, u64), IoError> {
        let words = self.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ");
        let words = if self.shape.len() == 1 { format!("1 × {words}") } else { words };
        let num_values = self.shape.iter().try_fold(1usize, |num, &side| num.checked_mul(side));
        let num_values = num_values.filter(|n| n.checked_mul(8).is_some());
        let too_many = || IoError::unsupported(self.path, NpyProblem::TooLarge(words.clone()));
        let num_values = num_values.ok_or_else(too_many)?;
        let expected = self.offset.saturating_add((num_values * self.format.number_type.num_bytes()) as u64);
        if self.file_len < expected {
            let what = format!("a header and {words} numbers");
            return Err(IoError::TooShort { path: self.path.to_owned(), what, expected, found: self.file_len });
        }
        Ok((read_contiguous(self.path, self.format, self.offset, num_values)?, self.file_len - expected))
    }

    fn refuse_shape(&self, expected: &'static str) -> IoError {
        IoError::unsupported(self.path, NpyProblem::Shape(self.shape.clone(), expected))
    }
}

/// Returns the header's text, and the offset of the numbers.
fn header(start: &[u8]) -> Result<(&str, u64), NpyProblem> {
    let Some((&[major, _minor], rest)) = start.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<2>()) else {
        return Err(NpyProblem::NotNumpy);
    };
    let cut = || NpyProblem::HeaderCut;
    let (len, text) = match major {
        1 => rest.split_first_chunk::<2>().map(|(len, rest)| (usize::from(u16::from_le_bytes(*len)), rest)).ok_or_else(cut)?,
        2 | 3 => rest.split_first_chunk::<4>().map(|(len, rest)| (u32::from_le_bytes(*len) as usize, rest)).ok_or_else(cut)?,
        _ => return Err(NpyProblem::Version(major)),
    };
    let text = text.get(..len).ok_or_else(cut)?;
    let offset = if major == 1 { 10 } else { 12 } + len as u64;
    Ok((std::str::from_utf8(text).map_err(|_| NpyProblem::HeaderText)?, offset))
}

/// Returns the value of a key, up to the comma or bracket that ends it; a tuple with its brackets.
fn entry<'a>(header: &'a str, key: &'static str) -> Result<&'a str, NpyProblem> {
    let missing = || NpyProblem::Key(key);
    let after = ['\'', '"'].iter().find_map(|q| header.split_once(&format!("{q}{key}{q}"))).ok_or_else(missing)?.1;
    let value = after.trim_start().strip_prefix(':').ok_or_else(missing)?.trim_start();
    let end = if value.starts_with('(') { value.find(')').map(|at| at + 1) } else { value.find([',', '}']) };
    Ok(value[..end.ok_or_else(missing)?].trim())
}

fn number_format(descr: &str) -> Result<NumberFormat, NpyProblem> {
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
        "c8" | "c16" => return Err(NpyProblem::Complex(quoted(name))),
        _ => return Err(NpyProblem::Type(quoted(name))),
    };
    Ok(NumberFormat { number_type, byte_order: order, scale: 1.0, intercept: 0.0 })
}

/// Returns the sides of an array.
fn shape(text: &str) -> Result<Vec<usize>, NpyProblem> {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let sides = inner.unwrap_or_default().split(',').map(str::trim).filter(|side| !side.is_empty());
    let sides: Option<Vec<usize>> = sides.map(|side| side.parse().ok().filter(|&n| n > 0)).collect();
    sides.filter(|sides| !sides.is_empty()).ok_or_else(|| NpyProblem::NoNumbers(quoted(text)))
}

fn quoted(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A problem of a NumPy array.
#[derive(Debug, thiserror::Error)]
enum NpyProblem {
    /// A file that is not an array.
    #[error("it is not a NumPy array: the first bytes are not those of an .npy file")]
    NotNumpy,
    /// A header that does not end.
    #[error("its header is cut off or too long")]
    HeaderCut,
    /// A header that is not text.
    #[error("its header is not text")]
    HeaderText,
    /// A version of the format.
    #[error("its version {0} of the .npy format is not known; versions 1 to 3 are")]
    Version(u8),
    /// A key that the header lacks.
    #[error("its header has no '{0}'")]
    Key(&'static str),
    /// A type of numbers.
    #[error(
        "its numbers are of type '{0}'; real ones are read: f4, f8, i1 to i8, u1 to u8; save it again as array.astype('float32')"
    )]
    Type(String),
    /// Complex numbers.
    #[error(
        "its numbers are complex ('{0}'); real ones are read: turn them by the receiver's phase φ and save \
         (array * numpy.exp(-1j * φ)).real, or save them as BES3T, whose phase is found"
    )]
    Complex(String),
    /// An order that is neither C nor Fortran.
    #[error("its 'fortran_order' is '{0}' where True or False is expected")]
    Order(String),
    /// A shape without numbers.
    #[error("its shape {0} is not that of an array with numbers")]
    NoNumbers(String),
    /// A shape of too many numbers.
    #[error("its shape {0} is more than can be held")]
    TooLarge(String),
    /// A shape with another number of dimensions than expected.
    #[error("its shape {0:?} is not that of an array of {1}")]
    Shape(Vec<usize>, &'static str),
}

coded!(NpyProblem = "io.unsupported.numpy");
