//! Processes that reconstruct together, on one machine or on several, as `mpirun` or `srun` starts them: the only user of MPI.
//!
//! Each process has all of the image and a shard of the data; they meet ([`Collective`]) where sums over the data are needed. One
//! separate thread makes all calls of MPI: a call waits for the other processes, even for lost ones, and threads that wait for it
//! can give up. The sum that has to be the same for any number of processes goes from one to the next (`chain`).

mod chain;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::request::{Request, Scope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _};

use crate::algebra::{BackendError, Collective, PeerGroup, Shard, Summand};

/// Environment variables of processes that MPI has started: Open MPI's, PMIx's, MPICH's and Slurm's with it.
const STARTED_BY_MPI: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID"];

/// Interval at which waiting threads check if they must give up.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time that an ending process waits for the others, which may be ending too: `mpirun` leaves about a second in all.
const PATIENCE: Duration = Duration::from_millis(200);

/// Time of polling without pauses for another process, and length of the pauses afterwards.
const SOON: Duration = Duration::from_millis(1);
const NAP: Duration = Duration::from_micros(50);

/// Message of a process to a meeting: it takes part, has left a run, or has finished, with this added to its exit code.
const TAKES_PART: i32 = 0;
const HAS_LEFT: i32 = 1;
const AT_THE_END: i32 = 2;

/// Pieces that are not in use.
#[derive(Clone, Debug, Default)]
struct Spare(Arc<Mutex<Vec<Vec<f32>>>>);

impl Spare {
    fn take(&self, len: usize) -> Vec<f32> {
        let mut piece = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        piece.resize(len, 0.0);
        piece
    }

    fn zeros(&self, len: usize) -> Vec<f32> {
        let mut piece = self.take(len);
        piece.fill(0.0);
        piece
    }

    fn copy(&self, values: &[f32]) -> Vec<f32> {
        let mut piece = self.take(values.len());
        piece.copy_from_slice(values);
        piece
    }

    fn put(&self, piece: Vec<f32>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
    }
}

/// Call that the thread of MPI makes.
type Call = Box<dyn FnOnce(&SimpleCommunicator) + Send>;

/// This process among the others.
pub struct Processes {
    calls: Mutex<Option<Sender<Call>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    shard: Shard,
    on_this_host: Shard,
    /// Process number of the first process, if it is on this host.
    first_pid: Option<i32>,
    spare: Spare,
    /// Returns true if this process must end.
    is_ending: fn() -> bool,
}

impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processes").field("shard", &self.shard).finish_non_exhaustive()
    }
}

impl Processes {
    /// Meets the others, if MPI has started this process with others. Once `is_ending` returns true this process must end and
    /// waits for no others.
    ///
    /// # Errors
    /// MPI does not start, as a sentence.
    pub fn start(is_ending: fn() -> bool) -> Result<Option<Arc<Self>>, String> {
        if STARTED_BY_MPI.iter().all(|name| std::env::var_os(name).is_none()) {
            return Ok(None);
        }
        let (calls, received) = unbounded::<Call>();
        let (sender, answer) = bounded(1);
        let work = move || {
            let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else { return };
            let world = universe.world();
            let shard_of = |comm: &SimpleCommunicator| Shard { index: comm.rank() as usize, count: comm.size() as usize };
            let host = world.split_shared(world.rank());
            let mut ranks_and_pids = vec![0_i32; 2 * host.size() as usize];
            host.all_gather_into(&[world.rank(), std::process::id() as i32][..], &mut ranks_and_pids[..]);
            let first_pid = ranks_and_pids.chunks(2).find(|process| process[0] == 0).map(|process| process[1]);
            let _ = sender.send(([shard_of(&world), shard_of(&host)], first_pid));
            for call in received {
                call(&world);
            }
        };
        let thread = Builder::new().name("mpi".into()).spawn(work).map_err(|error| {
            format!("the thread of MPI could not be started: {error}; allow this process more threads and memory (ulimit -u, ulimit -v)")
        })?;
        let ([shard, on_this_host], first_pid) = answer
            .recv()
            .map_err(|_| "MPI could not be started; look whether mpirun is of the library that the program was built with")?;
        let processes = Self {
            calls: Mutex::new(Some(calls)),
            thread: Mutex::new(Some(thread)),
            shard,
            on_this_host,
            first_pid,
            spare: Spare::default(),
            is_ending,
        };
        if shard.count == 1 {
            processes.finalize();
            return Ok(None);
        }
        Ok(Some(Arc::new(processes)))
    }

    /// Which of the processes this one is.
    pub fn shard(&self) -> Shard {
        self.shard
    }

    /// Which of those on this host this one is.
    pub fn on_this_host(&self) -> Shard {
        self.on_this_host
    }

    /// Returns true if this process is the second, and the first was on this host and has ended.
    pub fn first_is_lost(&self) -> bool {
        let has_ended = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            // Its state follows its name, which is in brackets: Z if its exit code has not been read.
            stat.map_or(true, |stat| stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with('Z')))
        };
        self.shard.index == 1 && std::path::Path::new("/proc/self/stat").exists() && self.first_pid.is_some_and(has_ended)
    }

    /// This process's place in the group of all.
    pub fn group(self: &Arc<Self>) -> PeerGroup {
        PeerGroup::of(Arc::clone(self) as Arc<dyn Collective>)
    }

    /// Waits for the others at the end of all work: the largest exit code of all. `None` where they are no longer waited for.
    pub fn end(&self, exit_code: u8) -> Option<u8> {
        loop {
            let messages = self.answer(&self.ask(move |world| all_say(world, AT_THE_END + i32::from(exit_code)))).ok()?;
            // Who was still at work when this one came has learnt of it, and comes later.
            if messages.min >= AT_THE_END {
                self.finalize();
                return u8::try_from(messages.max - AT_THE_END).ok();
            }
        }
    }

    fn finalize(&self) {
        // Without calls to come the thread ends, and MPI with it.
        drop(self.calls.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }

    /// Has something done by the thread of MPI, after all that it was asked before.
    fn ask<T: Send + 'static>(&self, call: impl FnOnce(&SimpleCommunicator) -> T + Send + 'static) -> Receiver<T> {
        let (sender, answer) = bounded(1);
        let call = Box::new(move |world: &SimpleCommunicator| {
            // The receiver may no longer wait for it.
            let _ = sender.send(call(world));
        });
        if let Some(calls) = &*self.calls.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = calls.send(call);
        }
        answer
    }

    /// Waits for an answer, but not for long once this process must end.
    fn answer<T>(&self, answer: &Receiver<T>) -> Result<T, BackendError> {
        let mut ending_since: Option<Instant> = None;
        loop {
            match answer.recv_timeout(POLL_INTERVAL) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(BackendError::PeerAborted),
                Err(RecvTimeoutError::Timeout) if (self.is_ending)() => {
                    if ending_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                        return Err(BackendError::PeerAborted);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Waits for the other processes.
fn finish<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>) {
    let since = Instant::now();
    while let Err(not_yet) = request.test() {
        request = not_yet;
        pause(since);
    }
}

/// Pauses between two polls of a request that waits since then. The core is free meanwhile: MPI's own way to wait would keep it
/// from the solver, and from other processes if they outnumber the cores.
fn pause(since: Instant) {
    match since.elapsed() < SOON {
        true => std::thread::yield_now(),
        false => std::thread::sleep(NAP),
    }
}

/// Smallest and largest message of all processes.
struct Messages {
    min: i32,
    max: i32,
}

fn all_say(world: &SimpleCommunicator, own: i32) -> Messages {
    let (own, mut max) = ([own, -own], [0; 2]);
    scope(|s| finish(world.immediate_all_reduce_into(s, &own[..], &mut max[..], SystemOperation::max())));
    Messages { min: -max[1], max: max[0] }
}

/// Checks that all take part.
fn all_take_part(world: &SimpleCommunicator) -> Result<(), BackendError> {
    if all_say(world, TAKES_PART).max == TAKES_PART { Ok(()) } else { Err(BackendError::PeerAborted) }
}

impl Collective for Processes {
    fn shard(&self) -> Shard {
        self.shard
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>, BackendError> {
        let (own, count) = (values.to_vec(), self.shard.count);
        let gathered = self.ask(move |world| -> Result<Vec<f64>, BackendError> {
            all_take_part(world)?;
            let mut all = vec![0.0_f64; own.len() * count];
            if !own.is_empty() {
                scope(|s| finish(world.immediate_all_gather_into(s, &own[..], &mut all[..])));
            }
            Ok(all)
        });
        self.answer(&gathered)?
    }

    fn sum_in_order(&self, own: &mut dyn Summand) -> Result<(), BackendError> {
        self.answer(&self.ask(all_take_part))??;
        let (is_first, is_last) = (self.shard.index == 0, self.shard.index + 1 == self.shard.count);
        for batch in chain::batches(own.len()) {
            let (carrier, ends) = chain::chain(batch.clone(), self.shard, self.spare.clone());
            let carried = self.ask(move |world| carrier.run(world));
            for range in chain::pieces(batch.clone()) {
                let mut piece = if is_first { self.spare.zeros(range.len()) } else { self.answer(&ends.come)? };
                own.add_to(range.start, &mut piece);
                if is_last {
                    own.set(range.start, &piece);
                }
                // If its thread has ended the next answer is an error.
                let _ = ends.added.send(piece);
            }
            for range in chain::pieces(batch).filter(|_| !is_last) {
                let whole = self.answer(&ends.wholes)?;
                own.set(range.start, &whole);
                self.spare.put(whole);
            }
            self.answer(&carried)?;
        }
        Ok(())
    }

    fn sum_integers(&self, values: &mut [u64]) -> Result<(), BackendError> {
        let own = values.to_vec();
        let sum = self.ask(move |world| -> Result<Vec<u64>, BackendError> {
            all_take_part(world)?;
            let mut sum = vec![0_u64; own.len()];
            scope(|s| finish(world.immediate_all_reduce_into(s, &own[..], &mut sum[..], SystemOperation::sum())));
            Ok(sum)
        });
        values.copy_from_slice(&self.answer(&sum)??);
        Ok(())
    }

    fn leave(&self, _: bool) {
        // Lost processes do not receive it.
        let _ = self.answer(&self.ask(|world| all_say(world, HAS_LEFT)));
    }

    /// Nothing has to be done: all have met when one left.
    fn begin_again(&self) {}

    fn is_ending(&self) -> bool {
        (self.is_ending)()
    }
}
