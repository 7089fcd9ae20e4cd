//! A handle for long work: a stop flag and a progress count, shared between the worker and its observers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use crate::coded::coded;

/// Shared stop flag and progress of one piece of long work. Clones share the same state.
///
/// ```
/// use tomoscope_base::task::Task;
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

coded!(Stopped = "stopped");

impl Task {
    /// Returns a task with nothing done and not stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the worker to stop at the next convenient point.
    pub fn stop(&self) {
        self.state.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns true after a call of [`Task::stop`].
    pub fn is_stopped(&self) -> bool {
        self.state.stopped.load(Ordering::Relaxed)
    }

    /// Returns `Err(Stopped)` after a call of [`Task::stop`]; for `?` inside loops.
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

    /// Returns the part that is done, from 0 to 1; `None` while the total is not known.
    pub fn fraction(&self) -> Option<f32> {
        let (done, total) = self.progress();
        (total > 0).then(|| (done as f32 / total as f32).min(1.0))
    }

    /// Returns the remaining time of work that began at `begun`, if it can be estimated.
    pub fn remaining(&self, begun: Instant) -> Option<Duration> {
        let fraction = self.fraction().filter(|fraction| *fraction > 0.0)?;
        Duration::try_from_secs_f64(begun.elapsed().as_secs_f64() * f64::from(1.0 / fraction - 1.0)).ok()
    }
}

/// Work on a separate thread. Dropping it stops the work at its next check.
#[derive(Debug)]
pub struct BackgroundTask<T> {
    task: Task,
    begun: Instant,
    outcome: Receiver<Result<T, TaskFailure>>,
}

/// Cause of work that gave no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskFailure {
    /// The work panicked.
    #[error("internal error; please report it with what you did")]
    Panicked,
    /// The system started no thread.
    #[error("no thread could be started; close other programs and try again")]
    NoThread,
}

impl From<TaskFailure> for String {
    fn from(failure: TaskFailure) -> Self {
        failure.to_string()
    }
}

impl<T: Send + 'static> BackgroundTask<T> {
    /// Starts the work; `wake` is called when it is over.
    pub fn start(name: &str, wake: impl FnOnce() + Send + 'static, work: impl FnOnce(&Task) -> T + Send + 'static) -> Self {
        let (task, (sender, outcome)) = (Task::new(), bounded(1));
        let own = task.clone();
        let spawned = Builder::new().name(name.into()).spawn(move || {
            let made = catch_unwind(AssertUnwindSafe(|| work(&own)));
            // It is dropped if no receiver waits any more.
            let _ = sender.send(made.map_err(|_| TaskFailure::Panicked));
            wake();
        });
        // Without a thread the channel is closed, which reads as a failure.
        drop(spawned);
        Self { task, begun: Instant::now(), outcome }
    }

    /// Returns the result once; `None` while the work is under way.
    pub fn poll(&self) -> Option<Result<T, TaskFailure>> {
        self.poll_for(Duration::ZERO)
    }

    /// Waits up to this time for the result and returns it once; `None` while the work is under way.
    pub fn poll_for(&self, patience: Duration) -> Option<Result<T, TaskFailure>> {
        match self.outcome.recv_timeout(patience) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(TaskFailure::NoThread)),
        }
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// The work panicked, or the system started no thread.
    pub fn wait(&self) -> Result<T, TaskFailure> {
        self.outcome.recv().unwrap_or(Err(TaskFailure::NoThread))
    }

    /// Returns the part that is done, from 0 to 1, where it is known.
    pub fn fraction(&self) -> Option<f32> {
        self.task.fraction()
    }

    /// Returns the remaining time of the work, if it can be estimated.
    pub fn remaining(&self) -> Option<Duration> {
        self.task.remaining(self.begun)
    }
}

impl<T> Drop for BackgroundTask<T> {
    fn drop(&mut self) {
        self.task.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_work_gives_its_result_or_its_failure_and_is_stopped_when_it_is_dropped() {
        let (woken, wakes) = bounded(1);
        let wake = move || assert!(woken.send(()).is_ok());
        let sum = |task: &Task| {
            task.begin(1);
            task.advance(1);
            2 + 2
        };
        let work = BackgroundTask::start("sum", wake, sum);
        assert_eq!(work.wait(), Ok(4));
        assert_eq!(wakes.recv(), Ok(()));
        assert_eq!(work.fraction(), Some(1.0));
        let broken = BackgroundTask::<()>::start("broken", || {}, |_| panic!("as it should"));
        assert_eq!(broken.wait(), Err(TaskFailure::Panicked));
        let (stopped, stops) = bounded(1);
        drop(BackgroundTask::start(
            "endless",
            || {},
            move |task| {
                while !task.is_stopped() {
                    std::thread::yield_now();
                }
                let _ = stopped.send(());
            },
        ));
        assert_eq!(stops.recv(), Ok(()));
    }
}
