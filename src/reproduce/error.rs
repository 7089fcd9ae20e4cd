//! Errors of reproductions.

use std::path::PathBuf;

use crate::coded::coded;
use crate::geometry::GridError;
use crate::io::IoError;
use crate::montecarlo::{CannotMakeTubes, RingDetectorError};
use crate::operator::OperatorError;
use crate::phantom::epri::SweepError;
use crate::phantom::{PhantomError, SimulationError};
use crate::plan::{PhotonScanError, SetupError};
use crate::recon::{ReconError, StitchError};

/// An error of a reproduction.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "reproduce.")]
pub enum ReproduceError {
    /// A reconstruction cannot begin.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A reconstruction cannot go on.
    #[error(transparent)]
    Recon(#[from] ReconError),
    /// A scan cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// A sweep cannot be simulated.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// There is no such phantom.
    #[error(transparent)]
    Phantom(#[from] PhantomError),
    /// An image grid cannot be made.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// An image cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Something cannot be written or read in the folder.
    #[error("{}: not {doing}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// `written`, `read`, `made`.
        doing: &'static str,
        /// Reason.
        reason: String,
    },
    /// The folder holds measurements of something else.
    #[error("{} holds measurements that were made with other settings (with or without --quick, or by another version of the program); choose another folder with -o, or remove it", .0.display())]
    OtherPlan(PathBuf),
    /// The folder holds the matrix of something else.
    #[error("{} is the matrix of another ring or of other functions; remove it, so that the right one is made", .0.display())]
    OtherMatrix(PathBuf),
    /// The beds make no image.
    #[error(transparent)]
    Stitch(#[from] StitchError),
    /// A scanner of the catalogue is missing.
    #[error("the scanner '{0}' is not in the catalogue")]
    Scanner(&'static str),
    /// A scan cannot be simulated photon by photon.
    #[error(transparent)]
    PhotonScan(#[from] PhotonScanError),
    /// The scanner's heads cannot be simulated.
    #[error(transparent)]
    Tubes(#[from] CannotMakeTubes),
    /// The scanner's ring cannot be simulated.
    #[error(transparent)]
    Ring(#[from] RingDetectorError),
    /// A reconstruction gave no image.
    #[error("there is no image")]
    NoImage,
    /// The threads cannot be started.
    #[error("{count} threads could not be started: {reason}")]
    Threads {
        /// Number of threads (0 = as many as cores).
        count: usize,
        /// Reason.
        reason: String,
    },
}

coded!(ReproduceError, Setup, Recon, Simulation, Sweep, Phantom, Grid, Io, Stitch, PhotonScan, Tubes, Ring);

impl From<OperatorError> for ReproduceError {
    fn from(error: OperatorError) -> Self {
        ReproduceError::Recon(error.into())
    }
}
