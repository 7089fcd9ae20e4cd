//! File that is read or written in the background.

use std::path::PathBuf;
use std::time::Duration;

use crate::data::{Notice, Psf, Roi};
use crate::session::RunId;
use crate::task::BackgroundTask;
use crate::ui::widgets::file_task::FileTask;

/// Result of work with a file.
pub(in crate::ui) enum FileResult {
    Written(Vec<Notice>),
    Psf(Psf),
    Radical(Vec<Notice>),
    /// Regions for the study with this number.
    Rois(usize, (Vec<Roi>, Vec<Notice>)),
}

/// File that is being read or written.
pub(in crate::ui) struct FileJob {
    pub(super) task: FileTask,
    pub(super) path: PathBuf,
    /// Run and subiteration of the newest image at the start of writing.
    pub(super) image: Option<(RunId, usize)>,
    /// Longest wait for it in a frame.
    pub(super) patience: Duration,
    pub(super) work: BackgroundTask<Result<FileResult, String>>,
}
