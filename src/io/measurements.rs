//! Measured numbers as CSV, one number a row: `run,iteration,subset,roi,quantity,value,unit`.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::IoError;

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
    pub roi: String,
    /// What was measured: `mean`, `nsr`, `log_likelihood`, …
    pub quantity: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty for plain numbers.
    pub unit: String,
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
    let file = File::open(path).map_err(IoError::open(path))?;
    let rows = csv::Reader::from_reader(file).into_deserialize();
    rows.collect::<Result<_, _>>().map_err(|source| IoError::Csv { path: path.to_owned(), source })
}
