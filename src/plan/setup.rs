//! The one place that turns settings into an algorithm on a back end, after every check that can be made before.

use std::sync::Arc;

use super::cache::Cache;
use super::devices::or_on_cpu;
use super::estimate::{DeviceMemory, Forecast, Needs};
use super::list_study::list_in_frame;
use super::projector::{ChosenTeam, ProjectorSettings, choose_team};
use super::system::System;
use super::tubes::stand_in;
use super::{AlgorithmKind, DeviceChoice, Job, RunSettings, StartInfo, list_setup, pair_setup, sweep_setup};
use crate::algebra::{BackendError, Share};
use crate::coded::coded;
use crate::data::{Counts, Notice, Study, Volume};
use crate::geometry::{Grid, GridError};
use crate::operator::{Accumulation, OperatorError};
use crate::recon::{Algorithm, EmSettings, Estimate, ReconError, SharedAlgorithm, check_poisson_data};
use crate::task::Task;
use crate::words::bytes;

/// Why a run cannot begin.
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "setup.")]
pub enum SetupError {
    /// The algorithm refuses the data or the settings, or was stopped.
    #[error(transparent)]
    Recon(#[from] ReconError),
    /// The image grid cannot be.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// More memory is needed than there is.
    #[error(
        "about {} of memory are needed{} and {} are free; {}",
        bytes(*needed_bytes), place(gpu.as_deref()), bytes(*free_bytes), way_out(gpu.is_some(), *has_subsets)
    )]
    Memory {
        /// What is needed.
        needed_bytes: u64,
        /// What is free.
        free_bytes: u64,
        /// The GPU whose memory it is; `None` = the computer's own.
        gpu: Option<String>,
        /// Whether fewer subsets would do with less.
        has_subsets: bool,
    },
    /// Settings that do not go together, as a sentence.
    #[error("{0}")]
    Settings(String),
}

coded!(SetupError, Recon, Grid);

impl From<OperatorError> for SetupError {
    fn from(error: OperatorError) -> Self {
        SetupError::Recon(error.into())
    }
}

impl From<BackendError> for SetupError {
    fn from(error: BackendError) -> Self {
        OperatorError::from(error).into()
    }
}

impl SetupError {
    /// The same of a run with so many subsets: each has a sensitivity image.
    fn of_subsets(mut self, num_subsets: usize) -> Self {
        if let SetupError::Memory { has_subsets, .. } = &mut self {
            *has_subsets = num_subsets > 1;
        }
        self
    }

    /// Whether it is the GPU's, so that the processor may still do.
    pub(super) fn is_of_a_gpu(&self) -> bool {
        match self {
            SetupError::Memory { gpu, .. } => gpu.is_some(),
            SetupError::Recon(ReconError::Operator(OperatorError::Backend(error))) => matches!(error, BackendError::Device(_)),
            _ => false,
        }
    }
}

fn place(gpu: Option<&str>) -> String {
    gpu.map_or(String::new(), |name| format!(" on {name}"))
}

fn way_out(on_gpu: bool, has_subsets: bool) -> &'static str {
    match (on_gpu, has_subsets) {
        (true, true) => "choose fewer or larger voxels, fewer subsets, or the CPU (--device cpu)",
        (true, false) => "choose fewer or larger voxels, or the CPU (--device cpu)",
        (false, true) => "choose fewer or larger voxels, or fewer subsets",
        (false, false) => "choose fewer or larger voxels",
    }
}

/// An algorithm ready to step.
pub struct Prepared {
    /// The algorithm, at its start image.
    pub algorithm: Box<dyn Algorithm>,
    /// What it became.
    pub info: StartInfo,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// Projections of the job's acquisition that the algorithm has; 0 for counts.
    pub num_taken: usize,
}

/// [`prepare_with`] the tubes and matrices that are kept for the user.
///
/// # Errors
/// Those of [`prepare_with`].
pub fn prepare(job: &Job, task: &Task) -> Result<Prepared, SetupError> {
    prepare_with(&Cache::of_the_user(), job, task)
}

/// Checks data and settings, picks back end and projector, tells what the run will need, and makes its algorithm; before that
/// finds or makes the coarse set of tubes where the projector tubes is to go without others, the quick matrix where counts of pairs
/// of crystals come without one, or the sensitivity of a list of events: `task` tells how far that is. Where the
/// device was left open and the GPU has too little memory or breaks here, the processor is used and a notice says why.
///
/// # Errors
/// Data or settings that do not suit, a device that is not there, too little memory, as sentences.
pub fn prepare_with(cache: &Cache, job: &Job, task: &Task) -> Result<Prepared, SetupError> {
    let (mut prepared, notice) = match job {
        Job::Counts { study, settings } => {
            let mut settings = checked(&study.measured, settings)?;
            let notices = if settings.lacks_tubes() {
                let (tubes, notices) = cache.coarse_set(study.measured.geometry(), settings.device, task)?;
                settings.tubes = Some(Arc::new(tubes));
                notices
            } else {
                Vec::new()
            };
            let (mut prepared, notice) = or_on_cpu(settings.device, |device| prepare_on(device, study, settings.clone(), task))?;
            prepared.notices.extend(notices);
            (prepared, notice)
        }
        Job::Sweep { study, settings } => {
            or_on_cpu(settings.device, |device| sweep_setup::prepare_on(device, study, settings, task))?
        }
        Job::Pairs { study, settings } => {
            pair_setup::check(&study.measured, settings)?;
            pair_setup::check_counts(&study.measured)?;
            let (matrix, notices) = match &settings.matrix {
                Some(matrix) => (Arc::clone(matrix), Vec::new()),
                None => {
                    let (matrix, notices) = cache.quick_matrix(&study.measured.ring, settings.device, task)?;
                    (Arc::new(matrix), notices)
                }
            };
            let (mut prepared, notice) =
                or_on_cpu(settings.device, |device| pair_setup::prepare_on(device, study, settings, &matrix, task))?;
            prepared.notices.extend(notices);
            (prepared, notice)
        }
        Job::Events { study, settings, growing } => {
            let growing = growing.as_ref();
            let frame = settings.frame_ms.clone().map(|frame_ms| list_in_frame(&study.measured, frame_ms, task)).transpose();
            let (frame, notices) = frame.map_err(OperatorError::from)?.unzip();
            let list = frame.as_ref().unwrap_or(&study.measured);
            let (mut prepared, notice) =
                or_on_cpu(settings.device, |device| list_setup::prepare_on(cache, device, study, list, settings, growing, task))?;
            prepared.notices.extend(notices.unwrap_or_default());
            (prepared, notice)
        }
    };
    prepared.notices.extend(notice);
    Ok(prepared)
}

/// What a run of this job will need, without beginning it, counted as [`prepare`] does. `running` is the run whose memory is
/// given back when this one begins.
///
/// # Errors
/// What [`prepare`] would refuse, as far as it can be known without looking at the data.
pub fn forecast(job: &Job, running: Option<&StartInfo>) -> Result<Forecast, SetupError> {
    let given_back: &[DeviceMemory] = running.map_or(&[], |running| &running.memory);
    let (forecast, _) = match job {
        Job::Counts { study, settings } => {
            let mut settings = checked_settings(&study.measured, settings)?;
            if settings.lacks_tubes() {
                settings.tubes = Some(Arc::new(stand_in(study.measured.geometry())?));
            }
            or_on_cpu(settings.device, |device| {
                let chosen = choose_for(device, &study.measured, &settings)?;
                let needs = needs_of(&chosen, &study.measured, &settings).with_given_back(given_back);
                needs.check().map_err(|error| error.of_subsets(settings.num_subsets))?;
                Ok(Forecast::of(&needs, chosen.device(), chosen.entry.name.to_owned()))
            })?
        }
        Job::Sweep { study, settings } => {
            or_on_cpu(settings.device, |device| sweep_setup::forecast_on(device, &study.measured, settings, given_back))?
        }
        Job::Pairs { study, settings } => {
            or_on_cpu(settings.device, |device| pair_setup::forecast_on(device, &study.measured, settings, given_back))?
        }
        Job::Events { study, settings, growing } => or_on_cpu(settings.device, |device| {
            list_setup::forecast_on(device, &study.measured, settings, growing.as_ref(), given_back)
        })?,
    };
    Ok(forecast)
}

impl RunSettings {
    /// Whether tubes are still to be found for the projector that reconstructs with them.
    fn lacks_tubes(&self) -> bool {
        self.projector.uses_tubes() && self.tubes.is_none()
    }

    /// How a backprojection adds on a system.
    fn accumulation_on(&self, system: &dyn System) -> Accumulation {
        self.accumulation.unwrap_or(system.default_accumulation())
    }
}

fn choose_for(device: DeviceChoice, counts: &Counts, settings: &RunSettings) -> Result<ChosenTeam, SetupError> {
    let projector_settings = ProjectorSettings {
        grid: settings.grid.clone(),
        fov_radius_mm: settings.fov_radius_mm,
        rays: settings.rays,
        projector: settings.projector,
        device,
        threads_per_block: settings.threads_per_block,
        tubes: settings.tubes.clone(),
    };
    let chosen = choose_team(counts.geometry(), &projector_settings)?;
    let (most, num_devices) = (chosen.members.iter().map(|(system, _)| system.data().max_subsets()).min(), chosen.members.len());
    match most.filter(|most| *most < settings.num_subsets) {
        None => Ok(chosen),
        Some(most) => Err(SetupError::Settings(format!(
            "{} subsets are too many for {num_devices} devices: each device needs one view per subset; choose at most {most} subsets, or fewer devices",
            settings.num_subsets
        ))),
    }
}

/// Memory of each device's share.
fn needs_of(chosen: &ChosenTeam, counts: &Counts, settings: &RunSettings) -> Needs {
    Needs::of(chosen.members.iter().map(|(system, _)| {
        let accumulation = settings.accumulation_on(&**system);
        (system.memory_bytes(&counts.into(), settings.num_subsets, accumulation), system.free_memory())
    }))
}

/// The same on one device, from settings that were checked.
fn prepare_on(
    device: DeviceChoice,
    study: &Arc<Study<Counts>>,
    settings: RunSettings,
    task: &Task,
) -> Result<Prepared, SetupError> {
    let mut chosen = choose_for(device, &study.measured, &settings)?;
    let needs = needs_of(&chosen, &study.measured, &settings);
    needs.check().map_err(|error| error.of_subsets(settings.num_subsets))?;
    let (entry, device) = (chosen.entry, chosen.device());
    let Some((system, _)) = chosen.members.first_mut() else { return Err(SetupError::Settings("there is no device".into())) };
    let accumulation = settings.accumulation_on(&**system);
    chosen.notices.extend(race_warning(accumulation));
    let is_deterministic = accumulation == Accumulation::Deterministic;
    let em = EmSettings {
        subset_order: settings.subset_order,
        accumulation,
        sensitivity_accumulation: if is_deterministic { accumulation } else { system.default_accumulation() },
        racy_sensitivity: settings.racy_sensitivity,
    };
    let num_subsets = settings.num_subsets;
    // (Of a team what one device needs for its share.)
    let secs_per_iteration = system.trial_secs(num_subsets, accumulation)?;
    task.check().map_err(OperatorError::from)?;
    let accumulations = system.accumulations();
    let ChosenTeam { members, notices, .. } = chosen;
    let mut algorithms = Vec::with_capacity(members.len());
    for (system, team) in members {
        algorithms.push((system.em((&study.measured).into(), num_subsets, em, settings.init.as_deref())?, team));
    }
    let algorithm: Box<dyn Algorithm> = match &algorithms[..] {
        [(_, team)] if team.share() == Share::WHOLE => algorithms.swap_remove(0).0,
        _ => Box::new(SharedAlgorithm::new(algorithms)?),
    };
    let info = StartInfo {
        device,
        projector: entry.name.to_owned(),
        num_subsets,
        accumulation,
        accumulations,
        estimate: Estimate { memory_bytes: needs.bytes(), secs_per_iteration },
        memory: needs.of_devices(),
        job: Job::Counts { study: Arc::clone(study), settings: Box::new(settings) },
    };
    Ok(Prepared { algorithm, info, notices, num_taken: 0 })
}

/// That additions are lost, where they may be.
pub(super) fn race_warning(accumulation: Accumulation) -> Option<Notice> {
    let text = format!("{accumulation} backprojection loses additions when threads meet: the image is not for diagnosis");
    accumulation.has_race().then(|| Notice::warning(text))
}

/// The settings as they will be used, once everything that can be wrong about them and the data was looked at.
fn checked(counts: &Counts, settings: &RunSettings) -> Result<RunSettings, SetupError> {
    let settings = checked_settings(counts, settings)?;
    check_poisson_data(counts)?;
    Ok(settings)
}

/// The settings as they will be used, without a look at the data.
fn checked_settings(counts: &Counts, settings: &RunSettings) -> Result<RunSettings, SetupError> {
    let mut settings = settings.clone();
    let refuse = |text: String| Err(SetupError::Settings(text));
    if settings.algorithm == AlgorithmKind::Mlem {
        settings.num_subsets = 1;
    }
    let (num_subsets, num_views) = (settings.num_subsets, counts.geometry().num_views);
    if num_subsets == 0 || num_subsets > num_views {
        return refuse(format!(
            "{num_subsets} subsets are too many for {num_views} views; choose between 1 and {num_views} subsets"
        ));
    }
    if settings.num_iterations == 0 {
        return refuse("0 iterations leave the start image as it is; choose at least 1".into());
    }
    check_start_image(settings.init.as_deref(), &settings.grid)?;
    Ok(settings)
}

/// Refuses a start image on another grid than the reconstruction's.
pub(super) fn check_start_image(init: Option<&Volume>, grid: &Grid) -> Result<(), SetupError> {
    match init.filter(|init| !init.grid.same_as(grid)) {
        None => Ok(()),
        Some(init) => Err(SetupError::Settings(format!(
            "the start image has {} but the reconstruction has {}; both must lie on the same grid (take the grid of the start image for the reconstruction)",
            init.grid.words(),
            grid.words()
        ))),
    }
}

/// Refuses a field of view that holds no voxel.
pub(super) fn check_field_of_view(grid: &Grid, radius_mm: f64) -> Result<(), SetupError> {
    let nearest = |a: usize| {
        let axis = grid.voxel_from_mm([0.0; 3])[a].round().clamp(0.0, grid.size[a] as f64 - 1.0);
        grid.mm_from_voxel([axis; 3])[a]
    };
    let smallest = nearest(0).hypot(nearest(1));
    if radius_mm.is_finite() && radius_mm > 0.0 && radius_mm >= smallest {
        return Ok(());
    }
    Err(SetupError::Settings(format!(
        "a field of view of radius {radius_mm} mm holds no voxel of the image, whose nearest one lies {smallest:.3} mm from the scanner's axis; give a larger --fov-radius-mm"
    )))
}
