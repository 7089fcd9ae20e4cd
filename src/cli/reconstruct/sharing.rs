//! Reconstructions side by side share the machine: each has its part of the processor's threads, they read one after the other, and
//! one whose memory is not free waits for it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cli::shared::console::remark;
use crate::cli::shared::signals;
use crate::plan::{Forecast, Job, SetupError, forecast};
use crate::text::bytes;

/// How often who waits for memory looks whether others have given some back.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// What those share that reconstruct side by side.
#[derive(Debug, Default)]
pub struct Sharing {
    num_workers: usize,
    /// Held by who reads, and until there is room for what was read: no more than one waits with its data in memory.
    reading: Mutex<()>,
    under_way: Mutex<Vec<Held>>,
    given_back: Condvar,
}

/// Memory of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    device: String,
    bytes: u64,
    /// What was free when the first of them began.
    free_bytes: u64,
}

/// Memory that a run may use, until this is dropped.
pub struct Holding<'a> {
    sharing: &'a Sharing,
    held: Option<Held>,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let mut under_way = self.sharing.under_way();
        if let Some(place) = self.held.as_ref().and_then(|held| under_way.iter().position(|other| other == held)) {
            under_way.swap_remove(place);
        }
        self.sharing.given_back.notify_all();
    }
}

impl Sharing {
    /// Of so many that work at the same time.
    pub fn of(num_workers: usize) -> Self {
        Self { num_workers, ..Self::default() }
    }

    /// Threads of a worker, of so many in all.
    pub fn threads(&self, worker: usize, all: usize) -> usize {
        let workers = self.num_workers.max(1);
        (all / workers + usize::from(worker < all % workers)).max(1)
    }

    fn under_way(&self) -> MutexGuard<'_, Vec<Held>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody else reads. Until this is dropped nobody else does.
    pub fn read_alone(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the memory that a job needs is free beside that of the others; `None` where a signal came first.
    pub fn hold(&self, job: &Job) -> Option<Holding<'_>> {
        if self.num_workers <= 1 {
            return (self.num_workers == 0 || !signals::have_come()).then_some(Holding { sharing: self, held: None });
        }
        let mut is_told = false;
        loop {
            if signals::have_come() {
                return None;
            }
            let need = forecast(job, None);
            let mut under_way = self.under_way();
            match place_for(need.as_ref(), &under_way) {
                Ok(held) => {
                    under_way.extend(held.clone());
                    return Some(Holding { sharing: self, held });
                }
                Err(needed_bytes) if !is_told => {
                    remark!("waits until {} of memory are free", bytes(needed_bytes));
                    is_told = true;
                }
                Err(_) => {}
            }
            drop(self.given_back.wait_timeout(under_way, POLL_INTERVAL));
        }
    }
}

/// What a run may hold beside those that are under way, or how much it has to wait for. What is refused for another reason than memory,
/// or with nobody to wait for, begins and says so itself.
fn place_for(need: Result<&Forecast, &SetupError>, under_way: &[Held]) -> Result<Option<Held>, u64> {
    match need {
        Ok(Forecast { memory_bytes, device, free_bytes, .. }) => {
            let others: Vec<&Held> = under_way.iter().filter(|held| held.device == *device).collect();
            // Memory that was promised is not always taken yet: what is free now tells too little, what was free before all of them not.
            let free_bytes = others.first().map_or(free_bytes.unwrap_or(u64::MAX), |held| held.free_bytes);
            let promised: u64 = others.iter().map(|held| held.bytes).sum();
            if !others.is_empty() && promised.saturating_add(*memory_bytes) > free_bytes {
                return Err(*memory_bytes);
            }
            Ok(Some(Held { device: device.clone(), bytes: *memory_bytes, free_bytes }))
        }
        Err(SetupError::Memory { needed_bytes, .. }) if !under_way.is_empty() => Err(*needed_bytes),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SetupProblem;

    fn need(device: &str, memory_bytes: u64, free_bytes: u64) -> Forecast {
        Forecast { memory_bytes, device: device.into(), projector: String::new(), free_bytes: Some(free_bytes) }
    }

    #[test]
    fn memory_that_is_promised_is_not_promised_again() {
        let cpu = need("CPU", 40, 100);
        let first = place_for(Ok(&cpu), &[]).unwrap().unwrap();
        // It has taken nothing yet, or all: the second fits, a third does not, on another device it does.
        for free_now in [100, 60] {
            let second = place_for(Ok(&need("CPU", 40, free_now)), std::slice::from_ref(&first)).unwrap().unwrap();
            let both = [first.clone(), second];
            assert_eq!(place_for(Ok(&need("CPU", 40, free_now)), &both), Err(40));
            assert!(place_for(Ok(&need("CPU", 20, free_now)), &both).is_ok());
            assert!(place_for(Ok(&need("GPU", 40, 50)), &both).is_ok());
        }
    }

    #[test]
    fn too_little_memory_is_waited_for_only_where_some_will_be_given_back() {
        let refusal = SetupError::Memory { needed_bytes: 90, free_bytes: 80, gpu: None, has_subsets: false };
        let other = Held { device: "CPU".into(), bytes: 10, free_bytes: 100 };
        assert_eq!(place_for(Err(&refusal), std::slice::from_ref(&other)), Err(90));
        assert_eq!(place_for(Err(&refusal), &[]), Ok(None));
        assert_eq!(place_for(Err(&SetupProblem::Iterations.into()), &[other]), Ok(None));
    }

    #[test]
    fn threads_are_shared_out() {
        let threads = |workers: usize, all: usize| (0..workers).map(|k| Sharing::of(workers).threads(k, all)).collect::<Vec<_>>();
        assert_eq!(threads(3, 8), [3, 3, 2]);
        assert_eq!(threads(4, 2), [1, 1, 1, 1]);
        assert_eq!(threads(1, 5), [5]);
    }
}
