//! Where threads of one process meet; one of them goes out to other processes for all, where there are some.

use std::fmt::{Debug, Formatter};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::BackendError;
use super::collective::{Collective, Shard, Summand};

/// Time for which a waiting member polls before it sleeps: the others are usually a few microseconds behind, and waking up takes
/// longer.
const LOOK_FOR: Duration = Duration::from_micros(200);

/// Releases those who wait for a member that has failed.
pub(super) type LetGo = Box<dyn Fn() + Send + Sync>;

/// Returns the places of `count` threads, which meet those of other processes `beyond`.
///
/// # Errors
/// Another process has left or is out of reach.
pub(super) fn places(
    count: usize,
    beyond: Option<Arc<dyn Collective>>,
    let_go: LetGo,
) -> Result<Vec<Arc<dyn Collective>>, BackendError> {
    let beyond = beyond.map(|meeting| Beyond::new(meeting, count)).transpose()?;
    let all = beyond.as_ref().map_or(Shard { index: 0, count }, |beyond| beyond.first_shard());
    let rendezvous = Arc::new(Rendezvous {
        count,
        state: Mutex::new(State { values: vec![Vec::new(); count], ..State::default() }),
        changed: Condvar::new(),
        round: AtomicU64::new(0),
        sum: Mutex::default(),
        integers: Mutex::default(),
        beyond,
        let_go,
    });
    let place = |rank| {
        let shard = Shard { index: all.index + rank, count: all.count };
        Arc::new(Member { rendezvous: Arc::clone(&rendezvous), rank, shard }) as Arc<dyn Collective>
    };
    Ok((0..count).map(place).collect())
}

/// The other processes.
#[derive(Debug)]
struct Beyond {
    meeting: Arc<dyn Collective>,
    /// Threads of each process.
    counts: Vec<usize>,
}

impl Beyond {
    fn new(meeting: Arc<dyn Collective>, count: usize) -> Result<Self, BackendError> {
        let counts = meeting.gather(&[count as f64])?.into_iter().map(|count| count as usize).collect();
        Ok(Self { meeting, counts })
    }

    /// Returns the first shard of this process.
    fn first_shard(&self) -> Shard {
        let before = self.counts.iter().take(self.meeting.shard().index).sum();
        Shard { index: before, count: self.counts.iter().sum() }
    }

    /// Gathers the values of the threads of all processes from those of this one's.
    fn gather(&self, mut own: Vec<f64>) -> Result<Vec<f64>, BackendError> {
        let (width, most) = (own.len() / self.counts[self.meeting.shard().index], self.counts.iter().max().unwrap_or(&1));
        // Equally many values of each process: those with fewer threads fill up.
        own.resize(width * most, 0.0);
        let all = self.meeting.gather(&own)?;
        let of_processes = all.chunks((width * most).max(1)).zip(&self.counts);
        Ok(of_processes.flat_map(|(values, count)| &values[..width * count]).copied().collect())
    }
}

/// Threads of one process meet here.
struct Rendezvous {
    count: usize,
    state: Mutex<State>,
    changed: Condvar,
    /// That of the state, to be looked at without the lock.
    round: AtomicU64,
    /// Sums that are made in turns.
    sum: Mutex<Vec<f32>>,
    integers: Mutex<Vec<u64>>,
    beyond: Option<Beyond>,
    let_go: LetGo,
}

#[derive(Debug, Default)]
struct State {
    /// Meetings so far.
    round: u64,
    num_arrived: usize,
    values: Vec<Vec<f64>>,
    /// Values of the last meeting.
    gathered: Arc<Vec<f64>>,
    has_left: bool,
}

impl Debug for Rendezvous {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rendezvous").field("count", &self.count).field("beyond", &self.beyond).finish_non_exhaustive()
    }
}

impl Rendezvous {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits for the others: what all brought, as the last one to come made of it.
    fn meet(
        &self,
        rank: usize,
        values: &[f64],
        last: impl FnOnce(Vec<f64>) -> Result<Vec<f64>, BackendError>,
    ) -> Result<Arc<Vec<f64>>, BackendError> {
        let mut state = self.state();
        if state.has_left {
            return Err(BackendError::PeerAborted);
        }
        let round = state.round;
        state.values[rank].clear();
        state.values[rank].extend_from_slice(values);
        state.num_arrived += 1;
        if state.num_arrived == self.count {
            let gathered = last(state.values.concat());
            state.has_left = gathered.is_err();
            if let Ok(gathered) = &gathered {
                (state.num_arrived, state.round) = (0, round + 1);
                state.gathered = Arc::new(gathered.clone());
                self.round.store(round + 1, Ordering::Release);
            }
            self.changed.notify_all();
            return gathered.map(|_| Arc::clone(&state.gathered));
        }
        drop(state);
        let begin = Instant::now();
        while self.round.load(Ordering::Acquire) == round && begin.elapsed() < LOOK_FOR {
            std::hint::spin_loop();
        }
        let mut state = self.state();
        while state.round == round && !state.has_left {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // A completed meeting has all values, even if a member has left since.
        if state.round == round { Err(BackendError::PeerAborted) } else { Ok(Arc::clone(&state.gathered)) }
    }

    /// Every thread does its work on something that all share, one after the other, and the last one goes out with it. Before the
    /// next all have to have looked at it.
    fn in_turns<T: Default>(
        &self,
        rank: usize,
        shared: &Mutex<T>,
        work: impl FnOnce(&mut T),
        go_out: impl FnOnce(&dyn Collective, &mut T) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        let wait = || self.meet(rank, &[], Ok);
        for _ in 0..rank {
            wait()?;
        }
        work(&mut lock(shared));
        for _ in rank + 1..self.count {
            wait()?;
        }
        self.meet(rank, &[], |nothing| {
            self.beyond.as_ref().map_or(Ok(()), |beyond| go_out(&*beyond.meeting, &mut lock(shared)))?;
            Ok(nothing)
        })?;
        Ok(())
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Place of a member.
#[derive(Debug)]
struct Member {
    rendezvous: Arc<Rendezvous>,
    rank: usize,
    shard: Shard,
}

impl Collective for Member {
    fn shard(&self) -> Shard {
        self.shard
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>, BackendError> {
        let last = |own| match &self.rendezvous.beyond {
            None => Ok(own),
            Some(beyond) => beyond.gather(own),
        };
        Ok(self.rendezvous.meet(self.rank, values, last)?.to_vec())
    }

    fn sum_in_order(&self, own: &mut dyn Summand) -> Result<(), BackendError> {
        let work = |shared: &mut Vec<f32>| {
            if self.rank == 0 {
                shared.clear();
                shared.resize(own.len(), 0.0);
            }
            own.add_to(0, shared);
        };
        let go_out = |meeting: &dyn Collective, shared: &mut Vec<f32>| meeting.sum_in_order(&mut &mut shared[..]);
        self.rendezvous.in_turns(self.rank, &self.rendezvous.sum, work, go_out)?;
        own.set(0, &lock(&self.rendezvous.sum));
        self.rendezvous.meet(self.rank, &[], Ok).map(drop)
    }

    fn sum_integers(&self, values: &mut [u64]) -> Result<(), BackendError> {
        let (rank, own) = (self.rank, values.to_vec());
        let work = |shared: &mut Vec<u64>| {
            if rank == 0 {
                *shared = own;
            } else {
                shared.iter_mut().zip(&own).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
            }
        };
        self.rendezvous.in_turns(rank, &self.rendezvous.integers, work, |meeting, shared| meeting.sum_integers(shared))?;
        values.copy_from_slice(&lock(&self.rendezvous.integers));
        self.rendezvous.meet(rank, &[], Ok).map(drop)
    }

    fn leave(&self, has_failed: bool) {
        let has_left = std::mem::replace(&mut self.rendezvous.state().has_left, true);
        self.rendezvous.changed.notify_all();
        if has_failed {
            (self.rendezvous.let_go)();
        }
        if let Some(beyond) = self.rendezvous.beyond.as_ref().filter(|_| !has_left) {
            beyond.meeting.leave(has_failed);
        }
    }

    fn begin_again(&self) {
        let mut state = self.rendezvous.state();
        (state.has_left, state.num_arrived) = (false, 0);
        if let Some(beyond) = &self.rendezvous.beyond {
            beyond.meeting.begin_again();
        }
    }

    fn is_ending(&self) -> bool {
        self.rendezvous.beyond.as_ref().is_some_and(|beyond| beyond.meeting.is_ending())
    }
}
