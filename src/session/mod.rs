//! The live session: a solver thread, the protocol between it and whoever watches, and the choice of a back end.
//!
//! The solver never waits for the screen and no measured point is lost: commands and events travel on unbounded
//! channels of small messages, volumes on a channel of capacity one where the newest wins. What goes out is handed over
//! by a thread of its own, so that the solver steps on while a device copies a volume.

mod acquisition;
mod defaults;
mod devices;
mod estimate;
mod feed;
mod frames;
mod handle;
mod history;
mod measurements;
mod projector;
mod protocol;
mod provenance;
mod publisher;
mod run;
mod run_record;
mod setup;
mod solver;
mod sweep_setup;
mod threads;
pub mod trace;

pub use acquisition::Acquisition;
pub use defaults::{covering_grid, default_num_subsets, default_settings, default_sweep_settings, grid_of_voxels, sweep_grid};
pub use devices::{Chosen, Device, available_devices, choose_device, host_devices, or_on_cpu};
pub use estimate::{Forecast, FreeMemory};
pub use feed::Feed;
pub use handle::{Session, SessionOptions};
pub use measurements::{RoiNumbers, RunTable, StepFigures, roi_numbers};
pub use projector::{Projector, ProjectorSettings, ProjectorWork, rays_per_bin};
pub use protocol::{
    AlgorithmKind, Command, DeviceChoice, EndReason, Event, EventKind, Frame, IterateReport, Job, Kept, NUM_STAGES, PlaneKernel,
    ProjectorChoice, Rays, RoiSet, RunId, RunSettings, STAGES, Stages, StartInfo, SweepSettings,
};
pub use provenance::{
    AccumulationSpan, AlgorithmRecord, CorrectionRecord, DataRecord, DeviceRecord, EmRecord, FbpRecord, ImageRecord, Made,
    PROVENANCE_VERSION, Progress, ProjectorRecord, Provenance, SIMULATED, Start, Times,
};
pub use run_record::RunRecord;
pub use setup::{Prepared, Setup, SetupError, forecast, prepare};
pub use threads::{start_workers, thread_pool};
pub use trace::Trace;
