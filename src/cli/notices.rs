//! Notices on the terminal.

use super::console::err;
use crate::data::{Notice, Severity};

/// A notice as one line.
pub fn line(notice: &Notice) -> String {
    let severity = match notice.severity {
        Severity::Info => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    format!("{severity}: {}", notice.text)
}

/// Prints notices on standard error, a line each.
pub fn print(notices: &[Notice]) {
    for notice in notices {
        err!("{}", line(notice));
    }
}
