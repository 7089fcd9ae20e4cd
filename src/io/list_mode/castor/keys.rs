//! The texts of CASToR: lines `key: value`. A key's value is that of the first line that contains it, as CASToR itself looks it up,
//! also where a longer key contains it; `#` starts a comment.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::io::bytes::read_text;
use crate::io::error::IoError;

/// Largest text that is read; real ones have a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// Numbers above 0 that can be.
const POSITIVE: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// A text of keys.
pub(super) struct Keys {
    path: PathBuf,
    /// Its lines without comments.
    lines: Vec<String>,
}

impl Keys {
    /// Reads a text.
    ///
    /// # Errors
    /// It cannot be read or is far too long.
    pub(super) fn read(path: &Path) -> Result<Self, IoError> {
        let text = read_text(path, MAX_BYTES)?;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().to_owned()).collect();
        Ok(Self { path: path.to_owned(), lines })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A key's value, if the key is there.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let line = self.lines.iter().find_map(|line| Some(&line[line.find(key)? + key.len()..]))?;
        let value = line.split_once(':')?.1;
        Some(value.trim().trim_start_matches(['!', ' ', '\t']))
    }

    /// The value of a key that must be there and not empty.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn needed(&self, key: &str) -> Result<&str, IoError> {
        self.text(key).filter(|value| !value.is_empty()).ok_or_else(|| self.missing(key, "CASToR needs it too: add it"))
    }

    /// The values of a key, one per layer; the default for each where it is not there.
    ///
    /// # Errors
    /// Fewer than there are layers, or one that is not understood.
    pub(super) fn per_layer<T: FromStr + Clone>(&self, key: &str, num: usize, default: Option<T>) -> Result<Vec<T>, IoError> {
        let text = match (self.text(key), default) {
            (None, Some(default)) => return Ok(vec![default; num]),
            _ => self.needed(key)?,
        };
        let values: Option<Vec<T>> = text.split(',').take(num).map(|item| item.trim().parse().ok()).collect();
        values.filter(|values| values.len() == num).ok_or_else(|| match num {
            1 => self.value(key, text, "a number"),
            _ => self.value(key, text, &format!("one number for each of the {num} layers")),
        })
    }

    /// A value of a key, or the default.
    ///
    /// # Errors
    /// It is not understood, or not there.
    pub(super) fn one<T: FromStr + Clone>(&self, key: &str, default: Option<T>) -> Result<T, IoError> {
        let values = self.per_layer(key, 1, default)?;
        values.into_iter().next().ok_or_else(|| self.missing(key, "add it"))
    }

    /// Whether a flag is set: 1, or 0 where it is left out.
    ///
    /// # Errors
    /// Another value.
    pub(super) fn flag(&self, key: &str) -> Result<bool, IoError> {
        match self.text(key) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(found) => Err(self.value(key, found, "0 or 1")),
        }
    }

    /// A number that is larger than 0.
    ///
    /// # Errors
    /// It is not, or not there.
    pub(super) fn positive(&self, key: &str, default: Option<f64>) -> Result<f64, IoError> {
        let number = self.one(key, default)?;
        if POSITIVE.contains(&number) {
            Ok(number)
        } else {
            Err(self.value(key, &number.to_string(), "a number above 0 (10⁻³⁰ to 10³⁰)"))
        }
    }

    /// The error of a key that is not there.
    pub(super) fn missing(&self, key: &str, hint: &str) -> IoError {
        IoError::MissingKey { path: self.path.clone(), key: key.to_owned(), hint: hint.to_owned() }
    }

    /// The error of a value that cannot be.
    pub(super) fn value(&self, key: &str, found: &str, expected: &str) -> IoError {
        let found: String = found.chars().filter(|c| !c.is_control()).take(60).collect();
        IoError::Value { path: self.path.clone(), key: key.to_owned(), found, expected: expected.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_contains_a_key_has_its_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.Cdh");
        std::fs::write(
            &path,
            "# Data mode: histogram\nMy Data mode : ! list-mode # as CASToR has it\nData mode: histogram\nsizes: 1, 2,3\nflag: 2\n",
        )
        .unwrap();
        let keys = Keys::read(&path).unwrap();
        assert_eq!(keys.text("Data mode"), Some("list-mode"));
        assert_eq!(keys.text("data mode"), None);
        assert_eq!(keys.per_layer("sizes", 3, None::<f64>).unwrap(), [1.0, 2.0, 3.0]);
        assert_eq!(keys.per_layer("sizes", 2, None::<f64>).unwrap(), [1.0, 2.0]);
        assert_eq!(keys.per_layer("others", 2, Some(7)).unwrap(), [7, 7]);
        let four = keys.per_layer("sizes", 4, None::<f64>).unwrap_err();
        assert!(matches!(&four, IoError::Value { key, .. } if key == "sizes"), "{four}");
        assert!(keys.flag("flag").is_err() && !keys.flag("no such").unwrap());
    }
}
