//! The messages between a session's solver thread and whoever watches it.

use std::sync::Arc;
use std::time::Duration;

use super::Acquisition;
use crate::data::{Notice, Roi, RoiSums, Study, Unit, Volume};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::recon::{Estimate, FilterSettings, RaceReport, StageTimes, SubsetOrder};
use crate::scanner::epri::Order;

/// Number of a run within its session, from 1; every event carries it, so that late ones of an earlier run are known.
pub type RunId = u64;

/// Which algorithm reconstructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmKind {
    /// Maximum-likelihood expectation maximisation: all views in each step.
    Mlem,
    /// The same over ordered subsets of the views.
    Osem,
}

/// Where the run computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceChoice {
    /// The best there is; which one it became is always told.
    Auto,
    /// The processor.
    Cpu,
    /// The CUDA device of this number.
    Cuda(usize),
}

/// Which projector computes A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectorChoice {
    /// Axial runs where the geometry allows them, else per LOR.
    Auto,
    /// Siddon's path, one LOR at a time: the definition.
    PerLor,
    /// All planes of a transaxial LOR at once.
    AxialRuns,
}

/// Lines traced for each bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rays {
    /// One tangentially, ceil(axial sampling / voxel height) axially.
    Auto,
    /// This many.
    Fixed {
        /// Spread over the bin's width.
        tangential: usize,
        /// Spread over the bin's axial sampling.
        axial: usize,
    },
}

/// All that a reconstruction of counts is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSettings {
    /// Algorithm.
    pub algorithm: AlgorithmKind,
    /// Full iterations to do.
    pub num_iterations: usize,
    /// Subsets of an OSEM iteration; MLEM has one, whatever stands here.
    pub num_subsets: usize,
    /// Order of the subsets.
    pub subset_order: SubsetOrder,
    /// Image grid.
    pub grid: Grid,
    /// Voxels whose centre lies farther than this from the axis stay zero, mm.
    pub fov_radius_mm: f64,
    /// Lines per bin.
    pub rays: Rays,
    /// Projector.
    pub projector: ProjectorChoice,
    /// Device.
    pub device: DeviceChoice,
    /// Accumulation; `None` = the device's default.
    pub accumulation: Option<Accumulation>,
    /// Whether a non-atomic run's sensitivity image is made with the race too. Else it is free of races.
    pub racy_sensitivity: bool,
    /// Threads of a block of the per-LOR projector on CUDA; `None` = the number with which most are resident.
    pub threads_per_block: Option<u32>,
    /// Threads on the CPU; `None` = all.
    pub num_threads: Option<usize>,
    /// Start image; `None` = 1 inside the field of view.
    pub init: Option<Arc<Volume>>,
}

/// In how many stages the planes of an EPRI sweep are backprojected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stages {
    /// Voxel by voxel.
    #[default]
    Single,
    /// Azimuth by azimuth, then slice by slice, of directions at equal linear angles; others are resampled. On the processor.
    Two,
}

/// Which single-stage program backprojects planes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneKernel {
    /// The fast one, in single precision.
    #[default]
    Fast,
    /// The published one (Qiao et al. 2015), in double precision and its order of operations.
    Paper,
}

/// All that a filtered backprojection of an EPRI sweep is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepSettings {
    /// One stage or two.
    pub stages: Stages,
    /// The program for one stage.
    pub kernel: PlaneKernel,
    /// How projections are filtered and read.
    pub filter: FilterSettings,
    /// Which projections are used first.
    pub order: Order,
    /// Projections of a step, at most; while they arrive one by one a step has one.
    pub block: usize,
    /// Image grid.
    pub grid: Grid,
    /// Device.
    pub device: DeviceChoice,
    /// Threads on the CPU; `None` = all.
    pub num_threads: Option<usize>,
}

/// What is reconstructed, and how.
#[derive(Clone, Debug)]
pub enum Job {
    /// Counts along lines, iteratively.
    Counts {
        /// What was measured.
        study: Arc<Study>,
        /// What to do with it.
        settings: Box<RunSettings>,
    },
    /// An EPRI sweep, by filtered backprojection; while it grows the image grows with it.
    Sweep {
        /// What was measured so far.
        acquisition: Acquisition,
        /// What to do with it.
        settings: Box<SweepSettings>,
    },
}

impl Job {
    /// Grid of the image.
    pub fn grid(&self) -> &Grid {
        match self {
            Job::Counts { settings, .. } => &settings.grid,
            Job::Sweep { settings, .. } => &settings.grid,
        }
    }

    /// Unit of the image.
    pub fn unit(&self) -> Unit {
        match self {
            Job::Counts { .. } => Unit::CountsPerMm,
            Job::Sweep { .. } => Unit::Arbitrary,
        }
    }

    /// Full iterations to do; of a sweep one, which is all of it.
    pub fn num_iterations(&self) -> usize {
        match self {
            Job::Counts { settings, .. } => settings.num_iterations,
            Job::Sweep { .. } => 1,
        }
    }

    /// Threads on the CPU; `None` = all.
    pub fn num_threads(&self) -> Option<usize> {
        match self {
            Job::Counts { settings, .. } => settings.num_threads,
            Job::Sweep { settings, .. } => settings.num_threads,
        }
    }

    /// Whether all is done in one step, in two stages: nothing can be kept before its end, and it is stopped inside.
    pub fn is_one_step(&self) -> bool {
        matches!(self, Job::Sweep { settings, .. } if settings.stages == Stages::Two)
    }

    /// Whether a sweep is reconstructed.
    pub fn is_sweep(&self) -> bool {
        matches!(self, Job::Sweep { .. })
    }
}

/// ROIs to measure on every iterate. `branch` grows with each edit, so that a curve shows where its ROI changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoiSet {
    /// Number of the edit.
    pub branch: u64,
    /// The regions.
    pub rois: Vec<Roi>,
}

/// What the watcher asks of the solver.
#[derive(Clone, Debug)]
pub enum Command {
    /// Ends any run and starts another; runs count up from 1 in the order of these commands.
    Start {
        /// What to do.
        job: Job,
        /// Measure these from the first iterate on.
        rois: RoiSet,
        /// Start paused (for a single step at a time).
        paused: bool,
    },
    /// Holds after the current step.
    Pause,
    /// Goes on.
    Resume,
    /// Does one step, then holds (also after the run had finished: with a further iteration where it needs one).
    StepOnce,
    /// Ends the run after the current step and keeps its image ("Done"). Of a run in one step it is [`Command::Cancel`].
    Stop,
    /// Ends the run at once; the image before the interrupted step stays.
    Cancel,
    /// Adds so from the next step on.
    SetAccumulation(Accumulation),
    /// Measures these from now on; the current iterate and the history are measured again at once.
    SetRois(RoiSet),
    /// Goes on to this number of full iterations (also after the run had finished).
    SetIterations(usize),
    /// The acquisition has grown, or is over.
    DataArrived,
    /// Ends the thread.
    Quit,
}

/// What the solver says, in order; nothing of it is ever dropped.
#[derive(Clone, Debug)]
pub struct Event {
    /// Which run.
    pub run: RunId,
    /// What happened.
    pub kind: EventKind,
}

/// What happened in a run.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The run was set up.
    Started(Box<StartInfo>),
    /// A step is done and measured.
    Iterate(Box<IterateReport>),
    /// Iterates of the past measured again after an edit of the ROIs: (iteration, subiteration, sums per ROI).
    Remeasured {
        /// The edit.
        branch: u64,
        /// (iteration, subiteration, sums in the order of the ROI set), oldest first.
        points: Vec<(usize, usize, Vec<RoiSums>)>,
    },
    /// The run holds.
    Paused,
    /// The run goes on.
    Resumed,
    /// Something to know.
    Notice(Notice),
    /// The run is over; its last volume was published before this.
    Ended(EndReason),
    /// The run cannot go on; the sentence says why and what to do. The last good volume stays.
    Failed(String),
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// All iterations are done.
    Completed,
    /// Stopped and kept.
    Stopped,
    /// Cancelled, or replaced by another run.
    Cancelled,
}

/// What a run became when it was set up.
#[derive(Clone, Debug)]
pub struct StartInfo {
    /// Device in words ("CPU, 2 threads, AVX-512").
    pub device: String,
    /// Projector in use ("axial runs", "per LOR").
    pub projector: String,
    /// Subiterations of a full iteration; of a sweep its projections, as far as they are known.
    pub num_subsets: usize,
    /// Accumulation in use.
    pub accumulation: Accumulation,
    /// Accumulations that can be switched to.
    pub accumulations: &'static [Accumulation],
    /// Memory and time.
    pub estimate: Estimate,
    /// The job, with the settings as they were used.
    pub job: Job,
}

/// One step, measured.
#[derive(Clone, Debug)]
pub struct IterateReport {
    /// Full iterations complete.
    pub iteration: usize,
    /// Steps done in all; of a sweep projections in the image.
    pub subiteration: usize,
    /// Subset of the step.
    pub subset: usize,
    /// Whether the step completed an iteration.
    pub completes_iteration: bool,
    /// Log-likelihood of the subset's data at the image before the step.
    pub log_likelihood_of_subset: Option<f64>,
    /// Of a step that completes an iteration: the sum of the terms of all its steps, at the images before the steps.
    pub log_likelihood: Option<f64>,
    /// Accumulation of the step.
    pub accumulation: Accumulation,
    /// What the race lost, where the step had one.
    pub race: Option<RaceReport>,
    /// Where the time went.
    pub stages: StageTimes,
    /// Time for measuring the ROIs.
    pub measure: Duration,
    /// Time for copying the volume to the host, zero when it was not.
    pub publish: Duration,
    /// Since the run's start, pauses left out.
    pub elapsed: Duration,
    /// The ROI edit that the sums belong to.
    pub branch: u64,
    /// Sums of each ROI on this iterate.
    pub roi_sums: Vec<RoiSums>,
}

/// Names of the stages of a step, in order.
pub const STAGES: [&str; NUM_STAGES] =
    ["filter", "forward", "ratio", "backprojection", "update", "sensitivity", "race", "copy", "measure"];

/// Number of stages of a step.
pub const NUM_STAGES: usize = 9;

impl IterateReport {
    /// Times of the stages, in the order of [`STAGES`]. The copy of the volume may go on beside the next step.
    pub fn stage_times(&self) -> [Duration; NUM_STAGES] {
        let StageTimes { filter, forward, ratio, backprojection, update, sensitivity, race } = self.stages;
        [filter, forward, ratio, backprojection, update, sensitivity, race, self.publish, self.measure]
    }
}

/// A volume on its way to the screen.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Which run.
    pub run: RunId,
    /// Full iterations complete.
    pub iteration: usize,
    /// Steps done in all; 0 = the start image. Of a sweep projections in the image.
    pub subiteration: usize,
    /// The image; the history may hold it too.
    pub volume: Arc<Volume>,
}

/// An image of the past: after a full iteration, or after each block of projections.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Which run.
    pub run: RunId,
    /// Full iterations complete.
    pub iteration: usize,
    /// Steps done in all; of a sweep projections in the image.
    pub subiteration: usize,
    /// The image.
    pub volume: Arc<Volume>,
}
