//! Threads: the solver's own pool, made again when a run asks for another number of them, and the one that everything else uses.

use std::error::Error as _;
use std::num::NonZero;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};

use crate::coded::Problem;
use crate::text::counted;

/// On the scale 0 to 99 of the thread-priority package, on which 50 is usual: niceness 10 on Linux, which leaves the
/// solver about a tenth of a core that a window wants for itself and all of one that nobody wants.
const LOW_PRIORITY: u8 = 22;

/// Maker and keeper of the pool.
pub(super) struct Threads {
    low_priority: bool,
    pool: Option<Arc<ThreadPool>>,
}

impl Threads {
    pub fn new(low_priority: bool) -> Self {
        Self { low_priority, pool: None }
    }

    /// A pool of so many threads; all cores by default.
    ///
    /// # Errors
    /// The system refuses the threads, as a sentence.
    pub fn pool(&mut self, num_threads: Option<usize>) -> Result<Arc<ThreadPool>, Problem> {
        let count = num_threads.unwrap_or_else(num_cores).max(1);
        if let Some(pool) = self.pool.as_ref().filter(|pool| pool.current_num_threads() == count) {
            return Ok(Arc::clone(pool));
        }
        let low_priority = self.low_priority;
        let builder = ThreadPoolBuilder::new().thread_name(|index| format!("solver {index}")).start_handler(move |_| {
            if low_priority {
                lower_priority();
            }
        });
        let pool = Arc::new(build(builder, count)?);
        self.pool = Some(Arc::clone(&pool));
        Ok(pool)
    }
}

/// A pool of so many threads; all cores by default.
///
/// # Errors
/// The system refuses the threads, as a sentence.
pub fn thread_pool(num_threads: Option<usize>) -> Result<ThreadPool, Problem> {
    build(ThreadPoolBuilder::new(), num_threads.unwrap_or_else(num_cores).max(1))
}

/// Starts the pool that files are read and written with: a thread for each core, or for fewer where the system grants no more.
/// To be called once, before any of that is done: rayon would start it by itself, and panic where it cannot.
///
/// # Errors
/// The system refuses even one thread, as a sentence.
pub fn start_workers() -> Result<(), Problem> {
    let mut count = num_cores();
    loop {
        // A refused attempt to start the pool is final: each is tried with a pool of its own first.
        match thread_pool(Some(count)) {
            Ok(_) => break,
            Err(problem) if count == 1 => return Err(problem),
            Err(_) => count /= 2,
        }
    }
    match ThreadPoolBuilder::new().num_threads(count).build_global() {
        // The threads of the trial may still hold what these need.
        Err(error) if error.source().is_some() => Err(refused(count, &error)),
        // Any other error is that the pool is there already.
        _ => Ok(()),
    }
}

fn build(builder: ThreadPoolBuilder, count: usize) -> Result<ThreadPool, Problem> {
    builder.num_threads(count).build().map_err(|error| refused(count, &error))
}

fn refused(count: usize, error: &ThreadPoolBuildError) -> Problem {
    let text = format!(
        "{} could not be started: {error}; ask for fewer (--threads), or allow this process more threads and \
         memory (ulimit -u, ulimit -v)",
        counted(count, "thread")
    );
    Problem::new("threads", text)
}

/// Number of cores that this process may use.
pub fn num_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Lets other threads go before the current one, where the system allows it.
pub(super) fn lower_priority() {
    if let Ok(value) = ThreadPriorityValue::try_from(LOW_PRIORITY) {
        // Without it the solver works all the same, only less politely.
        let _ = set_current_thread_priority(ThreadPriority::Crossplatform(value));
    }
}
