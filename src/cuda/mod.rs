//! NVIDIA GPUs through the driver library, which is looked for at run time: the program builds and starts on a machine
//! that has none, and says in one sentence what is missing.
//!
//! [`CudaBackend`] holds arrays and the operations on them; [`AxialRuns`] is the fast projector, [`BinDriven`] the one of
//! Belzunce et al. 2012 that it is measured against; [`Tubes`] has tubes of response and [`PaperTubes`] is the pair of kernels
//! of Herraiz et al. 2011 that it is measured against; [`TubesMonteCarlo`] follows the histories that tubes are made of.
//! [`StoredMatrix`] takes a stored matrix as it is, [`RingImage`] shows its images, and [`ResponseMonteCarlo`] simulates it.
//! Several GPUs make a team ([`CudaBackend::join`]).
//! [`EventLines`] projects onto the events of lists. [`FastPlanes`] and [`PaperPlanes`] backproject planes for EPRI. Kernels are CUDA C in `kernels/`, compiled to the PTX that is
//! embedded here; the driver compiles it further for the GPU at hand. The CPU code of the same name is the definition of
//! what a kernel computes, and the files here lay out its tables and launch it.

mod axial_plan;
mod axial_runs;
mod backend;
mod bin_driven;
mod device;
mod display;
mod em_kernels;
mod error;
mod event_beams;
mod events;
mod fixed_point;
mod in_plane;
mod kernel;
mod launches;
mod planes;
mod projecting;
mod response_montecarlo;
mod ring_image;
mod shared_runs;
mod stored_matrix;
mod tubes;

pub use axial_runs::AxialRuns;
pub use backend::{CudaArray, CudaBackend, CudaMasks};
pub use bin_driven::BinDriven;
pub use device::probe::{DeviceInfo, devices};
pub use display::CudaDisplay;
pub use error::CudaError;
pub use events::EventLines;
pub use planes::{FastPlanes, PaperPlanes};
pub use response_montecarlo::ResponseMonteCarlo;
pub use ring_image::RingImage;
pub use stored_matrix::StoredMatrix;
pub use tubes::montecarlo::TubesMonteCarlo;
pub use tubes::paper::PaperTubes;
pub use tubes::projector::Tubes;
