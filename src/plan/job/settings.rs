//! Settings of a run.

use std::ops::Range;
use std::sync::Arc;

use super::subsets::SubsetRule;
use crate::data::{ResponseMatrix, TubeSet, Volume};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::plan::platform::choice::DeviceChoice;
use crate::plan::projector::programs::{PlaneKernel, Stages};
use crate::plan::projector::settings::{ProjectorChoice, Rays, rays_per_bin};
use crate::recon::{FilterSettings, SubsetOrder};
use crate::scanner::ScanGeometry;
use crate::scanner::epri::Order;

/// Which algorithm reconstructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmKind {
    /// Maximum-likelihood expectation maximisation: all views in each step.
    Mlem,
    /// The same over ordered subsets of the views.
    Osem,
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

/// The lines per bin of a run by this projector; `None` where it traces none.
pub fn rays_in_use(geometry: &ScanGeometry, settings: &RunSettings, name: &str) -> Option<[usize; 2]> {
    let uses_tubes = ProjectorChoice::all().any(|choice| choice.name() == name && choice.uses_tubes());
    (!uses_tubes).then(|| rays_per_bin(geometry, &settings.grid, settings.fov_radius_mm, settings.rays))
}

impl RunSettings {
    /// The subsets that are used: MLEM has one.
    pub fn subsets_in_use(&self) -> usize {
        if self.algorithm == AlgorithmKind::Mlem { 1 } else { self.num_subsets }
    }

    /// Why there are not more subsets, where their number is a default that the data lower.
    pub fn why_subsets(&self) -> Option<String> {
        let is_osem = self.algorithm == AlgorithmKind::Osem;
        self.subset_rule.filter(|rule| is_osem && rule.num_subsets() == self.num_subsets)?.why_lowered()
    }
}
