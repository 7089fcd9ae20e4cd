//! What takes a while to come, beside whatever a session reconstructs: tubes of response that are simulated, found in a cache or read
//! from a file, and stored matrices out of files; on threads that let those of the solver and of the window go first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::threads::Threads;
use crate::data::{Notice, ResponseMatrix, TubeSet};
use crate::io::saved_matrix::read_matrix;
use crate::io::saved_tubes::read_tubes;
use crate::montecarlo::TubeRecipe;
use crate::plan::{Cache, DeviceChoice};
use crate::scanner::Scanner;
use crate::task::{BackgroundTask, Task};

/// Where something comes from.
pub trait Source: Clone + Send + 'static {
    /// What comes.
    type Product: Send + 'static;

    /// That there is none, as the beginning of a sentence.
    const NONE: &'static str;

    /// Makes or reads it.
    ///
    /// # Errors
    /// Why there is none, as a sentence.
    fn bring(&self, task: &Task) -> Outcome<Self::Product>;
}

/// What has come, and what the user should know; or why there is none.
pub type Outcome<T> = Result<(T, Vec<Notice>), String>;

/// Work in the background that makes or reads something. Dropping this ends it.
#[derive(Debug)]
pub struct Producer<S: Source> {
    source: S,
    work: BackgroundTask<Outcome<S::Product>>,
}

impl<S: Source> Producer<S> {
    /// Starts; `wake` is called when it is over.
    pub fn start(source: S, wake: impl FnOnce() + Send + 'static) -> Self {
        let of = source.clone();
        Self { source, work: BackgroundTask::start("maker", wake, move |task| of.bring(task)) }
    }

    /// Returns what has come, or why there is none; `None` while it is under way.
    pub fn poll(&self) -> Option<Outcome<S::Product>> {
        Some(self.work.poll()?.unwrap_or_else(|failure| Err(format!("{}: {failure}", S::NONE))))
    }

    /// Where it comes from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The part that is done, where it is known.
    pub fn fraction(&self) -> Option<f32> {
        self.work.fraction()
    }

    /// How long it will take still, where that can be told.
    pub fn remaining(&self) -> Option<Duration> {
        self.work.remaining()
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
    type Product = TubeSet;

    const NONE: &'static str = "there are no tubes of response";

    fn bring(&self, task: &Task) -> Outcome<TubeSet> {
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
    type Product = ResponseMatrix;

    const NONE: &'static str = "there is no matrix";

    fn bring(&self, _: &Task) -> Outcome<ResponseMatrix> {
        let matrix = read_matrix(&self.0).map_err(|error| error.to_string())?;
        Ok((matrix, vec![from_file("the matrix", &self.0)]))
    }
}

fn from_file(what: &str, path: &Path) -> Notice {
    Notice::info(format!("{what} from {}", path.display()))
}
