//! Notices on the terminal.

use super::console::{err, is_quiet};
use crate::data::{Notice, Severity};

/// A notice as one line.
pub fn line(notice: &Notice) -> String {
    format!("{}: {}", notice.severity, notice.text)
}

/// Whether a notice is printed at all.
pub fn is_told(notice: &Notice) -> bool {
    notice.severity > Severity::Info || !is_quiet()
}

/// Prints notices on standard error, a line each.
pub fn print(notices: &[Notice]) {
    for notice in notices.iter().filter(|notice| is_told(notice)) {
        err!("{}", line(notice));
    }
}
