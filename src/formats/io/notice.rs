//! Notices on a file: its path and a text.

use std::fmt::Display;
use std::path::Path;

use crate::data::Notice;

/// Returns a warning on a file.
pub fn warning(path: &Path, text: impl Display) -> Notice {
    Notice::warning(format!("{}: {text}", path.display()))
}

/// Returns a note on a file.
pub fn info(path: &Path, text: impl Display) -> Notice {
    Notice::info(format!("{}: {text}", path.display()))
}
