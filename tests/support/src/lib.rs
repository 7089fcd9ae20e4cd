//! What several suites of tests share. For integration tests only: unit tests have helpers of their own crate.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is for tests
#![allow(clippy::len_without_is_empty, clippy::new_without_default)] // used by the tests alone

#[cfg(feature = "app")]
extern crate tomoscope_app as tomoscope;

#[cfg(feature = "app")]
pub mod composed;
pub mod data;
pub mod hostile;
pub mod identity;
#[cfg(feature = "app")]
pub mod nema_scan;
pub mod node;
#[cfg(feature = "app")]
pub mod radicals;
pub mod scans;
pub mod square;
#[cfg(feature = "app")]
pub mod toy;
#[cfg(feature = "window")]
pub mod window;

use std::path::{Path, PathBuf};

/// Returns a file or folder of the repository.
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns a folder for files that tests keep: `tmp` of the build's folder, else the system's.
pub fn kept() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let deps = program.parent().filter(|folder| folder.ends_with("deps"));
    let folder = deps.and_then(|deps| deps.ancestors().nth(2)).map_or_else(std::env::temp_dir, |build| build.join("tmp"));
    let _ = std::fs::create_dir_all(&folder);
    folder
}
