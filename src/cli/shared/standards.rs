//! Standards of recovery coefficients by name or file.

use std::path::Path;

use super::error::{CliError, CliResult};
use crate::data::RecoveryStandard;
use crate::io::recovery::{built_in, find, read_file};
use crate::text::either;

/// Returns true if a word names a file and no built-in standard.
pub fn is_file(word: &str) -> bool {
    find(word).is_none() && Path::new(word).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
}

/// Returns the standard of a name or a file.
///
/// # Errors
/// Neither a name nor a file, or an invalid file.
pub fn standard(word: &str) -> CliResult<RecoveryStandard> {
    match find(word) {
        Some(standard) => Ok(standard.clone()),
        None if is_file(word) => Ok(read_file(Path::new(word))?),
        None => {
            let names: Vec<&str> = built_in().iter().map(|standard| standard.name.as_str()).collect();
            Err(CliError::arguments(format!("--standard: '{word}' is no standard; use {} or a file (.toml)", either(&names))))
        }
    }
}
