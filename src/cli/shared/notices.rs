//! Notices on the terminal.

use std::collections::BTreeSet;

use super::console::{err, is_quiet};
use super::error::Done;
use crate::data::{Notice, Severity};

pub fn line(notice: &Notice) -> String {
    format!("{}: {}", notice.severity, notice.text)
}

pub fn is_printed(notice: &Notice) -> bool {
    notice.severity > Severity::Info || !is_quiet()
}

/// Prints the notices of a value that was read or made, and returns the value.
pub fn printed<T>((value, notices): (T, Vec<Notice>)) -> T {
    print(&notices);
    value
}

/// Prints notices on standard error, a line each.
pub fn print(notices: &[Notice]) {
    for notice in notices.iter().filter(|notice| is_printed(notice)) {
        err!("{}", line(notice));
    }
}

/// Returns the outcome of numbers; prints a warning with the names of those that are not finite.
pub fn done_of_numbers<'a>(not_finite: impl Iterator<Item = &'a str>) -> Done {
    let names: BTreeSet<&str> = not_finite.collect();
    if names.is_empty() {
        return Done::Complete;
    }
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    print(&[Notice::warning(format!("not finite, as the image has voxels without a number: {names}"))]);
    Done::Partial
}
