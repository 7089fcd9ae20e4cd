//! Headers of NIfTI: of version 1 and 2, in the file of the voxels or in one of a pair (`.hdr`, `.img`).
//!
//! Source: nifti1.h (Cox et al. 2004); nifti2.h (2011) with its offsets, widths and magic. A header of version 2 is read into one of
//! version 1: sides above 32767 are refused, other numbers are rounded to 32 bits.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use ::nifti::{Endianness, NiftiHeader};

use crate::io::bytes::{GzipReader, regular_file_len};
use crate::io::error::IoError;
use crate::io::images::nifti::problem::NiftiProblem;

/// Bytes of a header of version 1.
pub(super) const HEADER_BYTES: u64 = 348;

/// Bytes of a header of version 2.
const HEADER_2_BYTES: u64 = 540;

/// Endings of images, in one file or in pairs.
pub const ENDINGS: &[&str] = &[".nii", ".nii.gz", ".hdr", ".hdr.gz", ".img", ".img.gz"];

/// Endings of the headers of pairs, and of their voxels.
const PAIRS: [[&str; 2]; 2] = [[".hdr", ".hdr.gz"], [".img", ".img.gz"]];

/// A reader of a compressed file.
type Unpacked = GzipReader<BufReader<File>>;

/// An opened image.
pub(super) struct Opened {
    pub header: NiftiHeader,
    /// File of the voxels.
    pub data: PathBuf,
    /// Bytes before the voxels that a header takes in this file: the least offset of the voxels.
    pub header_bytes: u64,
    /// A compressed file of voxels, behind its header.
    pub packed: Option<Unpacked>,
}

/// Opens an image: a file with header and voxels, or either file of a pair.
pub(super) fn open(path: &Path) -> Result<Opened, IoError> {
    let [header_path, data] = pair(path).unwrap_or_else(|| [path.to_owned(), path.to_owned()]);
    let (header, num_bytes, packed) = read(&header_path)?;
    match (&header.magic, header_path == data) {
        (b"n+1\0" | b"n+2\0", true) => Ok(Opened { header, data, header_bytes: num_bytes, packed }),
        (b"ni1\0" | b"ni2\0", false) => {
            let packed = is_gzip(&data).then(|| unpacked(&data)).transpose()?;
            Ok(Opened { header, data, header_bytes: 0, packed })
        }
        (b"ni1\0" | b"ni2\0", true) => Err(IoError::unsupported(path, NiftiProblem::Pair)),
        _ => Err(IoError::unsupported(path, NiftiProblem::NotNifti)),
    }
}

/// Returns the header and the voxels of a pair by the name of either, compressed if that file exists alone; `None` of other names.
pub fn pair(path: &Path) -> Option<[PathBuf; 2]> {
    let name = path.file_name()?.to_str()?;
    let small = name.to_ascii_lowercase();
    let ending = PAIRS.iter().flatten().copied().find(|ending| small.ends_with(ending) && small.len() > ending.len())?;
    let (stem, written) = name.split_at(name.len() - ending.len());
    let in_capitals = written.chars().any(|c| c.is_ascii_uppercase());
    Some(PAIRS.map(|endings| {
        if endings.contains(&ending) {
            return path.to_owned();
        }
        let named = endings.map(|ending| if in_capitals { ending.to_uppercase() } else { ending.to_owned() });
        let [plain, packed] = named.map(|ending| path.with_file_name(format!("{stem}{ending}")));
        if !plain.is_file() && packed.is_file() { packed } else { plain }
    }))
}

/// Returns true if a name is that of one file, or of either file of a pair whose header has the size of one of NIfTI (or ANALYZE).
pub fn is_nifti(path: &Path) -> bool {
    pair(path).is_none_or(|[header, _]| {
        let mut size = [0; 4];
        let is_read = match is_gzip(&header) {
            true => unpacked(&header).is_ok_and(|mut file| file.read_exact(&mut size).is_ok()),
            false => plain(&header).is_ok_and(|mut file| file.read_exact(&mut size).is_ok()),
        };
        is_read && [348, 540].iter().any(|bytes: &i32| [bytes.to_le_bytes(), bytes.to_be_bytes()].contains(&size))
    })
}

/// Returns the other files of an image.
pub fn other_files(path: &Path) -> Vec<PathBuf> {
    pair(path).map_or_else(Vec::new, |pair| pair.into_iter().filter(|file| file != path).collect())
}

/// Returns true if the name ends in `.gz`.
pub(super) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// Opens a regular file: a pipe would wait for its other end.
fn plain(path: &Path) -> Result<BufReader<File>, IoError> {
    regular_file_len(path)?;
    File::open(path).map(BufReader::new).map_err(IoError::open(path))
}

fn unpacked(path: &Path) -> Result<Unpacked, IoError> {
    plain(path).map(GzipReader::new)
}

/// Reads a header, with its magic also of version 2, and returns its length in bytes; of a compressed file also what follows.
fn read(path: &Path) -> Result<(NiftiHeader, u64, Option<Unpacked>), IoError> {
    let mut start = Vec::new();
    let mut packed = is_gzip(path).then(|| unpacked(path)).transpose()?;
    let mut file = plain(path)?;
    let reader: &mut dyn Read = match &mut packed {
        Some(packed) => packed,
        None => &mut file,
    };
    (&mut *reader).take(HEADER_BYTES).read_to_end(&mut start).map_err(IoError::read(path))?;
    let refused = |problem: NiftiProblem| Err(IoError::unsupported(path, problem));
    if start.len() < HEADER_BYTES as usize {
        return refused(NiftiProblem::Short(start.len()));
    }
    let magic: [u8; 4] = std::array::from_fn(|i| start[4 + i]);
    if matches!(&magic, b"n+2\0" | b"ni2\0") {
        reader.take(HEADER_2_BYTES - HEADER_BYTES).read_to_end(&mut start).map_err(IoError::read(path))?;
        let Ok(bytes) = <&[u8; HEADER_2_BYTES as usize]>::try_from(start.as_slice()) else {
            return refused(NiftiProblem::Short(start.len()));
        };
        let header = of_version_2(bytes).map_err(|problem| IoError::unsupported(path, problem))?;
        return Ok((NiftiHeader { magic, ..header }, HEADER_2_BYTES, packed));
    }
    match NiftiHeader::from_reader(start.as_slice()) {
        Ok(header) => Ok((header, HEADER_BYTES, packed)),
        Err(_) if is_analyze(&start) => refused(NiftiProblem::Analyze),
        Err(_) => refused(NiftiProblem::NotNifti),
    }
}

/// Returns true of a header of ANALYZE 7.5, from which NIfTI took its size and its first fields: 348 bytes, no magic.
fn is_analyze(start: &[u8]) -> bool {
    let size = [348i32.to_le_bytes(), 348i32.to_be_bytes()];
    start.first_chunk().is_some_and(|first| size.contains(first)) && start[344..348] == [0; 4]
}

/// Numbers of a header of version 2 by their offsets.
struct Fields<'a>(&'a [u8; HEADER_2_BYTES as usize], Endianness);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes: [u8; N] = std::array::from_fn(|i| self.0[at + i]);
        if self.1 == Endianness::Big {
            bytes.reverse();
        }
        bytes
    }

    fn i32(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.bytes(at))
    }

    fn i64(&self, at: usize) -> i64 {
        i64::from_le_bytes(self.bytes(at))
    }

    fn f64s<const N: usize>(&self, at: usize) -> [f32; N] {
        std::array::from_fn(|i| f64::from_le_bytes(self.bytes(at + 8 * i)) as f32)
    }
}

/// Returns a header of version 2 as one of version 1.
fn of_version_2(bytes: &[u8; HEADER_2_BYTES as usize]) -> Result<NiftiHeader, NiftiProblem> {
    let endianness = match bytes.first_chunk().map(|size| i32::from_le_bytes(*size)) {
        Some(540) => Endianness::Little,
        Some(size) if size.swap_bytes() == 540 => Endianness::Big,
        _ => return Err(NiftiProblem::NotNifti),
    };
    let fields = Fields(bytes, endianness);
    let mut dim = [0; 8];
    for (axis, to) in dim.iter_mut().enumerate() {
        let side = fields.i64(16 + 8 * axis);
        *to = u16::try_from(side).map_err(|_| NiftiProblem::Side(usize::try_from(side).unwrap_or(0)))?;
    }
    let offset = fields.i64(168);
    let vox_offset = offset as f32;
    if vox_offset as i64 != offset {
        return Err(NiftiProblem::DataStart(vox_offset));
    }
    let code = |at: usize| fields.i32(at).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
    let ([scl_slope, scl_inter], [toffset]) = (fields.f64s(176), fields.f64s(216));
    let [quatern_b, quatern_c, quatern_d, quatern_x, quatern_y, quatern_z] = fields.f64s(352);
    Ok(NiftiHeader {
        endianness,
        dim,
        vox_offset,
        scl_slope,
        scl_inter,
        toffset,
        quatern_b,
        quatern_c,
        quatern_d,
        quatern_x,
        quatern_y,
        quatern_z,
        datatype: i16::from_le_bytes(fields.bytes(12)),
        pixdim: fields.f64s(104),
        qform_code: code(344),
        sform_code: code(348),
        srow_x: fields.f64s(400),
        srow_y: fields.f64s(432),
        srow_z: fields.f64s(464),
        xyzt_units: fields.i32(500) as u8,
        intent_name: std::array::from_fn(|i| bytes[508 + i]),
        ..NiftiHeader::default()
    })
}
