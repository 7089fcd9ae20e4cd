//! `tomoscope serve`: the solver's end of a window that is on another machine.

use std::io::{stdin, stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{CliResult, signals};
use crate::data::{Counts, Study};
use crate::io::FileKind;
use crate::session::wire::{Line, ServeOptions, serve};
use crate::session::{Session, SessionOptions};
use crate::ui::read_with_neighbours;

/// How long a run waits to be taken up again.
pub const LINGER_SECS: u64 = 600;

/// Options of `serve`.
#[derive(clap::Args)]
pub struct ServeArguments {
    /// Speak on the standard input and output.
    #[arg(long, required = true)]
    stdio: bool,
    /// How long a run goes on after its connection was lost, until it is taken up again, seconds.
    #[arg(long, value_name = "SECS", default_value_t = LINGER_SECS)]
    linger: u64,
}

/// Serves a session on the standard input and output, to which nothing else is written.
pub fn run(arguments: &ServeArguments) -> CliResult {
    let options =
        ServeOptions { linger: Duration::from_secs(arguments.linger), stop: signals::keep, open: Arc::new(|path, _| open(path)) };
    let line = Line { input: Box::new(stdin()), output: Box::new(stdout()), program: None };
    Ok(serve(line, options, |wake| Session::with_options(SessionOptions::default(), wake))?)
}

/// Reads a scan with the corrections that lie beside it.
fn open(path: &Path) -> Result<Study<Counts>, String> {
    match FileKind::of(path) {
        Some(kind) if !kind.is_scan() => {
            Err(format!("{} is not opened from another machine: only scans of counts along lines (.hs) are", path.display()))
        }
        _ => read_with_neighbours(path, "").map(|(study, _)| study),
    }
}
