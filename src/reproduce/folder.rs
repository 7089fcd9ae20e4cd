//! Measurements in a folder: a JSON file for each, images beside them. A file appears only when it is complete.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ReproduceError;
use crate::data::{PairCounts, Volume};
use crate::io::saved_pairs::{read_pairs, write_pairs};
use crate::io::{read_volume, write_volume, write_whole};
use crate::report::Tables;

/// A folder of measurements by name.
pub(super) struct Folder(PathBuf);

/// An error about a file.
fn failed(path: &Path, doing: &'static str) -> impl Fn(&dyn std::fmt::Display) -> ReproduceError {
    let path = path.to_owned();
    move |reason| ReproduceError::File { path: path.clone(), doing, reason: reason.to_string() }
}

impl Folder {
    /// Opens or makes the folder, whose measurements must belong to this plan.
    ///
    /// # Errors
    /// It cannot be made or holds measurements of another plan.
    pub fn open(path: &Path, plan: &impl Serialize) -> Result<Self, ReproduceError> {
        for folder in [path.to_owned(), path.join("results"), path.join("images"), path.join("figures")] {
            fs::create_dir_all(&folder).map_err(|error| failed(&folder, "made")(&error))?;
            // Found out before hours of work, and even where no folder has to be made.
            tempfile::tempfile_in(&folder).map_err(|error| failed(&folder, "written to")(&error))?;
        }
        let this = Self(path.to_owned());
        let file = path.join("plan.json");
        let wanted = serde_json::to_value(plan).map_err(|error| failed(&file, "written")(&error))?;
        match read_json::<serde_json::Value>(&file)? {
            Some(found) if found != wanted => return Err(ReproduceError::OtherPlan(path.to_owned())),
            Some(_) => {}
            None => write_json(&file, &wanted)?,
        }
        Ok(this)
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn result(&self, key: &str) -> PathBuf {
        self.0.join("results").join(format!("{key}.json"))
    }

    fn image(&self, key: &str) -> PathBuf {
        self.0.join("images").join(format!("{key}.hv"))
    }

    /// Returns true if this was measured.
    pub fn has(&self, key: &str) -> bool {
        self.result(key).is_file()
    }

    /// Returns a measurement, if it was made.
    ///
    /// # Errors
    /// It exists and cannot be read.
    pub fn load<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ReproduceError> {
        read_json(&self.result(key))
    }

    /// Stores a measurement.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn store(&self, key: &str, value: &impl Serialize) -> Result<(), ReproduceError> {
        write_json(&self.result(key), value)
    }

    /// Returns an image, if it is stored.
    ///
    /// # Errors
    /// It exists and cannot be read.
    pub fn load_image(&self, key: &str) -> Result<Option<Volume>, ReproduceError> {
        let path = self.image(key);
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(read_volume(&path)?.0))
    }

    /// Stores an image.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn store_image(&self, key: &str, volume: &Volume) -> Result<(), ReproduceError> {
        Ok(write_volume(&self.image(key), volume)?)
    }

    fn pairs(&self, key: &str) -> PathBuf {
        self.0.join("scans").join(format!("{key}.pairs"))
    }

    /// Returns a crystal-pair histogram, if it is stored.
    ///
    /// # Errors
    /// It exists and cannot be read.
    pub fn load_pairs(&self, key: &str) -> Result<Option<PairCounts>, ReproduceError> {
        let path = self.pairs(key);
        Ok(if path.is_file() { Some(read_pairs(&path)?) } else { None })
    }

    /// Stores a crystal-pair histogram.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn store_pairs(&self, key: &str, pairs: &PairCounts) -> Result<(), ReproduceError> {
        let folder = self.0.join("scans");
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, "made")(&error))?;
        Ok(write_pairs(&self.pairs(key), pairs)?)
    }

    /// Writes a JSON file at the top of the folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), ReproduceError> {
        write_json(&self.path(name), value)
    }

    /// Writes the text of a paper's tables, and all their values.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_tables(&self, tables: &Tables, text: &str) -> Result<(), ReproduceError> {
        self.write("tables.txt", text.as_bytes())?;
        let name = "values.csv";
        let csv = tables.csv().map_err(|error| failed(&self.path(name), "written")(&error))?;
        self.write(name, &csv)
    }

    /// Writes rows as a CSV file at the top of the folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_csv<const N: usize>(&self, name: &str, rows: &[[String; N]]) -> Result<(), ReproduceError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let written = rows.iter().try_for_each(|row| writer.write_record(row));
        written.map_err(|error| failed(&self.path(name), "written")(&error))?;
        self.write(name, &writer.into_inner().map_err(|error| failed(&self.path(name), "written")(&error.error()))?)
    }

    /// Writes a file at the top of the folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), ReproduceError> {
        Ok(write_whole(&self.path(name), content)?)
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ReproduceError> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| failed(path, "read")(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, "read")(&error)),
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ReproduceError> {
    let text = serde_json::to_vec_pretty(value).map_err(|error| failed(path, "written")(&error))?;
    Ok(write_whole(path, &text)?)
}
