//! The program's own TOML files: versions, errors, and headers that have their numbers in a data file of the same folder.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::coded::coded;
use crate::io::bytes::{NumberFormat, PendingPair, check_pair, read_contiguous, read_text, regular_file_len};
use crate::io::error::{Cause, IoError, Mismatch};

/// Returns the place and the message of an error, without the line itself, which may be of any length.
fn syntax(text: &str, error: &toml::de::Error) -> FormProblem {
    let span = error.span().unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    // A text that is no TOML up to its very end is truncated.
    let is_cut = span.end > 0 && span.end >= text.trim_end().len();
    FormProblem::Syntax { line: before.matches('\n').count() + 1, message: error.message().to_owned(), is_cut }
}

/// Returns the version of an invalid text: another version has other keys.
fn version(text: &str) -> Option<Versioned> {
    let value = |line: &str| line.strip_prefix("version")?.trim_start().strip_prefix('=')?.trim().parse().ok();
    text.lines().find_map(value).map(|version| Versioned { version })
}

/// Version of a text, with any other content.
#[derive(Deserialize)]
pub struct Versioned {
    version: i64,
}

/// Refuses a text whose version is known and not supported.
///
/// # Errors
/// [`FormProblem::Version`].
pub fn check_version(found: Option<Versioned>, supported: &'static [u32]) -> Result<(), FormProblem> {
    match found.filter(|found| !supported.iter().any(|known| i64::from(*known) == found.version)) {
        Some(Versioned { version: found }) => Err(FormProblem::Version(found, supported)),
        None => Ok(()),
    }
}

/// Reads a text that has one of some versions under the key `version`.
///
/// # Errors
/// Another version, with any other content; no TOML; other keys.
pub fn parse<T: DeserializeOwned>(text: &str, supported: &'static [u32]) -> Result<T, FormProblem> {
    check_version(toml::from_str(text).ok().or_else(|| version(text)), supported)?;
    toml::from_str(text).map_err(|error| syntax(text, &error))
}

/// A form of TOML files, in part with a data file in the same folder.
pub struct Form {
    /// The text for other files: "these are not tubes of response".
    pub is_not: &'static str,
    /// The versions that are read.
    pub versions: &'static [u32],
    /// Largest header that is read, bytes.
    pub max_bytes: u64,
}

/// The data file of a header that was read.
pub struct DataOfHeader<'a> {
    form: &'a Form,
    header: &'a Path,
    keys: DataKeys,
}

#[derive(Deserialize)]
struct DataKeys {
    data_file: String,
    data_checksum: String,
}

impl Form {
    /// Returns the error of a refused file.
    pub fn refused(&self, path: &Path, problem: impl Into<Cause>) -> IoError {
        refused(path, self.is_not, problem)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Not a file of this form, or another version.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<T, IoError> {
        self.parse(path, &read_text(path, self.max_bytes)?)
    }

    fn parse<T: DeserializeOwned>(&self, path: &Path, text: &str) -> Result<T, IoError> {
        parse(text, self.versions).map_err(|problem| self.refused(path, problem))
    }

    /// Reads a header with the keys `version`, `data_file` and `data_checksum` and those of its form.
    ///
    /// # Errors
    /// Not a header of this form, another version, a data file that is in another folder.
    pub fn read_header<'a, H: DeserializeOwned>(&'a self, path: &'a Path) -> Result<(H, DataOfHeader<'a>), IoError> {
        let text = read_text(path, self.max_bytes)?;
        let (header, keys): (H, DataKeys) = (self.parse(path, &text)?, self.parse(path, &text)?);
        check_data_file(&keys.data_file).map_err(|problem| self.refused(path, problem))?;
        Ok((header, DataOfHeader { form: self, header: path, keys }))
    }

    /// Writes a data file and its header, which gets the values of its keys `data_file` and `data_checksum`.
    ///
    /// # Errors
    /// A failed write.
    pub fn write<H: Serialize>(
        [path, data]: [&Path; 2],
        write_data: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        header: impl FnOnce(String, String) -> H,
    ) -> Result<(), IoError> {
        let name = data.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pair = PendingPair::write([path, data], write_data, |writer, checksum| {
            let text = toml::to_string(&header(name, checksum.to_string())).map_err(io::Error::other)?;
            writer.write_all(text.as_bytes())
        });
        pair?.commit()
    }
}

/// Returns the error of a refused file, or of one that is refused before it is written.
pub fn refused(path: &Path, what: &'static str, problem: impl Into<Cause>) -> IoError {
    IoError::unsupported(path, OwnForm(what, problem.into()))
}

/// Refuses a data file of another folder.
///
/// # Errors
/// [`FormProblem::DataFolder`].
pub fn check_data_file(name: &str) -> Result<(), FormProblem> {
    if Path::new(name).file_name().is_some_and(|found| found == name) { Ok(()) } else { Err(FormProblem::DataFolder) }
}

impl DataOfHeader<'_> {
    /// Returns the path of the file, which has `expected` bytes and the checksum of its header.
    ///
    /// # Errors
    /// The file is missing, of another size, or another one.
    pub fn path(&self, expected: u64) -> Result<PathBuf, IoError> {
        let data = self.header.with_file_name(&self.keys.data_file);
        let found = regular_file_len(&data)?;
        if found != expected {
            return Err(self.form.refused(self.header, FormProblem::DataSize(data, Mismatch { found, expected })));
        }
        check_pair(self.header, &data, expected, &self.keys.data_checksum)?;
        Ok(data)
    }

    /// Reads the file as `num` 32-bit numbers.
    ///
    /// # Errors
    /// As [`DataOfHeader::path`].
    pub fn numbers(&self, num: usize) -> Result<Vec<f32>, IoError> {
        read_contiguous(&self.path(4 * num as u64)?, NumberFormat::F32, 0, num)
    }
}

/// A problem of the text of one of the program's own files.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum FormProblem {
    /// Not TOML, or not the keys of this form.
    #[error("line {line}: {message}{}", if *.is_cut { "; the file ends there and may have been cut short" } else { "" })]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The message of the TOML library.
        message: String,
        /// True if the text ends at the error.
        is_cut: bool,
    },
    /// A version that is not supported, and the versions that are.
    #[error("version {} is not supported; this program reads version {}", .0, versions(.1))]
    Version(i64, &'static [u32]),
    /// A data file in another folder.
    #[error("'data_file' must be the name of a file in the same folder")]
    DataFolder,
    /// A data file, by its path, of another size.
    #[error("{} has {} bytes where {} are expected", .0.display(), .1.found, .1.expected)]
    DataSize(PathBuf, Mismatch<u64>),
    /// A ring that is not known.
    #[error("there is no ring '{0}'")]
    UnknownRing(String),
    /// A key, by its name, without a text.
    #[error("'{0}' is empty; enter a text")]
    EmptyText(&'static str),
}

/// A refused file of one of the program's own forms: the sentence of its form, and the problem.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
struct OwnForm(&'static str, #[source] Cause);

coded!(OwnForm = "io.unsupported.tomoscope");

/// Returns versions as text: "1 and 2".
fn versions(versions: &[u32]) -> String {
    versions.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}
