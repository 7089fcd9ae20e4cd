//! Sessions that are offered and restored.

use super::saved_session::{SavedSession, SavedTools};

/// Sessions that are offered and restored.
#[derive(Default)]
pub struct Sessions {
    /// Last session while it is offered.
    pub offered: Option<SavedSession>,
    /// Session to restore once its study is loaded.
    pub restoring: Option<SavedSession>,
    /// Key of the table in front, and parts of a restored session that the tools take.
    pub of_tools: Option<(String, SavedTools)>,
    /// Parts without a tool, which are saved again.
    pub unknown: SavedTools,
    /// True if the stored session is unreadable and has no backup; the current one then does not replace it.
    pub has_unreadable: bool,
}
