//! Settings of a run.

use std::ops::Range;
use std::sync::Arc;

use super::replicates::ReplicateSettings;
use super::subsets::{SubsetRule, default_num_iterations};
use crate::data::{Counts, Experiment, Psf, Radical, ResponseMatrix, TofBins, TubeSet, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, REACH_SIGMAS, TofKernel};
use crate::plan::algorithms::common::RACY_SENSITIVITY;
use crate::plan::algorithms::registry::{AlgorithmChoice, Method};
use crate::plan::algorithms::value::YES;
use crate::plan::algorithms::values::Values;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::problem::SetupProblem;
use crate::plan::projector::settings::{ProjectorChoice, ProjectorSettings, Rays, rays_per_bin};
use crate::recon::{AlgorithmSpec, Bootstrap, StartImages};
use crate::scanner::ScanGeometry;

/// Settings of a reconstruction.
///
/// ```
/// use std::sync::Arc;
/// use tomoscope_engine::phantom::{self, SimulationOptions};
/// use tomoscope_engine::plan::{self, AlgorithmChoice, DeviceChoice, RunSettings};
/// use tomoscope_engine::scanner;
/// use tomoscope_engine::task::Task;
///
/// let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
/// let options = SimulationOptions { counts: 1.1e5, ..SimulationOptions::default() };
/// let study = phantom::simulate(&phantom::by_name("cylinder", &geometry)?, geometry, &options, &Task::new())?;
/// let defaults = plan::default_settings(&study.measured)?;
/// // 50 000 counts a subset at least.
/// assert_eq!(defaults.num_subsets, 2);
/// let mlem = RunSettings { algorithm: AlgorithmChoice::MLEM, device: DeviceChoice::Cpu, ..defaults };
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RunSettings {
    /// Algorithm.
    pub algorithm: AlgorithmChoice,
    /// Its settings.
    pub parameters: Values,
    /// Full iterations to do; an EPRI acquisition has one.
    pub num_iterations: usize,
    /// Subsets of an iteration, where the algorithm has any ([`RunSettings::subsets_in_use`]).
    pub num_subsets: usize,
    /// Bounds of the subsets of the data, if known; the defaults follow from them.
    #[serde(default)]
    pub subset_rule: Option<SubsetRule>,
    /// Image grid.
    pub grid: Grid,
    /// Voxels whose centre lies farther than this from the axis stay zero, mm.
    pub fov_radius_mm: f64,
    /// Rays per LOR.
    pub rays: Rays,
    /// Resolution model of the projections; `None` = points are seen as points.
    #[serde(default)]
    pub psf: Option<Psf>,
    /// Time of flight of sinograms.
    #[serde(default)]
    pub tof: TofSettings,
    /// Projector.
    pub projector: ProjectorChoice,
    /// Device.
    pub device: DeviceChoice,
    /// Accumulation; `None` = the device's default.
    pub accumulation: Option<Accumulation>,
    /// CUDA threads per block of the projector per-lor; `None` = the number with which most are resident.
    pub threads_per_block: Option<u32>,
    /// Threads on the CPU; `None` = all.
    pub num_threads: Option<usize>,
    /// Loaded inputs.
    #[serde(skip)]
    pub inputs: RunInputs,
    /// Frame of list-mode data whose events are reconstructed, ms; `None` = all events read.
    pub frame_ms: Option<Range<u32>>,
    /// Decisions of the set-up.
    #[serde(skip)]
    pub decisions: Decisions,
}

/// Loaded inputs of a run, besides its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunInputs {
    /// Tubes of response, for the projector tubes; `None` = the coarse set.
    pub tubes: Option<Arc<TubeSet>>,
    /// System matrix of a ring of crystals; `None` = the quick one of a small ring.
    pub matrix: Option<Arc<ResponseMatrix>>,
    /// Start image; `None` = 1 inside the field of view.
    pub init: Option<Arc<Volume>>,
    /// κ of a penalty with the weights of a file.
    pub kappa: Option<Arc<Volume>>,
    /// Radicals with separate images, of total variation; none = one, with the sweep's reference spectrum.
    pub radicals: Vec<Radical>,
    /// Further acquisitions of the same object for the same images, of total variation.
    pub experiments: Vec<Experiment>,
    /// Voxels that total variation reconstructs, where it is positive; `None` = all.
    pub mask: Option<Arc<Volume>>,
}

/// Decisions of the set-up by the free memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// True if SVRG computes gradients of subsets again in place of storing them.
    pub computes_gradients_again: bool,
    /// True if each replicate of list-mode data is projected on its own in place of several at once.
    pub projects_replicates_singly: bool,
}

/// Use of the time of flight of sinograms.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TofSettings {
    /// False if it is ignored.
    pub is_used: bool,
    /// Neighbouring time-of-flight bins that are added up.
    pub mash: usize,
    /// Where the kernel ends, standard deviations.
    pub sigmas: f64,
}

impl Default for TofSettings {
    fn default() -> Self {
        Self { is_used: true, mash: 1, sigmas: REACH_SIGMAS }
    }
}

impl TofSettings {
    /// Refuses settings that do not suit data.
    ///
    /// # Errors
    /// A number of bins to add up that does not divide theirs, a kernel that ends too early.
    pub(in crate::plan) fn check(&self, counts: &Counts) -> Result<(), SetupProblem> {
        let Some(bins) = counts.tof_bins().filter(|_| self.is_used) else { return Ok(()) };
        bins.mashed(self.mash)?;
        let is_long = self.sigmas.is_finite() && self.sigmas >= 1.0;
        if is_long { Ok(()) } else { Err(SetupProblem::TofSigmas(self.sigmas)) }
    }

    /// Returns the time-of-flight bins that are used of counts.
    ///
    /// # Errors
    /// A number of bins to add up that does not divide theirs.
    pub(in crate::plan) fn bins_of(&self, counts: &Counts) -> Result<Option<TofBins>, SetupProblem> {
        Ok(counts.tof_bins().filter(|_| self.is_used).map(|bins| bins.mashed(self.mash)).transpose()?)
    }

    /// Returns counts with the time of flight that is used.
    ///
    /// # Errors
    /// A number of bins to add up that does not divide theirs.
    pub(in crate::plan) fn of(&self, counts: &Counts) -> Result<Counts, SetupProblem> {
        let counts = counts.clone();
        if counts.tof_bins().is_none() || !self.is_used {
            return Ok(counts.without_tof());
        }
        if self.mash == 1 { Ok(counts) } else { Ok(counts.tof_mashed(self.mash)?) }
    }

    /// Returns bins with their kernel.
    pub fn kernel(&self, bins: TofBins) -> (TofBins, TofKernel) {
        (bins, TofKernel::new(bins.fwhm_mm).with_reach(self.sigmas))
    }
}

/// Returns the rays per LOR of a run with this projector; `None` if it traces none.
pub fn rays_in_use(geometry: &ScanGeometry, settings: &RunSettings, name: &str) -> Option<[usize; 2]> {
    let uses_tubes = ProjectorChoice::all().any(|choice| choice.name() == name && choice.uses_tubes());
    (!uses_tubes).then(|| rays_per_bin(geometry, &settings.grid, settings.fov_radius_mm, settings.rays))
}

impl RunSettings {
    /// Returns the settings of this algorithm on this grid, everything else by default.
    pub fn new(algorithm: AlgorithmChoice, grid: Grid) -> Self {
        Self {
            algorithm,
            parameters: Values::default(),
            num_iterations: default_num_iterations(1),
            num_subsets: 1,
            subset_rule: None,
            fov_radius_mm: grid.inscribed_radius_mm(),
            grid,
            rays: Rays::Auto,
            psf: None,
            tof: TofSettings::default(),
            projector: ProjectorChoice::Auto,
            device: DeviceChoice::Auto,
            accumulation: None,
            threads_per_block: None,
            num_threads: None,
            inputs: RunInputs::default(),
            frame_ms: None,
            decisions: Decisions::default(),
        }
    }

    /// Returns the images that the run begins with.
    pub(in crate::plan) fn start_images(&self) -> StartImages<'_> {
        StartImages { init: self.inputs.init.as_deref(), kappa: self.inputs.kappa.as_ref() }
    }

    /// Returns the settings of the projector on a device, of data with these time-of-flight bins.
    pub(in crate::plan) fn of_projector(&self, device: DeviceChoice, bins: Option<TofBins>) -> ProjectorSettings {
        ProjectorSettings {
            rays: self.rays,
            threads_per_block: self.threads_per_block,
            tubes: self.inputs.tubes.clone(),
            psf: self.psf.clone(),
            tof: bins.map(|bins| self.tof.kernel(bins)),
            ..ProjectorSettings::new(self.grid.clone(), self.fov_radius_mm, self.projector, device)
        }
    }

    /// Returns what steps, of an algorithm that iterates with a forward model.
    ///
    /// # Errors
    /// Filtered backprojection has no forward model.
    pub(in crate::plan) fn spec(&self) -> Result<AlgorithmSpec, SetupProblem> {
        match self.algorithm.entry().method {
            Method::Iterative(spec) if self.decisions.computes_gradients_again => {
                Ok(spec(&self.parameters).without_stored_gradients())
            }
            Method::Iterative(spec) => Ok(spec(&self.parameters)),
            Method::FilteredBackprojection(_) | Method::TotalVariation | Method::AsRead => {
                Err(SetupProblem::Algorithm { algorithm: self.algorithm.key(), suitable: vec!["osem", "mlem"] })
            }
        }
    }

    /// Returns the replicates; `None` = none.
    pub fn replicates(&self) -> Option<ReplicateSettings> {
        ReplicateSettings::of(&self.parameters)
    }

    /// Returns the same settings with these replicates; `None` = none.
    #[must_use]
    pub fn with_replicates(self, replicates: Option<ReplicateSettings>) -> Self {
        Self { parameters: ReplicateSettings::set(replicates, self.parameters), ..self }
    }

    /// Returns the number of replicates; 0 = none.
    pub fn num_replicates(&self) -> usize {
        self.replicates().map_or(0, |replicates| replicates.num)
    }

    /// Returns true if the sensitivity image of a non-atomic run is computed with the race, too.
    pub fn has_racy_sensitivity(&self) -> bool {
        self.parameters.is(&RACY_SENSITIVITY, YES)
    }

    /// Returns the counts of replicates to draw; `None` without error bars.
    pub(in crate::plan) fn bootstrap(&self) -> Option<Bootstrap> {
        self.replicates().as_ref().map(ReplicateSettings::bootstrap)
    }

    /// Returns the bytes of a run from those of expectation maximisation: with the images of the algorithm, counts and images of each
    /// replicate, and the sums for their standard deviation. `num_data` = counts of the share of a device.
    pub(in crate::plan) fn bytes_of_run(&self, of_em: u64, num_data: usize) -> u64 {
        let num_voxels = self.grid.num_voxels() as u64;
        let spec = self.spec().ok();
        let further_images = spec.map_or(0, |spec| spec.further_images(self.num_subsets));
        let of_replicate = spec.map_or(1, |spec| spec.images_of_replicate(self.num_subsets));
        let replicates = self.replicates().map_or(0, |ReplicateSettings { num, .. }| {
            let sums = 2 * 2 * num_voxels;
            num as u64 * (num_data as u64 + of_replicate * num_voxels) + sums
        });
        of_em.saturating_add_signed(4 * further_images * num_voxels as i64).saturating_add(4 * replicates)
    }

    /// Returns the subsets that are used: one where the algorithm has none.
    pub fn subsets_in_use(&self) -> usize {
        if self.algorithm.entry().has_subsets { self.num_subsets } else { 1 }
    }

    /// Returns why there are not more subsets, where their number is a default that the data lower.
    pub fn why_subsets(&self) -> Option<String> {
        let has_subsets = self.algorithm.entry().has_subsets;
        let is_default = |rule: &SubsetRule| rule.num_subsets() == self.num_subsets && !self.algorithm.has_penalty();
        self.subset_rule.filter(|rule| has_subsets && is_default(rule))?.why_lowered()
    }
}
