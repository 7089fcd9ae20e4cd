//! Reconstruction algorithms. An algorithm steps; it owns no loop, thread, channel, file or print.

mod as_read;
mod ascent;
mod bootstrap;
mod ct_attenuation;
mod em_kernels;
mod explained;
mod fbp;
mod field;
mod growing;
mod image_readout;
mod list_model;
mod mlem_osem;
mod model;
mod oximetry;
mod penalty;
mod post_filter;
mod problem;
mod reference;
mod shared;
mod slabs;
mod spec;
mod stage;
mod start;
mod stitch;
mod tv;
mod watched;

use std::sync::Arc;

use crate::algebra::{BackendError, PendingVolume};
use crate::coded::{PassedOn, coded};
use crate::data::{Projection, RoiMask, RoiSums, Volume};
use crate::operator::{Accumulation, OperatorError};
use crate::task::Task;
pub use as_read::AsRead;
pub(crate) use ascent::max_magnitude;
pub use ascent::{
    AscentKernels, AscentMethod, AscentReport, AscentTuning, BsremSettings, DrawOrder, ObjectiveValue, Optimality, StepSizes,
    SvrgSettings,
};
pub use bootstrap::Bootstrap;
pub use ct_attenuation::{CtCover, CtProblem, HounsfieldLines, PlacedCt};
pub(crate) use em_kernels::check_places;
pub use em_kernels::{DataResidual, EmKernels, MAX_RATIO, MIN_SENSITIVITY, PoissonTerms};
pub use explained::{Explained, is_negative};
pub use fbp::{
    Baseline, Fbp, FbpSettings, Filter, FilterSettings, GradientSizes, Noise, ProjectionFilter, check_sweep, cutoff_by_noise,
    equal_angles_for, image_noise, resampling_error, sampling_of,
};
pub use field::{FieldFit, WithError, field_warnings};
pub use growing::{ArrivingEvents, GrowingEm, MIN_EVENTS};
pub use list_model::{EventTerms, ListModel};
pub use mlem_osem::{EmSettings, MlemOsem, SubsetOrder, check_poisson_data};
pub use model::{CountTotals, Factors, ForwardModel, MeasuredValues, ProjectionModel, Step, corrections_per_datum};
pub use oximetry::{ImageMaker, OxygenResult, PulseOximetry};
pub use penalty::{
    Kappa, PairTerms, PairWeights, Penalty, PenaltyKernels, PenaltySpec, PenaltyTerms, Potential, Prior, proposed_strength,
};
pub use post_filter::gaussian_filter;
pub use problem::{DataProblem, ExperimentProblem, ProjectionProblem, ReferenceProblem, SettingsProblem};
pub use shared::SharedAlgorithm;
pub use slabs::{SlabAlgorithm, slabs};
pub use spec::{Additions, AlgorithmSpec, StartImages, algorithm};
pub use stage::{Stage, StageTimes};
pub use stitch::{Bed, StitchError, stitched};
pub use tv::{
    Lattice, PrimalStep, PrimalSums, SPECTRAL_STRENGTH, SpectralModel, SpectrumSettings, SweepModel, TotalVariation,
    TotalVariationKernels, TvImages, TvSettings, check_experiments, num_axes, strength_by_noise,
};
pub use watched::RaceReport;

/// Report of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// Full iterations complete after this step.
    pub iteration: usize,
    /// Number of steps (subiterations), this one included. For an EPRI acquisition: projections in the image. A report with the number of
    /// the one before is of a part of a step: the image is the same.
    pub subiteration: usize,
    /// The subset used.
    pub subset: usize,
    /// True if the step completed an iteration.
    pub completes_iteration: bool,
    /// Number of events of the image, where further ones arrive.
    pub num_events: Option<usize>,
    /// Time of each stage.
    pub stages: StageTimes,
    /// Report of expectation maximisation; `None` of other algorithms.
    pub em: Option<EmReport>,
    /// Report of an algorithm that climbs to a maximum; `None` of other algorithms.
    pub ascent: Option<AscentReport>,
}

/// Report of one step of expectation maximisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmReport {
    /// Σ (y ln ȳ − ȳ) over the subset's bins at the image *before* the step (terms without x left out); `None` if likelihoods of
    /// steps do not compare.
    pub log_likelihood: Option<f64>,
    /// Distance of the subset's data from those expected of the image *before* the step; `None` if steps do not compare.
    pub residual: Option<DataResidual>,
    /// Bins with counts where the model expects none: their ratio was set to 0 and they are left out of the likelihood.
    pub num_unexplained_bins: usize,
    /// Bins whose ratio of measured to expected counts was limited to [`MAX_RATIO`].
    pub num_limited_bins: usize,
    /// Part of the data that the image after the step explains, if the step completed an iteration.
    pub explained: Option<Explained>,
    /// Accumulation of the backprojection.
    pub accumulation: Accumulation,
    /// Losses of a race, if the backprojection had one.
    pub race: Option<RaceReport>,
}

/// Forecast of the memory and time of a run, made before its memory is reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Estimate {
    /// Bytes without the measured data.
    pub memory_bytes: u64,
    /// Seconds per full iteration, from a trial of a few views; `None` where not tried.
    pub secs_per_iteration: Option<f64>,
}

/// Reason of the failure of a reconstruction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReconError {
    /// The operator failed or was stopped.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The data does not suit the algorithm.
    #[error(transparent)]
    UnsuitableData(#[from] DataProblem),
    /// The settings do not suit the data.
    #[error(transparent)]
    UnsuitableSettings(#[from] SettingsProblem),
    /// The preparation of a run refuses further data.
    #[error(transparent)]
    Setup(#[from] PassedOn),
    /// The system started no thread, with its message.
    #[error("a thread could not be started: {0}; close other programs and try again")]
    Thread(String),
    /// Values that are not finite, by the name of their array.
    #[error(
        "{0} is not finite: the data, the corrections, the start image or the weights κ contain such values, or the step size is far too large"
    )]
    NotFinite(&'static str),
    /// No device to compute on.
    #[error("there is no device to compute on")]
    NoDevice,
    /// A thread panicked.
    #[error("the program made a mistake; please report it with what you did")]
    Panicked,
}

coded!(ReconError = "reconstruction"; Operator, Setup);

impl From<BackendError> for ReconError {
    fn from(error: BackendError) -> Self {
        ReconError::Operator(error.into())
    }
}

/// An iterative (or incremental) reconstruction as the session sees it.
pub trait Algorithm: Send {
    /// Does one subset and returns.
    ///
    /// # Errors
    /// Stopped through `task` (the image is then the one before the step), device failure.
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError>;

    /// Steps until a full iteration is complete; where their time went.
    ///
    /// # Errors
    /// Those of [`Algorithm::step`].
    fn iterate(&mut self, task: &Task) -> Result<StageTimes, ReconError> {
        let mut times = StageTimes::default();
        loop {
            let report = self.step(task)?;
            times += report.stages;
            if report.completes_iteration {
                return Ok(times);
            }
        }
    }

    /// Subiterations of a full iteration, as far as it is known.
    fn num_subsets(&self) -> usize;

    /// Takes projections that have arrived meanwhile; they wait for the next steps. After `is_last` no others follow.
    ///
    /// # Errors
    /// One is unusable (then none of them is taken), or the algorithm works on whole data only.
    fn append(&mut self, _projections: Vec<Projection>, _is_last: bool) -> Result<(), ReconError> {
        Err(SettingsProblem::WholeData.into())
    }

    /// Returns true if no step is possible before more data arrive.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Returns why no further step changes the image, as a clause; `None` as long as steps do, and of algorithms that do not converge.
    fn converged(&self) -> Option<String> {
        None
    }

    /// Returns why the image is far from a converged one, as a clause; `None` of one that is near, and of algorithms that do not converge.
    fn unconverged(&self) -> Option<String> {
        None
    }

    /// Copies the current image into a volume of the run's grid.
    ///
    /// # Errors
    /// Device failure.
    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError>;

    /// Returns the current image, if the algorithm has it as a volume that never changes.
    fn shared_volume(&self) -> Option<Arc<Volume>> {
        None
    }

    /// Begins to copy the current image to the host while the device continues; `None` if `volume_into` is as good.
    ///
    /// # Errors
    /// Device failure.
    fn begin_volume(&mut self) -> Result<Option<PendingVolume>, ReconError> {
        Ok(None)
    }

    /// The regions that [`Algorithm::roi_sums`] measures from now on.
    ///
    /// # Errors
    /// Not enough memory on the device.
    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError>;

    /// Sums over each region of the current image, without copying the volume.
    ///
    /// # Errors
    /// Device failure.
    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError>;

    /// Returns the objective at the current image, by a forward projection of all data; `None` of algorithms without one.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn objective(&mut self, _task: &Task) -> Result<Option<ObjectiveValue>, ReconError> {
        Ok(None)
    }

    /// Returns the number of replicates whose images belong to the current one; 0 without error bars.
    fn num_replicates(&self) -> usize {
        0
    }

    /// Copies the image of a replicate, numbered from 0, into a volume of the run's grid.
    ///
    /// # Errors
    /// Device failure; an algorithm without replicates.
    fn replicate_into(&mut self, _replicate: usize, _volume: &mut Volume) -> Result<(), ReconError> {
        Err(SettingsProblem::NoReplicates.into())
    }

    /// Sums over each region of the images of all replicates, replicate after replicate.
    ///
    /// # Errors
    /// Device failure.
    fn replicate_sums(&mut self) -> Result<Vec<Vec<RoiSums>>, ReconError> {
        Ok(Vec::new())
    }

    /// Returns the number of coupled images: one of each radical, where the first one is the current image, or one of each sample of the
    /// spectra.
    fn num_images(&self) -> usize {
        1
    }

    /// Copies the coupled images into as many volumes of the run's grid.
    ///
    /// # Errors
    /// Device failure.
    fn images_into(&mut self, volumes: &mut [Volume]) -> Result<(), ReconError> {
        volumes.iter_mut().try_for_each(|volume| self.volume_into(volume))
    }

    /// Returns the images of pulse oximetry so far and fits their maps of oxygen; `None` of algorithms without such maps. `task` counts
    /// voxels.
    fn oxygen(&mut self, _task: &Task) -> Option<OxygenResult> {
        None
    }

    /// Returns κ of the penalty; `None` = 1, and of algorithms without one. Before the first step it computes the sensitivity, too.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn kappa(&mut self, _task: &Task) -> Result<Option<Arc<Volume>>, ReconError> {
        Ok(None)
    }

    /// Returns how far the current image is from the maximum of the objective, a part of its largest value; `None` of algorithms without
    /// such a maximum. Goes through all data.
    ///
    /// # Errors
    /// Stopped, values that are not finite, device failure.
    fn optimality(&mut self, _task: &Task) -> Result<Option<Optimality>, ReconError> {
        Ok(None)
    }

    /// Returns the part of the data that the current image explains; `None` of algorithms without this figure. Computes missing
    /// sensitivities.
    ///
    /// # Errors
    /// Stopped, device failure.
    fn explained(&mut self, _task: &Task) -> Result<Option<Explained>, ReconError> {
        Ok(None)
    }

    /// Returns the part of the data that a whole image explains. The algorithm makes one part of that image; `None` of algorithms that make no
    /// parts.
    ///
    /// # Errors
    /// Stopped.
    fn explained_by(&mut self, _image: &Volume, _task: &Task) -> Result<Option<Explained>, ReconError> {
        Ok(None)
    }

    /// Changes how the backprojection adds, from the next step on. Ways not in [`Algorithm::accumulations`] are ignored.
    fn set_accumulation(&mut self, accumulation: Accumulation);

    /// Returns the settings that can change between two steps; `None` of algorithms without such settings.
    fn tuning(&self) -> Option<AscentTuning> {
        None
    }

    /// Changes them from the next step on; algorithms without such settings ignore it.
    fn set_tuning(&mut self, _tuning: AscentTuning) {}

    /// Returns the ways in which the backprojection can add.
    fn accumulations(&self) -> &'static [Accumulation];
}
