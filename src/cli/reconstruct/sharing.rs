//! Simultaneous reconstructions share the computer: each has its part of the CPU threads, they read one after the other, and each
//! waits for its memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cli::shared::console::remark;
use crate::cli::shared::signals;
use crate::plan::{Forecast, Job, SetupError, forecast};
use crate::text::bytes;

/// Interval between looks for free memory.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Resources that simultaneous reconstructions share.
#[derive(Debug, Default)]
pub struct Sharing {
    num_workers: usize,
    /// Held from the beginning of reading until there is memory for the run: at most one job waits with its data in memory.
    reading: Mutex<()>,
    running: Mutex<Vec<Held>>,
    released: Condvar,
}

/// Memory of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    device: String,
    bytes: u64,
    /// Free memory at the beginning of the first of them.
    free_bytes: u64,
}

/// Memory of a run, until this is dropped.
pub struct Holding<'a> {
    sharing: &'a Sharing,
    held: Option<Held>,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let mut running = self.sharing.running();
        if let Some(index) = self.held.as_ref().and_then(|held| running.iter().position(|other| other == held)) {
            running.swap_remove(index);
        }
        self.sharing.released.notify_all();
    }
}

impl Sharing {
    /// Returns the resources of a number of workers.
    pub fn of(num_workers: usize) -> Self {
        Self { num_workers, ..Self::default() }
    }

    /// Returns the number of threads of a worker, from the total.
    pub fn threads(&self, worker: usize, all: usize) -> usize {
        let workers = self.num_workers.max(1);
        (all / workers + usize::from(worker < all % workers)).max(1)
    }

    fn running(&self) -> MutexGuard<'_, Vec<Held>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other job reads. Until this is dropped, none does.
    pub fn lock_reading(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the memory that a job needs is free; `None` if a signal came first.
    pub fn hold(&self, job: &Job) -> Option<Holding<'_>> {
        if self.num_workers <= 1 {
            return (self.num_workers == 0 || !signals::have_come()).then_some(Holding { sharing: self, held: None });
        }
        let mut is_reported = false;
        loop {
            if signals::have_come() {
                return None;
            }
            let forecast_of = forecast(job, None);
            let mut running = self.running();
            match reserve(forecast_of.as_ref(), &running) {
                Ok(held) => {
                    running.extend(held.clone());
                    return Some(Holding { sharing: self, held });
                }
                Err(needed_bytes) if !is_reported => {
                    remark!("waits until {} of memory are free", bytes(needed_bytes));
                    is_reported = true;
                }
                Err(_) => {}
            }
            drop(self.released.wait_timeout(running, POLL_INTERVAL));
        }
    }
}

/// Returns the memory that a run may use next to the current ones, or the amount to wait for. A job that is refused for another
/// reason than memory, or with no current ones, begins and reports the refusal itself.
fn reserve(forecast_of: Result<&Forecast, &SetupError>, running: &[Held]) -> Result<Option<Held>, u64> {
    match forecast_of {
        Ok(Forecast { memory_bytes, device, free_bytes, .. }) => {
            let others: Vec<&Held> = running.iter().filter(|held| held.device == *device).collect();
            // Promised memory is not always in use yet: the present free memory shows too little of it, that before all runs
            // shows all.
            let free_bytes = others.first().map_or(free_bytes.unwrap_or(u64::MAX), |held| held.free_bytes);
            let promised: u64 = others.iter().map(|held| held.bytes).sum();
            if !others.is_empty() && promised.saturating_add(*memory_bytes) > free_bytes {
                return Err(*memory_bytes);
            }
            Ok(Some(Held { device: device.clone(), bytes: *memory_bytes, free_bytes }))
        }
        Err(SetupError::Memory { needed_bytes, .. }) if !running.is_empty() => Err(*needed_bytes),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SetupProblem;

    fn forecast_of(device: &str, memory_bytes: u64, free_bytes: u64) -> Forecast {
        Forecast { memory_bytes, device: device.into(), projector: String::new(), free_bytes: Some(free_bytes) }
    }

    #[test]
    fn memory_that_is_promised_is_not_promised_again() {
        let cpu = forecast_of("CPU", 40, 100);
        let first = reserve(Ok(&cpu), &[]).unwrap().unwrap();
        // It has taken nothing yet, or all: the second fits, a third does not, on another device it does.
        for free_now in [100, 60] {
            let second = reserve(Ok(&forecast_of("CPU", 40, free_now)), std::slice::from_ref(&first)).unwrap().unwrap();
            let both = [first.clone(), second];
            assert_eq!(reserve(Ok(&forecast_of("CPU", 40, free_now)), &both), Err(40));
            assert!(reserve(Ok(&forecast_of("CPU", 20, free_now)), &both).is_ok());
            assert!(reserve(Ok(&forecast_of("GPU", 40, 50)), &both).is_ok());
        }
    }

    #[test]
    fn too_little_memory_is_waited_for_only_where_some_will_be_given_back() {
        let refusal = SetupError::Memory { needed_bytes: 90, free_bytes: 80, gpu: None, has_subsets: false, tof_mash: None };
        let other = Held { device: "CPU".into(), bytes: 10, free_bytes: 100 };
        assert_eq!(reserve(Err(&refusal), std::slice::from_ref(&other)), Err(90));
        assert_eq!(reserve(Err(&refusal), &[]), Ok(None));
        assert_eq!(reserve(Err(&SetupProblem::Iterations.into()), &[other]), Ok(None));
    }

    #[test]
    fn threads_are_shared_out() {
        let threads = |workers: usize, all: usize| (0..workers).map(|k| Sharing::of(workers).threads(k, all)).collect::<Vec<_>>();
        assert_eq!(threads(3, 8), [3, 3, 2]);
        assert_eq!(threads(4, 2), [1, 1, 1, 1]);
        assert_eq!(threads(1, 5), [5]);
    }
}
