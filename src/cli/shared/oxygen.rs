//! Calibrations of oxygen by name or file.

use std::path::{Path, PathBuf};

use super::error::{CliError, CliResult};
use crate::data::OxygenCalibration;
use crate::io::oxygen::{built_in, find, read_file};
use crate::text::either;

/// Returns the file that a word names, if it names no built-in calibration.
pub fn file_of_calibration(word: &str) -> Option<PathBuf> {
    let path = Path::new(word);
    let is_file = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    (is_file && find(word).is_none()).then(|| path.to_owned())
}

/// Returns the calibration of a name or a file.
///
/// # Errors
/// Neither a name nor a file, or an invalid file.
pub fn calibration(word: &str) -> CliResult<OxygenCalibration> {
    match (find(word), file_of_calibration(word)) {
        (Some(calibration), _) => Ok(calibration.clone()),
        (None, Some(path)) => Ok(read_file(&path)?),
        (None, None) => {
            let names: Vec<&str> = built_in().iter().map(|calibration| calibration.name.as_str()).collect();
            let text = format!("--calibration: '{word}' is no calibration of oxygen; use {} or a file (.toml)", either(&names));
            Err(CliError::arguments(text))
        }
    }
}
