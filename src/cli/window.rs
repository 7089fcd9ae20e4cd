//! `tomoscope [STUDY]`: the window.

use std::path::{Path, PathBuf};

use super::CliResult;
use crate::session::Trace;
use crate::ui;

/// Opens the window on a study, or on the built-in one.
pub fn run(study: Option<PathBuf>, trace: Option<&Path>) -> CliResult {
    let trace = match trace {
        Some(path) => Trace::to_file(path).map_err(|error| format!("{} cannot be written: {error}", path.display()))?,
        None => Trace::off(),
    };
    Ok(ui::run(study, trace)?)
}
