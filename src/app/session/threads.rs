//! Thread pools: the solver's pool, which is made again for a run with another number of threads, and the global one.

use std::error::Error as _;
use std::num::NonZero;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};

use crate::coded::Problem;
use crate::text::counted;

/// Low priority on the scale 0 to 99 of the thread-priority package, on which 50 is normal: niceness 10 on Linux. The solver gets
/// about a tenth of a core that the window needs, and all of an idle one.
const LOW_PRIORITY: u8 = 22;

/// Owner of the solver's pool.
pub(super) struct Threads {
    low_priority: bool,
    pool: Option<Arc<ThreadPool>>,
}

impl Threads {
    pub fn new(low_priority: bool) -> Self {
        Self { low_priority, pool: None }
    }

    /// Returns a pool with this number of threads; all cores by default.
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

/// Returns a pool with this number of threads; all cores by default.
///
/// # Errors
/// The system refuses the threads, as a sentence.
pub fn thread_pool(num_threads: Option<usize>) -> Result<ThreadPool, Problem> {
    build(ThreadPoolBuilder::new(), num_threads.unwrap_or_else(num_cores).max(1))
}

/// Starts the global pool, which reads and writes files: one thread for each core, or fewer if the system refuses them. Call this
/// once, before any file is read: rayon would start the pool automatically, and panic after a refusal.
///
/// # Errors
/// The system refuses even one thread, as a sentence.
pub fn start_workers() -> Result<(), Problem> {
    let mut count = num_cores();
    loop {
        // A refused start of the global pool is final: each number is tried with another pool first.
        match thread_pool(Some(count)) {
            Ok(_) => break,
            Err(problem) if count == 1 => return Err(problem),
            Err(_) => count /= 2,
        }
    }
    match ThreadPoolBuilder::new().num_threads(count).build_global() {
        // The threads of the trial may still use the resources.
        Err(error) if error.source().is_some() => Err(refused(count, &error)),
        // Any other error means that the pool was started before.
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

/// Returns the number of cores that this process may use.
pub fn num_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Lowers the priority of the current thread, if the system allows it.
pub(super) fn lower_priority() {
    if let Ok(value) = ThreadPriorityValue::try_from(LOW_PRIORITY) {
        // Without it only the window is less fluid.
        let _ = set_current_thread_priority(ThreadPriority::Crossplatform(value));
    }
}
