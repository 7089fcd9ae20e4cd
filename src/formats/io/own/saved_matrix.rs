//! System matrices: a small TOML header (`NAME.matrix`) and a file of their elements (`NAME.matrix.u32`).
//!
//! ```toml
//! version = 1
//! scanner = "madpet2"              # a ring of the catalogue
//! num_lors = 662976
//! num_basic = 8740                 # basic functions
//! num_elements = 700000000
//! scale_mm3 = 0.0123               # factor of the elements' values
//! data_file = "madpet2.matrix.u32" # in the same folder
//! data_checksum = "crc32 cbf43926"
//!
//! [basis]
//! kind = "blobs"
//! spacing_mm = 0.5
//! radius_mm = 35.5
//! half_length_mm = 10.0
//!
//! [made]                           # its simulation, if known
//! seed = 1
//! num_histories = 1000000
//! num_counted = 200000
//! num_decays = 72000000.0
//! counted_percent = 1.6
//! multiple_percent = 0.5
//! effective_counts = 12.0
//! ```
//!
//! The data file holds little-endian 32-bit numbers: the number of elements of each line of response, then all elements, those of
//! a line in the order of its basic functions. An element has the basic function in its upper 17 bits; the lower 15 bits e are
//! the value whose bits as a 32-bit float are e · 2¹³ + 0x30000000.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::toml_text::Form;
use crate::data::{BasisSettings, MatrixElement, MatrixError, MatrixMade, ResponseMatrix};
use crate::io::bytes::zeroed;
use crate::io::error::{IoError, Mismatch};
use crate::io::own::toml_text::FormProblem;
use crate::scanner::find_ring;

const VERSION: u32 = 1;

const FORM: Form = Form { is_not: "not a system matrix", versions: &[VERSION], max_bytes: 1 << 16 };

/// Most elements: 16 GiB of them.
const MAX_ELEMENTS: u64 = 1 << 32;

/// Numbers that are written at a time.
const AT_ONCE: usize = 1 << 16;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    scanner: String,
    num_lors: usize,
    num_basic: usize,
    num_elements: u64,
    scale_mm3: f32,
    data_file: String,
    data_checksum: String,
    basis: BasisSettings,
    made: Option<MatrixMade>,
}

/// Reads a matrix.
///
/// # Errors
/// Not a header of this form, another version, an unknown ring, a data file that is missing, of another size or another one than
/// the header's, invalid elements.
pub fn read_matrix(path: &Path) -> Result<ResponseMatrix, IoError> {
    let (header, data) = FORM.read_header::<Header>(path)?;
    let refused = |problem: MatrixProblem| FORM.refused(path, problem);
    let ring = find_ring(&header.scanner).ok_or_else(|| FORM.refused(path, FormProblem::UnknownRing(header.scanner.clone())))?;
    if header.num_lors != ring.num_lors() {
        let (ring, expected) = (ring.name.to_string(), ring.num_lors());
        return Err(refused(MatrixProblem::NumPairs(ring, Mismatch { found: header.num_lors, expected })));
    }
    if header.num_elements > MAX_ELEMENTS {
        return Err(refused(MatrixProblem::ManyElements(MAX_ELEMENTS)));
    }
    let num_numbers = header.num_lors as u64 + header.num_elements;
    let data = data.path(4 * num_numbers)?;
    let mut file = File::open(&data).map_err(IoError::open(&data))?;
    let mut numbers = |num: usize| -> Result<Vec<u32>, IoError> {
        // Memory is asked for before it is taken.
        drop(zeroed(&data, num)?);
        let mut numbers = vec![0u32; num];
        file.read_exact(bytemuck::cast_slice_mut(&mut numbers)).map_err(IoError::read(&data))?;
        numbers.iter_mut().for_each(|number| *number = u32::from_le(*number));
        Ok(numbers)
    };
    let lens = numbers(header.num_lors)?;
    let first = std::iter::once(0).chain(lens.iter().scan(0, |end, &len| {
        *end += u64::from(len);
        Some(*end)
    }));
    let first: Vec<u64> = first.collect();
    let elements = bytemuck::cast_vec(numbers(header.num_elements as usize)?);
    let matrix = ResponseMatrix {
        scanner: ring.name.clone(),
        basis: header.basis,
        num_basic: header.num_basic,
        scale_mm3: header.scale_mm3,
        first: Arc::new(first),
        elements: Arc::new(elements),
        made: header.made,
    };
    matrix.validate(ring).map_err(|error| refused(error.into()))
}

/// Writes a matrix: the header to `path`, the elements next to it.
///
/// # Errors
/// A failed write; existing files then remain.
pub fn write_matrix(path: &Path, matrix: &ResponseMatrix) -> Result<(), IoError> {
    let data = data_file(path);
    Form::write(
        [path, &data],
        |writer| {
            let lens = matrix.first.windows(2).map(|pair| (pair[1] - pair[0]) as u32);
            write_all(writer, &lens.collect::<Vec<u32>>())?;
            write_all(writer, bytemuck::cast_slice::<MatrixElement, u32>(&matrix.elements))
        },
        |data_file, data_checksum| Header {
            version: VERSION,
            scanner: matrix.scanner.clone(),
            num_lors: matrix.first.len() - 1,
            num_basic: matrix.num_basic,
            num_elements: matrix.elements.len() as u64,
            scale_mm3: matrix.scale_mm3,
            data_file,
            data_checksum,
            basis: matrix.basis,
            made: matrix.made,
        },
    )
}

fn write_all(writer: &mut dyn Write, numbers: &[u32]) -> io::Result<()> {
    numbers.chunks(AT_ONCE).try_for_each(|numbers| {
        let little: Vec<u32> = numbers.iter().map(|number| number.to_le()).collect();
        writer.write_all(bytemuck::cast_slice(&little))
    })
}

/// Returns the data file that belongs to a header.
pub fn data_file(header: &Path) -> PathBuf {
    header.with_extension("matrix.u32")
}

/// A problem of a system matrix.
#[derive(Debug, thiserror::Error)]
enum MatrixProblem {
    /// Another number of pairs than a ring, by its name, has.
    #[error("{} has {} pairs of crystals, not {}", .0, .1.expected, .1.found)]
    NumPairs(String, Mismatch),
    /// Too many elements of a matrix.
    #[error("it would have more than {0} elements")]
    ManyElements(u64),
    /// Elements that are not a system matrix.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}
