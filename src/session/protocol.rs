//! The messages between a session's solver thread and whoever watches it.

use std::sync::Arc;
use std::time::Duration;

use super::StopRule;
use crate::coded::Problem;
use crate::data::{Extremes, IterateId, MaskedRois, Notice, RoiSums, RunId, Volume};
use crate::geometry::Point;
use crate::measure::{NoPeakWidth, PeakWidth};
use crate::operator::Accumulation;
use crate::plan::{Job, StartInfo};
use crate::recon::{Explained, RaceReport, StageTimes};

/// ROIs to measure on every iterate. `branch` grows with each edit, so that a curve shows where its ROI changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoiSet {
    /// Number of the edit.
    pub branch: u64,
    /// The regions. Watcher, solver and measurer share their masks.
    pub rois: MaskedRois,
}

/// A line through images whose peaks are measured.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PeakLine {
    /// Where it begins and ends, mm.
    pub ends_mm: [Point; 2],
    /// Side of the square about the line over which is averaged, mm; 0 = the line alone.
    pub width_mm: f64,
}

/// The peaks of an image along a line.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PeaksPoint {
    /// Full iterations complete.
    pub iteration: usize,
    /// Steps done in all; of a sweep projections in the image.
    pub subiteration: usize,
    /// Width of each, the highest first, or why it has none ([`crate::measure::widths_along`]).
    pub widths: Vec<Result<PeakWidth, NoPeakWidth>>,
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
    /// Controls the run.
    Control(Control),
    /// Measures these from now on; what is kept is measured again at once, beside the solver, and so is the current iterate.
    SetRois(RoiSet),
    /// Takes other names, roles and true ratios for ROIs that have not moved.
    RenameRois(MaskedRois),
    /// The acquisition has grown, or is over.
    DataArrived,
    /// Ends the thread.
    Quit,
}

/// Controls of a run, the same for a solver on another machine.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Control {
    /// Holds after the current step.
    Pause,
    /// Goes on.
    Resume,
    /// Does one step, then holds (also after the run had finished: with a further iteration where it needs one).
    StepOnce,
    /// Ends the run after the current step and keeps its image ("Done"). Of a run in one step it is [`Control::Cancel`].
    Stop,
    /// Ends the run at once; the image before the interrupted step stays.
    Cancel,
    /// Sets how backprojections add, from the next step on.
    SetAccumulation(Accumulation),
    /// Goes by these rules from now on, in this run and those after it.
    SetStopRules(Vec<StopRule>),
    /// Goes on to this number of full iterations (also after the run had finished).
    SetIterations(usize),
}

impl From<Control> for Command {
    fn from(control: Control) -> Self {
        Command::Control(control)
    }
}

/// What the solver says, in order; nothing of it is ever dropped.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// Run of the event, by which late events of an earlier run are recognised.
    pub run: RunId,
    /// What happened.
    pub kind: EventKind,
}

/// What happened in a run.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum EventKind {
    /// A step is done and measured.
    Iterate(Box<IterateReport>),
    /// Iterates of the past measured again after an edit of the ROIs, also in several parts: at once those that are kept, as
    /// soon as the solver knows of the edit the current one and what was kept meanwhile.
    Remeasured {
        /// The edit.
        branch: u64,
        /// (iteration, subiteration, sums in the order of the ROI set), oldest first.
        points: Vec<(usize, usize, Vec<RoiSums>)>,
    },
    /// Images of the run, compared with the reference as they are kept.
    Compared {
        /// What they were compared with.
        reference: ReferenceId,
        /// In the order of the images; one that was compared before takes the place of what was said then.
        points: Vec<Comparison>,
    },
    /// Widths of the peaks along a line through images of the run, as they are kept.
    Profiled {
        /// The line.
        line: PeakLine,
        /// Those of the images that were not measured along this line before, in their order.
        points: Vec<PeaksPoint>,
    },
    /// The run holds.
    Paused,
    /// The run goes on.
    Resumed,
    /// How much of the data the image of a run explains that ends inside an iteration.
    Explained {
        /// Steps done in all.
        subiteration: usize,
        /// What it explains.
        explained: Explained,
    },
    /// A stop rule is met: what it says, as a sentence; the run ends.
    RuleMet(String),
    /// Something to know.
    Notice(Notice),
    /// The run is over; its last volume was published before this.
    Ended(EndReason),
    /// The run cannot go on; the text says why and what to do. The last good volume stays.
    Failed(Problem),
    /// The run was set up. (It stands last: what does not travel must not change the numbers of what does.)
    #[serde(skip)]
    Started(Box<StartInfo>),
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum EndReason {
    /// All iterations are done.
    Completed,
    /// Stopped and kept.
    Stopped,
    /// Cancelled, or replaced by another run.
    Cancelled,
}

/// One step, measured.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
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
    /// Of a step that completes an iteration: how far the data are from what the images before its steps make expect,
    /// Σ (y − ȳ)² / Σ ȳ ([`crate::recon::DataResidual::ratio`]).
    pub residual: Option<f64>,
    /// Of a step that completes an iteration: how much of the data the image explains.
    pub explained: Option<Explained>,
    /// Events that the image is of, where further ones arrive.
    pub num_events: Option<usize>,
    /// Accumulation of the step.
    pub accumulation: Accumulation,
    /// What the race lost, where the step had one.
    pub race: Option<RaceReport>,
    /// Where the time went.
    pub stages: StageTimes,
    /// Since the run's start, pauses left out.
    pub elapsed: Duration,
    /// The ROI edit that the sums belong to.
    pub branch: u64,
    /// Sums of each ROI on this iterate.
    pub roi_sums: Vec<RoiSums>,
}

/// What images of a run are compared with.
#[derive(Clone, Debug)]
pub enum CompareWith {
    /// Each with the image of the same number of this run, past its last one with that.
    Run(RunId),
    /// All with this one.
    Image(StoredIterate),
}

impl CompareWith {
    /// By its numbers.
    pub fn id(&self) -> ReferenceId {
        match self {
            CompareWith::Run(run) => ReferenceId { run: *run, subiteration: None },
            CompareWith::Image(image) => ReferenceId { run: image.id.run, subiteration: Some(image.id.subiteration) },
        }
    }
}

/// Which images others are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ReferenceId {
    /// Whose they are.
    pub run: RunId,
    /// Steps done of the one image that all others are compared with.
    pub subiteration: Option<usize>,
}

/// How much an image is like another of the same grid.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Comparison {
    /// Full iterations complete.
    pub iteration: usize,
    /// Steps done in all; of a sweep projections in the image.
    pub subiteration: usize,
    /// Full iterations and steps of the reference run's image; `None` where it is compared with an image of a file.
    pub reference: Option<[usize; 2]>,
    /// Whether all images of the run are compared with that one.
    pub is_fixed: bool,
    /// Correlation coefficient ([`crate::measure::correlation`]).
    pub correlation: f64,
    /// ‖image − reference‖ / ‖reference‖ ([`crate::measure::relative_difference`]).
    pub relative_difference: f64,
}

impl Comparison {
    /// Whether both images have the same number of iterations, of a sweep of projections.
    pub fn is_of_same_number(&self) -> bool {
        self.reference.is_none_or(|reference| number(reference) == number([self.iteration, self.subiteration]))
    }
}

/// What images are counted by: iterations, before the first is complete (as in a sweep before its end) steps.
pub(super) fn number([iteration, subiteration]: [usize; 2]) -> [usize; 2] {
    [iteration, if iteration == 0 { subiteration } else { 0 }]
}

/// A volume on its way to the screen.
#[derive(Clone, Debug)]
pub struct IterateUpdate {
    /// Numbers of the iterate.
    pub id: IterateId,
    /// The image; the history may hold it too.
    pub volume: Arc<Volume>,
    /// Its smallest and largest value.
    pub extremes: Extremes,
    /// Where only three slices have come of it as yet, from a solver elsewhere: their voxels along x, y and z. All others are of an
    /// earlier iterate, or 0. `None` = it is whole.
    pub slices: Option<[usize; 3]>,
}

/// An image of the past: after a full iteration, or after each block of projections.
#[derive(Clone, Debug)]
pub struct StoredIterate {
    /// Numbers of the iterate.
    pub id: IterateId,
    /// The image.
    pub volume: Arc<Volume>,
    /// Its smallest and largest value.
    pub extremes: Extremes,
}
