//! The calibration of a scan, stored in its folder: `STEM.calibration.toml`.
//!
//! ```toml
//! version = 2
//! bq_per_ml = 52300.0              # value of 1 count/mm of its images
//! of_scan = "crc32 0a1b2c3d"       # checksum of the scan's data; without it (version 1) the scan is unknown
//! ```
//!
//! It applies to images of scans of one duration and nuclide with the same corrections: counts/mm are not counts per second.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::toml_text;
use crate::coded::coded;
use crate::io::bytes::{read_text, write_whole};
use crate::io::error::{Cause, IoError};

/// Version of the format.
const VERSION: u32 = 2;

/// Versions that are read.
const VERSIONS: [u32; 2] = [1, VERSION];

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 16;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationFile {
    version: u32,
    bq_per_ml: f64,
    of_scan: Option<String>,
}

/// Content of a calibration file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCalibration {
    /// Value of 1 count/mm, Bq/mL.
    pub bq_per_ml: f64,
    /// Checksum of the data of its scan, if the file names it.
    pub of_scan: Option<String>,
}

/// Returns the path of a scan's calibration.
pub fn path_beside(scan: &Path) -> PathBuf {
    let mut name = scan.file_stem().unwrap_or_default().to_owned();
    name.push(".calibration.toml");
    scan.with_file_name(name)
}

/// Reads a calibration file: the value of 1 count/mm, Bq/mL.
///
/// # Errors
/// It does not read, or is invalid.
pub fn read_file(path: &Path) -> Result<f64, IoError> {
    Ok(read_stored(path)?.bq_per_ml)
}

/// Reads a calibration file.
///
/// # Errors
/// It does not read, or is invalid.
pub fn read_stored(path: &Path) -> Result<StoredCalibration, IoError> {
    let text = read_text(path, MAX_BYTES)?;
    let refused = |problem: Cause| IoError::unsupported(path, NotACalibration(problem));
    let CalibrationFile { bq_per_ml, of_scan, .. } =
        toml_text::parse(&text, &VERSIONS).map_err(|problem| refused(problem.into()))?;
    let is_factor = bq_per_ml.is_finite() && bq_per_ml > 0.0;
    if is_factor { Ok(StoredCalibration { bq_per_ml, of_scan }) } else { Err(refused(CalibrationFactor(bq_per_ml).into())) }
}

/// Writes the value of 1 count/mm, Bq/mL, with the checksum of the data of its scan.
///
/// # Errors
/// The file is not writable.
pub fn write(path: &Path, bq_per_ml: f64, of_scan: &str) -> Result<(), IoError> {
    write_whole(path, format!("version = {VERSION}\nbq_per_ml = {bq_per_ml:?}\nof_scan = {of_scan:?}\n").as_bytes())
}

/// A factor that is not positive.
#[derive(Debug, thiserror::Error)]
#[error("bq_per_ml is {0}, which must be positive")]
struct CalibrationFactor(f64);

/// A file that is no calibration, with the problem.
#[derive(Debug, thiserror::Error)]
#[error("it is no calibration that is understood ({0})")]
struct NotACalibration(#[source] Cause);

coded!(NotACalibration = "io.unsupported.tomoscope");

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_calibration_is_a_positive_factor_of_a_known_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_beside(&folder.path().join("scan.2.hs"));
        assert_eq!(path, folder.path().join("scan.2.calibration.toml"));
        write(&path, 7.5, "crc32 00000000").unwrap();
        let expected = StoredCalibration { bq_per_ml: 7.5, of_scan: Some("crc32 00000000".into()) };
        assert_eq!(read_stored(&path).unwrap(), expected);
        for (text, expected) in [
            ("version = 1\nbq_per_ml = -2.0\n", "bq_per_ml is -2"),
            ("version = 1\nbq_per_ml = nan\n", "bq_per_ml is NaN"),
            ("version = 9\nbq_per_ml = 2.0\n", "version 9 is not supported"),
            ("version = 1\n", "missing field `bq_per_ml`"),
        ] {
            fs::write(&path, text).unwrap();
            let error = read_file(&path).unwrap_err();
            let IoError::Unsupported(found, refusal) = &error else { panic!("{error}") };
            assert!(*found == path && refusal.to_string().contains(expected), "{error}");
            assert!(refusal.to_string().starts_with("it is no calibration that is understood ("), "{error}");
        }
    }
}
