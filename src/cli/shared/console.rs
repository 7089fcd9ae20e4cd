//! All that the command line prints goes through here. A result is never lost because something cannot be printed:
//! where nobody reads a pipe any more the rest is left out in silence, and where standard output cannot be written for another
//! reason (a full disk) the command does its work, says so at the end and exits with 1. Text that standard error does not take
//! is lost.
//!
//! Titles, names of regions and paths come from files, and may come from anybody: what could steer the terminal is replaced.

use std::cell::RefCell;
use std::fmt::Arguments;
use std::io;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use indicatif::{MultiProgress, ProgressBar};

use super::error::{CliError, CliResult, Failure};

/// Why standard output is incomplete: the first error.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Whether standard output is left to [`print_result`].
static IS_OUTPUT_RESERVED: AtomicBool = AtomicBool::new(false);

/// Whether only warnings and errors are printed.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// The bars on standard error, where that is a terminal: what is printed goes above them.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Whether nothing is printed, as another process speaks for this one.
static IS_MUTE: AtomicBool = AtomicBool::new(false);

/// What all lines of this process begin with.
static NAME: OnceLock<String> = OnceLock::new();

thread_local! {
    /// What lines that this thread prints begin with.
    static LABEL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A line on standard output, as `println!` writes it.
macro_rules! out {
    ($($line:tt)*) => { $crate::cli::shared::console::print(format_args!("{}\n", format_args!($($line)*))) };
}

/// A line on standard error, as `eprintln!` writes it.
macro_rules! err {
    ($($line:tt)*) => { $crate::cli::shared::console::print_error(format_args!("{}\n", format_args!($($line)*))) };
}

/// A line on standard error that is neither a warning nor an error.
macro_rules! remark {
    ($($line:tt)*) => { if !$crate::cli::shared::console::is_quiet() { $crate::cli::shared::console::err!($($line)*) } };
}

pub(in crate::cli) use {err, out, remark};

/// From now on only results, warnings and errors are printed.
pub fn be_quiet() {
    leave_out_notes();
    reserve_output();
}

/// The same where all of standard output is the result.
pub fn leave_out_notes() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Whether only warnings and errors are printed.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// From now on nothing but [`print_result`] writes to standard output.
pub fn reserve_output() {
    IS_OUTPUT_RESERVED.store(true, Ordering::Relaxed);
}

/// From now on every line and every bar of this thread begins with this: several that speak at once are told apart.
pub fn set_label(label: String) {
    LABEL.set(label);
}

/// From now on every line of this process begins with this. Once.
pub fn set_name(name: String) {
    let _ = NAME.set(name);
}

/// From now on nothing is printed, or it is again.
pub fn be_mute(is_mute: bool) {
    IS_MUTE.store(is_mute, Ordering::Relaxed);
}

/// What this thread's lines and bars begin with.
pub fn label() -> String {
    let name = NAME.get().map_or("", String::as_str);
    LABEL.with_borrow(|label| format!("{name}{label}"))
}

/// Shows a bar below all that is printed; not where only warnings and errors are, or where standard error is not a terminal.
pub fn show(bar: ProgressBar) -> ProgressBar {
    if is_quiet() || IS_MUTE.load(Ordering::Relaxed) { ProgressBar::hidden() } else { BARS.add(bar) }
}

/// Text on standard output.
pub fn print(text: Arguments<'_>) {
    if !IS_OUTPUT_RESERVED.load(Ordering::Relaxed) {
        write_result(&labelled(&text.to_string()));
    }
}

/// Text on standard output, whoever else may not write there.
pub fn print_result(text: Arguments<'_>) {
    write_result(&text.to_string());
}

fn write_result(text: &str) {
    if IS_MUTE.load(Ordering::Relaxed) {
        return;
    }
    BARS.suspend(|| note(io::stdout().write_all(printable(text).as_bytes())));
}

/// The program's own text for other programs to read, on standard output as it is.
pub fn print_script(text: &[u8]) {
    note(io::stdout().write_all(text));
}

/// Text on standard error.
pub fn print_error(text: Arguments<'_>) {
    if IS_MUTE.load(Ordering::Relaxed) {
        return;
    }
    let text = labelled(&text.to_string());
    let _ = BARS.suspend(|| io::stderr().write_all(printable(&text).as_bytes()));
}

/// The same text, each line with this thread's label.
fn labelled(text: &str) -> String {
    let label = label();
    if label.is_empty() { text.to_owned() } else { text.split_inclusive('\n').map(|line| format!("{label}{line}")).collect() }
}

/// Text without control characters except the ends of its lines.
fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// Keeps in mind that standard output was not written. That its reader has gone is no error: it has what it wanted.
pub fn note(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error);
    }
}

/// Writes out what is still held back.
///
/// # Errors
/// Something that was printed has not reached standard output, as a sentence.
pub fn finish() -> CliResult {
    note(io::stdout().flush());
    LOST.get().map_or(Ok(()), |error| Err(CliError::failed(Failure::Output, format!("writing standard output failed: {error}"))))
}
