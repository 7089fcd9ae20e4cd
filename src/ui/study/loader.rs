//! Studies on their way: files read and phantoms scanned on a background thread, with progress and cancel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::data::{Counts, Study, Sweep};
use crate::io::list_mode::ListFollower;
use crate::io::{self, FileKind, SweepFollower, open_list_mode};
use crate::operator::grid_about_zero;
use crate::phantom::{self, Noise, SimulationOptions, epri};
use crate::plan::{self, Acquisition, Data, EventAccumulator, ListFiles, ListSelection, StudyFiles, SweepFiles};
use crate::scanner::epri::Order;
use crate::scanner::{self, Scanner};
use crate::session::wire::{Remote, StudyHead};
use crate::task::{BackgroundTask, Task};

/// A phantom that the program can simulate a study of.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltIn {
    /// Name for people.
    pub title: &'static str,
    /// The phantom's name on the command line.
    pub phantom: &'static str,
    /// How it is measured.
    pub measured: Measured,
}

/// How a built-in phantom is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// As counts on a PET scanner.
    Counts {
        /// The scanner's name on the command line.
        scanner: &'static str,
        /// Expected true counts.
        counts: f64,
        /// Voxels of the image along x, y, z; `None` = the scanner's default grid.
        size: Option<[usize; 3]>,
        /// Whether the phantom attenuates.
        attenuation: bool,
        /// Share of scatter and randoms in all counts.
        background_fraction: f64,
    },
    /// As counts on rotating heads, photon by photon.
    Photons {
        /// The scanner's name on the command line.
        scanner: &'static str,
        /// About so many counts.
        counts: u64,
    },
    /// As counts of pairs of crystals of a ring, photon by photon.
    Pairs {
        /// The ring's name on the command line.
        ring: &'static str,
        /// So many counts.
        counts: u64,
    },
    /// As pulse projections, in an order that spreads over the half sphere.
    Sweep {
        /// Standard deviation of the noise as a fraction of the largest sample.
        noise_fraction: f64,
    },
}

/// Seed of the photons.
const PHOTON_SEED: u64 = 1;

/// The image of the Discovery STE's studies.
const STE_SIZE: Option<[usize; 3]> = Some([256, 256, 47]);

const fn ste(title: &'static str, phantom: &'static str, counts: f64, attenuation: bool, background_fraction: f64) -> BuiltIn {
    let scanner = "discovery-ste";
    let measured = Measured::Counts { scanner, counts, size: STE_SIZE, attenuation, background_fraction };
    BuiltIn { title, phantom, measured }
}

const fn ring(scanner: &'static str, title: &'static str, phantom: &'static str, counts: f64) -> BuiltIn {
    let measured = Measured::Counts { scanner, counts, size: None, attenuation: false, background_fraction: 0.0 };
    BuiltIn { title, phantom, measured }
}

const fn photons(scanner: &'static str, title: &'static str, phantom: &'static str, counts: u64) -> BuiltIn {
    BuiltIn { title, phantom, measured: Measured::Photons { scanner, counts } }
}

const fn pairs(ring: &'static str, title: &'static str, phantom: &'static str, counts: u64) -> BuiltIn {
    BuiltIn { title, phantom, measured: Measured::Pairs { ring, counts } }
}

const fn epri(title: &'static str, phantom: &'static str, noise_fraction: f64) -> BuiltIn {
    BuiltIn { title, phantom, measured: Measured::Sweep { noise_fraction } }
}

/// The built-in studies; the first one opens where no other is asked for, the last one is the smallest.
pub const BUILT_IN: [BuiltIn; 13] = [
    ste("NEMA image quality 2001, Discovery STE", "nema-iq-2001", 1e8, false, 0.0),
    ste("NEMA image quality 2001 with attenuation and scatter", "nema-iq-2001", 1e8, true, 0.3),
    ste("NEMA image quality 2018 (six hot spheres)", "nema-iq-2018", 1e8, false, 0.0),
    ste("Derenzo rods, Discovery STE", "derenzo", 5e7, false, 0.0),
    ste("Uniform cylinder, Discovery STE", "cylinder", 3e7, false, 0.0),
    ste("Brain-like ellipsoids, Discovery STE", "brain-like", 5e7, false, 0.0),
    ring("vrpet", "Derenzo on VrPET", "derenzo", 2e6),
    photons("vrpet", "Derenzo on VrPET, Monte Carlo", "derenzo", 100_000),
    pairs("madpet2-reduced", "Rods on MADPET-II", "rods", 300_000),
    ring("prt-1", "Points and lines, CTI PRT-1", "points", 1e6),
    epri("EPRI: bottle, 208 projections", "bottle", 0.0),
    epri("EPRI: tubes, 208 projections with noise", "tubes", 0.005),
    ring("small", "Small cylinder, small ring", "cylinder", 2e6),
];

/// What a study came from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Files of this machine.
    Files(StudyFiles),
    /// A simulation.
    BuiltIn(BuiltIn),
    /// Files of the machine where the session is, by their paths there.
    Elsewhere(StudyFiles),
}

impl Source {
    /// A file, with what lies beside it.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Source::Files(StudyFiles::File(path.into()))
    }

    /// A file while it is still being written.
    pub fn followed(path: &Path) -> Self {
        Source::Files(match FileKind::of(path) {
            Some(kind) if kind.is_list() => StudyFiles::Events(ListFiles { is_followed: true, ..ListFiles::of(path) }),
            _ => StudyFiles::Sweep(SweepFiles { is_followed: true, ..SweepFiles::of(path) }),
        })
    }

    /// What is being done, in words.
    pub fn text(&self) -> String {
        match self {
            Source::Files(files) => format!("Reading {}", files.measured().display()),
            Source::BuiltIn(study) => format!("Simulating {}", study.title),
            Source::Elsewhere(files) => format!("Reading {} there", files.measured().display()),
        }
    }
}

/// A study that has come.
pub enum Loaded {
    /// On this machine.
    Here {
        /// The study.
        study: Box<Study<Data>>,
        /// The files that it was read from; `None` for a simulation.
        files: Option<StudyFiles>,
        /// Voxels that it is best reconstructed on; `None` = the default grid.
        size: Option<[usize; 3]>,
        /// Source of further data, where the file is still being written.
        follower: Option<Box<Follower>>,
    },
    /// On the server.
    Remote(Box<StudyHead>),
}

/// Source of further data of a file that is still being written.
pub enum Follower {
    /// Of a list, with what gathers its events.
    List(ListFollower, EventAccumulator),
    /// Of an EPRI sweep.
    Sweep(SweepFollower),
}

impl Loaded {
    fn simulated<M: Into<Data>>(study: Study<M>, size: Option<[usize; 3]>) -> Self {
        Loaded::Here { study: Box::new(study.map(M::into)), files: None, size, follower: None }
    }
}

/// A study that is being read or simulated.
pub struct Loading {
    /// Where it comes from.
    pub source: Source,
    work: BackgroundTask<Result<Loaded, String>>,
}

impl Loading {
    /// Starts in the background; `wake` is called when it is over. `remote` is the server, if the session is on one.
    pub fn start(source: Source, remote: Option<Remote>, wake: impl FnOnce() + Send + 'static) -> Self {
        let of = source.clone();
        let work = BackgroundTask::start("study", wake, move |task| load(&of, remote.as_ref(), task));
        Self { source, work }
    }

    /// Returns the study or why there is none; `None` while it is under way.
    pub fn poll(&self) -> Option<Result<Loaded, String>> {
        let outcome = self.work.poll()?;
        Some(outcome.unwrap_or_else(|failure| Err(format!("the study could not be opened: {failure}"))))
    }

    /// Part done, where it is known.
    pub fn fraction(&self) -> Option<f32> {
        self.work.fraction()
    }
}

fn load(source: &Source, remote: Option<&Remote>, task: &Task) -> Result<Loaded, String> {
    match source {
        Source::Elsewhere(files) => {
            let remote = remote.ok_or("the session is on this machine, not on the remote host")?;
            Ok(Loaded::Remote(Box::new(remote.open(files, task)?)))
        }
        Source::Files(StudyFiles::Events(files)) if files.is_followed => follow_list(files),
        Source::Files(StudyFiles::Sweep(files)) if files.is_followed => follow_sweep(files),
        Source::Files(files) => {
            let (study, files) = files.read(task).map_err(|error| error.to_string())?;
            Ok(Loaded::Here { study: Box::new(study), files: Some(files), size: None, follower: None })
        }
        Source::BuiltIn(BuiltIn { phantom, measured: Measured::Sweep { noise_fraction }, .. }) => {
            Ok(Loaded::simulated(simulate_sweep(phantom, *noise_fraction, task)?.map(Acquisition::complete), None))
        }
        Source::BuiltIn(BuiltIn { phantom, measured: Measured::Photons { scanner, counts: num_counts }, .. }) => {
            let scanner = find_scanner(scanner)?;
            let phantom = phantom::by_name(phantom, &scanner.geometry).map_err(|error| error.to_string())?;
            let scan = plan::scan_photons(&phantom, scanner, *num_counts, PHOTON_SEED, task);
            Ok(Loaded::simulated(scan.map_err(|error| error.to_string())?, None))
        }
        Source::BuiltIn(BuiltIn { phantom, measured: Measured::Pairs { ring, counts: num_counts }, .. }) => {
            let ring = scanner::find_ring(ring).ok_or_else(|| format!("there is no ring '{ring}'"))?;
            let phantom = phantom::ring::by_name(phantom).map_err(|error| error.to_string())?;
            let scan = plan::scan_pairs(&phantom, ring, *num_counts, PHOTON_SEED, task);
            Ok(Loaded::simulated(scan.map_err(|error| error.to_string())?, None))
        }
        Source::BuiltIn(BuiltIn {
            phantom,
            measured: Measured::Counts { scanner, counts: total, size, attenuation, background_fraction },
            ..
        }) => {
            let options = SimulationOptions {
                counts: *total,
                noise: Noise::Poisson,
                attenuation: *attenuation,
                background_fraction: *background_fraction,
                ..SimulationOptions::default()
            };
            Ok(Loaded::simulated(simulate(phantom, scanner, *size, options, task)?, *size))
        }
    }
}

fn follow_list(files: &ListFiles) -> Result<Loaded, String> {
    let options = files.options();
    let reader = open_list_mode(&files.list, &options).map_err(|error| error.to_string())?;
    let follower = ListFollower::new(reader);
    let begun = EventAccumulator::begun(follower.facts(), &options, ListSelection::default());
    let (events, notices) = begun.map_err(|error| error.to_string())?;
    let study = Study { notices, ..plan::study_of(&files.list, events.list().clone()) }.map(Data::from);
    let (files, follower) = (Some(StudyFiles::Events(files.clone())), Some(Box::new(Follower::List(follower, events))));
    Ok(Loaded::Here { study: Box::new(study), files, size: None, follower })
}

fn find_scanner(name: &str) -> Result<&'static Scanner, String> {
    scanner::find(name).ok_or_else(|| format!("there is no scanner '{name}'"))
}

fn follow_sweep(files: &SweepFiles) -> Result<Loaded, String> {
    let opened = io::follow_sweep(&files.projections, files.reference.as_deref());
    let (study, mut follower) = opened.map_err(|error| error.to_string())?;
    files.phase.map_or(Ok(()), |degrees| follower.set_phase(degrees)).map_err(|error| error.to_string())?;
    let study = study.map(|sweep| Data::Sweep(Acquisition::growing(sweep)));
    let (files, follower) = (Some(StudyFiles::Sweep(files.clone())), Some(Box::new(Follower::Sweep(follower))));
    Ok(Loaded::Here { study: Box::new(study), files, size: None, follower })
}

fn simulate(
    phantom: &str,
    scanner: &str,
    size: Option<[usize; 3]>,
    options: SimulationOptions,
    task: &Task,
) -> Result<Study<Counts>, String> {
    let scanner = find_scanner(scanner)?;
    let phantom = phantom::by_name(phantom, &scanner.geometry).map_err(|error| error.to_string())?;
    let truth_grid = match size {
        Some(size) => Some(plan::covering_grid(&scanner.geometry, size).map_err(|error| error.to_string())?),
        None => None,
    };
    let options = SimulationOptions { truth_grid, ..options };
    phantom::simulate(&phantom, Arc::new(scanner.geometry.clone()), &options, task).map_err(|error| error.to_string())
}

fn simulate_sweep(phantom: &str, noise_fraction: f64, task: &Task) -> Result<Study<Sweep>, String> {
    let options = epri::SweepOptions { noise_fraction, order: Order::Spaced, ..epri::SweepOptions::default() };
    let side = options.num_points;
    let grid = grid_about_zero([side; 3], [options.step_mm; 3]).map_err(|error| error.to_string())?;
    let options = epri::SweepOptions { truth_grid: Some(grid), ..options };
    let phantom = epri::by_name(phantom, options.half_extent_mm()).map_err(|error| error.to_string())?;
    epri::simulate(&phantom, &options, task).map_err(|error| error.to_string())
}
