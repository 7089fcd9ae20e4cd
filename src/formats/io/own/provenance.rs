//! Provenance records of images and tables: `image.nii.gz.json` in the folder of `image.nii.gz`, never in place of another file.
//! Each file has its own, so that `a.npy` and `a.nii.gz` in one folder do not share a grid. (Earlier versions wrote `STEM.json`;
//! such a record is read if it names the file.)

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::Unit;
use crate::geometry::{Grid, GridError};
use crate::io::bytes::PendingFile;
use crate::io::error::IoError;

/// Value of the key `program` of every record, which identifies the program's own.
pub const PROGRAM: &str = "tomoscope";

/// The key of the files that a record is about.
const FILES: &str = "files";

/// A file that is larger than this is no record.
const MAX_BYTES: u64 = 1 << 20;

/// Grid and unit of an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// Number of voxels along x, y, z.
    pub size: [usize; 3],
    /// Voxel pitch along x, y, z, mm.
    pub voxel_mm: [f64; 3],
    /// Centre of the first voxel, mm.
    pub origin_mm: [f64; 3],
    /// Unit of the values.
    pub unit: String,
    /// Voxels without a finite number; `None` if not counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_finite: Option<usize>,
}

impl ImageRecord {
    /// Returns the record of an image on this grid.
    pub fn new(grid: &Grid, unit: Unit) -> Self {
        let Grid { size, voxel_mm, origin_mm } = *grid;
        Self { size, voxel_mm, origin_mm, unit: unit.label().to_owned(), not_finite: None }
    }

    /// Returns the grid, and the unit of the values.
    ///
    /// # Errors
    /// Figures that make no grid.
    pub fn grid_and_unit(&self) -> Result<(Grid, Unit), GridError> {
        let grid = Grid::new(self.size, self.voxel_mm, self.origin_mm)?;
        Ok((grid, Unit::of_label(&self.unit).unwrap_or(Unit::Unknown)))
    }
}

/// Returns the path of a file's record: `image.nii.gz.json` for `image.nii.gz`.
pub fn path_beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".json");
    file.with_file_name(name)
}

/// Returns the path of a file's record in earlier versions: `image.json` for `image.nii.gz`.
pub fn earlier_path_beside(file: &Path) -> PathBuf {
    let is_double = file.to_string_lossy().to_lowercase().ends_with(".nii.gz");
    let plain = if is_double { file.with_extension("") } else { file.to_owned() };
    plain.with_extension("json")
}

/// Refuses a place that is taken by something else than a record of this program.
///
/// # Errors
/// [`IoError::NotOurs`].
pub fn check(record: &Path) -> Result<(), IoError> {
    // A link without a target is free.
    let is_free = fs::metadata(record).is_err() || parse(record).is_some();
    if is_free { Ok(()) } else { Err(IoError::NotOurs(record.to_owned())) }
}

/// Returns the content of a file if it is a JSON object with the program's mark.
fn parse(path: &Path) -> Option<Value> {
    fs::metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES)?;
    let record: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (record["program"] == PROGRAM).then_some(record)
}

/// The record of a file.
pub struct Found {
    /// Its content.
    pub record: Value,
    /// Its place.
    pub path: PathBuf,
    /// True if it names the file. (A record that was renamed with its file still has the old name.)
    pub names_the_file: bool,
}

/// Returns the record of a file, if there is one. A record under the name of earlier versions may be that of another image; it
/// counts only where it names the file.
pub fn read(file: &Path) -> Option<Found> {
    let at = |path: PathBuf| {
        let record = parse(&path)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let names_the_file = record[FILES].as_array().is_some_and(|files| files.iter().any(|file| *file == *name));
        Some(Found { record, path, names_the_file })
    };
    at(path_beside(file)).or_else(|| at(earlier_path_beside(file)).filter(|found| found.names_the_file))
}

/// Writes the record of a file, in place of an earlier one.
///
/// # Errors
/// The place is taken by a file that is not a record, or the write fails.
pub fn write(file: &Path, record: &impl Serialize) -> Result<PathBuf, IoError> {
    let path = path_beside(file);
    check(&path)?;
    let text = serde_json::to_string_pretty(record).map_err(|error| IoError::write(&path)(error.into()))?;
    let pending = PendingFile::create(&path)?;
    pending.write(|writer| writeln!(writer, "{text}"))?;
    pending.commit()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_has_the_name_of_its_file() {
        for (file, record, earlier) in [
            ("a/image.nii.gz", "a/image.nii.gz.json", "a/image.json"),
            ("image.NII.GZ", "image.NII.GZ.json", "image.json"),
            ("image.hv", "image.hv.json", "image.json"),
            ("scan.2.nii", "scan.2.nii.json", "scan.2.json"),
            ("numbers.csv", "numbers.csv.json", "numbers.json"),
            ("numbers.gz", "numbers.gz.json", "numbers.json"),
            ("numbers", "numbers.json", "numbers.json"),
        ] {
            assert_eq!(path_beside(Path::new(file)), Path::new(record));
            assert_eq!(earlier_path_beside(Path::new(file)), Path::new(earlier));
        }
    }
}
