//! `tomoscope serve`: the solver's end of a window that is on another machine.

use std::io::{stdin, stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{CliResult, signals};
use crate::io::list_mode::ListOptions;
use crate::io::{FileKind, read_sweep_at_phase};
use crate::plan::{Acquisition, ListSelection, list_study};
use crate::session::wire::{Line, Scan, ServeOptions, serve};
use crate::session::{Session, SessionOptions};
use crate::task::Task;
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
    let options = ServeOptions { linger: Duration::from_secs(arguments.linger), stop: signals::keep, open: Arc::new(open) };
    let line = Line { input: Box::new(stdin()), output: Box::new(stdout()), program: None };
    Ok(serve(line, options, |wake| Session::with_options(SessionOptions::default(), wake))?)
}

/// Reads a scan: counts with the corrections that lie beside them, a list of events, or a sweep with its reference spectrum.
fn open(path: &Path, task: &Task) -> Result<Scan, String> {
    match FileKind::of(path) {
        Some(kind) if kind.is_list() => {
            let study = list_study(path, &ListOptions::default(), &ListSelection::default(), task);
            study.map(|study| Scan::Events(Arc::new(study))).map_err(|error| error.to_string())
        }
        Some(kind) if kind.is_sweep() => {
            let study = read_sweep_at_phase(path, None, None).map_err(|error| error.to_string())?;
            Ok(Scan::Sweep(Arc::new(study.map(Acquisition::complete))))
        }
        Some(kind) if !kind.is_scan() => {
            let path = path.display();
            Err(format!("{path} is not opened from another machine: scans of counts along lines (.hs), lists and sweeps are"))
        }
        _ => read_with_neighbours(path, "").map(|(study, _)| Scan::Counts(Arc::new(study))),
    }
}
