//! Actions of the tab of the recovery.

use crate::ui::widgets::file_task::FileTask;

#[derive(Clone, Debug)]
pub enum RecoveryAction {
    /// Compares with the standard of this index.
    Select(usize),
    /// Sets the typed true activity ratio of all hot regions.
    SetRatio(String),
    Ask(FileTask),
    /// Shows an iteration with a post-filter of this FWHM, mm; 0 = none.
    Show(usize, f64),
}
