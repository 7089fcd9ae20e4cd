//! Stored attenuation factors of sinograms: a small TOML header (`NAME.factors`) and a file of little-endian 32-bit floats
//! (`NAME.factors.f32`).
//!
//! ```toml
//! version = 1
//! made_of = "6c62272e07bb014262b821756295c58d"   # the fingerprint of all that they depend on
//! num_bins = 112800
//! data_file = "a.factors.f32"                    # in the same folder
//! data_checksum = "crc32 cbf43926"
//! ```
//!
//! The data file holds a factor for each bin, in the order of a michelogram.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::toml_text::Form;
use crate::io::bytes::write_f32_le;
use crate::io::error::IoError;

const VERSION: u32 = 1;

const FORM: Form = Form { is_not: "this file has no attenuation factors", versions: &[VERSION], max_bytes: 1 << 16 };

/// Attenuation factors in their files.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedFactors {
    /// Fingerprint of all that they depend on.
    pub made_of: String,
    /// Part of the photon pairs of each bin that passes, 0 … 1, in the order of a michelogram.
    pub values: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    made_of: String,
    num_bins: usize,
    data_file: String,
    data_checksum: String,
}

/// Reads factors.
///
/// # Errors
/// Not a header of this form, another version, a data file that is missing, of another size or another one than the header's; values
/// that are no factors.
pub fn read_factors(path: &Path) -> Result<SavedFactors, IoError> {
    let (header, data) = FORM.read_header::<Header>(path)?;
    let values = data.numbers(header.num_bins)?;
    if !values.iter().all(|value| (0.0..=1.0).contains(value)) {
        return Err(FORM.refused(path, FactorValues(path.with_file_name(&header.data_file))));
    }
    Ok(SavedFactors { made_of: header.made_of, values })
}

/// Writes factors: the header to `path`, the numbers next to it.
///
/// # Errors
/// A failed write; existing files then remain.
pub fn write_factors(path: &Path, factors: &SavedFactors) -> Result<(), IoError> {
    let SavedFactors { made_of, values } = factors;
    let data = data_file(path);
    Form::write(
        [path, &data],
        |writer| write_f32_le(writer, values),
        |data_file, data_checksum| Header {
            version: VERSION,
            made_of: made_of.clone(),
            num_bins: values.len(),
            data_file,
            data_checksum,
        },
    )
}

/// Returns the data file that belongs to a header.
pub fn data_file(header: &Path) -> PathBuf {
    header.with_extension("factors.f32")
}

/// Attenuation factors outside of 0 … 1.
#[derive(Debug, thiserror::Error)]
#[error("{} contains values that are not from 0 to 1", .0.display())]
struct FactorValues(PathBuf);
