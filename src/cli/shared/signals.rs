//! Signals that ask a command to end: Ctrl-C, SIGTERM (a batch system, a container) and SIGHUP (the terminal has gone).
//!
//! A command that has nothing to keep ends at once and leaves no unfinished file. A command that has something to keep is told
//! by the first signal and ends by itself; a second Ctrl-C ends it at once, further signals of the other kinds change nothing.
//! A process that was told to outlive its terminal (`nohup`) ignores SIGHUP.
//!
//! On Windows the signals are Ctrl-C and Ctrl-Break; a closed console ends the program at once.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::console::err;
use crate::io::discard_unfinished;

/// Who is told of signals, where the command has something to keep.
static KEEPERS: Mutex<Option<Keepers>> = Mutex::new(None);

/// Those who keep what the command has.
#[derive(Default)]
struct Keepers {
    told: Vec<Sender<()>>,
    /// Whether a signal came while nobody listened: who listens next is told.
    is_waiting: bool,
}

/// Whether a signal has come to a command that has something to keep.
static IS_RAISED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
pub use unix::listen;

#[cfg(windows)]
pub use windows::listen;

/// From now on the first signal is a message, to all who asked for it: the command ends by itself and keeps what it has.
pub fn keep() -> Receiver<()> {
    let mut keepers = KEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
    let keepers = keepers.get_or_insert_default();
    let (sender, receiver) = unbounded();
    if std::mem::take(&mut keepers.is_waiting) {
        let _ = sender.send(());
    }
    keepers.told.push(sender);
    receiver
}

/// Whether a signal has come since somebody keeps something.
pub fn have_come() -> bool {
    IS_RAISED.load(Ordering::Relaxed)
}

/// Passes a signal on to those who keep something. Without them, or when the user insists, nothing is kept: `end` ends the process as
/// if nobody had listened.
fn obey(is_second_interrupt: bool, end: impl FnOnce()) {
    match &mut *KEEPERS.lock().unwrap_or_else(PoisonError::into_inner) {
        None => {
            discard_unfinished();
            end();
        }
        Some(_) if is_second_interrupt => {
            discard_unfinished();
            err!("tomoscope: aborted; no image saved");
            std::process::exit(1);
        }
        Some(keepers) => {
            IS_RAISED.store(true, Ordering::Relaxed);
            keepers.told.retain(|sender| sender.send(()).is_ok());
            keepers.is_waiting = keepers.told.is_empty();
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::{flag, low_level};

    use super::*;

    /// How often a signal is looked for: so often that nobody notices a delay. (A handler can do no more than raise a flag.)
    const POLL_INTERVAL: Duration = Duration::from_millis(20);

    /// Begins to listen.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<()> {
        let mut raised = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal != SIGHUP || !is_ignored(signal) {
                let is_raised = Arc::new(AtomicBool::new(false));
                flag::register(signal, Arc::clone(&is_raised))?;
                raised.push((signal, is_raised));
            }
        }
        thread::Builder::new().name("signals".into()).spawn(move || {
            let mut num_interrupts = 0;
            loop {
                thread::sleep(POLL_INTERVAL);
                for (signal, _) in raised.iter().filter(|(_, is_raised)| is_raised.swap(false, Ordering::Relaxed)) {
                    num_interrupts += usize::from(*signal == SIGINT);
                    // Whoever waits for the program learns which signal it was.
                    obey(*signal == SIGINT && num_interrupts > 1, || _ = low_level::emulate_default_handler(*signal));
                }
            }
        })?;
        Ok(())
    }

    /// Whether the process was told to ignore a signal (n is bit n − 1 of the mask); not where the system does not tell.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
    }
}

#[cfg(windows)]
mod windows {
    use super::*;

    /// Exit code of a process that Ctrl-C ended (`STATUS_CONTROL_C_EXIT`).
    const ENDED_BY_CTRL_C: u32 = 0xC000_013A;

    /// Begins to listen.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<()> {
        let mut num_interrupts = 0;
        let handle = move || {
            num_interrupts += 1;
            obey(num_interrupts > 1, || std::process::exit(ENDED_BY_CTRL_C.cast_signed()));
        };
        ctrlc::set_handler(handle).map_err(io::Error::other)
    }
}
