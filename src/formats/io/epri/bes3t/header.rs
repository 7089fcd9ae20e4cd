//! The text of a BES3T descriptor (`.DSC`): keys and values by layer, and those of `#DSL` by device.
//!
//! Lines are `KEY value` with blanks or tabs between; `*` begins a comment, `\` at the end continues the line, `#DESC`, `#SPL`,
//! `#DSL` begin a layer and `.DVC name, version` a device. Text values are quoted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::io::bytes::read_text;
use crate::io::epri::bes3t::problem::Bes3tProblem;
use crate::io::error::IoError;

/// Largest descriptor that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Longest value that an error repeats.
const MAX_QUOTED: usize = 60;

/// A descriptor's keys and values.
pub struct Descriptor {
    pub path: PathBuf,
    /// By layer or device, then key.
    values: HashMap<(String, String), String>,
}

impl Descriptor {
    /// Reads a descriptor.
    pub fn read(path: &Path) -> Result<Self, IoError> {
        let text = read_text(path, MAX_BYTES)?;
        let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('*')).unwrap_or_default();
        if !first.starts_with("#DESC") {
            let found: String = first.chars().take(MAX_QUOTED).collect();
            return Err(IoError::unsupported(path, Bes3tProblem::NotBes3t(found)));
        }
        Ok(Self { path: path.to_owned(), values: parse(&text) })
    }

    /// Returns the value of a key in a layer (`DESC`, `SPL`) or of a device (`grdUnit`), if it has one.
    pub fn text(&self, section: &str, key: &str) -> Option<&str> {
        let value = self.values.get(&(section.to_owned(), key.to_owned()))?;
        Some(value.trim_matches('\'')).filter(|value| !value.is_empty())
    }

    /// Returns the value of a required key.
    pub fn required(&self, section: &str, key: &str) -> Result<&str, IoError> {
        self.text(section, key).ok_or_else(|| IoError::MissingKey {
            path: self.path.clone(),
            key: key.to_owned(),
            hint: format!("it belongs in '{section}' and describes the content of the data file"),
        })
    }

    /// Returns a finite number; a unit after it is ignored.
    pub fn number(&self, section: &str, key: &str) -> Result<f64, IoError> {
        let text = self.required(section, key)?;
        let number = text.split_whitespace().next().and_then(|word| word.parse().ok());
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.invalid(key, text, "a number"))
    }

    /// Returns a finite number in a unit, which may be missing; another unit is refused.
    pub fn number_in(&self, unit: &str, section: &str, key: &str) -> Result<f64, IoError> {
        let text = self.required(section, key)?;
        match text.split_whitespace().nth(1) {
            Some(other) if other != unit => Err(self.invalid(key, text, format!("a number in {unit}"))),
            _ => self.number(section, key),
        }
    }

    /// Returns a count of at least 1.
    pub fn count(&self, section: &str, key: &str) -> Result<usize, IoError> {
        let text = self.required(section, key)?;
        text.parse().ok().filter(|&count| count > 0).ok_or_else(|| self.invalid(key, text, "a whole number of at least 1"))
    }

    /// Returns the error of a key with an invalid value.
    pub fn invalid(&self, key: &str, found: &str, expected: impl Into<String>) -> IoError {
        let found = found.chars().take(MAX_QUOTED).collect();
        IoError::Value { path: self.path.clone(), key: key.to_owned(), found, expected: expected.into() }
    }
}

fn parse(text: &str) -> HashMap<(String, String), String> {
    let mut values = HashMap::new();
    let (mut section, mut unfinished) = (String::new(), String::new());
    for line in text.lines().filter(|line| !line.starts_with('*')) {
        if let Some(part) = line.strip_suffix('\\') {
            // `\n\` is a line break within the value and the end of the line in the file.
            unfinished.push_str(part);
            continue;
        }
        let line = std::mem::take(&mut unfinished) + line;
        let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line.as_str(), ""));
        let value = value.trim();
        if let Some(layer) = key.strip_prefix('#') {
            section = layer.to_owned();
        } else if key == ".DVC" {
            section = value.split(',').next().unwrap_or_default().trim().to_owned();
        } else if !key.is_empty() {
            values.insert((section.clone(), key.to_owned()), value.to_owned());
        }
    }
    values
}
