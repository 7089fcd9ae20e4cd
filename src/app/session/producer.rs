//! Data that are made or read in parallel with a session, on threads of low priority: tubes of response from a simulation, a cache
//! or a file, and system matrices from files.

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

pub trait Source: Clone + Send + 'static {
    type Product: Send + 'static;

    /// Text for a missing product, as the beginning of a sentence.
    const NONE: &'static str;

    /// Makes or reads the product.
    ///
    /// # Errors
    /// Reason of the failure, as a sentence.
    fn produce(&self, task: &Task) -> Outcome<Self::Product>;
}

/// Product with notices to the user, or the reason of the failure.
pub type Outcome<T> = Result<(T, Vec<Notice>), String>;

/// Background work that makes or reads a product. Dropping it ends the work.
#[derive(Debug)]
pub struct Producer<S: Source> {
    source: S,
    work: BackgroundTask<Outcome<S::Product>>,
}

impl<S: Source> Producer<S> {
    /// Starts the work; `wake` is called at its end.
    pub fn start(source: S, wake: impl FnOnce() + Send + 'static) -> Self {
        let of = source.clone();
        Self { source, work: BackgroundTask::start("maker", wake, move |task| of.produce(task)) }
    }

    /// Returns the outcome; `None` during the work.
    pub fn poll(&self) -> Option<Outcome<S::Product>> {
        Some(self.work.poll()?.unwrap_or_else(|failure| Err(format!("{}: {failure}", S::NONE))))
    }

    pub fn source(&self) -> &S {
        &self.source
    }

    /// Returns the completed fraction, if known.
    pub fn fraction(&self) -> Option<f32> {
        self.work.fraction()
    }

    pub fn remaining(&self) -> Option<Duration> {
        self.work.remaining()
    }
}

#[derive(Clone, Debug)]
pub enum TubeSource {
    /// Simulation, unless the cache has its result.
    Simulation {
        scanner: &'static Scanner,
        recipe: TubeRecipe,
        device: DeviceChoice,
        cache: Cache,
    },
    File(PathBuf),
}

impl Source for TubeSource {
    type Product = TubeSet;

    const NONE: &'static str = "there are no tubes of response";

    fn produce(&self, task: &Task) -> Outcome<TubeSet> {
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

#[derive(Clone, Debug)]
pub struct MatrixFile(pub PathBuf);

impl Source for MatrixFile {
    type Product = ResponseMatrix;

    const NONE: &'static str = "there is no matrix";

    fn produce(&self, _: &Task) -> Outcome<ResponseMatrix> {
        let matrix = read_matrix(&self.0).map_err(|error| error.to_string())?;
        Ok((matrix, vec![from_file("the matrix", &self.0)]))
    }
}

fn from_file(what: &str, path: &Path) -> Notice {
    Notice::info(format!("{what} from {}", path.display()))
}
