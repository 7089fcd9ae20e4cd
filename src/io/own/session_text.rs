//! A session of the window as a text: TOML of whatever the window has in it, with a version.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::toml_text;
use crate::io::bytes::{read_text, write_whole};
use crate::io::error::{FormProblem, IoError, Unsupported};

/// Version of the form that is written and read.
pub const VERSION: u32 = 1;

/// Largest file that is read: parsed text takes about a hundred times its size.
const MAX_BYTES: u64 = 4 << 20;

/// Takes a session out of a text.
///
/// # Errors
/// Not of this form, or another version.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, FormProblem> {
    toml_text::parse(text, &[VERSION])
}

/// Reads a session.
///
/// # Errors
/// The file cannot be read, is none, or has another version.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, IoError> {
    let text = read_text(path, MAX_BYTES)?;
    parse(&text).map_err(|problem| refused(path, "this is not a session", problem))
}

/// The text of a session.
///
/// # Errors
/// Something in it has no text, such as a path that is not UTF-8; or it is too long to be read again.
pub fn text(session: &impl Serialize) -> Result<String, FormProblem> {
    let text = toml::to_string(session).map_err(FormProblem::NoText)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(FormProblem::LongSession { found: text.len(), most: MAX_BYTES });
    }
    Ok(text)
}

/// Writes a session.
///
/// # Errors
/// It has no text, or the file cannot be written; what was there before then still is.
pub fn write(path: &Path, session: &impl Serialize) -> Result<(), IoError> {
    let text = text(session).map_err(|problem| refused(path, "saving the session failed", problem))?;
    write_whole(path, text.as_bytes())
}

fn refused(path: &Path, what: &'static str, problem: FormProblem) -> IoError {
    IoError::unsupported(path, Unsupported::OwnForm { what, problem })
}
