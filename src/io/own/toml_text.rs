//! What is the same in every TOML file of ours: its version, and what is said of one that is not understood;
//! and how the headers are read that have their numbers in a data file beside them.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::io::bytes::blocks::{read_text, regular_file_len};
use crate::io::bytes::checksum::check_pair;
use crate::io::error::{FormProblem, IoError, Unsupported};

/// Returns the place and the message of an error, without the line itself, which may be of any length.
pub(in crate::io) fn syntax(text: &str, error: &toml::de::Error) -> FormProblem {
    let span = error.span().unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    // What is no TOML up to its very end was not written to its end.
    let is_cut = span.end > 0 && span.end >= text.trim_end().len();
    FormProblem::Syntax { line: before.matches('\n').count() + 1, message: error.message().to_owned(), is_cut }
}

/// The version of a text that is not understood as a whole: one of another version has other keys.
pub(in crate::io) fn version(text: &str) -> Option<i64> {
    let value = |line: &str| line.strip_prefix("version")?.trim_start().strip_prefix('=')?.trim().parse().ok();
    text.lines().find_map(value)
}

/// What a header of ours beside a data file is, and what is said of one that is not.
pub(in crate::io) struct HeaderForm {
    /// "these are not tubes of response".
    pub is_not: &'static str,
    /// The only version that is read.
    pub versions: &'static [u32; 1],
    /// Largest header that is read, bytes.
    pub max_bytes: u64,
}

/// A header that names the data file beside it.
pub(in crate::io) trait PairHeader: DeserializeOwned {
    /// Its version.
    fn version(&self) -> u32;

    /// Name of its data file.
    fn data_file(&self) -> &str;

    /// The checksum of that file.
    fn data_checksum(&self) -> &str;
}

impl HeaderForm {
    /// Why a file is refused.
    pub fn refused(&self, path: &Path, problem: FormProblem) -> IoError {
        IoError::unsupported(path, Unsupported::OwnForm { what: self.is_not, problem })
    }

    /// Reads a header.
    ///
    /// # Errors
    /// Not a header of this form, another version, a data file that is in another folder.
    pub fn read<H: PairHeader>(&self, path: &Path) -> Result<H, IoError> {
        let text = read_text(path, self.max_bytes)?;
        let [current] = *self.versions;
        let unknown = |found: i64| FormProblem::Version { found, supported: self.versions };
        let header: H = toml::from_str(&text).map_err(|error| {
            let other = version(&text).filter(|found| *found != i64::from(current));
            self.refused(path, other.map_or_else(|| syntax(&text, &error), unknown))
        })?;
        if header.version() != current {
            return Err(self.refused(path, unknown(header.version().into())));
        }
        if Path::new(header.data_file()).file_name().is_none_or(|name| name != header.data_file()) {
            return Err(self.refused(path, FormProblem::DataFolder));
        }
        Ok(header)
    }

    /// The data file of a header, which has so many bytes and is the one that the header was written with.
    ///
    /// # Errors
    /// It is missing, of another size, or another one.
    pub fn data_of(&self, path: &Path, header: &impl PairHeader, expected: u64) -> Result<PathBuf, IoError> {
        let data = path.with_file_name(header.data_file());
        let found = regular_file_len(&data)?;
        if found != expected {
            return Err(self.refused(path, FormProblem::DataSize { data, found, expected }));
        }
        check_pair(path, &data, expected, header.data_checksum())?;
        Ok(data)
    }
}

/// A [`PairHeader`] of a struct that has the three keys.
macro_rules! pair_header {
    ($header:ty) => {
        impl super::toml_text::PairHeader for $header {
            fn version(&self) -> u32 {
                self.version
            }

            fn data_file(&self) -> &str {
                &self.data_file
            }

            fn data_checksum(&self) -> &str {
                &self.data_checksum
            }
        }
    };
}
pub(in crate::io) use pair_header;
