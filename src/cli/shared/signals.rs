//! Signals that ask a command to end: Ctrl-C, SIGTERM (a batch system, a container) and SIGHUP (a closed terminal).
//!
//! A command without results to save ends at once and leaves no unfinished file. A command with such results receives the first
//! signal as a message and ends when it has saved them. A second Ctrl-C ends it at once; further signals of the other kinds have
//! no effect. A process that outlives its terminal (`nohup`) ignores SIGHUP.
//!
//! On Windows the signals are Ctrl-C and Ctrl-Break; a closed console ends the program at once.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::console::err;
use crate::io::discard_unfinished;

/// Receivers of signals, if the command has results to save.
static RECEIVERS: Mutex<Option<Receivers>> = Mutex::new(None);

#[derive(Default)]
struct Receivers {
    senders: Vec<Sender<()>>,
    /// True if a signal came without receivers: the next one receives it.
    is_waiting: bool,
}

/// True if a signal has come to a command with results to save.
static IS_RAISED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
pub use unix::listen;

#[cfg(windows)]
pub use windows::listen;

/// Returns a channel of signals. From now on a signal is a message to all such channels, and the command ends when it has saved
/// its results.
pub fn keep() -> Receiver<()> {
    let mut receivers = RECEIVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let receivers = receivers.get_or_insert_default();
    let (sender, receiver) = unbounded();
    if std::mem::take(&mut receivers.is_waiting) {
        let _ = sender.send(());
    }
    receivers.senders.push(sender);
    receiver
}

/// Returns true if a signal has come since the first call of [`keep`].
pub fn have_come() -> bool {
    IS_RAISED.load(Ordering::Relaxed)
}

/// Passes a signal on to its receivers. Without them, or on a second Ctrl-C, nothing is saved: `end` ends the process like an
/// unhandled signal.
fn handle(is_second_interrupt: bool, end: impl FnOnce()) {
    match &mut *RECEIVERS.lock().unwrap_or_else(PoisonError::into_inner) {
        None => {
            discard_unfinished();
            end();
        }
        Some(_) if is_second_interrupt => {
            discard_unfinished();
            err!("tomoscope: aborted; no image saved");
            std::process::exit(1);
        }
        Some(receivers) => {
            IS_RAISED.store(true, Ordering::Relaxed);
            receivers.senders.retain(|sender| sender.send(()).is_ok());
            receivers.is_waiting = receivers.senders.is_empty();
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

    /// Interval between looks for a signal, too short to notice. (A handler can only raise a flag.)
    const POLL_INTERVAL: Duration = Duration::from_millis(20);

    /// Begins to receive signals.
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
                    // The parent process receives the number of the signal.
                    handle(*signal == SIGINT && num_interrupts > 1, || _ = low_level::emulate_default_handler(*signal));
                }
            }
        })?;
        Ok(())
    }

    /// Returns true if the process ignores a signal (n is bit n − 1 of the mask); false where the system does not report it.
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

    /// Begins to receive signals.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<()> {
        let mut num_interrupts = 0;
        let handle = move || {
            num_interrupts += 1;
            handle(num_interrupts > 1, || std::process::exit(ENDED_BY_CTRL_C.cast_signed()));
        };
        ctrlc::set_handler(handle).map_err(io::Error::other)
    }
}
