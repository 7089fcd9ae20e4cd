//! Errors of GPUs that compute through wgpu.

use crate::coded::{PassedOn, coded};
use crate::operator::OperatorError;

/// Environment variable that allows software renderers.
pub const ALLOW_SOFTWARE: &str = "TOMOSCOPE_ALLOW_SOFTWARE_GPU";

/// Reason of the refusal or failure of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "webgpu.")]
pub enum WebGpuError {
    /// No driver has an adapter.
    #[error(
        "no graphics driver on this machine has a GPU that computes (Vulkan, Metal, Direct3D 12); install the driver of the GPU, or use the CPU (--device cpu)"
    )]
    NoAdapter,
    /// There are fewer GPUs.
    #[error("there is no GPU {asked}: this machine has {found}, numbered from 0 (`tomoscope devices`)")]
    NoSuchDevice {
        /// The number asked for.
        asked: usize,
        /// Number of devices.
        found: usize,
    },
    /// A software renderer without permission.
    #[error("{name} computes on the processor, slower than --device cpu; set {} to use it for tests", ALLOW_SOFTWARE)]
    Software {
        /// The adapter's name.
        name: String,
    },
    /// A limit of the GPU is too small.
    #[error("the GPU's limit {limit} is {found}, and {needed} is needed; choose another device")]
    Limit {
        /// The limit, as WebGPU names it.
        limit: &'static str,
        /// Its value.
        found: u64,
        /// Needed value.
        needed: u64,
    },
    /// The driver does not open the GPU.
    #[error("the driver does not open the GPU: {message}; update the driver, or choose another device")]
    NoStart {
        /// Message of wgpu.
        message: String,
    },
    /// The driver refuses a kernel.
    #[error("the GPU's driver refuses the kernel {kernel}: {message}; update the driver, or use the CPU (--device cpu)")]
    Kernel {
        /// Name of the kernel.
        kernel: &'static str,
        /// Message of wgpu.
        message: String,
    },
    /// The device's memory is full.
    #[error(
        "the memory of the GPU is full (asked to {doing}); choose fewer or larger voxels, close other programs that use the GPU, or use the CPU (--device cpu)"
    )]
    OutOfMemory {
        /// Task of the driver.
        doing: &'static str,
    },
    /// The device is gone.
    #[error(
        "the GPU was lost: {message}; its driver was reset or updated, or the GPU was removed. Start again, or use the CPU (--device cpu)"
    )]
    Lost {
        /// Message of wgpu.
        message: String,
    },
    /// The driver reports an error.
    #[error("the GPU failed to {doing}: {message}; start the program again, and if it happens again use the CPU (--device cpu)")]
    Driver {
        /// Task of the driver.
        doing: &'static str,
        /// Message of wgpu.
        message: String,
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
    /// The backprojected data contain values that are not finite.
    #[error("the backprojected data hold values that are no numbers; start again, and check the data and the corrections")]
    NotFinite,
}

coded!(WebGpuError);

impl WebGpuError {
    /// Returns true if the message offers the processor as the remedy.
    pub fn names_the_cpu(&self) -> bool {
        use WebGpuError as E;
        matches!(
            self,
            E::NoAdapter | E::Software { .. } | E::Kernel { .. } | E::OutOfMemory { .. } | E::Lost { .. } | E::Driver { .. }
        )
    }
}

impl From<WebGpuError> for crate::algebra::BackendError {
    fn from(error: WebGpuError) -> Self {
        match error {
            WebGpuError::Length { expected, found } => Self::Length { expected, found },
            error => Self::Device(PassedOn::of(&error)),
        }
    }
}

impl From<WebGpuError> for OperatorError {
    fn from(error: WebGpuError) -> Self {
        Self::Backend(error.into())
    }
}
