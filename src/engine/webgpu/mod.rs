//! Any GPU through wgpu: Vulkan, Metal or Direct3D 12.
//!
//! [`WebGpuBackend`] holds arrays and the operations on them; [`AxialRuns`] is the fast projector, [`PerLor`] the one of single lines.
//! [`EventLines`] projects onto events, [`Planes`] backprojects planes for EPRI. Kernels are WGSL in
//! `shaders/compute`, put together with their constants when a projector is made ([`kernel`]). The CPU code of the same name is
//! the definition of a kernel; the files here lay out its tables and dispatch it.
//!
//! Every GPU computes in f32 and integers alone. Sums are 64-bit integers ([`fixed_point`]), or short partial sums that the host
//! adds in f64. Arrays longer than a binding of the device lie in several buffers ([`mod@array`]).

mod adding;
mod array;
mod array_operations;
mod axial_runs;
mod axial_tables;
mod backend;
mod commands;
mod device;
mod em_kernels;
mod error;
mod event_beams;
mod event_tables;
mod events;
mod fixed_point;
mod images;
mod kernel;
mod per_lor;
mod planes;
mod projecting;
mod shaders;
mod unroll;

pub use array::WebGpuArray;
pub use array_operations::WebGpuMasks;
pub use axial_runs::AxialRuns;
pub use backend::WebGpuBackend;
pub use device::opened::DeviceOptions;
pub use device::probe::{DeviceInfo, devices};
pub use device::window::{WindowNumber, share_window, window_request};
pub use device::window_images::WindowImage;
pub use error::{ALLOW_SOFTWARE, WebGpuError};
pub use events::EventLines;
pub use images::convolution::MAX_RADICALS;
pub use images::display::WebGpuDisplay;
pub use images::spectral_convolution::spectral_convolution_bytes;
pub use images::voxel_map::WebGpuVoxelMap;
pub use per_lor::PerLor;
pub use planes::Planes;
pub use shaders::{Shader, shaders};
