//! Output of the command line. A result is never lost because printing fails. If the reader of a pipe has gone, the rest is
//! omitted in silence. If standard output fails for another reason (a full disk), the command completes its work, reports the
//! failure at the end and exits with 1. Text that standard error refuses is lost.
//!
//! Titles, names of regions and paths come from files of any origin: control characters are replaced.

use std::cell::RefCell;
use std::fmt::Arguments;
use std::io;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use indicatif::{MultiProgress, ProgressBar};

use super::error::{CliError, CliResult, Failure};

/// First error of standard output, which makes it incomplete.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// True if only [`print_result`] writes to standard output.
static IS_OUTPUT_RESERVED: AtomicBool = AtomicBool::new(false);

/// True if only warnings and errors are printed.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Bars on standard error, if it is a terminal: text is printed above them.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// True if nothing is printed, as another process prints for this one.
static IS_MUTE: AtomicBool = AtomicBool::new(false);

/// Prefix of all lines of this process.
static NAME: OnceLock<String> = OnceLock::new();

thread_local! {
    /// Prefix of the lines of this thread.
    static LABEL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Prints a line on standard output, as `println!` does.
macro_rules! out {
    ($($line:tt)*) => { $crate::cli::shared::console::print(format_args!("{}\n", format_args!($($line)*))) };
}

/// Prints a line on standard error, as `eprintln!` does.
macro_rules! err {
    ($($line:tt)*) => { $crate::cli::shared::console::print_error(format_args!("{}\n", format_args!($($line)*))) };
}

/// Prints a line on standard error that is neither a warning nor an error.
macro_rules! remark {
    ($($line:tt)*) => { if !$crate::cli::shared::console::is_quiet() { $crate::cli::shared::console::err!($($line)*) } };
}

pub(in crate::cli) use {err, out, remark};

/// Prints only results, warnings and errors from now on.
pub fn set_quiet() {
    omit_notes();
    reserve_output();
}

/// Does the same for a command whose standard output is its result.
pub fn omit_notes() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Reserves standard output for [`print_result`] from now on.
pub fn reserve_output() {
    IS_OUTPUT_RESERVED.store(true, Ordering::Relaxed);
}

/// Sets the prefix of every line and every bar of this thread, which distinguishes simultaneous jobs.
pub fn set_label(label: String) {
    LABEL.set(label);
}

/// Sets the prefix of every line of this process; works once.
pub fn set_name(name: String) {
    let _ = NAME.set(name);
}

/// Turns all printing off or on.
pub fn set_mute(is_mute: bool) {
    IS_MUTE.store(is_mute, Ordering::Relaxed);
}

/// Returns the prefix of this thread's lines and bars.
pub fn label() -> String {
    let name = NAME.get().map_or("", String::as_str);
    LABEL.with_borrow(|label| format!("{name}{label}"))
}

/// Shows a bar below all printed text, if notes are printed and standard error is a terminal.
pub fn show(bar: ProgressBar) -> ProgressBar {
    if is_quiet() || IS_MUTE.load(Ordering::Relaxed) { ProgressBar::hidden() } else { BARS.add(bar) }
}

/// Prints text on standard output.
pub fn print(text: Arguments<'_>) {
    if !IS_OUTPUT_RESERVED.load(Ordering::Relaxed) {
        write_result(&labelled(&text.to_string()));
    }
}

/// Prints a result on standard output, also if it is reserved.
pub fn print_result(text: Arguments<'_>) {
    write_result(&text.to_string());
}

fn write_result(text: &str) {
    if IS_MUTE.load(Ordering::Relaxed) {
        return;
    }
    BARS.suspend(|| note(io::stdout().write_all(printable(text).as_bytes())));
}

/// Prints text for other programs on standard output, unchanged.
pub fn print_script(text: &[u8]) {
    note(io::stdout().write_all(text));
}

/// Prints text on standard error.
pub fn print_error(text: Arguments<'_>) {
    if IS_MUTE.load(Ordering::Relaxed) {
        return;
    }
    let text = labelled(&text.to_string());
    let _ = BARS.suspend(|| io::stderr().write_all(printable(&text).as_bytes()));
}

/// Returns the text, each line with this thread's prefix.
fn labelled(text: &str) -> String {
    let label = label();
    if label.is_empty() { text.to_owned() } else { text.split_inclusive('\n').map(|line| format!("{label}{line}")).collect() }
}

/// Returns the text with control characters replaced, except the ends of its lines.
fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// Stores an error of standard output. A reader that has gone is no error.
pub fn note(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error);
    }
}

/// Flushes standard output.
///
/// # Errors
/// A part of the printed text did not reach standard output.
pub fn finish() -> CliResult {
    note(io::stdout().flush());
    LOST.get().map_or(Ok(()), |error| Err(CliError::failed(Failure::Output, format!("writing standard output failed: {error}"))))
}
