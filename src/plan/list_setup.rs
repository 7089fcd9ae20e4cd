//! Settings and a list of events become MLEM or OSEM of single events.

use std::sync::Arc;
use std::time::Instant;

use super::devices::{Chosen, choose_device};
use super::estimate::{Arrays, Forecast, FreeMemory, NUM_FRAMES, check_image};
use super::histogram::{HistogramSettings, cylinder_of, sampling_of};
use super::list_sensitivity::{Sensitivity, SensitivitySettings, list_sensitivity};
use super::setup::{Prepared, SetupError, check_field_of_view, check_start_image, race_warning};
use super::{AlgorithmKind, DeviceChoice, Job, ProjectorChoice, Rays, RunSettings, StartInfo};
#[cfg(feature = "cuda")]
use crate::algebra::Backend as _;
use crate::algebra::{Host, Simd, Voxels};
#[cfg(feature = "cuda")]
use crate::cuda;
use crate::data::{EventList, ListFacts, Notice, Study, Volume, frame_words};
use crate::geometry::Grid;
use crate::operator::{Accumulation, EventLines, EventSpace, EventSubsets, LinearOperator};
use crate::recon::{
    Algorithm, EmKernels, EmSettings, Estimate, EventTerms, ListModel, MeasuredValues, MlemOsem, ReconError, SubsetOrder,
};
use crate::task::Task;
use crate::words::counted;

/// Events that a subset should have.
const EVENTS_OF_A_SUBSET: usize = 50_000;
/// Subsets where there are events enough, and iterations.
const MOST_SUBSETS: usize = 14;
const NUM_ITERATIONS: usize = 4;
/// Rays of a pair of crystals at most where nothing else is asked.
const MOST_RAYS: usize = 16;
/// Voxels across an image where nothing tells how fine it can be.
const MOST_ACROSS: f64 = 400.0;

/// What reconstructs lists, for records.
pub const EVENTS_PROJECTOR: &str = "events";

/// The settings for a list when nothing else is asked.
///
/// # Errors
/// The image grid cannot be made.
pub fn default_list_settings(list: &EventList) -> Result<RunSettings, SetupError> {
    let grid = list_grid(&list.facts)?;
    Ok(RunSettings {
        algorithm: AlgorithmKind::Osem,
        num_iterations: NUM_ITERATIONS,
        num_subsets: list_subsets(list.prompts.len()),
        subset_order: SubsetOrder::Sequential,
        fov_radius_mm: grid.inscribed_radius_mm(),
        grid,
        rays: Rays::Auto,
        projector: ProjectorChoice::Auto,
        device: DeviceChoice::Auto,
        accumulation: None,
        racy_sensitivity: false,
        threads_per_block: None,
        tubes: None,
        num_threads: None,
        init: None,
        frame_ms: None,
    })
}

/// The subsets of so many events when nothing else is asked.
pub fn list_subsets(num_events: usize) -> usize {
    (num_events / EVENTS_OF_A_SUBSET).clamp(1, MOST_SUBSETS)
}

/// The grid for a list's images: that of a cylinder's bins, else half of the crystals' sides out to 0.7 of the bore.
fn list_grid(facts: &ListFacts) -> Result<Grid, SetupError> {
    if let Ok(cylinder) = cylinder_of(facts)
        && let Ok(geometry) = sampling_of(facts, &cylinder, &HistogramSettings::default())
    {
        return Ok(geometry.default_grid()?);
    }
    let ([_, half_length], bore) = (facts.detectors.extent_mm(), facts.detectors.bore_mm());
    let side = |axis: usize| {
        let sides = facts.detectors.crystals().iter().map(|crystal| crystal.size_mm[axis]).filter(|mm| *mm > 0.0);
        sides.fold(f64::INFINITY, f64::min)
    };
    let [across, along] = [1.4 * bore, 2.0 * half_length];
    let voxel = |side: f64, length: f64| if side.is_finite() { 0.5 * side } else { length / 100.0 }.max(length / MOST_ACROSS);
    let [dx, dz] = [voxel(side(1), across), voxel(side(2), along.max(side(2).min(1e6)))];
    let odd = |length: f64, d: f64| 2 * (0.5 * length / d).floor() as usize + 1;
    Ok(Grid::centred([odd(across, dx), odd(across, dx), odd(along, dz)], [dx, dx, dz])?)
}

/// Rays of a pair of crystals: automatically as many as it takes so that none of the voxels between neighbouring lines is missed.
pub fn rays_of_a_pair(facts: &ListFacts, grid: &Grid, rays: Rays) -> usize {
    match rays {
        Rays::Fixed { tangential, axial } => (tangential * axial).max(1),
        Rays::Auto => {
            // The middles of the lines of neighbouring pairs are half a crystal apart across the axis, a whole one along it.
            let widest = |axis: usize| facts.detectors.crystals().iter().map(|crystal| crystal.size_mm[axis]).fold(0.0, f64::max);
            let count = |mm: f64, voxel_mm: f64| (mm / voxel_mm * (1.0 - 1e-9)).ceil().max(1.0);
            let num = count(0.5 * widest(1), grid.voxel_mm[0]) * count(widest(2), grid.voxel_mm[2]);
            (num as usize).min(MOST_RAYS)
        }
    }
}

/// Makes the algorithm on one device. `list` = the study's, or the frame of it that is reconstructed.
pub(super) fn prepare_on(
    device: DeviceChoice,
    study: &Arc<Study<EventList>>,
    list: &EventList,
    settings: &RunSettings,
    task: &Task,
) -> Result<Prepared, SetupError> {
    let settings = checked(list, settings)?;
    let (chosen, mut notices) = choose_device(device)?;
    let (space, accumulation) =
        (EventSpace::of(list.prompts.len()), settings.accumulation.unwrap_or(default_accumulation(&chosen)));
    let memory_bytes = check_memory(&chosen, list, &settings, &space, accumulation)?;
    let num_rays = rays_of_a_pair(&list.facts, &settings.grid, settings.rays);
    let (grid, fov_radius_mm) = (settings.grid.clone(), settings.fov_radius_mm);
    let wanted = SensitivitySettings { grid, fov_radius_mm, num_rays, device };
    let begin = Instant::now();
    let sensitivity = list_sensitivity(&list.facts, &wanted, task)?;
    notices.extend(notices_of(list, &sensitivity, begin.elapsed().as_secs_f64()));
    notices.extend(race_warning(accumulation));
    let device_words = words_of(&chosen);
    let em = EmSettings {
        subset_order: settings.subset_order,
        accumulation,
        sensitivity_accumulation: default_accumulation(&chosen),
        racy_sensitivity: settings.racy_sensitivity,
    };
    let parts = Parts { list, settings: &settings, sensitivity, em };
    let algorithm = match chosen {
        Chosen::Cpu => {
            let lines = EventLines::new(
                Arc::clone(&list.prompts),
                &list.facts.detectors,
                list.facts.tof.as_ref(),
                settings.grid.clone(),
                settings.fov_radius_mm,
                num_rays,
                EventSubsets::default(),
            )?;
            let (voxels, space) = (lines.voxels().clone(), lines.space().clone());
            parts.assemble(Host, lines, voxels, space)?
        }
        #[cfg(feature = "cuda")]
        Chosen::Cuda(mut backend) => {
            let lines = cuda::EventLines::new(
                &mut backend,
                Arc::clone(&list.prompts),
                &list.facts.detectors,
                list.facts.tof.as_ref(),
                settings.grid.clone(),
                settings.fov_radius_mm,
                num_rays,
                EventSubsets::default(),
            )?;
            let (voxels, space) = (lines.voxels().clone(), lines.space().clone());
            parts.assemble(*backend, lines, voxels, space)?
        }
    };
    let info = StartInfo {
        device: device_words,
        projector: EVENTS_PROJECTOR.to_owned(),
        num_subsets: settings.num_subsets,
        accumulation,
        accumulations: algorithm.accumulations(),
        estimate: Estimate { memory_bytes, secs_per_iteration: None },
        job: Job::Events { study: Arc::clone(study), settings: Box::new(settings) },
    };
    Ok(Prepared { algorithm, info, notices, num_taken: 0 })
}

/// What a run on one device will need, and what is free there.
pub(super) fn forecast_on(
    device: DeviceChoice,
    list: &EventList,
    settings: &RunSettings,
) -> Result<(Forecast, FreeMemory), SetupError> {
    let settings = checked(list, settings)?;
    let (chosen, _) = choose_device(device)?;
    let (space, accumulation) =
        (EventSpace::of(list.prompts.len()), settings.accumulation.unwrap_or(default_accumulation(&chosen)));
    let memory_bytes = bytes_of(&chosen, list, &settings, &space, accumulation);
    let forecast = Forecast { memory_bytes, device: words_of(&chosen), projector: EVENTS_PROJECTOR.to_owned() };
    Ok((forecast, free_on(&chosen)))
}

/// The settings as they will be used.
///
/// # Errors
/// No events, no iterations, more subsets than events, an image that cannot be.
fn checked(list: &EventList, settings: &RunSettings) -> Result<RunSettings, SetupError> {
    let mut settings = settings.clone();
    let refuse = |text: String| Err(SetupError::Settings(text));
    if settings.algorithm == AlgorithmKind::Mlem {
        settings.num_subsets = 1;
    }
    let num_events = list.prompts.len();
    if num_events == 0 {
        let place =
            list.frame_ms.as_ref().map_or_else(String::new, |frame_ms| format!(" in the frame {}", frame_words(frame_ms)));
        return Err(ReconError::UnsuitableData(format!("the list has no event{place}: there is nothing to reconstruct")).into());
    }
    if settings.num_subsets == 0 || settings.num_subsets > num_events {
        return refuse(format!(
            "{} subsets cannot be made of {}; choose between 1 and {num_events} subsets",
            settings.num_subsets,
            counted(num_events, "event")
        ));
    }
    if settings.num_iterations == 0 {
        return refuse("0 iterations leave the start image as it is; choose at least 1".into());
    }
    check_image(&settings.grid, &FreeMemory::of_the_computer())?;
    check_field_of_view(&settings.grid, settings.fov_radius_mm)?;
    check_start_image(settings.init.as_deref(), &settings.grid)?;
    Ok(settings)
}

fn default_accumulation(chosen: &Chosen) -> Accumulation {
    match chosen {
        Chosen::Cpu => Accumulation::Deterministic,
        #[cfg(feature = "cuda")]
        Chosen::Cuda(_) => Accumulation::Atomic,
    }
}

fn words_of(chosen: &Chosen) -> String {
    match chosen {
        Chosen::Cpu => format!("CPU, {}, {}", counted(rayon::current_num_threads(), "thread"), Simd::fastest().name()),
        #[cfg(feature = "cuda")]
        Chosen::Cuda(backend) => backend.name(),
    }
}

fn free_on(chosen: &Chosen) -> FreeMemory {
    match chosen {
        Chosen::Cpu => FreeMemory::of_the_computer(),
        #[cfg(feature = "cuda")]
        Chosen::Cuda(backend) => FreeMemory::of_device(backend),
    }
}

/// Bytes of a run: its arrays, the order of the events, and the events themselves where they are copied.
fn bytes_of(chosen: &Chosen, list: &EventList, settings: &RunSettings, space: &EventSpace, accumulation: Accumulation) -> u64 {
    let (num, image_len) = (list.prompts.len() as u64, settings.grid.num_voxels());
    let are_copied = !matches!(chosen, Chosen::Cpu);
    let counts = MeasuredValues { prompts: Arc::default(), multiplicative: None, additive: None };
    let arrays = Arrays { are_copied: false, image_len, grid: &settings.grid, data: space, counts: &counts };
    let events = if are_copied { (list.prompts.bytes_per_event() as u64 + 12) * num } else { 12 * num };
    // A sensitivity of the whole, and private images or integers to add to.
    let scratch = 4 * image_len as u64 * if are_copied { 3 } else { 8 };
    arrays.bytes(settings.num_subsets, accumulation, scratch) + events + 4 * NUM_FRAMES * image_len as u64
}

fn check_memory(
    chosen: &Chosen,
    list: &EventList,
    settings: &RunSettings,
    space: &EventSpace,
    accumulation: Accumulation,
) -> Result<u64, SetupError> {
    let bytes = bytes_of(chosen, list, settings, space, accumulation);
    free_on(chosen).check(bytes)?;
    Ok(bytes)
}

fn notices_of(list: &EventList, sensitivity: &Sensitivity, secs: f64) -> Vec<Notice> {
    let how = if sensitivity.is_of_planes { "all planes at once" } else { "one after the other" };
    let words = format!("the sensitivity is that of {} pairs of crystals, {how}, in {secs:.2} s", sensitivity.num_pairs);
    let mut notices = vec![Notice::info(words)];
    if list.facts.efficiency.is_none() {
        let text = match list.prompts.multiplicative.is_empty() {
            true => "the list does not tell how well its pairs of crystals count: all of them count as 1",
            false => {
                "the list tells how well pairs count for its events alone: the sensitivity has 1 for all pairs; name the file that tells it for all (--normalization)"
            }
        };
        notices.push(Notice::warning(text));
    }
    notices
}

/// What an algorithm is made of.
struct Parts<'a> {
    list: &'a EventList,
    settings: &'a RunSettings,
    sensitivity: Sensitivity,
    em: EmSettings,
}

impl Parts<'_> {
    fn assemble<B: EmKernels + 'static, A: LinearOperator<B> + 'static>(
        self,
        mut backend: B,
        lines: A,
        voxels: Voxels,
        space: EventSpace,
    ) -> Result<Box<dyn Algorithm>, SetupError> {
        let Self { list, settings, sensitivity, em, .. } = self;
        let own = |values: &[f32]| (!values.is_empty()).then(|| Arc::new(values.to_vec()));
        let told = list
            .facts
            .efficiency
            .as_ref()
            .map(|efficiency| Arc::new(list.prompts.pairs.iter().map(|&pair| efficiency.of(pair)).collect::<Vec<f32>>()));
        let terms = EventTerms {
            multiplicative: own(&list.prompts.multiplicative).or(told),
            additive: own(&list.prompts.additive),
            total_additive: list.total_additive,
        };
        // Unless a start image is given, the uniform one that expects as many events as there are.
        let sum = sensitivity.volume.sum();
        let level = if sum > 0.0 { (list.prompts.len() as f64 / sum) as f32 } else { 1.0 };
        let uniform = Volume::filled(settings.grid.clone(), level);
        let start = settings.init.as_deref().unwrap_or(&uniform);
        let sensitivity = Arc::new(voxels.coefficients(&sensitivity.volume));
        let model = ListModel::new(&mut backend, lines, space, terms, sensitivity, settings.num_subsets)?;
        Ok(Box::new(MlemOsem::new(backend, voxels, model, em, Some(start))?))
    }
}
