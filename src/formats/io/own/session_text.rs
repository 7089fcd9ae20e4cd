//! A session of the window as TOML, with a version.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::toml_text::{self, Form};
use crate::io::bytes::write_whole;
use crate::io::error::{Excess, IoError};
use crate::io::own::toml_text::FormProblem;

/// Version of the form that is written and read.
pub const VERSION: u32 = 1;

/// Largest file that is read: parsed text takes about a hundred times its size.
const MAX_BYTES: u64 = 4 << 20;

const FORM: Form = Form { is_not: "this is not a session", versions: &[VERSION], max_bytes: MAX_BYTES };

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
/// The file does not read, is no session, or has another version.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, IoError> {
    FORM.read(path)
}

/// Returns the text of a session.
///
/// # Errors
/// Something in it has no text, such as a path that is not UTF-8; or it is too long to be read again.
pub fn text(session: &impl Serialize) -> Result<String, SessionProblem> {
    let text = toml::to_string(session).map_err(SessionProblem::NoText)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(SessionProblem::Long(Excess { found: text.len() as u64, max: MAX_BYTES }));
    }
    Ok(text)
}

/// Writes a session.
///
/// # Errors
/// It has no text, or the write fails; an existing file then remains.
pub fn write(path: &Path, session: &impl Serialize) -> Result<(), IoError> {
    let refused = |problem: SessionProblem| toml_text::refused(path, "saving the session failed", problem);
    write_whole(path, text(session).map_err(refused)?.as_bytes())
}

/// A problem of a session to save.
#[derive(Debug, thiserror::Error)]
pub enum SessionProblem {
    /// Something without a text, such as a path that is not UTF-8.
    #[error("{0}")]
    NoText(toml::ser::Error),
    /// A session with too many bytes to be read again.
    #[error("{} bytes are more than the {} that a session can have", .0.found, .0.max)]
    Long(Excess<u64>),
}
