//! Why a run cannot begin, and why the events of a list cannot be used.

use std::path::PathBuf;

use super::problem::SetupProblem;
use crate::algebra::BackendError;
use crate::coded::coded;
use crate::data::MatrixError;
use crate::geometry::GridError;
use crate::io::IoError;
use crate::montecarlo::{CannotMakeTubes, FollowError, RingDetectorError};
use crate::operator::OperatorError;
use crate::recon::ReconError;
use crate::scanner::ScanGeometryError;
use crate::task::Stopped;
use crate::text::bytes;

/// Why a run cannot begin.
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case", prefix = "setup.")]
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
    /// A ring of crystals that cannot be simulated.
    #[error(transparent)]
    Ring(#[from] RingDetectorError),
    /// Photons that cannot be followed.
    #[error(transparent)]
    Photons(FollowError),
    /// Tubes of response that cannot be made.
    #[error(transparent)]
    Tubes(CannotMakeTubes),
    /// More memory is needed than there is.
    #[error(
        "about {} of memory are needed{} and {} are free; {}",
        bytes(*needed_bytes), place(gpu.as_deref()), bytes(*free_bytes), way_out(gpu.is_some(), *has_subsets)
    )]
    Memory {
        /// What is needed.
        needed_bytes: u64,
        /// What is free.
        free_bytes: u64,
        /// The GPU whose memory it is; `None` = the computer's own.
        gpu: Option<String>,
        /// Whether fewer subsets would do with less.
        has_subsets: bool,
    },
}

coded!(SetupError, Recon, Grid, Settings, Matrix, Ring, Photons, Tubes);

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

// A stop and a device that failed are the same error wherever they come from: `is_of_a_gpu` looks for it.
impl From<FollowError> for SetupError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Stopped(stopped) => OperatorError::from(stopped).into(),
            FollowError::Device(error) => BackendError::Device(error).into(),
            FollowError::TallyFull => Self::Photons(error),
        }
    }
}

impl From<CannotMakeTubes> for SetupError {
    fn from(error: CannotMakeTubes) -> Self {
        match error {
            CannotMakeTubes::Stopped(stopped) => OperatorError::from(stopped).into(),
            CannotMakeTubes::Device(error) => BackendError::Device(error).into(),
            error => Self::Tubes(error),
        }
    }
}

impl SetupError {
    /// The same of a run with so many subsets: each has a sensitivity image.
    pub(in crate::plan) fn of_subsets(mut self, num_subsets: usize) -> Self {
        if let SetupError::Memory { has_subsets, .. } = &mut self {
            *has_subsets = num_subsets > 1;
        }
        self
    }

    /// Whether it is the GPU's, so that the processor may still do.
    pub(super) fn is_of_a_gpu(&self) -> bool {
        match self {
            SetupError::Memory { gpu, .. } => gpu.is_some(),
            SetupError::Recon(ReconError::Operator(OperatorError::Backend(error))) => matches!(error, BackendError::Device(_)),
            _ => false,
        }
    }
}

fn place(gpu: Option<&str>) -> String {
    gpu.map_or(String::new(), |name| format!(" on {name}"))
}

fn way_out(on_gpu: bool, has_subsets: bool) -> &'static str {
    match (on_gpu, has_subsets) {
        (true, true) => "choose fewer or larger voxels, fewer subsets, or the CPU (--device cpu)",
        (true, false) => "choose fewer or larger voxels, or the CPU (--device cpu)",
        (false, true) => "choose fewer or larger voxels, or fewer subsets",
        (false, false) => "choose fewer or larger voxels",
    }
}

/// Why the events of a list cannot be used.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "list-mode.")]
pub enum ListError {
    /// The list cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The scanner has no bins.
    #[error("{scanner} is no cylinder of rings: {reason}. Its events can be reconstructed as they are (tomoscope reconstruct)")]
    NoCylinder {
        /// Its name.
        scanner: String,
        /// Why not.
        reason: String,
    },
    /// Invalid sampling of the bins.
    #[error(transparent)]
    Geometry(#[from] ScanGeometryError),
    /// There is not enough memory for the bins.
    #[error("{num_bins} bins take {} of memory and {} are free; take a larger --span, fewer tangential positions or a smaller ring difference", bytes(*needed), bytes(*free))]
    Memory {
        /// How many there are.
        num_bins: usize,
        /// Bytes that they take.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// There is not enough memory for the events.
    #[error("{num_events} events read; the next step needs {} of memory, {} are free; select a frame (--frame), or histogram the events (tomoscope histogram)", bytes(*needed), bytes(*free))]
    ListMemory {
        /// How many were read.
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
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

coded!(ListError, Io, Geometry, Stopped);
