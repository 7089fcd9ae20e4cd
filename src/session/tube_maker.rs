//! Tubes of response on their way, beside whatever a session reconstructs: simulated, found in a cache or read from a file, on
//! threads that let those of the solver and of the window go first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, bounded};

use super::threads::Threads;
use crate::data::{Notice, TubeSet};
use crate::io::saved_tubes::read_tubes;
use crate::montecarlo::TubeRecipe;
use crate::plan::{DeviceChoice, TubeCache};
use crate::scanner::Scanner;
use crate::task::Task;

/// Where tubes come from.
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
        cache: TubeCache,
    },
    /// A file.
    File(PathBuf),
}

/// Tubes that have come, and what the user should know; or why there are none.
pub type TubesCome = Result<(TubeSet, Vec<Notice>), String>;

/// A thread that makes or reads tubes. Dropping this ends its work.
#[derive(Debug)]
pub struct TubeMaker {
    source: TubeSource,
    task: Task,
    begun: Instant,
    outcome: Receiver<TubesCome>,
}

impl TubeMaker {
    /// Starts; `wake` is called when it is over.
    pub fn start(source: TubeSource, wake: impl Fn() + Send + 'static) -> Self {
        let (task, (sender, outcome)) = (Task::new(), bounded(1));
        let (work, of) = (task.clone(), source.clone());
        let spawned = Builder::new().name("tubes".into()).spawn(move || {
            let come = catch_unwind(AssertUnwindSafe(|| come(&of, &work)));
            let come = come.unwrap_or_else(|_| Err("there are no tubes of response: the program made a mistake".into()));
            // Nobody waits for them any more: they are dropped.
            let _ = sender.send(come);
            wake();
        });
        // Without a thread the channel is closed, which reads as a failure.
        drop(spawned);
        Self { source, task, begun: Instant::now(), outcome }
    }

    /// The tubes, or why there are none; `None` while they are under way.
    pub fn poll(&self) -> Option<TubesCome> {
        match self.outcome.try_recv() {
            Ok(come) => Some(come),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err("there are no tubes of response: no thread could be started".into())),
        }
    }

    /// Where they come from.
    pub fn source(&self) -> &TubeSource {
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

impl Drop for TubeMaker {
    fn drop(&mut self) {
        self.task.stop();
    }
}

fn come(source: &TubeSource, task: &Task) -> TubesCome {
    match source {
        TubeSource::Simulation { scanner, recipe, device, cache } => {
            let pool = Threads::new(true).pool(None)?;
            pool.install(|| cache.find_or_make(scanner, recipe, *device, task)).map_err(|error| error.to_string())
        }
        TubeSource::File(path) => read(path),
    }
}

fn read(path: &Path) -> TubesCome {
    let tubes = read_tubes(path).map_err(|error| error.to_string())?;
    Ok((tubes, vec![Notice::info(format!("tubes of response from {}", path.display()))]))
}
