//! Signals that ask a command to end: Ctrl-C, SIGTERM (a batch system, a container) and SIGHUP (the terminal has gone).
//!
//! A command that has nothing to keep ends at once and leaves no unfinished file. A command that has something to keep is told
//! by the first signal and ends by itself; a second Ctrl-C ends it at once, further signals of the other kinds change nothing.
//! A process that was told to outlive its terminal (`nohup`) ignores SIGHUP.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use super::console::err;
use crate::io::discard_unfinished;

/// How often a signal is looked for: so often that nobody notices a delay. (A handler can do no more than raise a flag, and not
/// every system has pipes that it could write to.)
const LOOK_EVERY: Duration = Duration::from_millis(20);

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
            thread::sleep(LOOK_EVERY);
            for (signal, _) in raised.iter().filter(|(_, is_raised)| is_raised.swap(false, Ordering::Relaxed)) {
                num_interrupts += usize::from(*signal == SIGINT);
                obey(*signal, num_interrupts);
            }
        }
    })?;
    Ok(())
}

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

fn obey(signal: i32, num_interrupts: usize) {
    match &mut *KEEPERS.lock().unwrap_or_else(PoisonError::into_inner) {
        None => {
            discard_unfinished();
            // As if nobody had listened: whoever waits for the program learns which signal it was.
            let _ = low_level::emulate_default_handler(signal);
        }
        Some(_) if signal == SIGINT && num_interrupts > 1 => {
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

/// Whether the process was told to ignore a signal (n is bit n − 1 of the mask); not where the system does not tell.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}
