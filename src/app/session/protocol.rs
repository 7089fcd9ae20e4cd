//! Messages between a session's solver and the watcher.

use std::sync::Arc;
use std::time::Duration;

use super::history::HistoryChange;
use super::measurements::{Answer, Query, RoiSet};
use super::{OxygenRedraw, OxygenUpdate, StopRule};
use crate::algebra::DeviceImage;
use crate::coded::Problem;
use crate::data::{Extremes, IterateId, MaskedRois, Notice, RoiSums, RunId, Volume};
use crate::operator::Accumulation;
use crate::plan::{Job, StartInfo};
use crate::recon::{AscentReport, AscentTuning, Explained, Optimality, RaceReport, StageTimes};

/// Command of the watcher to the solver.
#[derive(Clone, Debug)]
pub enum Command {
    /// Ends any run and starts another; runs are numbered from 1 in the order of these commands.
    Start {
        /// Study and settings.
        job: Job,
        /// Regions to measure from the first iterate on.
        rois: RoiSet,
        /// True to start paused (for single steps).
        paused: bool,
    },
    Control(Control),
    /// Measures these regions from now on. The measurer measures the stored iterates again, the solver the current one.
    SetRois(RoiSet),
    /// Replaces names, roles and true ratios of ROIs that have not moved.
    RenameRois(MaskedRois),
    /// Measures the stored iterates of a run, present and future, in parallel with the solver, as [`EventKind::Measured`]. A query replaces
    /// the one before of the same kind.
    Measure(RunId, Query),
    /// Applies a change of the history also on the server.
    ChangeHistory(HistoryChange),
    /// Reports that the acquisition has grown or is complete.
    DataArrived,
    /// Ends the thread.
    Quit,
}

/// Control of a run, which is also sent to a server.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Control {
    /// Pauses after the current step.
    Pause,
    Resume,
    /// Does one step, then pauses. A completed run begins a further iteration if necessary.
    StepOnce,
    /// Ends the run after the current step with its image ("Done"). For a run in one step it is [`Control::Cancel`].
    Stop,
    /// Ends the run at once; the image before the interrupted step remains.
    Cancel,
    /// Sets the accumulation of backprojections, from the next step on.
    SetAccumulation(Accumulation),
    /// Sets the stopping rules of this run and later ones.
    SetStopRules(Vec<StopRule>),
    /// Sets the number of full iterations; a completed run continues.
    SetIterations(usize),
    /// Sets penalty and step size of an algorithm that climbs, from the next step on.
    SetTuning(AscentTuning),
    /// Measures the standard deviation of each voxel between the replicates of the current image, as [`EventKind::Deviation`].
    MeasureDeviation {
        /// Full width at half maximum of the Gaussian that filters each replicate first, mm; `None` = none.
        post_filter_fwhm_mm: Option<f64>,
    },
    /// Reads the images of all radicals of the current iterate, or of all samples of its spectra, as [`EventKind::CoupledImages`].
    ReadCoupledImages,
}

impl From<Control> for Command {
    fn from(control: Control) -> Self {
        Command::Control(control)
    }
}

/// Event of the solver. Events arrive in order, and none is lost.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// Run of the event, by which late events of an earlier run are recognised.
    pub run: RunId,
    pub kind: EventKind,
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum EventKind {
    /// Measured step.
    Iterate(Box<IterateReport>),
    /// Results of a measurement of iterates.
    Measured(Answer),
    Paused,
    Resumed,
    /// Part of the data that the last image of a run explains, if the run ends inside an iteration.
    Explained {
        /// Total number of steps.
        subiteration: usize,
        explained: Explained,
    },
    /// Distance of the last image of a run from the maximum of its objective.
    Optimality {
        /// Total number of steps.
        subiteration: usize,
        /// Optimality residual.
        residual: Optimality,
    },
    /// A stopping rule is met, as a sentence; the run ends.
    RuleMet(String),
    Notice(Notice),
    /// The run has ended; its last image was published before.
    Ended(EndReason),
    /// The run has failed; the text has the reason and the remedy. The last good image remains.
    Failed(Problem),
    /// Standard deviation of each voxel between the replicates of an image.
    Deviation(DeviationUpdate),
    /// Standard deviations of the figures of the maps of oxygen, after each draw of the noise and after an edit of the ROIs.
    OxygenRedraw(Box<OxygenRedraw>),
    /// The run was set up. (These variants are last: they are not serialised, and must not change the numbers of the others.)
    #[serde(skip)]
    Started(Box<StartInfo>),
    /// The images of all radicals of an iterate, or of all samples of its spectra, which stay on this host.
    #[serde(skip)]
    CoupledImages(Vec<Volume>),
    /// Maps of oxygen of the images so far, after an image and after an edit of the ROIs. (A server sends them in another message.)
    #[serde(skip)]
    Oxygen(Box<OxygenUpdate>),
}

/// Standard deviation of each voxel between the replicates of an image.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct DeviationUpdate {
    pub id: IterateId,
    /// Width of the filter of the replicates, mm.
    pub post_filter_fwhm_mm: Option<f64>,
    /// Standard deviations in the unit of the image; `None` if the image has no replicates. (Not serialised: a server sends them as
    /// an image.)
    #[serde(skip)]
    pub volume: Option<Arc<Volume>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum EndReason {
    /// All iterations are complete.
    Completed,
    /// Stopped with its image.
    Stopped,
    /// Cancelled, or replaced by another run.
    Cancelled,
}

/// Measured step.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct IterateReport {
    /// Number of completed full iterations.
    pub iteration: usize,
    /// Total number of steps; for a sweep number of projections in the image.
    pub subiteration: usize,
    pub subset: usize,
    pub completes_iteration: bool,
    /// Log-likelihood of the subset's data at the image before the step.
    pub log_likelihood_of_subset: Option<f64>,
    /// Sum of the terms of all steps of a completed iteration, at the images before the steps.
    pub log_likelihood: Option<f64>,
    /// Residual of the data of a completed iteration, at the images before its steps: Σ (y − ȳ)² / Σ ȳ
    /// ([`crate::recon::DataResidual::ratio`]).
    pub residual: Option<f64>,
    /// Part of the data that the image of a completed iteration explains.
    pub explained: Option<Explained>,
    /// Number of events of the image, for a growing list.
    pub num_events: Option<usize>,
    pub accumulation: Accumulation,
    /// Losses of the race condition, if the step had one.
    pub race: Option<RaceReport>,
    /// Report of an algorithm that climbs to a maximum.
    pub ascent: Option<AscentReport>,
    pub stages: StageTimes,
    /// Time since the run's start, without pauses.
    pub elapsed: Duration,
    /// Number of the edit of the ROIs.
    pub branch: u64,
    /// Sums of each ROI on this iterate.
    pub roi_sums: Vec<RoiSums>,
    /// Standard deviation of each ROI's mean between the replicates; empty without replicates.
    pub roi_deviations: Vec<Option<f64>>,
}

/// Image on its way to the screen.
#[derive(Clone, Debug)]
pub struct IterateUpdate {
    pub id: IterateId,
    /// Image, which the history may share.
    pub volume: Arc<Volume>,
    /// The same where the window draws it, if the device that computes is that of the window.
    pub on_device: Option<DeviceImage>,
    pub extremes: Extremes,
    /// Voxel (x, y, z) whose slices have arrived from a server; the other values are of an earlier iterate, or 0. `None` = whole
    /// image.
    pub slices: Option<[usize; 3]>,
}
