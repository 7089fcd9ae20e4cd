//! A handle for long work: a stop flag and a progress count, shared between the worker and whoever watches.

use crate::coded::Coded;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shared stop flag and progress of one piece of long work. Clones share the same state.
///
/// ```
/// use tomoscope::task::Task;
///
/// let task = Task::new();
/// task.begin(4);
/// task.advance(1);
/// assert_eq!(task.fraction(), Some(0.25));
/// // Whatever works on it ends at its next check.
/// task.stop();
/// assert!(task.check().is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Task {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    stopped: AtomicBool,
    total: AtomicU64,
    done: AtomicU64,
}

/// The work was stopped before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped before it was complete")]
pub struct Stopped;

impl Coded for Stopped {
    fn code(&self) -> &'static str {
        "stopped"
    }
}

impl Task {
    /// A task with nothing done and not stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the worker to stop at the next convenient point.
    pub fn stop(&self) {
        self.state.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`Task::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.state.stopped.load(Ordering::Relaxed)
    }

    /// `Err(Stopped)` once [`Task::stop`] was called; for `?` inside loops.
    ///
    /// # Errors
    /// The task was stopped.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.is_stopped() { Err(Stopped) } else { Ok(()) }
    }

    /// Starts counting towards `total` units.
    pub fn begin(&self, total: u64) {
        self.state.done.store(0, Ordering::Relaxed);
        self.state.total.store(total, Ordering::Relaxed);
    }

    /// Reports `units` more as done.
    pub fn advance(&self, units: u64) {
        self.state.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Units done and units in total.
    pub fn progress(&self) -> (u64, u64) {
        (self.state.done.load(Ordering::Relaxed), self.state.total.load(Ordering::Relaxed))
    }

    /// The part that is done, from 0 to 1; `None` while the total is not known.
    pub fn fraction(&self) -> Option<f32> {
        let (done, total) = self.progress();
        (total > 0).then(|| (done as f32 / total as f32).min(1.0))
    }

    /// How long work that began then will take still, where that can be told.
    pub fn remaining(&self, begun: Instant) -> Option<Duration> {
        let fraction = self.fraction().filter(|fraction| *fraction > 0.0)?;
        Duration::try_from_secs_f64(begun.elapsed().as_secs_f64() * f64::from(1.0 / fraction - 1.0)).ok()
    }
}
