//! The window of a program that was built without one (feature `window`): refusals in its place.

use std::path::Path;

use crate::coded::coded;
use crate::plan::StudyFiles;
use crate::remote::Dialer;
use crate::session::Trace;

/// Advice where no graphics adapter draws the window.
pub const DRIVER_ADVICE: &str = "";

/// Reason why no window opens.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A program without the window.
    #[error(
        "this program was built without the window (feature `window`). Without a window: tomoscope reconstruct INPUT.hs -o OUT.nii.gz \
         (tomoscope --help lists the other commands)"
    )]
    NotBuilt,
}

coded!(StartError = "window");

/// A study to open.
pub enum Source {
    /// Files of this machine.
    Files(#[allow(dead_code)] StudyFiles),
}

impl Source {
    /// Returns the source of a file.
    pub fn file(path: &Path) -> Self {
        Self::Files(StudyFiles::File(path.into()))
    }

    /// Returns the source of a file that is still being written.
    pub fn followed(path: &Path) -> Self {
        Self::file(path)
    }
}

/// Refuses to open the window on a study.
///
/// # Errors
/// Always.
pub fn run(_: Option<Source>, _: Trace) -> Result<(), StartError> {
    Err(StartError::NotBuilt)
}

/// Refuses to open the window on a scan of a remote host.
///
/// # Errors
/// Always.
pub fn run_remote(_: String, _: Dialer, _: String, _: Trace) -> Result<(), StartError> {
    Err(StartError::NotBuilt)
}

/// Shows nothing: the error is printed.
pub fn show_error(_: &StartError) {}
