//! The project about itself: module rows, sizes, scanner figures, compiled kernels, shaders.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is a test

extern crate tomoscope_engine as tomoscope;

mod circles;
mod code;
mod codes;
mod formats;
mod kernels;
mod layers;
mod layouts;
mod scanners;
mod shaders;
mod sizes;
mod width;

use tomoscope_support::{data, in_repository};

use std::path::{Path, PathBuf};

/// All files below a folder with this extension, sorted; none where the folder is not there.
fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return files };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            files.push(path);
        }
    }
    files.sort();
    files
}
