//! A bar on the terminal while long work runs.

use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use indicatif::{ProgressBar, ProgressStyle};

use super::console;
use super::error::{CliError, CliResult, Failure};
use crate::coded::Problem;
use crate::task::Task;

/// Interval between updates of the bar.
const INTERVAL: Duration = Duration::from_millis(50);

/// Returns a bar on the terminal for a number of steps, with a title. (A bar of 0 steps gets its number later.)
pub fn bar(num_steps: u64, title: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix}{msg} {wide_bar} {percent:>3} %  {eta} left");
    let bar = console::show(ProgressBar::new(num_steps));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(console::label());
    bar.set_message(title.to_owned());
    bar
}

/// Runs `work` on its own thread and shows the progress of its task, under a title. Without a terminal on standard error nothing
/// is shown.
///
/// # Errors
/// The system refuses the thread; the work ended by a panic.
pub fn with_bar<T: Send>(title: &str, work: impl FnOnce(&Task) -> T + Send) -> CliResult<T> {
    let task = Task::new();
    let bar = bar(0, title);
    let (working, ended) = bounded::<()>(0);
    let result = thread::scope(|scope| {
        let body = || {
            // Dropped when the work ends, also by a panic, which ends the loop below.
            let _working = working;
            work(&task)
        };
        let worker = thread::Builder::new().spawn_scoped(scope, body).map_err(|error| no_thread(title, &error))?;
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let (done, total) = task.progress();
            bar.set_length(total);
            bar.set_position(done);
        }
        worker.join().map_err(|_| CliError::failed(Failure::Internal, format!("{title}: internal error (please report it)")))
    });
    bar.finish_and_clear();
    result
}

/// Returns the error of a thread that the system refuses; `what` is its work.
pub fn no_thread(what: &str, error: &std::io::Error) -> CliError {
    let text = format!(
        "{what}: a thread could not be started: {error}; allow this process more threads and memory (ulimit -u, ulimit -v)"
    );
    Problem::new("threads", text).into()
}
