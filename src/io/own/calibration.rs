//! The calibration of a scan, stored in its folder: `STEM.calibration.toml`.
//!
//! ```toml
//! version = 1
//! bq_per_ml = 52300.0              # value of 1 count/mm of its images
//! ```
//!
//! It applies to images of scans of one duration and nuclide with the same corrections: counts/mm are not counts per second.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::toml_text;
use crate::io::bytes::{read_text, write_whole};
use crate::io::error::{FormProblem, IoError, Unsupported};

/// Version of the format.
const VERSION: u32 = 1;

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 16;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationFile {
    version: u32,
    bq_per_ml: f64,
}

/// Returns the path of a scan's calibration.
pub fn path_beside(scan: &Path) -> PathBuf {
    let mut name = scan.file_stem().unwrap_or_default().to_owned();
    name.push(".calibration.toml");
    scan.with_file_name(name)
}

/// Returns the value of 1 count/mm of a scan, Bq/mL; `None` if no calibration is stored.
///
/// # Errors
/// The calibration of the scan does not read, or is invalid.
pub fn read(scan: &Path) -> Result<Option<f64>, IoError> {
    let path = path_beside(scan);
    if path.exists() { read_file(&path).map(Some) } else { Ok(None) }
}

/// Reads a calibration file: the value of 1 count/mm, Bq/mL.
///
/// # Errors
/// It does not read, or is invalid.
pub fn read_file(path: &Path) -> Result<f64, IoError> {
    let text = read_text(path, MAX_BYTES)?;
    let refused = |problem: FormProblem| IoError::unsupported(path, Unsupported::Calibration(problem));
    let CalibrationFile { bq_per_ml, .. } = toml_text::parse(&text, &[VERSION]).map_err(refused)?;
    let is_factor = bq_per_ml.is_finite() && bq_per_ml > 0.0;
    if is_factor { Ok(bq_per_ml) } else { Err(refused(FormProblem::CalibrationFactor(bq_per_ml))) }
}

/// Stores the value of 1 count/mm of a scan, Bq/mL; `None` removes it.
///
/// # Errors
/// The file is not writable or removable.
pub fn write(scan: &Path, bq_per_ml: Option<f64>) -> Result<(), IoError> {
    let path = path_beside(scan);
    match bq_per_ml {
        Some(bq_per_ml) => write_whole(&path, format!("version = {VERSION}\nbq_per_ml = {bq_per_ml:?}\n").as_bytes()),
        None if path.exists() => fs::remove_file(&path).map_err(IoError::write(&path)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_beside_the_scan_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let scan = folder.path().join("scan.2.hs");
        assert_eq!(path_beside(&scan), folder.path().join("scan.2.calibration.toml"));
        assert_eq!(read(&scan).unwrap(), None);
        for bq_per_ml in [52_300.25, 1e-3, 7.0, 1e21] {
            write(&scan, Some(bq_per_ml)).unwrap();
            assert_eq!(read(&scan).unwrap(), Some(bq_per_ml));
        }
        type IsExpected = fn(&FormProblem) -> bool;
        let cases: [(&str, IsExpected); 4] = [
            ("version = 1\nbq_per_ml = -2.0\n", |problem| matches!(problem, FormProblem::CalibrationFactor(-2.0))),
            ("version = 1\nbq_per_ml = nan\n", |problem| matches!(problem, FormProblem::CalibrationFactor(f) if f.is_nan())),
            ("version = 9\nbq_per_ml = 2.0\n", |problem| matches!(problem, FormProblem::Version(9, _))),
            ("version = 1\n", |problem| matches!(problem, FormProblem::Syntax { message, .. } if message.contains("bq_per_ml"))),
        ];
        for (text, is_expected) in cases {
            fs::write(path_beside(&scan), text).unwrap();
            let error = read(&scan).unwrap_err();
            let IoError::Unsupported(path, Unsupported::Calibration(problem)) = &error else { panic!("{error}") };
            assert!(*path == path_beside(&scan) && is_expected(problem), "{error}");
        }
        write(&scan, None).unwrap();
        write(&scan, None).unwrap();
        assert_eq!(read(&scan).unwrap(), None);
    }
}
