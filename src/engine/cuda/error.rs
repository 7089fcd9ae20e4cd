//! Errors of CUDA devices.

use crate::coded::{PassedOn, coded};
use crate::measure::oximetry::OximetryError;
use crate::montecarlo::HistoryError;
use crate::operator::OperatorError;

/// Reason of the refusal or failure of a CUDA device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "cuda.")]
pub enum CudaError {
    /// The driver library is not on this machine.
    #[error("there is no NVIDIA driver on this machine (libcuda.so.1 was not found); install one to compute on an NVIDIA GPU")]
    NoDriver,
    /// The driver sees no GPU.
    #[error("the NVIDIA driver finds no GPU that it can use")]
    NoDevice,
    /// The driver cannot load our PTX.
    #[error("the NVIDIA driver is too old: it supports CUDA {}.{}, and 12.0 is needed (driver 525 or newer); update the driver", .found.0, .found.1)]
    OldDriver {
        /// (major, minor) version of CUDA that the driver supports.
        found: (u32, u32),
    },
    /// The GPU cannot run our PTX.
    #[error("{name} is too old: its compute capability is {}.{}, and 7.0 (Volta) is needed; choose another device", .found.0, .found.1)]
    OldDevice {
        /// The GPU's name.
        name: String,
        /// (major, minor) compute capability.
        found: (u32, u32),
    },
    /// There are fewer GPUs.
    #[error("there is no CUDA device {asked}: this machine has {found}, numbered from 0")]
    NoSuchDevice {
        /// The number asked for.
        asked: usize,
        /// Number of devices.
        found: usize,
    },
    /// Two arrays that belong together differ in length.
    #[error("an array of {found} values was used where {expected} were expected")]
    Length {
        /// Expected number of values.
        expected: usize,
        /// Found number of values.
        found: usize,
    },
    /// An image for the screen was asked for after what makes it had ended.
    #[error("the copy of the image for the screen was given up; start the run again")]
    DisplayGone,
    /// The device's memory is full.
    #[error(
        "the memory of the GPU is full (asked to {doing}); choose fewer or larger voxels, close other programs that use the GPU, or use the CPU (--device cpu)"
    )]
    OutOfMemory {
        /// Task of the driver.
        doing: &'static str,
    },
    /// A kernel ran too long.
    #[error(
        "the GPU driver aborted a computation that took too long ({doing}): the GPU also drives a display and its driver allows a few seconds; use the CPU (--device cpu), or start the program again and use another GPU"
    )]
    TimedOut {
        /// Task of the driver.
        doing: &'static str,
    },
    /// The backprojected data contain values that are not finite.
    #[error("the backprojected data hold values that are no numbers; start again, and check the data and the corrections")]
    NotFinite,
    /// The system matrix was used before it was copied to the device.
    #[error("the system matrix is not on the device")]
    NotLoaded,
    /// The driver does not start.
    #[error(
        "the NVIDIA driver does not start: {message}; restart the computer, which is needed after an update of the driver, and if that does not help reinstall the driver"
    )]
    NoStart {
        /// Message of the driver.
        message: String,
    },
    /// The driver reports an error.
    #[error(
        "the NVIDIA driver failed to {doing}: {message}; start the program again, and if it happens again use the CPU (--device cpu)"
    )]
    Driver {
        /// Task of the driver.
        doing: &'static str,
        /// Message of the driver.
        message: String,
    },
    /// GPUs do not reach each other.
    #[error("NCCL failed to add the images of the GPUs: {message}; use one GPU (--device cuda:0)")]
    Link {
        /// Message of NCCL.
        message: String,
    },
    /// The driver library lacks a function or broke.
    #[error("the NVIDIA driver library is broken or incomplete: it failed to {doing} ({message}); reinstall the driver")]
    Library {
        /// Task of the driver.
        doing: &'static str,
        /// Message of the panic.
        message: String,
    },
}

coded!(CudaError);

impl CudaError {
    /// Returns true if the message offers the processor as the remedy.
    pub fn names_the_cpu(&self) -> bool {
        matches!(self, CudaError::OutOfMemory { .. } | CudaError::TimedOut { .. } | CudaError::Driver { .. })
    }
}

impl From<CudaError> for crate::algebra::BackendError {
    fn from(error: CudaError) -> Self {
        match error {
            CudaError::Length { expected, found } => Self::Length { expected, found },
            error => Self::Device(PassedOn::of(&error)),
        }
    }
}

impl From<CudaError> for OperatorError {
    fn from(error: CudaError) -> Self {
        Self::Backend(error.into())
    }
}

impl From<CudaError> for OximetryError {
    fn from(error: CudaError) -> Self {
        Self::Device(PassedOn::of(&error))
    }
}

impl From<OperatorError> for HistoryError {
    fn from(error: OperatorError) -> Self {
        match error {
            OperatorError::Stopped(stopped) => Self::Stopped(stopped),
            error => Self::Device(PassedOn::of(&error)),
        }
    }
}

impl From<CudaError> for HistoryError {
    fn from(error: CudaError) -> Self {
        OperatorError::from(error).into()
    }
}
