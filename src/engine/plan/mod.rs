//! Turns data and settings into an algorithm that is ready to step: jobs, defaults, the choice of a device and a projector, the
//! memory forecast of a run, and the provenance record of an image.
//!
//! Folders and files form rows, as the modules of the crate do: each imports only from lower rows.
//! `tests/project/layers.rs` reads this table and enforces it:
//!
//! ```text
//! row 1: algorithms iteration_scheme
//! row 2: problem
//! row 3: error
//! row 4: device
//! row 5: projector
//! row 6: platform
//! row 7: simulation
//! row 8: attenuation
//! row 9: list_mode
//! row 10: job
//! row 11: model_rows setup provenance study_files
//! row 12: oxygen_noise
//! ```

mod algorithms;
mod attenuation;
mod device;
mod error;
mod iteration_scheme;
mod job;
mod list_mode;
mod model_rows;
mod oxygen_noise;
mod platform;
mod problem;
mod projector;
mod provenance;
mod setup;
mod simulation;
mod study_files;

pub use algorithms::common::*;
pub use algorithms::penalised::*;
pub use algorithms::registry::{
    ALGORITHMS, AlgorithmChoice, AlgorithmEntry, BASELINE, BLOCK, CUTOFF, FILTER, FbpMethod, INTERPOLATION, Method, ORDER,
    SUBSET_ORDER, filter_parameters, filter_settings,
};
pub use algorithms::setting::{Choice, Kind, Setting, SettingProblem};
pub use algorithms::total_variation::*;
pub use algorithms::traits::{DataKind, Traits};
pub use algorithms::value::{NO, Value, YES};
pub use algorithms::values::Values;
pub use attenuation::factors::attenuation_factors;
pub use attenuation::factors_cache::attenuated;
pub use attenuation::maps::{read_maps, read_object_attenuation};
pub use device::choice::{DeviceChoice, GpuSet};
pub use device::memory::{DeviceMemory, Forecast, FreeMemory};
pub use device::processes::share_with_processes;
pub use error::{AttenuationError, CtError, ListError, SetupError};
pub use iteration_scheme::IterationScheme;
pub use job::acquisition::{Acquisition, ListAcquisition, ListData};
pub use job::data::Data;
pub use job::defaults::{
    covering_grid, default_list_settings, default_pair_settings, default_settings, default_sweep_settings, grid_of_voxels,
    sweep_grid,
};
pub use job::replicates::ReplicateSettings;
pub use job::settings::{Decisions, RunInputs, RunSettings, TofSettings, rays_in_use};
pub use job::subsets::{SubsetRecord, SubsetRule, default_num_iterations};
pub use job::{Job, StartInfo};
pub use list_mode::histogram::histogram;
pub use list_mode::sampling::{HistogramSettings, cylinder_of, sampling_of};
pub use list_mode::sensitivity::{Sensitivity, SensitivitySettings, list_sensitivity};
pub use list_mode::study::{EventAccumulator, ListSelection, list_study, study_of};
pub use list_mode::tof::TofRequest;
pub use model_rows::{ModelRow, ModelRows, NoModelRows};
pub use oxygen_noise::{OxygenDrawError, OxygenDraws, PulseAcquisitions, SingleImage};
pub use platform::Platform;
pub use platform::agreement::device_of_all;
pub use platform::choose::{ChosenProjector, OpenedDevices, choose_projector, choose_team};
pub use platform::open::{Device, available_devices, choose_device, has_cuda, host_devices, with_cpu_fallback};
pub use problem::SetupProblem;
pub use projector::registry::{PROJECTORS, ProjectorEntry, projector};
pub use projector::ring_functions::RingFunctions;
pub use projector::settings::{ProjectorChoice, ProjectorSettings, Rays, rays_per_bin};
pub use projector::system::System;
pub use provenance::algorithm::{
    AlgorithmRecord, AscentRecord, EmRecord, ExplainedRecord, FbpRecord, ObjectiveRecord, OptimalityRecord, TuningSpan,
};
pub use provenance::{
    AccumulationSpan, ContentFingerprint, CorrectionRecord, DataRecord, DeviceRecord, ExperimentRecord, FrameRecord, ImageKind,
    ImageRecord, LinewidthRecord, MatrixRecord, OximetryRecord, PROVENANCE_VERSION, Progress, ProjectorRecord, Provenance,
    RadicalRecord, SIMULATED, Start, Times, TofRecord,
};
pub use setup::events::{EVENTS_PROJECTOR, rays_of_a_pair};
pub use setup::oximetry::{NUM_OXYGEN_DRAWS, with_strength_by_noise};
pub use setup::prepared::Prepared;
pub use setup::{forecast, prepare, prepare_with};
pub use simulation::cache::Cache;
pub use simulation::default_matrix::default_matrix_recipe;
pub use simulation::device_result::DeviceResult;
pub use simulation::matrix::{
    MatrixForecast, MatrixRecipe, SimulationBudget, check_basis, crystal_pairs, default_basis, display_grid, forecast_matrix,
    make_matrix, response_part, ring_basis,
};
pub use simulation::matrix_times::{MatrixLayout, MatrixTimes, MatrixTiming, matrix_times};
pub use simulation::photon_scan::{PhotonScanError, scan_pairs, scan_photons};
pub use simulation::tubes::{MadeTubes, make_tubes, scanner_of_tubes};
pub use study_files::{ListFiles, ScanFiles, ScanWithNeighbours, StudyError, StudyFiles, SweepFiles, data_kind_of};
