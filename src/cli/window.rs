//! `tomoscope [STUDY]`: the window.

use std::path::{Path, PathBuf};

use super::CliResult;
use crate::session::Trace;
use crate::ui;

/// Opens the window on a study, or on the built-in one; with `follow` on a sweep that is still being written.
pub fn run(study: Option<PathBuf>, follow: bool, trace: Option<&Path>) -> CliResult {
    let trace = match trace {
        Some(path) => Trace::to_file(path).map_err(|error| format!("{} cannot be written: {error}", path.display()))?,
        None => Trace::off(),
    };
    Ok(ui::run(study, follow, trace)?)
}
