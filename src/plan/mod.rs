//! From data and settings to an algorithm that is ready to step: jobs, defaults, the choice of a device and a projector, the
//! estimate of what a run needs, and the record of what made an image.

mod acquisition;
mod cache;
mod course;
mod defaults;
mod devices;
mod estimate;
mod facts;
mod histogram;
mod histories;
mod job;
mod kept_sensitivity;
mod list_factors;
mod list_randoms;
mod list_sensitivity;
mod list_setup;
mod list_study;
mod matrix;
mod matrix_times;
mod pair_setup;
mod photon_scan;
mod processes;
mod programs;
mod projector;
mod provenance;
mod quick_matrix;
mod registry;
mod setup;
mod study_files;
mod subsets;
mod sweep_setup;
mod system;
mod tubes;

pub use acquisition::{Acquisition, ListAcquisition};
pub use cache::Cache;
pub use course::Course;
pub use defaults::{covering_grid, default_settings, default_sweep_settings, grid_of_voxels, sweep_grid};
pub use devices::{Chosen, Device, available_devices, choose_device, host_devices, or_on_cpu};
pub use estimate::{DeviceMemory, Forecast, FreeMemory};
pub use histogram::{HistogramSettings, ListError, cylinder_of, histogram, sampling_of};
pub use histories::Followed;
pub use job::{
    AlgorithmKind, DeviceChoice, GpuSet, Job, PairSettings, PlaneKernel, ProjectorChoice, Rays, RunSettings, Stages, StartInfo,
    SweepSettings,
};
pub use list_sensitivity::{Sensitivity, SensitivitySettings, list_sensitivity};
pub use list_setup::{EVENTS_PROJECTOR, default_list_settings, rays_of_a_pair};
pub use list_study::{GatheredEvents, ListSelection, list_study, study_of};
pub use matrix::{
    MatrixAmount, MatrixForecast, MatrixRecipe, RingFunctions, check_basis, crystal_pairs, forecast_matrix, make_matrix,
    response_part, ring_basis, shown_grid, usual_basis,
};
pub use matrix_times::{MatrixLayout, MatrixTimes, MatrixTiming, matrix_times};
pub use photon_scan::{PhotonScanError, scan_pairs, scan_photons};
pub use processes::{device_of_all, share_with_processes};
pub use projector::{ChosenProjector, ChosenTeam, ProjectorSettings, choose_projector, choose_team, rays_in_use, rays_per_bin};
pub use provenance::{
    AccumulationSpan, AlgorithmRecord, CorrectionRecord, DataRecord, DeviceRecord, EmRecord, FbpRecord, FrameRecord, ImageRecord,
    Made, MatrixRecord, PROVENANCE_VERSION, Progress, ProjectorRecord, Provenance, SIMULATED, Seal, Start, Times,
};
pub use quick_matrix::quick_matrix_recipe;
pub use registry::{PROJECTORS, ProjectorEntry, projector};
pub use setup::{Prepared, SetupError, forecast, prepare, prepare_with};
pub use study_files::{ListFiles, ReadStudy, ScanFiles, ScanWithNeighbours, StudyError, StudyFiles, SweepFiles};
pub use subsets::{SubsetRecord, SubsetRule, default_num_iterations};
pub use system::System;
pub use tubes::{MadeTubes, make_tubes, scanner_of_tubes};
