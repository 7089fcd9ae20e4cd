//! `tomoscope [STUDY]`: the window.

use std::path::{Path, PathBuf};

use super::CliResult;
use super::connect::ConnectOptions;
use crate::session::Trace;
use crate::ui;

/// Opens the window on a study, or on the built-in one; with `follow` on a sweep that is still being written; or on one of another
/// machine.
pub fn run(study: Option<PathBuf>, follow: bool, connect: &ConnectOptions, trace: Option<&Path>) -> CliResult {
    let target = connect.target(study.as_deref())?;
    let trace = match trace {
        Some(path) => Trace::to_file(path).map_err(|error| format!("{} cannot be written: {error}", path.display()))?,
        None => Trace::off(),
    };
    match target {
        Some(target) => target.open_window(trace),
        None => Ok(ui::run(study, follow, trace)?),
    }
}
