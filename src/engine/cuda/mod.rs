//! NVIDIA GPUs through the driver library, which is loaded at run time: the program builds and starts on a machine without one,
//! and reports the missing part.
//!
//! [`CudaBackend`] holds arrays and the operations on them; [`AxialRuns`] is the fast projector, with [`BinDriven`] of Belzunce
//! et al. 2012 for comparison. [`Tubes`] has tubes of response, with [`PaperTubes`], the pair of kernels of Herraiz et al. 2011,
//! for comparison; [`TubesMonteCarlo`] simulates tubes. [`StoredMatrix`] is a system matrix, [`RingImage`] evaluates its images,
//! and [`ResponseMonteCarlo`] simulates it. Several GPUs make a group ([`CudaBackend::join`]). [`EventLines`] projects onto
//! events. [`FastPlanes`] and [`PaperPlanes`] backproject planes for EPRI, and
//! [`CudaVoxelFits`] fits relaxation rates. Kernels are CUDA C in `kernels/`, compiled to the PTX
//! that is embedded here; the driver compiles it further for the GPU at hand. The CPU code of the same name is the definition of
//! a kernel; the files here lay out its tables and launch it.

mod axial_kernels;
mod axial_plan;
mod axial_runs;
mod backend;
mod bin_driven;
mod device;
mod display;
mod em_kernels;
mod error;
mod event_beams;
mod event_images;
mod events;
mod fixed_point;
mod images;
mod in_plane;
mod kernel;
mod launches;
mod planes;
mod projecting;
mod response_montecarlo;
mod ring_image;
mod stored_matrix;
mod tubes;

pub use axial_runs::AxialRuns;
pub use backend::{CudaArray, CudaBackend, CudaMasks};
pub use bin_driven::BinDriven;
pub use device::probe::{DeviceInfo, devices};
pub use display::CudaDisplay;
pub use error::CudaError;
pub use events::EventLines;
pub use images::convolution::convolution_bytes;
pub use images::spectral_convolution::spectral_convolution_bytes;
pub use images::variation::MAX_RADICALS;
pub use images::voxel_fits::CudaVoxelFits;
pub use images::voxel_map::CudaVoxelMap;
pub use planes::{FastPlanes, PaperPlanes};
pub use response_montecarlo::ResponseMonteCarlo;
pub use ring_image::RingImage;
pub use stored_matrix::StoredMatrix;
pub use tubes::montecarlo::TubesMonteCarlo;
pub use tubes::paper::PaperTubes;
pub use tubes::projector::Tubes;
