//! Crystal-pair histograms: a small TOML header (`NAME.pairs`) and a file of little-endian 32-bit floats (`NAME.pairs.f32`).
//!
//! ```toml
//! version = 1
//! scanner = "madpet2"             # a ring of the catalogue
//! num_crystals = 1152
//! data_file = "scan.pairs.f32"    # in the same folder
//! data_checksum = "crc32 cbf43926"
//! ```
//!
//! The data file holds a number for each pair: (0, 1), (0, 2), (1, 2), (0, 3), … with crystals numbered `[module][layer][along
//! the axis][across]`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::toml_text::Form;
use crate::data::{PairCounts, PairCountsError};
use crate::io::bytes::write_f32_le;
use crate::io::error::{IoError, Mismatch};
use crate::io::own::toml_text::FormProblem;
use crate::scanner::find_ring;

const VERSION: u32 = 1;

const FORM: Form = Form { is_not: "not a crystal-pair histogram", versions: &[VERSION], max_bytes: 1 << 16 };

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    scanner: String,
    num_crystals: usize,
    data_file: String,
    data_checksum: String,
}

/// Reads a crystal-pair histogram.
///
/// # Errors
/// Not a header of this form, another version, an unknown ring, a data file that is missing, of another size or another one than
/// the header's.
pub fn read_pairs(path: &Path) -> Result<PairCounts, IoError> {
    let (header, data) = FORM.read_header::<Header>(path)?;
    let refused = |problem: PairsProblem| FORM.refused(path, problem);
    let ring = find_ring(&header.scanner).ok_or_else(|| FORM.refused(path, FormProblem::UnknownRing(header.scanner.clone())))?;
    if header.num_crystals != ring.num_crystals() {
        let (ring, expected) = (ring.name.to_string(), ring.num_crystals());
        return Err(refused(PairsProblem::NumCrystals(ring, Mismatch { found: header.num_crystals, expected })));
    }
    let counts = data.numbers(ring.num_lors())?;
    PairCounts::new(Arc::new(ring.clone()), counts).map_err(|error| refused(error.into()))
}

/// Writes a crystal-pair histogram: the header to `path`, the numbers next to it.
///
/// # Errors
/// A failed write; existing files then remain.
pub fn write_pairs(path: &Path, pairs: &PairCounts) -> Result<(), IoError> {
    let data = data_file(path);
    Form::write(
        [path, &data],
        |writer| write_f32_le(writer, &pairs.counts),
        |data_file, data_checksum| Header {
            version: VERSION,
            scanner: pairs.ring.name.clone(),
            num_crystals: pairs.ring.num_crystals(),
            data_file,
            data_checksum,
        },
    )
}

/// Returns the data file that belongs to a header.
pub fn data_file(header: &Path) -> PathBuf {
    header.with_extension("pairs.f32")
}

/// A problem of a crystal-pair histogram.
#[derive(Debug, thiserror::Error)]
enum PairsProblem {
    /// Another number of crystals than a ring, by its name, has.
    #[error("{} has {} crystals, not {}", .0, .1.expected, .1.found)]
    NumCrystals(String, Mismatch),
    /// Counts that are not those of the ring.
    #[error(transparent)]
    Pairs(#[from] PairCountsError),
}
