//! Data files that other programs wrote: in the folder `$TOMOSCOPE_DATA`, else in the public set `tests/data/public`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{in_repository, kept};

/// Returns the path of a data file. Without the file, prints `skipped: …` and returns `None`; with `TOMOSCOPE_REQUIRE_DATA=1` it panics.
pub fn data_file(name: &str) -> Option<PathBuf> {
    let public = in_repository("tests/data/public");
    let folder = std::env::var_os("TOMOSCOPE_DATA").map_or(public, PathBuf::from);
    // (Each package has its tests run in its own folder.)
    let path = unpacked(&std::path::absolute(in_repository("").join(folder).join(name)).unwrap());
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("TOMOSCOPE_REQUIRE_DATA").is_none(), "{} is missing", path.display());
    println!("skipped: {} is missing (not part of the public set?)", path.display());
    None
}

/// The same path, or the one in an unpacked copy of its folder if that folder contains packed files (`NAME.gz`).
fn unpacked(path: &Path) -> PathBuf {
    let (Some(folder), Some(file_name)) = (path.parent(), path.file_name()) else { return path.into() };
    let Ok(entries) = std::fs::read_dir(folder) else { return path.into() };
    let files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    if !files.iter().any(|file| is_packed(file)) {
        return path.into();
    }
    let num_bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    let name = format!("{}-{num_bytes}", folder.file_name().unwrap_or_default().display());
    let target = kept().join(name);
    if !target.exists() {
        // Renamed as a whole: tests of several processes unpack at the same time.
        let copy = tempfile::tempdir_in(kept()).unwrap();
        files.iter().for_each(|file| unpack(file, copy.path()));
        let copy = copy.keep();
        if std::fs::rename(&copy, &target).is_err() {
            assert!(target.exists(), "{} was not made", target.display());
            std::fs::remove_dir_all(copy).unwrap();
        }
    }
    target.join(file_name)
}

/// Whether a file is packed for the repository. NIfTI images are read as they are.
fn is_packed(file: &Path) -> bool {
    let name = file.to_string_lossy();
    name.ends_with(".gz") && !name.ends_with(".nii.gz")
}

/// Copies a file into a folder, without `.gz` if it is packed.
fn unpack(file: &Path, folder: &Path) {
    let bytes = std::fs::read(file).unwrap();
    if is_packed(file) {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
        std::fs::write(folder.join(file.file_stem().unwrap_or_default()), plain).unwrap();
    } else {
        std::fs::write(folder.join(file.file_name().unwrap_or_default()), bytes).unwrap();
    }
}
