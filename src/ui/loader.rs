//! Studies on their way: files read and phantoms scanned on a background thread, with progress and cancel.

use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::{Receiver, TryRecvError, bounded};

use super::scan_files::{ScanFiles, read_with_neighbours};
use crate::data::Study;
use crate::phantom::{self, Noise, SimulationOptions};
use crate::scanner;
use crate::session;
use crate::task::Task;

/// A phantom on a scanner that the program can simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltIn {
    /// Name for people.
    pub title: &'static str,
    /// The phantom's name on the command line.
    pub phantom: &'static str,
    /// The scanner's name on the command line.
    pub scanner: &'static str,
    /// Expected true counts.
    pub counts: f64,
    /// Voxels of the image along x, y, z; `None` = the scanner's default grid.
    pub size: Option<[usize; 3]>,
    /// Whether the phantom attenuates.
    pub attenuation: bool,
    /// Share of scatter and randoms in all counts.
    pub background_fraction: f64,
}

const PLAIN: BuiltIn = BuiltIn {
    title: "NEMA image quality 2001, Discovery STE",
    phantom: "nema-iq-2001",
    scanner: "discovery-ste",
    counts: 1e8,
    size: Some([256, 256, 47]),
    attenuation: false,
    background_fraction: 0.0,
};

/// The built-in studies; the first one opens where no other is asked for, the last one is the smallest.
pub const BUILT_IN: [BuiltIn; 8] = [
    PLAIN,
    BuiltIn {
        title: "NEMA image quality 2001 with attenuation and scatter",
        attenuation: true,
        background_fraction: 0.3,
        ..PLAIN
    },
    BuiltIn { title: "NEMA image quality 2018 (six hot spheres)", phantom: "nema-iq-2018", ..PLAIN },
    BuiltIn { title: "Derenzo rods, Discovery STE", phantom: "derenzo", counts: 5e7, ..PLAIN },
    BuiltIn { title: "Uniform cylinder, Discovery STE", phantom: "cylinder", counts: 3e7, ..PLAIN },
    BuiltIn { title: "Brain-like ellipsoids, Discovery STE", phantom: "brain-like", counts: 5e7, ..PLAIN },
    BuiltIn { title: "Points and lines, CTI PRT-1", phantom: "points", scanner: "prt-1", counts: 1e6, size: None, ..PLAIN },
    BuiltIn { title: "Small cylinder, small ring", phantom: "cylinder", scanner: "small", counts: 2e6, size: None, ..PLAIN },
];

/// What a study came from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A file, with the corrections that lie beside it.
    File(PathBuf),
    /// The open file again, with these corrections.
    Corrected(ScanFiles),
    /// A simulation.
    BuiltIn(BuiltIn),
}

impl Source {
    /// What is being done, in words.
    pub fn words(&self) -> String {
        match self {
            Source::File(path) | Source::Corrected(ScanFiles { measured: path, .. }) => format!("Reading {}", path.display()),
            Source::BuiltIn(study) => format!("Simulating {}", study.title),
        }
    }

    /// Voxels of the image along x, y, z; `None` = the scanner's default grid.
    pub fn size(&self) -> Option<[usize; 3]> {
        match self {
            Source::File(_) | Source::Corrected(_) => None,
            Source::BuiltIn(study) => study.size,
        }
    }
}

/// A study that has come.
pub struct Loaded {
    /// The study.
    pub study: Study,
    /// The files that it was read from; `None` for a simulation.
    pub files: Option<ScanFiles>,
}

/// A study that is being read or simulated.
pub struct Loading {
    /// Where it comes from.
    pub source: Source,
    /// Its progress and stop flag.
    pub task: Task,
    result: Receiver<Result<Loaded, String>>,
}

impl Loading {
    /// Starts on a thread; `wake` is called when it is over.
    pub fn start(source: Source, wake: impl Fn() + Send + 'static) -> Self {
        let task = Task::new();
        let (sender, result) = bounded(1);
        let (work, of) = (task.clone(), source.clone());
        let spawned = std::thread::Builder::new().name("study".into()).spawn(move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| load(&of, &work)));
            let outcome = outcome.unwrap_or_else(|_| Err("the study could not be opened: the program made a mistake".into()));
            // Nobody waits for it any more: the study is dropped.
            let _ = sender.send(outcome);
            wake();
        });
        // Without a thread the channel is closed, which reads as a failure.
        drop(spawned);
        Self { source, task, result }
    }

    /// The study or why there is none; `None` while it is under way.
    pub fn poll(&self) -> Option<Result<Loaded, String>> {
        match self.result.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err("the study could not be opened: no thread could be started".into())),
        }
    }

    /// Part done, where it is known.
    pub fn fraction(&self) -> Option<f32> {
        let (done, total) = self.task.progress();
        (total > 0).then(|| done as f32 / total as f32)
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.task.stop();
    }
}

fn load(source: &Source, task: &Task) -> Result<Loaded, String> {
    let (study, files) = match source {
        Source::File(path) => read_with_neighbours(path).map(|(study, files)| (study, Some(files)))?,
        Source::Corrected(files) => (files.read()?, Some(files.clone())),
        Source::BuiltIn(study) => (simulate(study, task)?, None),
    };
    Ok(Loaded { study, files })
}

fn simulate(study: &BuiltIn, task: &Task) -> Result<Study, String> {
    let scanner = scanner::find(study.scanner).ok_or_else(|| format!("there is no scanner '{}'", study.scanner))?;
    let phantom = phantom::by_name(study.phantom, &scanner.geometry).map_err(|error| error.to_string())?;
    let truth_grid = match study.size {
        Some(size) => Some(session::covering_grid(&scanner.geometry, size).map_err(|error| error.to_string())?),
        None => None,
    };
    let options = SimulationOptions {
        counts: study.counts,
        noise: Noise::Poisson,
        attenuation: study.attenuation,
        background_fraction: study.background_fraction,
        truth_grid,
        ..SimulationOptions::default()
    };
    phantom::simulate(&phantom, Arc::new(scanner.geometry.clone()), &options, task).map_err(|error| error.to_string())
}
