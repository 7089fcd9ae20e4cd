//! File that is written in the background.

use std::path::PathBuf;

use crate::data::Notice;
use crate::session::RunId;
use crate::task::BackgroundTask;
use crate::ui::widgets::file_task::FileTask;

/// File that is being written.
pub(in crate::ui) struct FileJob {
    pub(super) task: FileTask,
    pub(super) path: PathBuf,
    /// Run and subiteration of the newest image at the start of writing.
    pub(super) image: Option<(RunId, usize)>,
    pub(super) work: BackgroundTask<Result<Vec<Notice>, String>>,
}
