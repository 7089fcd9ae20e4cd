//! Records of what made an image or a table: `STEM.json` beside it, never over a file that is not such a record.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::IoError;
use super::pending::PendingFile;

/// What stands under the key `program` of every record: by it the program knows its own.
pub const PROGRAM: &str = "tomoscope";

/// The key of the files that a record is about.
const FILES: &str = "files";

/// A file that is larger than this is no record.
const MAX_BYTES: u64 = 1 << 20;

/// Where the record of a file is: `image.json` beside `image.nii.gz`, `numbers.json` beside `numbers.csv`.
pub fn path_beside(file: &Path) -> PathBuf {
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

/// The record beside a file, where there is one that names it.
pub fn read_beside(file: &Path) -> Option<Value> {
    let path = path_beside(file);
    check(&path).ok()?;
    let record = parse(&path)?;
    let name = file.file_name()?.to_string_lossy();
    let names_it = record[FILES].as_array()?.iter().any(|other| *other == *name);
    names_it.then_some(record)
}

/// Writes the record of a file beside it. Where the same record stands there for another file it becomes that of both.
///
/// # Errors
/// The place is taken by a file that is not a record, or cannot be written.
pub fn write(file: &Path, record: &impl Serialize) -> Result<PathBuf, IoError> {
    let path = path_beside(file);
    check(&path)?;
    let not_json = |error: serde_json::Error| IoError::write(&path)(error.into());
    let mut record = serde_json::to_value(record).map_err(not_json)?;
    share(&mut record, &path);
    let text = serde_json::to_string_pretty(&record).map_err(not_json)?;
    let pending = PendingFile::create(&path)?;
    pending.write(|writer| writeln!(writer, "{text}"))?;
    pending.commit()?;
    Ok(path)
}

/// Takes over the files of a record that is there already and says the same.
fn share(record: &mut Value, path: &Path) {
    let Some(mut before) = parse(path) else { return };
    let (Some(old), Some(new)) = (files_of(&mut before), files_of(record)) else { return };
    let all = old.iter().filter(|file| !new.contains(file)).chain(&new).cloned().collect();
    let is_the_same = before == *record;
    record[FILES] = Value::Array(if is_the_same { all } else { new });
}

/// Takes the files of a record out of it.
fn files_of(record: &mut Value) -> Option<Vec<Value>> {
    record.get_mut(FILES)?.as_array_mut().map(std::mem::take)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_has_the_name_of_its_file() {
        for (file, record) in [
            ("a/image.nii.gz", "a/image.json"),
            ("image.NII.GZ", "image.json"),
            ("image.hv", "image.json"),
            ("scan.2.nii", "scan.2.json"),
            ("numbers.csv", "numbers.json"),
            ("numbers.gz", "numbers.json"),
            ("numbers", "numbers.json"),
        ] {
            assert_eq!(path_beside(Path::new(file)), Path::new(record));
        }
    }
}
