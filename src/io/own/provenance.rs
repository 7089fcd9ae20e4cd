//! Records of what made an image or a table: `image.nii.gz.json` beside `image.nii.gz`, never over a file that is not such a
//! record. Each file has its own, so that `a.npy` and `a.nii.gz` in one folder do not share a grid. (Earlier versions wrote
//! `STEM.json`; such a record is read where it names the file.)

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::Unit;
use crate::geometry::{Grid, GridError};
use crate::io::bytes::PendingFile;
use crate::io::error::IoError;

/// What stands under the key `program` of every record: by it the program knows its own.
pub const PROGRAM: &str = "tomoscope";

/// The key of the files that a record is about.
const FILES: &str = "files";

/// A file that is larger than this is no record.
const MAX_BYTES: u64 = 1 << 20;

/// Where the voxels are and what they hold.
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
    /// Voxels that do not hold a finite number; `None` where nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_finite: Option<usize>,
}

impl ImageRecord {
    /// Of an image on this grid.
    pub fn new(grid: &Grid, unit: Unit) -> Self {
        let Grid { size, voxel_mm, origin_mm } = *grid;
        Self { size, voxel_mm, origin_mm, unit: unit.label().to_owned(), not_finite: None }
    }

    /// The grid, and the unit of the values.
    ///
    /// # Errors
    /// Figures that make no grid.
    pub fn grid_and_unit(&self) -> Result<(Grid, Unit), GridError> {
        let grid = Grid::new(self.size, self.voxel_mm, self.origin_mm)?;
        Ok((grid, Unit::of_label(&self.unit).unwrap_or(Unit::Unknown)))
    }
}

/// Returns the place of a file's record: `image.nii.gz.json` beside `image.nii.gz`.
pub fn path_beside(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(OsStr::new(".json"));
    file.with_file_name(name)
}

/// Returns the place where earlier versions wrote it: `image.json` beside `image.nii.gz`.
pub fn earlier_path_beside(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    let is_double = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
        && Path::new(stem).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("nii"));
    let stem = if is_double { Path::new(stem).file_stem().unwrap_or_default() } else { stem };
    let mut name = stem.to_owned();
    name.push(OsStr::new(".json"));
    file.with_file_name(name)
}

/// Refuses a place that is taken by something else than a record of this program.
///
/// # Errors
/// [`IoError::NotOurs`].
pub fn check(record: &Path) -> Result<(), IoError> {
    // A link that leads nowhere is nobody's file.
    match fs::metadata(record) {
        Err(_) => Ok(()),
        Ok(metadata) if metadata.is_file() && is_ours(record, metadata.len()) => Ok(()),
        Ok(_) => Err(IoError::NotOurs { path: record.to_owned() }),
    }
}

/// Whether a file is a JSON object with the program's mark.
fn is_ours(path: &Path, len: u64) -> bool {
    len <= MAX_BYTES && parse(path).is_some_and(|value| value["program"] == PROGRAM)
}

fn parse(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The record of a file.
pub struct Found {
    /// Its content.
    pub record: Value,
    /// Its place.
    pub path: PathBuf,
    /// Whether it names the file. (A record that was renamed with its file still has the old name.)
    pub names_the_file: bool,
}

/// Returns the record of a file, if there is one. A record under the name of earlier versions may be that of another image; it
/// counts only where it names the file.
pub fn read(file: &Path) -> Option<Found> {
    let at = |path: PathBuf| {
        let record = is_ours(&path, fs::metadata(&path).ok()?.len()).then(|| parse(&path))??;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let names_the_file = record[FILES].as_array().is_some_and(|files| files.iter().any(|file| *file == *name));
        Some(Found { record, path, names_the_file })
    };
    at(path_beside(file)).or_else(|| at(earlier_path_beside(file)).filter(|found| found.names_the_file))
}

/// Writes the record of a file beside it, in the place of an earlier one.
///
/// # Errors
/// The place is taken by a file that is not a record, or cannot be written.
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
