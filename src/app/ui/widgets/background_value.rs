//! A value that is computed in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::task::BackgroundTask;

/// Value that is computed in the background after a change of its key. The value of the former key remains until then, and a
/// computation that is under way ends first: a live run shows values.
pub struct BackgroundValue<K, T> {
    known: Option<(K, Option<T>)>,
    work: Option<Work<K, T>>,
}

struct Work<K, T> {
    key: K,
    task: BackgroundTask<T>,
    /// True once the window no longer waits for the value and has to be woken.
    is_late: Arc<AtomicBool>,
}

impl<K, T> Default for BackgroundValue<K, T> {
    fn default() -> Self {
        Self { known: None, work: None }
    }
}

impl<K: PartialEq, T: Send + 'static> BackgroundValue<K, T> {
    /// Updates the value. Waits for it no longer than `patience`, and calls `wake` when a later one is ready; `name` is that of
    /// the thread.
    pub fn update(
        &mut self,
        name: &str,
        key: K,
        patience: Duration,
        wake: impl FnOnce() + Send + 'static,
        compute: impl FnOnce() -> T + Send + 'static,
    ) {
        if let Some(work) = self.work.take() {
            self.receive(work, Duration::ZERO);
        }
        if self.work.is_none() && self.known.as_ref().is_none_or(|(known, _)| *known != key) {
            let is_late = Arc::new(AtomicBool::new(false));
            let late = Arc::clone(&is_late);
            let wake = move || {
                if late.load(Ordering::SeqCst) {
                    wake();
                }
            };
            self.receive(Work { key, task: BackgroundTask::start(name, wake, |_| compute()), is_late }, patience);
        }
    }

    /// Receives a value, or keeps its computation if it is not ready within `patience`.
    fn receive(&mut self, work: Work<K, T>, patience: Duration) {
        let outcome = work.task.poll_for(patience).or_else(|| {
            work.is_late.store(true, Ordering::SeqCst);
            // The task may have ended before the store.
            work.task.poll()
        });
        match outcome {
            None => self.work = Some(work),
            Some(outcome) => self.known = Some((work.key, outcome.ok())),
        }
    }

    pub fn is_under_way(&self) -> bool {
        self.work.is_some()
    }

    /// Returns the newest value with its key, if any.
    pub fn newest(&self) -> Option<(&K, &T)> {
        self.known.as_ref().and_then(|(key, value)| Some((key, value.as_ref()?)))
    }
}
