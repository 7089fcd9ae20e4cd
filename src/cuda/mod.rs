//! NVIDIA GPUs through the driver library, which is looked for at run time: the program builds and starts on a machine
//! that has none, and says in one sentence what is missing.
//!
//! Kernels are CUDA C in `kernels/`, compiled to the PTX that is embedded here; the driver compiles it further for the
//! GPU at hand. The CPU code of the same name is the definition of what a kernel computes.

mod device;
mod error;
mod probe;

pub use device::{CudaArray, CudaDevice};
pub use error::CudaError;
pub use probe::{DeviceInfo, DeviceLimits, devices};
