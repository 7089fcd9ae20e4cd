//! Messages between a session's solver and the watcher.

use std::sync::Arc;
use std::time::Duration;

use super::history::HistoryChange;
use super::measurements::{Answer, FILTERS_MM, Query, RoiSet};
use super::{OxygenRedraw, OxygenUpdate, StopRule};
use crate::algebra::DeviceImage;
use crate::coded::Problem;
use crate::data::{Extremes, IterateId, Notice, RoiSums, RunId, Volume};
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
    /// Reports that the acquisition has grown or is complete.
    DataArrived,
    /// Ends the thread.
    Quit,
}

/// Control of a run, its measurements and its history, which is also sent to a server.
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
    /// Reads volumes of the current image, which [`EventKind::Volumes`] reports.
    ReadVolumes(VolumesOf),
    /// Measures these regions from now on. The measurer measures the stored iterates again, the solver the current one.
    SetRois(RoiSet),
    /// Replaces names, roles and true ratios of ROIs that have not moved.
    RenameRois(RoiSet),
    /// Measures the stored iterates of a run, present and future, in parallel with the solver, as [`EventKind::Measured`]. A query replaces
    /// the one before of the same kind.
    Measure(RunId, Query),
    ChangeHistory(HistoryChange),
}

impl Control {
    pub fn regions(&mut self) -> Option<&mut RoiSet> {
        match self {
            Control::SetRois(rois) | Control::RenameRois(rois) => Some(rois),
            Control::Measure(_, query) => query.regions(),
            _ => None,
        }
    }

    pub fn is_valid(&self) -> bool {
        match self {
            Control::ReadVolumes(VolumesOf::Deviation(Some(mm))) => FILTERS_MM.contains(mm),
            Control::Measure(_, query) => query.is_valid(),
            _ => true,
        }
    }
}

impl From<HistoryChange> for Command {
    fn from(change: HistoryChange) -> Self {
        Control::ChangeHistory(change).into()
    }
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
    /// Volumes of an iterate were read: this number of them ([`Session::take_volumes`](super::Session::take_volumes)), from a server soon
    /// after this event.
    Volumes {
        id: IterateId,
        of: VolumesOf,
        num: usize,
    },
    /// Standard deviations of the figures of the maps of oxygen, after each draw of the noise and after an edit of the ROIs.
    OxygenRedraw(Box<OxygenRedraw>),
    /// Figures of the maps of oxygen of the images so far, after an image and after an edit of the ROIs. (The maps are volumes.)
    Oxygen(Box<OxygenUpdate>),
    /// The run was set up. (This variant is last: it is not serialised, and must not change the numbers of the others.)
    #[serde(skip)]
    Started(Box<StartInfo>),
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

/// Volumes of an iterate besides its image. They travel as images do: newer ones of the same kind replace those that were not taken.
#[derive(Clone, Debug)]
pub struct Volumes {
    pub id: IterateId,
    pub of: VolumesOf,
    pub volumes: Vec<Arc<Volume>>,
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum VolumesOf {
    /// Standard deviation of each voxel between the replicates, after a Gaussian filter of this FWHM, mm; none without replicates.
    Deviation(Option<f64>),
    /// Images of all radicals, or of all samples of the spectra; they stay on the host of the run.
    Coupled,
    /// Maps of oxygen after each image: relaxation rate, pressure, and its standard deviation if there are residuals; voxels without a
    /// rate are NaN.
    Oxygen,
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
