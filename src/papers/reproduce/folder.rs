//! Measurements in a folder: a JSON file for each, and images. A file appears only when it is complete.

use std::fmt::Display;
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

/// Returns the error of a file.
pub(super) fn failed<E: Display>(path: &Path, doing: &'static str) -> impl FnOnce(E) -> ReproduceError {
    move |reason| ReproduceError::File { path: path.to_owned(), doing, reason: reason.to_string() }
}

impl Folder {
    /// Opens or makes the folder, whose measurements must belong to this plan.
    ///
    /// # Errors
    /// The folder is not writable or contains measurements of another plan.
    pub fn open(path: &Path, plan: &impl Serialize) -> Result<Self, ReproduceError> {
        for folder in [path.to_owned(), path.join("results"), path.join("images"), path.join("figures")] {
            fs::create_dir_all(&folder).map_err(failed(&folder, "made"))?;
            // Checked before hours of work, also if the folder exists.
            tempfile::tempfile_in(&folder).map_err(failed(&folder, "written to"))?;
        }
        let this = Self(path.to_owned());
        let file = path.join("plan.json");
        let wanted = serde_json::to_value(plan).map_err(failed(&file, "written"))?;
        match read_json::<serde_json::Value>(&file)? {
            Some(found) if found != wanted => return Err(ReproduceError::OtherPlan(path.to_owned())),
            Some(_) => {}
            None => write_json(&file, &wanted)?,
        }
        Ok(this)
    }

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
    /// The file exists, but reading it failed.
    pub fn load<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ReproduceError> {
        read_json(&self.result(key))
    }

    /// Stores a measurement.
    ///
    /// # Errors
    /// Writing failed.
    pub fn store(&self, key: &str, value: &impl Serialize) -> Result<(), ReproduceError> {
        write_json(&self.result(key), value)
    }

    /// Returns an image, if it is stored.
    ///
    /// # Errors
    /// The file exists, but reading it failed.
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
    /// Writing failed.
    pub fn store_image(&self, key: &str, volume: &Volume) -> Result<(), ReproduceError> {
        Ok(write_volume(&self.image(key), volume)?)
    }

    fn pairs(&self, key: &str) -> PathBuf {
        self.0.join("scans").join(format!("{key}.pairs"))
    }

    /// Returns a crystal-pair histogram, if it is stored.
    ///
    /// # Errors
    /// The file exists, but reading it failed.
    pub fn load_pairs(&self, key: &str) -> Result<Option<PairCounts>, ReproduceError> {
        let path = self.pairs(key);
        Ok(if path.is_file() { Some(read_pairs(&path)?) } else { None })
    }

    /// Stores a crystal-pair histogram.
    ///
    /// # Errors
    /// Writing failed.
    pub fn store_pairs(&self, key: &str, pairs: &PairCounts) -> Result<(), ReproduceError> {
        let folder = self.0.join("scans");
        fs::create_dir_all(&folder).map_err(failed(&folder, "made"))?;
        Ok(write_pairs(&self.pairs(key), pairs)?)
    }

    /// Writes a JSON file at the top of the folder.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), ReproduceError> {
        write_json(&self.path(name), value)
    }

    /// Writes the text of a paper's tables, and all their values.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write_tables(&self, tables: &Tables, text: &str) -> Result<(), ReproduceError> {
        self.write("tables.txt", text.as_bytes())?;
        let name = "values.csv";
        let csv = tables.csv().map_err(failed(&self.path(name), "written"))?;
        self.write(name, &csv)
    }

    /// Writes rows as a CSV file at the top of the folder.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write_csv<const N: usize>(&self, name: &str, rows: &[[String; N]]) -> Result<(), ReproduceError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let written = rows.iter().try_for_each(|row| writer.write_record(row));
        written.map_err(failed(&self.path(name), "written"))?;
        self.write(name, &writer.into_inner().map_err(failed(&self.path(name), "written"))?)
    }

    /// Writes a file at the top of the folder.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), ReproduceError> {
        Ok(write_whole(&self.path(name), content)?)
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ReproduceError> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(failed(path, "read")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, "read")(error)),
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ReproduceError> {
    let text = serde_json::to_vec_pretty(value).map_err(failed(path, "written"))?;
    Ok(write_whole(path, &text)?)
}
