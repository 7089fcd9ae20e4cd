//! Reasons for which a run does not start, and for which list-mode data are not usable.

use std::path::PathBuf;

use super::problem::SetupProblem;
use crate::algebra::BackendError;
use crate::coded::{Coded, coded};
use crate::data::{MatrixError, MichelogramError, TofBinsError};
use crate::geometry::GridError;
use crate::io::IoError;
use crate::montecarlo::{DetectorError, HistoryError, TubesError};
use crate::operator::OperatorError;
use crate::recon::{CtProblem, ReconError};
use crate::scanner::ScanGeometryError;
use crate::task::Stopped;
use crate::text::bytes;

/// Reason why a run cannot begin.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetupError {
    /// The algorithm refuses the data or the settings, or was stopped.
    #[error(transparent)]
    Recon(#[from] ReconError),
    /// Invalid image grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Settings that do not go together, or do not suit the data.
    #[error(transparent)]
    Settings(#[from] SetupProblem),
    /// A matrix that is invalid, or that of another ring.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A crystal ring that the simulation does not support.
    #[error(transparent)]
    Ring(#[from] DetectorError),
    /// Photons that the simulation does not follow.
    #[error(transparent)]
    Photons(HistoryError),
    /// Tubes of response that the simulation does not make.
    #[error(transparent)]
    Tubes(TubesError),
    /// More memory is needed than there is.
    #[error(
        "about {} of memory are needed{} and {} are free; {}",
        bytes(*needed_bytes), place(gpu.as_deref()), bytes(*free_bytes),
        way_out(gpu.is_some(), *has_subsets, *tof_mash)
    )]
    Memory {
        /// Memory needed, bytes.
        needed_bytes: u64,
        /// Free memory, bytes.
        free_bytes: u64,
        /// The GPU whose memory it is; `None` = the computer's own.
        gpu: Option<String>,
        /// True if fewer subsets need less memory.
        has_subsets: bool,
        /// Smallest number of time-of-flight bins to add up with which the run fits.
        tof_mash: Option<usize>,
    },
}

coded!(SetupError = "setup.memory"; Recon, Grid, Settings, Matrix, Ring, Photons, Tubes);

impl From<OperatorError> for SetupError {
    fn from(error: OperatorError) -> Self {
        SetupError::Recon(error.into())
    }
}

impl From<BackendError> for SetupError {
    fn from(error: BackendError) -> Self {
        OperatorError::from(error).into()
    }
}

// A stop and a failed device become the same errors from every source: `is_of_a_gpu` looks for them.
impl From<HistoryError> for SetupError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Stopped(stopped) => OperatorError::from(stopped).into(),
            HistoryError::Device(error) => BackendError::Device(error).into(),
            HistoryError::TallyFull => Self::Photons(error),
        }
    }
}

impl From<TubesError> for SetupError {
    fn from(error: TubesError) -> Self {
        match error {
            TubesError::Stopped(stopped) => OperatorError::from(stopped).into(),
            TubesError::Device(error) => BackendError::Device(error).into(),
            error => Self::Tubes(error),
        }
    }
}

impl SetupError {
    /// Returns the error of a run with this number of subsets: each subset has a sensitivity image.
    pub(in crate::plan) fn of_subsets(mut self, num_subsets: usize) -> Self {
        if let SetupError::Memory { has_subsets, .. } = &mut self {
            *has_subsets = num_subsets > 1;
        }
        self
    }

    /// Returns the error with the number of time-of-flight bins to add up with which the run fits.
    pub(in crate::plan) fn with_tof_mash(mut self, num: Option<usize>) -> Self {
        if let SetupError::Memory { tof_mash, .. } = &mut self {
            *tof_mash = num;
        }
        self
    }

    /// Returns true if the projector does not suit the geometry, the image or the time of flight.
    pub fn is_of_an_unsuitable_projector(&self) -> bool {
        matches!(self, SetupError::Recon(ReconError::Operator(OperatorError::Unsuitable(_))))
    }

    /// Returns true if the error is the GPU's, so that the processor may succeed.
    pub(super) fn is_of_a_gpu(&self) -> bool {
        match self {
            SetupError::Memory { gpu, .. } => gpu.is_some(),
            SetupError::Settings(problem) => matches!(problem, SetupProblem::Device { .. }),
            SetupError::Recon(ReconError::Operator(OperatorError::Backend(error))) => matches!(error, BackendError::Device(_)),
            _ => false,
        }
    }
}

fn place(gpu: Option<&str>) -> String {
    gpu.map_or(String::new(), |name| format!(" on {name}"))
}

fn way_out(on_gpu: bool, has_subsets: bool, tof_mash: Option<usize>) -> String {
    let mash = tof_mash.map_or_else(String::new, |num| format!("add up {num} time-of-flight bins (--tof-mash {num}), or "));
    let otherwise = match (on_gpu, has_subsets) {
        (true, true) => "choose fewer or larger voxels, fewer subsets, or the CPU (--device cpu)",
        (true, false) => "choose fewer or larger voxels, or the CPU (--device cpu)",
        (false, true) => "choose fewer or larger voxels, or fewer subsets",
        (false, false) => "choose fewer or larger voxels",
    };
    mash + otherwise
}

/// Problem of a file with CT.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct CtError {
    /// The file.
    pub file: PathBuf,
    /// The problem.
    pub problem: CtProblem,
}

impl Coded for CtError {
    fn code(&self) -> &'static str {
        self.problem.code()
    }
}

/// Reason why a file gives no attenuation.
#[derive(Debug, thiserror::Error)]
pub enum AttenuationError {
    /// The file is not readable.
    #[error(transparent)]
    Io(#[from] IoError),
    /// CT without an attenuation map.
    #[error(transparent)]
    Ct(#[from] CtError),
    /// The projector failed.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Factors that do not fit the data.
    #[error(transparent)]
    Data(#[from] MichelogramError),
}

coded!(AttenuationError; Io, Ct, Setup, Data);

/// Reason for which list-mode data are not usable.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The list-mode file is not readable.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The scanner has no bins.
    #[error("{scanner} is no cylinder of rings: {reason}. Its events can be reconstructed as they are (tomoscope reconstruct)")]
    NoCylinder {
        /// Its name.
        scanner: String,
        /// Reason.
        reason: String,
    },
    /// Invalid sampling of the bins.
    #[error(transparent)]
    Geometry(#[from] ScanGeometryError),
    /// There is not enough memory for the bins.
    #[error(
        "{num_bins} bins{} take {} of memory and {} are free; take a larger --span, fewer tangential positions or a smaller ring difference{}",
        if *num_tof > 0 { format!(" with {num_tof} time-of-flight bins each") } else { String::new() },
        bytes(*needed), bytes(*free), if *num_tof > 0 { ", or wider time-of-flight bins (--tof-bin-mm)" } else { "" }
    )]
    Memory {
        /// Number of bins.
        num_bins: usize,
        /// Time-of-flight bins of each; 0 without time of flight.
        num_tof: usize,
        /// Bytes that they take.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// There is not enough memory for the events.
    #[error("{num_events} events read; the next step needs {} of memory, {} are free; select a frame (--frame), or histogram the events (tomoscope histogram)", bytes(*needed), bytes(*free))]
    ListMemory {
        /// Number of events read.
        num_events: u64,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Attenuation would be corrected for twice.
    #[error("{}: the factors of the list's own files have the attenuation in them; leave the map out (--attenuation)", map.display())]
    AttenuatedTwice {
        /// The map that was asked for.
        map: PathBuf,
    },
    /// Randoms of events with time of flight have no density.
    #[error(
        "the list has time of flight and randoms, and the range over which the randoms are spread is not known; give its width in ps (--yrt-tof-range), or leave the time of flight out (--no-tof)"
    )]
    TofRange,
    /// Time-of-flight bins of events without time of flight.
    #[error("the list has no time of flight; leave --tof out")]
    NoTof,
    /// Pairs of crystals with different time of flight.
    #[error(
        "the time of flight of the list differs between types of crystal pairs, and a sinogram has one resolution; reconstruct the list itself (tomoscope reconstruct)"
    )]
    TofDiffers,
    /// Invalid time-of-flight bins.
    #[error(transparent)]
    TofBins(#[from] TofBinsError),
    /// No image that time-of-flight bins could cover.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The attenuation of the object is not usable.
    #[error(transparent)]
    Attenuation(#[from] AttenuationError),
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

coded!(ListError = "list-mode"; Io, Geometry, Grid, Attenuation, Stopped);
