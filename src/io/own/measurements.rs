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
    /// What was measured: `mean`, `nsr`, `log_likelihood`, …
    pub quantity: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty for plain numbers.
    pub unit: String,
}

/// Whether a spreadsheet would compute a text, or whether it would once apostrophes are taken off.
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

/// A CSV file that grows while a run goes on.
pub struct MeasurementWriter {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl MeasurementWriter {
    /// Starts a new file; one that was there is emptied.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path) -> Result<Self, IoError> {
        let file = File::create(path).map_err(IoError::write(path))?;
        Ok(Self { path: path.to_owned(), writer: csv::WriterBuilder::new().from_writer(file) })
    }

    /// Goes on at the end of a file, or starts it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(path: &Path) -> Result<Self, IoError> {
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(IoError::write(path))?;
        let is_empty = file.metadata().map_err(IoError::write(path))?.len() == 0;
        Ok(Self { path: path.to_owned(), writer: csv::WriterBuilder::new().has_headers(is_empty).from_writer(file) })
    }

    /// Adds rows; when this returns they are in the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, rows: &[Measurement]) -> Result<(), IoError> {
        for row in rows {
            self.writer.serialize(row).map_err(|source| IoError::Csv { path: self.path.clone(), source })?;
        }
        self.writer.flush().map_err(IoError::write(&self.path))
    }
}

/// All rows of a file.
///
/// # Errors
/// The file cannot be read or is no such table.
pub fn read_measurements(path: &Path) -> Result<Vec<Measurement>, IoError> {
    measurements(path)?.collect()
}

/// The rows of a file, one after the other.
///
/// # Errors
/// The file cannot be opened or is no regular one; a row is an error where the file is no such table.
pub fn measurements(path: &Path) -> Result<impl Iterator<Item = Result<Measurement, IoError>>, IoError> {
    regular_file_len(path)?;
    let file = File::open(path).map_err(IoError::open(path))?;
    let rows = csv::Reader::from_reader(file).into_deserialize();
    Ok(rows.map(|row| row.map_err(|source| IoError::Csv { path: path.to_owned(), source })))
}
