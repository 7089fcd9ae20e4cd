//! What is reconstructed and how: the data with the settings of a run, and what a run became when it was set up.

pub mod acquisition;
pub mod defaults;
pub mod settings;
pub mod subsets;

use std::ops::Range;
use std::sync::Arc;

use self::acquisition::{Acquisition, ListAcquisition};
use self::settings::{PairSettings, RunSettings, SweepSettings};
use self::subsets::{SubsetRule, default_num_iterations};
use crate::data::{Counts, EventList, Notice, PairCounts, Study};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::plan::course::Course;
use crate::plan::platform::memory::DeviceMemory;
use crate::plan::projector::programs::Stages;
use crate::recon::Estimate;
use crate::words::counted;

/// What is reconstructed, and how.
#[derive(Clone, Debug)]
pub enum Job {
    /// Counts along lines, iteratively.
    Counts {
        /// What was measured.
        study: Arc<Study<Counts>>,
        /// What to do with it.
        settings: Box<RunSettings>,
    },
    /// An EPRI sweep, by filtered backprojection; while it grows the image grows with it.
    Sweep {
        /// What was measured so far.
        study: Arc<Study<Acquisition>>,
        /// What to do with it.
        settings: Box<SweepSettings>,
    },
    /// Counts of pairs of crystals, iteratively.
    Pairs {
        /// What was measured.
        study: Arc<Study<PairCounts>>,
        /// What to do with it.
        settings: Box<PairSettings>,
    },
    /// Single events, iteratively.
    Events {
        /// What was measured.
        study: Arc<Study<EventList>>,
        /// What to do with it; there is one projector for them.
        settings: Box<RunSettings>,
        /// Where they come from while the list is still being written; the image is then one of those that have arrived.
        growing: Option<ListAcquisition>,
    },
}

impl Job {
    /// Grid of the image.
    pub fn grid(&self) -> &Grid {
        match self {
            Job::Counts { settings, .. } => &settings.grid,
            Job::Sweep { settings, .. } => &settings.grid,
            Job::Pairs { settings, .. } => &settings.grid,
            Job::Events { settings, .. } => &settings.grid,
        }
    }

    /// What its steps are called and counted by.
    pub fn course(&self) -> Course {
        match self {
            Job::Counts { .. } => Course::ITERATIONS,
            Job::Events { growing: None, .. } => Course::EVENTS,
            Job::Events { growing: Some(_), .. } => Course::ARRIVING_EVENTS,
            Job::Sweep { .. } => Course::PROJECTIONS,
            Job::Pairs { .. } => Course::DENSITIES,
        }
    }

    /// Full iterations to do; of what may grow one, which is all of it.
    pub fn num_iterations(&self) -> usize {
        match self {
            Job::Counts { settings, .. } => settings.num_iterations,
            Job::Sweep { .. } | Job::Events { growing: Some(_), .. } => 1,
            Job::Pairs { settings, .. } => settings.num_iterations,
            Job::Events { settings, growing: None, .. } => settings.num_iterations,
        }
    }

    /// The same of one frame, ms, where it is of a list.
    pub fn in_frame(mut self, frame_ms: Range<u32>) -> Self {
        if let Job::Events { settings, .. } = &mut self {
            settings.frame_ms = Some(frame_ms);
        }
        self
    }

    /// Returns the share of the scan's time that the data are of; `None` where that is not known: of a frame of a list without a
    /// duration, and of a list that is still being written.
    pub fn share_of_scan(&self) -> Option<f64> {
        let Job::Events { study, settings, growing } = self else { return Some(1.0) };
        let Some(frame_ms) = &settings.frame_ms else { return growing.is_none().then_some(1.0) };
        let list = &study.measured;
        let whole_ms = Some(list.time.duration_ms(&list.facts)).filter(|ms| *ms > 0)?;
        Some((list.frame_time(frame_ms).duration_ms as f64 / whole_ms as f64).min(1.0))
    }

    /// The same to this number of full iterations; a sweep has one.
    pub fn until(mut self, num_iterations: usize) -> Self {
        match &mut self {
            Job::Counts { settings, .. } | Job::Events { settings, .. } => settings.num_iterations = num_iterations,
            Job::Pairs { settings, .. } => settings.num_iterations = num_iterations,
            Job::Sweep { .. } => {}
        }
        self
    }

    /// Threads on the CPU; `None` = all.
    pub fn num_threads(&self) -> Option<usize> {
        match self {
            Job::Counts { settings, .. } => settings.num_threads,
            Job::Sweep { settings, .. } => settings.num_threads,
            Job::Pairs { settings, .. } => settings.num_threads,
            Job::Events { settings, .. } => settings.num_threads,
        }
    }

    /// Whether all is done in one step, in two stages: nothing can be kept before its end, and it is stopped inside.
    pub fn is_one_step(&self) -> bool {
        matches!(self, Job::Sweep { settings, .. } if settings.stages == Stages::Two)
    }

    /// That the data do not support so many subsets.
    pub fn subset_notice(&self) -> Option<Notice> {
        let (Job::Counts { settings, .. } | Job::Events { settings, .. }) = self else { return None };
        settings.subset_rule?.notice(settings.subsets_in_use())
    }

    /// That few counts in a frame lower the subsets of all.
    pub fn notice_of_frames(&self) -> Option<Notice> {
        let Job::Events { settings, .. } = self else { return None };
        let schedule = format!("{} × {}", counted(settings.num_subsets, "subset"), counted(settings.num_iterations, "iteration"));
        let words = |reason| format!("all frames: {schedule}; the frame with the fewest counts has {reason}");
        settings.why_subsets().map(|reason| Notice::info(words(reason)))
    }

    /// The same for these frames of a list, ms: where subsets and iterations are the defaults of the whole they become those of its
    /// frames, which are all alike, so that their images can be compared.
    pub fn for_frames(mut self, frames_ms: &[Range<u32>]) -> Self {
        if let Job::Events { study, settings, .. } = &mut self
            && let Some(of_whole) = settings.subset_rule
            && let Some(rule) = SubsetRule::of_frames(&study.measured, frames_ms)
        {
            if settings.num_subsets == of_whole.num_subsets() {
                settings.num_subsets = rule.num_subsets();
            }
            if settings.num_iterations == of_whole.num_iterations() {
                settings.num_iterations = default_num_iterations(settings.subsets_in_use());
            }
            settings.subset_rule = Some(rule);
        }
        self
    }
}

/// What a run became when it was set up.
#[derive(Clone, Debug)]
pub struct StartInfo {
    /// Device in words ("CPU, 2 threads, AVX-512").
    pub device: String,
    /// Projector in use ("axial-runs", "per-lor").
    pub projector: String,
    /// Subiterations of a full iteration; of a sweep its projections, as far as they are known; of events that arrive 1.
    pub num_subsets: usize,
    /// Accumulation in use.
    pub accumulation: Accumulation,
    /// Accumulations that can be switched to.
    pub accumulations: &'static [Accumulation],
    /// Memory and time.
    pub estimate: Estimate,
    /// Memory that it uses of each device of this machine.
    pub memory: Vec<DeviceMemory>,
    /// The job, with the settings as they were used.
    pub job: Job,
}
