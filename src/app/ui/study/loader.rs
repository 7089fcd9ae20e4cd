//! Loading of studies in the background: files are read, phantoms are simulated, with progress and cancel.

use std::sync::Arc;

use super::open::open_study::OpenStudy;
use super::open::open_sweep::OpenSweep;
use super::source::{BuiltIn, Measured, Source};
use crate::data::{FoundSeries, Study, Sweep};
use crate::io::list_mode::ListFollower;
use crate::io::{self, DicomProblem, IoError, SweepFollower, open_list_mode};
use crate::operator::grid_about_zero;
use crate::phantom::{self, Noise, SimulationOptions, epri};
use crate::plan::{
    self, Acquisition, Cache, Data, EventAccumulator, ListFiles, ListSelection, StudyError, StudyFiles, SweepFiles,
};
use crate::remote::Remote;
use crate::scanner::epri::{Order, Scheme};
use crate::scanner::{self, Scanner};
use crate::task::{BackgroundTask, Task};

/// Reason why no image or study was loaded.
pub enum LoadFailure {
    /// A folder with several series.
    Series(Vec<FoundSeries>),
    /// Another reason, as text.
    Text(String),
}

impl From<String> for LoadFailure {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for LoadFailure {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<IoError> for LoadFailure {
    fn from(error: IoError) -> Self {
        match error.problem() {
            Some(DicomProblem::SeveralSeries(series)) => Self::Series(series.clone()),
            _ => Self::Text(error.to_string()),
        }
    }
}

impl From<StudyError> for LoadFailure {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Io(error) => error.into(),
            error => Self::Text(error.to_string()),
        }
    }
}

/// Seed of the simulated photons.
const PHOTON_SEED: u64 = 1;

/// Calibration of simulated pulse oximetry, its samples of a projection, and their extent, mm.
const OXYGEN_CALIBRATION: &str = "ox071-pbs";
const OXYGEN_SIDE: usize = 64;
const OXYGEN_EXTENT_MM: f64 = 40.0;

/// Simulated spectra of a slice: directions, samples of a projection and their extent (mm), range of the field sweep under the largest
/// gradient (mT), and sizes of the gradient besides 0.
const SPECTRAL_SCHEME: Scheme = Scheme::HalfCircle { num_angles: 24 };
const SPECTRAL_SIDE: usize = 64;
const SPECTRAL_EXTENT_MM: f64 = 60.0;
const SPECTRAL_SWEEP_MT: f64 = 3.2;
const SPECTRAL_GRADIENTS: usize = 8;

/// Study that was read or simulated.
pub struct Loaded {
    pub open: OpenStudy,
    /// Source of further data while the file is being written.
    pub follower: Option<Follower>,
    /// Number of a remote study on the server.
    pub remote_id: Option<u64>,
}

/// Source of further data of a file that is being written.
pub enum Follower {
    /// For list-mode data, with the accumulator of its events.
    List(Box<ListFollower>, Box<EventAccumulator>),
    /// For an EPRI acquisition.
    Sweep(Box<SweepFollower>),
}

impl From<OpenStudy> for Loaded {
    fn from(open: OpenStudy) -> Self {
        Self { open, follower: None, remote_id: None }
    }
}

/// Study that is being read or simulated.
pub struct Loading {
    pub source: Source,
    work: BackgroundTask<Result<Loaded, LoadFailure>>,
}

impl Loading {
    /// Starts loading in the background and calls `wake` at its end. `remote` is the server of a remote session; `cache` stores
    /// attenuation factors.
    pub fn start(source: Source, remote: Option<Remote>, cache: Cache, wake: impl FnOnce() + Send + 'static) -> Self {
        let of = source.clone();
        let work = BackgroundTask::start("study", wake, move |task| load(&of, remote.as_ref(), &cache, task));
        Self { source, work }
    }

    /// Returns the study or the failure; `None` while the work is under way.
    pub fn poll(&self) -> Option<Result<Loaded, LoadFailure>> {
        let outcome = self.work.poll()?;
        Some(outcome.unwrap_or_else(|failure| Err(format!("the study could not be opened: {failure}").into())))
    }

    /// Returns the completed part, 0 … 1, if it is known.
    pub fn fraction(&self) -> Option<f32> {
        self.work.fraction()
    }
}

fn load(source: &Source, remote: Option<&Remote>, cache: &Cache, task: &Task) -> Result<Loaded, LoadFailure> {
    match source {
        Source::Elsewhere(files) => {
            Ok(load_remote(files, remote.ok_or("the session is on this machine, not on the remote host")?, task)?)
        }
        Source::Files(StudyFiles::Events(files)) if files.is_followed => Ok(follow_list(files)?),
        Source::Files(StudyFiles::Sweep(files)) if files.is_followed => Ok(follow_sweep(files)?),
        Source::Files(files) => {
            let (study, files) = files.read(cache, task)?;
            let mut open = OpenStudy::new(study, Some(files));
            open.sweep_mut().into_iter().for_each(OpenSweep::find_radicals);
            Ok(open.into())
        }
        Source::BuiltIn(BuiltIn { phantom, measured, .. }) => {
            let (study, size) = simulate(phantom, measured, task)?;
            Ok(OpenStudy { size, ..OpenStudy::new(study, None) }.into())
        }
    }
}

/// Opens files of the server. An invalid description of the study closes it there.
fn load_remote(files: &StudyFiles, remote: &Remote, task: &Task) -> Result<Loaded, String> {
    let head = remote.open(files, task)?;
    let id = head.id();
    let study = head.study().map_err(|reason| {
        remote.close(id);
        format!("invalid remote study: {reason}")
    })?;
    Ok(Loaded { remote_id: Some(id), ..OpenStudy::remote(study).into() })
}

fn follow_list(files: &ListFiles) -> Result<Loaded, String> {
    let options = files.options();
    let reader = open_list_mode(&files.list, &options).map_err(|error| error.to_string())?;
    let follower = ListFollower::new(reader);
    let begun = EventAccumulator::begun(follower.facts(), &options, ListSelection::default());
    let (events, notices) = begun.map_err(|error| error.to_string())?;
    let study = Study { notices, ..plan::study_of(&files.list, events.list().clone()) }.map(Data::from);
    let open = OpenStudy::new(study, Some(StudyFiles::Events(files.clone())));
    Ok(Loaded { follower: Some(Follower::List(Box::new(follower), Box::new(events))), ..open.into() })
}

fn follow_sweep(files: &SweepFiles) -> Result<Loaded, String> {
    let opened = io::follow_sweep(&files.projections, files.reference.as_deref());
    let (study, mut follower) = opened.map_err(|error| error.to_string())?;
    files.phase.map_or(Ok(()), |degrees| follower.set_phase(degrees)).map_err(|error| error.to_string())?;
    let study = study.map(|sweep| Data::from(Acquisition::growing(sweep)));
    let open = OpenStudy::new(study, Some(StudyFiles::Sweep(files.clone())));
    Ok(Loaded { follower: Some(Follower::Sweep(Box::new(follower))), ..open.into() })
}

fn find_scanner(name: &str) -> Result<&'static Scanner, String> {
    scanner::find(name).ok_or_else(|| format!("there is no scanner '{name}'"))
}

/// Simulates a study; returns it with the size of its image, `None`: the default grid.
fn simulate(phantom: &str, measured: &Measured, task: &Task) -> Result<(Study<Data>, Option<[usize; 3]>), String> {
    Ok(match *measured {
        Measured::Counts { scanner, counts, size, attenuation, background_fraction } => {
            let scanner = find_scanner(scanner)?;
            let phantom = phantom::by_name(phantom, &scanner.geometry).map_err(|error| error.to_string())?;
            let truth_grid = size.map(|size| plan::covering_grid(&scanner.geometry, size)).transpose();
            let options = SimulationOptions {
                counts,
                noise: Noise::Poisson,
                attenuation,
                background_fraction,
                truth_grid: truth_grid.map_err(|error| error.to_string())?,
                ..SimulationOptions::default()
            };
            let scan = phantom::simulate(&phantom, Arc::new(scanner.geometry.clone()), &options, task);
            (scan.map_err(|error| error.to_string())?.map(Data::from), size)
        }
        Measured::Photons { scanner, counts } => {
            let scanner = find_scanner(scanner)?;
            let phantom = phantom::by_name(phantom, &scanner.geometry).map_err(|error| error.to_string())?;
            let scan = plan::scan_photons(&phantom, scanner, counts, PHOTON_SEED, task);
            (scan.map_err(|error| error.to_string())?.map(Data::from), None)
        }
        Measured::Pairs { ring, counts } => {
            let ring = scanner::find_ring(ring).ok_or_else(|| format!("there is no ring '{ring}'"))?;
            let phantom = phantom::ring::by_name(phantom).map_err(|error| error.to_string())?;
            let scan = plan::scan_pairs(&phantom, ring, counts, PHOTON_SEED, task);
            (scan.map_err(|error| error.to_string())?.map(Data::from), None)
        }
        Measured::Sweep { noise_fraction } => {
            let sweep = simulate_sweep(phantom, noise_fraction, task)?;
            (sweep.map(|sweep| Data::from(Acquisition::complete(sweep))), None)
        }
        Measured::Spectra { linewidths_mt, noise_fraction } => {
            let sweep = simulate_spectra(phantom, linewidths_mt, noise_fraction, task)?;
            (sweep.map(|sweep| Data::from(Acquisition::complete(sweep))), None)
        }
        Measured::Oxygen { snr } => (simulate_oxygen(phantom, snr, task)?, None),
    })
}

fn simulate_sweep(phantom: &str, noise_fraction: f64, task: &Task) -> Result<Study<Sweep>, String> {
    let options = epri::SweepOptions { noise_fraction, order: Order::Spaced, ..epri::SweepOptions::default() };
    let side = options.num_points;
    let grid = grid_about_zero([side; 3], [options.step_mm; 3]).map_err(|error| error.to_string())?;
    let options = epri::SweepOptions { truth_grid: Some(grid), ..options };
    let phantom = epri::by_name(phantom, options.half_extent_mm()).map_err(|error| error.to_string())?;
    epri::simulate(&phantom, &options, task).map_err(|error| error.to_string())
}

/// Simulates a slice of a phantom with a line in each part. The phantom fills half of a projection: lines need the rest.
fn simulate_spectra(phantom: &str, linewidths_mt: &[f64], noise_fraction: f64, task: &Task) -> Result<Study<Sweep>, String> {
    let options = epri::SweepOptions {
        scheme: SPECTRAL_SCHEME,
        num_points: SPECTRAL_SIDE,
        step_mm: SPECTRAL_EXTENT_MM / SPECTRAL_SIDE as f64,
        noise_fraction,
        order: Order::Spaced,
        ..epri::SweepOptions::default()
    };
    let phantom = epri::by_name(phantom, 0.5 * options.half_extent_mm()).map_err(|error| error.to_string())?;
    let spectral = epri::SpectralOptions {
        linewidths_mt: linewidths_mt.to_vec(),
        positions_mt: Vec::new(),
        sweep_mt: SPECTRAL_SWEEP_MT,
        num_gradients: SPECTRAL_GRADIENTS,
    };
    let mut study = epri::simulate_spectral(&phantom, &options, &spectral, task).map_err(|error| error.to_string())?;
    study.measured.facts.field_of_view_mm = Some(0.5 * SPECTRAL_EXTENT_MM);
    Ok(study)
}

/// Simulates pulse oximetry of a phantom after inversions.
fn simulate_oxygen(phantom: &str, snr: f64, task: &Task) -> Result<Study<Data>, String> {
    let calibration = io::oxygen::find(OXYGEN_CALIBRATION).ok_or("the calibration of the built-in study is missing")?;
    let options = epri::SweepOptions {
        num_points: OXYGEN_SIDE,
        step_mm: OXYGEN_EXTENT_MM / OXYGEN_SIDE as f64,
        order: Order::Spaced,
        ..epri::SweepOptions::default()
    };
    let phantom = epri::by_name(phantom, options.half_extent_mm()).map_err(|error| error.to_string())?;
    let times_us = epri::DELAYS_US.to_vec();
    let oxygen = epri::OxygenOptions { calibration: calibration.clone(), times_us, inversion: 0.9, snr: Some(snr) };
    let scan = epri::simulate_oxygen(&phantom, &options, &oxygen, task).map_err(|error| error.to_string())?;
    Ok(scan.into_study(phantom.title, &oxygen).map(Data::from))
}
