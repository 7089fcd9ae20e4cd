//! What is reconstructed and how: the data with the settings of a run, and what a run became when it was set up.

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use super::{Acquisition, Course, DeviceMemory, ListAcquisition, PROJECTORS, SubsetRule};
use crate::data::{Counts, EventList, PairCounts, ResponseMatrix, Study, TubeSet, Volume};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::recon::{Estimate, FilterSettings, SubsetOrder};
use crate::scanner::epri::Order;
use crate::words::either;

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
    /// Several CUDA devices, which share the data out among them.
    Gpus(GpuSet),
}

/// CUDA devices of one host by their numbers, 0 to 63. As a text they are `0,1`, or `all`.
///
/// ```
/// use tomoscope::plan::GpuSet;
///
/// let gpus: GpuSet = "0,2".parse()?;
/// assert_eq!(gpus.numbers(4).collect::<Vec<_>>(), [0, 2]);
/// assert_eq!(GpuSet::ALL.numbers(4).count(), 4);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct GpuSet(u64);

impl GpuSet {
    /// All that there are.
    pub const ALL: GpuSet = GpuSet(u64::MAX);

    /// Those of these numbers; `None` where one is too large or there twice, or there are none.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Option<Self> {
        let add = |bits: u64, number: usize| {
            let bit = 1u64.checked_shl(number.try_into().ok()?)?;
            (bits & bit == 0).then_some(bits | bit)
        };
        numbers.into_iter().try_fold(0, add).filter(|bits| *bits != 0).map(Self)
    }

    /// Their numbers, of `num_gpus`.
    pub fn numbers(self, num_gpus: usize) -> impl Iterator<Item = usize> {
        let end = if self == Self::ALL { num_gpus } else { 64 };
        (0..end.min(64)).filter(move |number| self.0 >> number & 1 != 0)
    }
}

impl From<GpuSet> for String {
    fn from(set: GpuSet) -> Self {
        set.to_string()
    }
}

impl TryFrom<String> for GpuSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for GpuSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let numbers = text.split(',').map(|number| number.parse().ok()).collect::<Option<Vec<usize>>>();
        let set = numbers.and_then(Self::of);
        set.ok_or_else(|| format!("'{text}' is no list of GPUs; write their numbers, each once (0,1), or all"))
    }
}

impl std::fmt::Display for GpuSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let numbers: Vec<String> = self.numbers(64).map(|number| number.to_string()).collect();
        f.write_str(&numbers.join(","))
    }
}

/// Which projector computes A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectorChoice {
    /// The first of [`PROJECTORS`] that the geometry allows.
    Auto,
    /// The one of this name.
    Named(&'static str),
}

impl ProjectorChoice {
    /// Siddon's path, one LOR at a time: the definition.
    pub const PER_LOR: ProjectorChoice = ProjectorChoice::Named("per-lor");

    /// All planes of a transaxial LOR at once.
    pub const AXIAL_RUNS: ProjectorChoice = ProjectorChoice::Named("axial-runs");

    /// Tubes of response.
    pub const TUBES: ProjectorChoice = ProjectorChoice::Named("tubes");
    /// Tubes of response by the kernels of their paper.
    pub const TUBES_PAPER: ProjectorChoice = ProjectorChoice::Named("tubes-paper");

    /// Whether it projects with tubes of response.
    pub fn uses_tubes(self) -> bool {
        matches!(self, Self::TUBES | Self::TUBES_PAPER)
    }

    /// All choices.
    pub fn all() -> impl Iterator<Item = ProjectorChoice> {
        std::iter::once(ProjectorChoice::Auto).chain(PROJECTORS.iter().map(|entry| ProjectorChoice::Named(entry.name)))
    }

    /// Its name on the command line, in files and in the window.
    pub fn name(self) -> &'static str {
        match self {
            ProjectorChoice::Auto => "auto",
            ProjectorChoice::Named(name) => name,
        }
    }
}

impl serde::Serialize for ProjectorChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for ProjectorChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for ProjectorChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ProjectorChoice::all().find(|choice| choice.name() == text).ok_or_else(|| {
            let names: Vec<&str> = ProjectorChoice::all().map(ProjectorChoice::name).collect();
            format!("'{text}' is not a projector; use {}", either(&names))
        })
    }
}

/// Lines traced for each bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rays {
    /// So many that no voxel between two lines is missed ([`super::rays_per_bin`]).
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
///
/// ```
/// use std::sync::Arc;
/// use tomoscope::phantom::{self, SimulationOptions};
/// use tomoscope::plan::{self, DeviceChoice, RunSettings};
/// use tomoscope::scanner;
/// use tomoscope::task::Task;
///
/// let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
/// let options = SimulationOptions { counts: 1.1e5, ..SimulationOptions::default() };
/// let study = phantom::simulate(&phantom::by_name("cylinder", &geometry)?, geometry, &options, &Task::new())?;
/// let defaults = plan::default_settings(&study.measured)?;
/// // 50 000 counts a subset at least.
/// assert_eq!(defaults.num_subsets, 2);
/// let mlem = RunSettings { num_subsets: 1, device: DeviceChoice::Cpu, ..defaults };
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RunSettings {
    /// Algorithm.
    pub algorithm: AlgorithmKind,
    /// Full iterations to do.
    pub num_iterations: usize,
    /// Subsets of an OSEM iteration; MLEM has one, whatever stands here.
    pub num_subsets: usize,
    /// What bounds the subsets of the data, where that is known; the defaults follow from it.
    #[serde(default)]
    pub subset_rule: Option<SubsetRule>,
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
    /// Threads of a block of the projector per-lor on CUDA; `None` = the number with which most are resident.
    pub threads_per_block: Option<u32>,
    /// Tubes of response, for the projector tubes; `None` = the coarse set.
    #[serde(skip)]
    pub tubes: Option<Arc<TubeSet>>,
    /// Threads on the CPU; `None` = all.
    pub num_threads: Option<usize>,
    /// Start image; `None` = 1 inside the field of view.
    #[serde(skip)]
    pub init: Option<Arc<Volume>>,
    /// Of a list: the frame whose events are reconstructed, ms; `None` = all that were read.
    pub frame_ms: Option<Range<u32>>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::Display, strum::EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_kernel)]
pub enum PlaneKernel {
    /// The fast one, in single precision.
    #[default]
    Fast,
    /// The published one (Qiao et al. 2015), in double precision and its order of operations.
    Paper,
}

fn not_a_kernel(text: &str) -> String {
    format!("'{text}' is not a kernel; use fast or paper")
}

/// All that a filtered backprojection of an EPRI sweep is asked to do.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
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

/// All that a reconstruction of counts of pairs of crystals is asked to do: MLEM with a stored matrix.
#[derive(Clone, Debug)]
pub struct PairSettings {
    /// The matrix; `None` = the quick one of a small ring.
    pub matrix: Option<Arc<ResponseMatrix>>,
    /// Full iterations to do.
    pub num_iterations: usize,
    /// Grid on which images are shown.
    pub grid: Grid,
    /// Device.
    pub device: DeviceChoice,
    /// Accumulation; `None` = the device's default.
    pub accumulation: Option<Accumulation>,
    /// Threads on the CPU; `None` = all.
    pub num_threads: Option<usize>,
    /// Start image; `None` = 1 everywhere.
    pub init: Option<Arc<Volume>>,
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_gpus_come_back_from_their_text() {
        for (text, numbers) in [("0,1", &[0, 1][..]), ("3", &[3]), ("63,0,7", &[0, 7, 63]), ("all", &[0, 1, 2])] {
            let set: GpuSet = text.parse().unwrap();
            assert_eq!(set.numbers(3).collect::<Vec<_>>(), numbers);
            assert_eq!(serde_json::from_str::<GpuSet>(&serde_json::to_string(&set).unwrap()).unwrap(), set);
            let choice = DeviceChoice::Gpus(set);
            let text = toml::to_string(&std::collections::BTreeMap::from([("device", choice)])).unwrap();
            assert_eq!(toml::from_str::<std::collections::BTreeMap<String, DeviceChoice>>(&text).unwrap()["device"], choice);
        }
        for text in ["", "0,0", "64", "1,", "-1", "some"] {
            assert!(text.parse::<GpuSet>().is_err(), "{text}");
        }
    }
}
