//! Interfile: a text header (`key := value`) and a file of plain numbers, in STIR's dialect.
//!
//! Source: Todd-Pokropek, Cradduck, Deconinck 1992 (Nucl Med Commun 13:673) and STIR 6 (Thielemans et al. 2012, Phys Med Biol
//! 57:867), whose files these readers and writers exchange. In STIR's dialect
//!
//! * keys ignore case, a leading `!`, and the number of spaces or underscores; `;` starts a comment line; values
//!   may be lists `{a,b}`; `key[i]` is element i of a vector;
//! * projection data are `[segment][view][axial][tangential]` (viewgrams) or `[segment][axial][view][tangential]`
//!   (sinograms), tangential fastest, segments in the order of the header's ring differences; with time of flight one such
//!   set after the other for each of its bins;
//! * images are `[z][y][x]`, x fastest. The first pixel offset is the centre of voxel 0 in x and y, by default
//!   −⌊n/2⌋ voxels; in z it is the shift of the middle plane, (nz − 1)/2, from the scanner's centre, by default 0.
//!
//! Ours begin with a comment line `; tomoscope data checksum := crc32 …` (of the data file's bytes as far as the header describes
//! them): a header and data that were not written together are refused. Files without it are read as they are. Further comments name
//! the contents of a correction, the checksum of its scan, and the share of a frame in the time of its scan.
//!
//! Coordinates are the scanner's, for any position of the patient: STIR turns them only for patient coordinates.

pub(super) mod header;
mod image;
pub(super) mod layout;
mod problem;
pub(super) mod projections;
mod remarks;
pub(super) mod scan_facts;
pub(super) mod scanner;
mod spelling;
mod tof;

pub use image::{read_image, write_image};
pub use projections::{OwnFacts, read_geometry, read_own_facts, read_projections, write_projections};

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::io::error::IoError;
use crate::io::sinograms::interfile::problem::InterfileProblem;

/// Bytes at the start of a file that contain its first lines.
const START_BYTES: u64 = 1024;

/// Returns true for the usual name of an image, and for another file that begins as Interfile.
pub fn is_image(path: &Path) -> bool {
    let has_ending = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("hv"));
    has_ending || begins_as_interfile(path).unwrap_or(false)
}

fn begins_as_interfile(path: &Path) -> std::io::Result<bool> {
    let mut start = Vec::new();
    if !path.is_file() {
        return Ok(false);
    }
    File::open(path)?.take(START_BYTES).read_to_end(&mut start)?;
    let start = String::from_utf8_lossy(&start).to_lowercase();
    let mut lines = start.trim_start_matches('\u{feff}').split(['\n', '\r']).map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(';')).unwrap_or_default();
    Ok(first.trim_start_matches('!').trim_start().starts_with("interfile"))
}

/// Returns the data file that a file names, if it is a header.
pub fn data_files(header: &Path) -> Vec<PathBuf> {
    header::Header::read(header).ok().and_then(|header| header.data_file()).into_iter().collect()
}

/// Returns the data file's name for a header, relative to the header's folder.
fn data_file_name(header: &Path, data: &Path) -> Result<String, IoError> {
    // Readers take blanks off at both ends.
    let is_plain = |name: &&str| !name.chars().any(char::is_control) && name.trim() == *name;
    let name = data.file_name().and_then(|name| name.to_str()).filter(is_plain);
    match name {
        Some(name) if data != header => Ok(name.to_owned()),
        _ => Err(IoError::unsupported(header, InterfileProblem::HeaderName)),
    }
}
