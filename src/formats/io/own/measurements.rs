//! Measured numbers as CSV, one number a row: `run,iteration,subset,roi,quantity,value,unit`.
//!
//! Spreadsheets compute what begins with `=`, `+`, `-`, `@`, a tab or a carriage return. The name of a ROI, which may come from
//! somebody else's file, is written with an apostrophe before these; reading takes it off.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::io::bytes::regular_file_len;
use crate::io::error::IoError;

/// One measured number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Number of the run, from 1.
    pub run: u64,
    /// Full iterations complete.
    pub iteration: usize,
    /// Subsets done of the iteration that is under way; 0 = none, the iteration is complete.
    pub subset: usize,
    /// Name of the ROI; empty for numbers of the whole image.
    #[serde(serialize_with = "write_name", deserialize_with = "read_name")]
    pub roi: String,
    /// Measured quantity: `mean`, `nsr`, `log_likelihood`, …
    pub quantity: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty for plain numbers.
    pub unit: String,
}

/// Returns true if a spreadsheet would compute a text, or would do so without its apostrophes.
fn is_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r'])
}

fn write_name<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if is_formula(name) { serializer.collect_str(&format_args!("'{name}")) } else { serializer.serialize_str(name) }
}

fn read_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(match text.strip_prefix('\'') {
        Some(name) if is_formula(name) => name.to_owned(),
        _ => text,
    })
}

/// A CSV file that grows during a run.
pub struct MeasurementWriter {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl MeasurementWriter {
    /// Starts a new file; an existing one is emptied.
    ///
    /// # Errors
    /// The file is not writable.
    pub fn create(path: &Path) -> Result<Self, IoError> {
        let file = File::create(path).map_err(IoError::write(path))?;
        Ok(Self { path: path.to_owned(), writer: csv::WriterBuilder::new().from_writer(file) })
    }

    /// Continues at the end of a file, or starts it.
    ///
    /// # Errors
    /// The file is not writable.
    pub fn append(path: &Path) -> Result<Self, IoError> {
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(IoError::write(path))?;
        let is_empty = file.metadata().map_err(IoError::write(path))?.len() == 0;
        Ok(Self { path: path.to_owned(), writer: csv::WriterBuilder::new().has_headers(is_empty).from_writer(file) })
    }

    /// Adds rows, which are in the file when this returns.
    ///
    /// # Errors
    /// The file is not writable.
    pub fn write(&mut self, rows: &[Measurement]) -> Result<(), IoError> {
        for row in rows {
            self.writer.serialize(row).map_err(|source| IoError::Csv(self.path.clone(), source))?;
        }
        self.writer.flush().map_err(IoError::write(&self.path))
    }
}

/// Returns all rows of a file.
///
/// # Errors
/// The file does not read or is no such table.
pub fn read_measurements(path: &Path) -> Result<Vec<Measurement>, IoError> {
    measurements(path)?.collect()
}

/// Returns the rows of a file, one after the other.
///
/// # Errors
/// The file does not open or is no regular one; a row is an error if the file is no such table.
pub fn measurements(path: &Path) -> Result<impl Iterator<Item = Result<Measurement, IoError>>, IoError> {
    regular_file_len(path)?;
    let file = File::open(path).map_err(IoError::open(path))?;
    let rows = csv::Reader::from_reader(file).into_deserialize();
    Ok(rows.map(|row| row.map_err(|source| IoError::Csv(path.to_owned(), source))))
}
