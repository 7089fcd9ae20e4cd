//! What takes a while to come, beside whatever a session reconstructs: tubes of response that are simulated, found in a cache or read
//! from a file, and stored matrices out of files; on threads that let those of the solver and of the window go first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, bounded};

use super::threads::Threads;
use crate::data::{Notice, ResponseMatrix, TubeSet};
use crate::io::saved_matrix::read_matrix;
use crate::io::saved_tubes::read_tubes;
use crate::montecarlo::TubeRecipe;
use crate::plan::{Cache, DeviceChoice};
use crate::scanner::Scanner;
use crate::task::Task;

/// Where something comes from.
pub trait Source: Clone + Send + 'static {
    /// What comes.
    type Made: Send + 'static;

    /// That there is none, as the beginning of a sentence.
    const NONE: &'static str;

    /// Makes or reads it.
    ///
    /// # Errors
    /// Why there is none, as a sentence.
    fn bring(&self, task: &Task) -> Come<Self::Made>;
}

/// What has come, and what the user should know; or why there is none.
pub type Come<T> = Result<(T, Vec<Notice>), String>;

/// A thread that makes or reads something. Dropping this ends its work.
#[derive(Debug)]
pub struct Maker<S: Source> {
    source: S,
    task: Task,
    begun: Instant,
    outcome: Receiver<Come<S::Made>>,
}

impl<S: Source> Maker<S> {
    /// Starts; `wake` is called when it is over.
    pub fn start(source: S, wake: impl Fn() + Send + 'static) -> Self {
        let (task, (sender, outcome)) = (Task::new(), bounded(1));
        let (work, of) = (task.clone(), source.clone());
        let spawned = Builder::new().name("maker".into()).spawn(move || {
            let come = catch_unwind(AssertUnwindSafe(|| of.bring(&work)));
            let come = come.unwrap_or_else(|_| Err(format!("{}: the program made a mistake", S::NONE)));
            // Nobody waits for it any more: it is dropped.
            let _ = sender.send(come);
            wake();
        });
        // Without a thread the channel is closed, which reads as a failure.
        drop(spawned);
        Self { source, task, begun: Instant::now(), outcome }
    }

    /// What has come, or why there is none; `None` while it is under way.
    pub fn poll(&self) -> Option<Come<S::Made>> {
        match self.outcome.try_recv() {
            Ok(come) => Some(come),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(format!("{}: no thread could be started", S::NONE))),
        }
    }

    /// Where it comes from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The part that is done, where it is known.
    pub fn fraction(&self) -> Option<f32> {
        self.task.fraction()
    }

    /// How long it will take still, where that can be told.
    pub fn remaining(&self) -> Option<Duration> {
        self.task.remaining(self.begun)
    }
}

impl<S: Source> Drop for Maker<S> {
    fn drop(&mut self) {
        self.task.stop();
    }
}

/// Where tubes of response come from.
#[derive(Clone, Debug)]
pub enum TubeSource {
    /// A simulation, unless the cache has its outcome already.
    Simulation {
        /// The scanner.
        scanner: &'static Scanner,
        /// What is simulated.
        recipe: TubeRecipe,
        /// Where.
        device: DeviceChoice,
        /// Where its outcome is kept.
        cache: Cache,
    },
    /// A file.
    File(PathBuf),
}

impl Source for TubeSource {
    type Made = TubeSet;

    const NONE: &'static str = "there are no tubes of response";

    fn bring(&self, task: &Task) -> Come<TubeSet> {
        match self {
            TubeSource::Simulation { scanner, recipe, device, cache } => {
                let pool = Threads::new(true).pool(None).map_err(|problem| problem.text)?;
                pool.install(|| cache.tubes(scanner, recipe, *device, task)).map_err(|error| error.to_string())
            }
            TubeSource::File(path) => {
                let tubes = read_tubes(path).map_err(|error| error.to_string())?;
                Ok((tubes, vec![from_file("tubes of response", path)]))
            }
        }
    }
}

/// A stored matrix in a file.
#[derive(Clone, Debug)]
pub struct MatrixFile(pub PathBuf);

impl Source for MatrixFile {
    type Made = ResponseMatrix;

    const NONE: &'static str = "there is no matrix";

    fn bring(&self, _: &Task) -> Come<ResponseMatrix> {
        let matrix = read_matrix(&self.0).map_err(|error| error.to_string())?;
        Ok((matrix, vec![from_file("the matrix", &self.0)]))
    }
}

fn from_file(what: &str, path: &Path) -> Notice {
    Notice::info(format!("{what} from {}", path.display()))
}
