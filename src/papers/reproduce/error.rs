//! Errors of reproductions.

use std::path::PathBuf;

use crate::coded::coded;
use crate::geometry::GridError;
use crate::io::IoError;
use crate::montecarlo::{DetectorError, TubesError};
use crate::operator::OperatorError;
use crate::phantom::epri::SweepError;
use crate::phantom::{PhantomError, SimulationError};
use crate::plan::{PhotonScanError, SetupError, StudyError};
use crate::recon::{ReconError, StitchError};

#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// A reconstruction failed to start.
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Recon(#[from] ReconError),
    /// The simulation of a scan failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The simulation of an EPRI acquisition failed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// Unknown phantom.
    #[error(transparent)]
    Phantom(#[from] PhantomError),
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Reading or writing an image failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Reading or writing in the folder failed.
    #[error("{}: not {doing}: {reason}", path.display())]
    File {
        path: PathBuf,
        /// `written`, `read`, `made`.
        doing: &'static str,
        reason: String,
    },
    /// The folder contains measurements of another plan.
    #[error("{} holds measurements that were made with other settings (with or without --quick, or by another version of the program); choose another folder with -o, or remove it", .0.display())]
    OtherPlan(PathBuf),
    /// The folder contains the matrix of another plan.
    #[error("{} is the matrix of another ring or of other functions; remove it, so that the right one is made", .0.display())]
    OtherMatrix(PathBuf),
    /// The images of the beds do not fit together.
    #[error(transparent)]
    Stitch(#[from] StitchError),
    /// The catalogue lacks a scanner.
    #[error("the scanner '{0}' is not in the catalogue")]
    Scanner(&'static str),
    /// The photon-by-photon simulation of a scan failed.
    #[error(transparent)]
    PhotonScan(#[from] PhotonScanError),
    /// The simulation of the scanner's heads failed.
    #[error(transparent)]
    Tubes(#[from] TubesError),
    /// The simulation of the scanner's ring failed.
    #[error(transparent)]
    Ring(#[from] DetectorError),
    /// The data set of PETRIC could not be read.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A folder, as it was given, is none of PETRIC.
    #[error("{} is no data set of PETRIC: expected a folder with prompts.hs and mult_factors.hs, additive_term.hs or OSEM_image.hv", .0.display())]
    NotPetric(PathBuf),
    /// The data set of PETRIC lacks masks.
    #[error("the data set has no masks PETRIC/VOI_whole_object.hv and PETRIC/VOI_background.hv, which the measures need")]
    NoMasks,
    /// PETRIC's measures are undefined.
    #[error("PETRIC's measures are undefined: the reference has no positive mean in the background, or an image is not finite")]
    NoMeasures,
    /// A reconstruction gave no image.
    #[error("there is no image")]
    NoImage,
    /// The system refused the threads.
    #[error("{0}")]
    Threads(String),
}

coded!(ReproduceError = "reproduce"; Setup, Recon, Simulation, Sweep, Phantom, Grid, Io, Stitch, PhotonScan, Tubes, Ring, Study);

impl From<OperatorError> for ReproduceError {
    fn from(error: OperatorError) -> Self {
        ReproduceError::Recon(error.into())
    }
}
