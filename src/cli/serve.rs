//! `tomoscope serve`: the solver's end of a window that is on another machine.

use std::io::{stdin, stdout};
use std::sync::Arc;
use std::time::Duration;

use crate::cli::shared::error::CliResult;
use crate::cli::shared::signals;
use crate::data::Study;
use crate::io::FileKind;
use crate::plan::{Cache, Data, StudyFiles};
use crate::remote::{Connection, ServeOptions, serve};
use crate::session::{Session, SessionOptions};
use crate::task::Task;

/// Maximum age of a run without a connection, seconds.
pub const LINGER_SECS: u64 = 600;

/// Options of `serve`.
#[derive(clap::Args)]
pub struct ServeArguments {
    /// Communicate over standard input and output.
    #[arg(long, required = true)]
    stdio: bool,
    /// Time to keep a run without a connection, seconds.
    #[arg(long, value_name = "SECS", default_value_t = LINGER_SECS)]
    linger: u64,
}

/// Serves a session on the standard input and output, to which nothing else is written.
pub fn run(arguments: &ServeArguments) -> CliResult {
    let options = ServeOptions { linger: Duration::from_secs(arguments.linger), stop: signals::keep, open: Arc::new(open) };
    let connection = Connection { input: Box::new(stdin()), output: Box::new(stdout()), program: None };
    Ok(serve(connection, options, |wake| Session::with_options(SessionOptions::default(), wake))?)
}

/// Reads a scan: counts with their corrections, list-mode data, or an EPRI acquisition with its reference spectrum.
fn open(files: &StudyFiles, task: &Task) -> Result<(Study<Data>, StudyFiles), String> {
    let path = files.measured();
    if FileKind::of(path).is_some_and(|kind| !kind.is_list() && !kind.is_sweep() && !kind.is_scan()) {
        let path = path.display();
        return Err(format!("{path}: remote windows open sinograms (.hs), list-mode data and EPRI acquisitions only"));
    }
    files.read(&Cache::of_the_user(), task).map_err(|error| error.to_string())
}
