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
    pub(super) path: PathBuf,
    /// Its lines without comments.
    lines: Vec<String>,
}

impl Keys {
    /// Reads a text.
    ///
    /// # Errors
    /// It does not read or is far too long.
    pub(super) fn read(path: &Path) -> Result<Self, IoError> {
        let text = read_text(path, MAX_BYTES)?;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().to_owned()).collect();
        Ok(Self { path: path.to_owned(), lines })
    }

    /// Returns the value of a key, if the text has the key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let line = self.lines.iter().find_map(|line| Some(&line[line.find(key)? + key.len()..]))?;
        let value = line.split_once(':')?.1;
        Some(value.trim().trim_start_matches(['!', ' ', '\t']))
    }

    /// Refuses lines that contain the same key with different values: CASToR takes the first of them.
    ///
    /// # Errors
    /// Such lines.
    pub(super) fn refuse_different(&self, keys: &[&str]) -> Result<(), IoError> {
        for key in keys {
            let mut lines = self.lines.iter().filter(|line| line.contains(key));
            let value = |line: &String| line.split_once(':').map(|(_, value)| value.trim().to_owned());
            let Some(first) = lines.next() else { continue };
            if let Some(other) = lines.find(|line| value(line) != value(first)) {
                return Err(self.invalid(key, other.trim(), &format!("one line with this key; '{}' comes before", first.trim())));
            }
        }
        Ok(())
    }

    /// Returns the value of a required key.
    ///
    /// # Errors
    /// The key is missing or empty.
    pub(super) fn required(&self, key: &str) -> Result<&str, IoError> {
        self.text(key).filter(|value| !value.is_empty()).ok_or_else(|| self.missing(key, "CASToR needs it too: add it"))
    }

    /// Returns the values of a key, one per layer; the default for each if the key is missing.
    ///
    /// # Errors
    /// Fewer values than layers, or an invalid one.
    pub(super) fn per_layer<T: FromStr + Clone>(&self, key: &str, num: usize, default: Option<T>) -> Result<Vec<T>, IoError> {
        let text = match (self.text(key), default) {
            (None, Some(default)) => return Ok(vec![default; num]),
            _ => self.required(key)?,
        };
        let values: Option<Vec<T>> = text.split(',').take(num).map(|item| item.trim().parse().ok()).collect();
        values.filter(|values| values.len() == num).ok_or_else(|| match num {
            1 => self.invalid(key, text, "a number"),
            _ => self.invalid(key, text, &format!("one number for each of the {num} layers")),
        })
    }

    /// Returns a value of a key, or the default.
    ///
    /// # Errors
    /// It is invalid or missing.
    pub(super) fn one<T: FromStr + Clone>(&self, key: &str, default: Option<T>) -> Result<T, IoError> {
        let values = self.per_layer(key, 1, default)?;
        values.into_iter().next().ok_or_else(|| self.missing(key, "add it"))
    }

    /// Returns the value of a flag: 1, or 0 if it is missing.
    ///
    /// # Errors
    /// Another value.
    pub(super) fn flag(&self, key: &str) -> Result<bool, IoError> {
        match self.text(key) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(found) => Err(self.invalid(key, found, "0 or 1")),
        }
    }

    /// Returns a number above 0.
    ///
    /// # Errors
    /// It is invalid or missing.
    pub(super) fn positive(&self, key: &str, default: Option<f64>) -> Result<f64, IoError> {
        let number = self.one(key, default)?;
        if POSITIVE.contains(&number) {
            Ok(number)
        } else {
            Err(self.invalid(key, &number.to_string(), "a number above 0 (10⁻³⁰ to 10³⁰)"))
        }
    }

    /// Returns the error of a missing key.
    pub(super) fn missing(&self, key: &str, hint: &str) -> IoError {
        IoError::MissingKey { path: self.path.clone(), key: key.to_owned(), hint: hint.to_owned() }
    }

    /// Returns the error of an invalid value.
    pub(super) fn invalid(&self, key: &str, found: &str, expected: &str) -> IoError {
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
        assert!(keys.refuse_different(&["sizes", "flag"]).is_ok());
        let error = keys.refuse_different(&["a mode"]).unwrap_err().to_string();
        assert!(error.contains("one line with this key"), "{error}");
    }
}
