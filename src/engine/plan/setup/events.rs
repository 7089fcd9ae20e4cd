//! Turns settings and list-mode data into list-mode MLEM or OSEM.

use std::sync::Arc;
use std::time::Instant;

use super::data_setup::DataSetup;
use super::prepared::{Prepared, check_start_images, coarse_for_tof, gradients_notice, of_group, race_warning, within_memory};
use crate::algebra::{PeerGroup, Shard, Simd};
use crate::coded::PassedOn;
use crate::data::{EventList, Events, ListMetadata, Notice, TofMeasurement, Unit, Volume};
use crate::geometry::Grid;
use crate::io::saved_sensitivity::SavedSensitivity;
use crate::operator::{Accumulation, DataSpace as _, EventOrder, EventSpace, OperatorError, Subset};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{Arrays, DeviceMemory, Forecast, FreeMemory, MemoryNeeds, check_image};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::job::acquisition::{ListAcquisition, ListData};
use crate::plan::job::settings::{Decisions, RunSettings};
use crate::plan::job::subsets::SubsetRule;
use crate::plan::list_mode::factors::factors_of_events;
use crate::plan::list_mode::sampling::cylinder_of;
use crate::plan::list_mode::sensitivity::SensitivitySettings;
use crate::plan::list_mode::study::{EventAccumulator, list_in_frame};
use crate::plan::platform::Platform;
use crate::plan::platform::choose::check_field_of_view;
use crate::plan::platform::open::{Opened, choose_members, join_device_names};
use crate::plan::platform::recipes::{EventRecipe, ListRecipe};
use crate::plan::problem::SetupProblem;
use crate::plan::projector::psf::check_psf;
use crate::plan::projector::settings::Rays;
use crate::plan::simulation::cache::Cache;
use crate::recon::{
    Additions, Algorithm, AlgorithmSpec, ArrivingEvents, DataProblem, EventTerms, Factors, GrowingEm, MeasuredValues, ReconError,
};
use crate::scanner::PairRays;
use crate::task::Task;

/// Rays of a pair of crystals at most where nothing else is asked.
const MAX_RAYS: usize = 16;

/// Events of a trial, at most.
const NUM_TRIED: usize = 100_000;

/// Name of the projector of list-mode data, for records.
pub const EVENTS_PROJECTOR: &str = "events";

/// Returns the rays of a crystal pair: automatically one across them, and enough along them that no slice between neighbouring
/// rings is missed, as for a michelogram. On a cylinder they fill the ring spacing.
pub fn rays_of_a_pair(facts: &ListMetadata, grid: &Grid, rays: Rays) -> PairRays {
    let ring_spacing_mm =
        cylinder_of(facts).ok().filter(|cylinder| cylinder.num_rings > 1).map(|cylinder| cylinder.ring_spacing_mm);
    let [tangential, axial] = match rays {
        Rays::Fixed { tangential, axial } => [tangential.max(1), axial.max(1)],
        Rays::Auto => {
            let sides_mm = facts.detectors.crystals().iter().map(|crystal| crystal.size_mm[2]);
            let along_mm = ring_spacing_mm.unwrap_or_else(|| sides_mm.fold(0.0, f64::max));
            let num = (along_mm / grid.voxel_mm[2] * (1.0 - 1e-9)).ceil().max(1.0);
            [1, (num as usize).min(MAX_RAYS)]
        }
    };
    PairRays { tangential, axial, axial_mm: ring_spacing_mm }
}

impl DataSetup for ListData {
    fn prepare_on(&self, cache: &Cache, device: DeviceChoice, job: &Job, task: &Task) -> Result<Prepared, SetupError> {
        let frame = job.settings.frame_ms.clone().map(|frame_ms| list_in_frame(&self.list, frame_ms, task)).transpose();
        let (frame, notices) = frame.map_err(OperatorError::from)?.unzip();
        let list = frame.as_ref().unwrap_or(&self.list);
        let mut prepared = prepare_on(cache, device, job, list, self.growing.as_ref(), task)?;
        prepared.notices.extend(notices.unwrap_or_default());
        Ok(prepared)
    }

    fn forecast_on(
        &self,
        device: DeviceChoice,
        settings: &RunSettings,
        given_back: &[DeviceMemory],
    ) -> Result<Forecast, SetupError> {
        forecast_on(device, &self.list, settings, self.growing.as_ref(), given_back)
    }

    fn trial_size(&self, _: &RunSettings) -> Option<String> {
        // Lists of one size take about as long.
        let prompts = &self.list.prompts;
        Some(format!("events {} {}", prompts.len().max(1).ilog2(), prompts.tof_mm.is_empty()))
    }

    fn trial_secs(&self, device: DeviceChoice, settings: &RunSettings, task: &Task) -> Result<Option<f64>, SetupError> {
        trial_secs(device, &self.list, settings, task)
    }
}

/// Makes the algorithm on one device. `list` = the study's, or the frame of it that is reconstructed; `growing` is where events come from
/// while the list is still being written.
fn prepare_on(
    cache: &Cache,
    device: DeviceChoice,
    job: &Job,
    list: &EventList,
    growing: Option<&ListAcquisition>,
    task: &Task,
) -> Result<Prepared, SetupError> {
    let settings = &job.settings;
    check(growing.map_or(Some(list), |_| None), settings)?;
    let (members, mut notices) = members_of(device, &list.facts)?;
    let usual = default_accumulation(&members);
    let accumulation = settings.accumulation.unwrap_or(usual);
    let needs = |settings: &RunSettings| needs_of(&members, list, settings, accumulation);
    let settings = &within_memory(settings, needs);
    let needs = needs(settings);
    needs.check()?;
    notices.extend(gradients_notice(settings));
    notices.extend(singly_notice(&members, list, settings, accumulation));
    let rays = rays_of_a_pair(&list.facts, &settings.grid, settings.rays);
    let (grid, fov_radius_mm) = (settings.grid.clone(), settings.fov_radius_mm);
    let wanted = SensitivitySettings { grid, fov_radius_mm, rays, device: device.first() };
    let (SavedSensitivity { volume: sensitivity, .. }, found) = cache.list_sensitivity(&list.facts, &wanted, task)?;
    notices.extend(found);
    notices.extend(unnormalised(list));
    notices.extend(coarse_for_list(list, &settings.grid));
    if let Some(psf) = &settings.psf {
        notices.extend(check_psf(psf, &settings.grid)?);
    }
    notices.extend(race_warning(accumulation, settings.algorithm));
    let names = text_of(&members);
    let racy_sensitivity = settings.has_racy_sensitivity();
    let additions = Additions { accumulation, sensitivity_accumulation: usual, racy_sensitivity };
    let algorithm: Box<dyn Algorithm> = match growing {
        None => Parts { list, settings, sensitivity: &sensitivity, rays, additions }.on_all(members, task)?,
        Some(acquisition) => {
            let dark = Volume { unit: Unit::CountsPerMm, ..Volume::filled(settings.grid.clone(), 0.0) };
            let (num_iterations, accumulations) = (settings.num_iterations, Accumulation::OF_LINES);
            let (settings, acquisition) = (settings.clone(), acquisition.clone());
            let arriving = Arriving { device, acquisition, settings, sensitivity, rays, additions };
            Box::new(GrowingEm::new(arriving, num_iterations, dark, accumulation, accumulations))
        }
    };
    Ok(Prepared { notices, ..Prepared::new(job, algorithm, names, accumulation, &needs, None) })
}

/// Events that arrive while their list is written, on one device.
struct Arriving {
    device: DeviceChoice,
    acquisition: ListAcquisition,
    settings: RunSettings,
    sensitivity: Volume,
    rays: PairRays,
    additions: Additions,
}

impl ArrivingEvents for Arriving {
    fn num_arrived(&self) -> usize {
        self.acquisition.look(|events| events.list().prompts.len())
    }

    fn algorithm(&mut self, task: &Task) -> Result<(Box<dyn Algorithm>, usize), ReconError> {
        let (list, _) = self.acquisition.look(EventAccumulator::clone).finish(task).map_err(OperatorError::from)?;
        let num_events = list.prompts.len();
        let num_subsets = self.settings.num_subsets.min(SubsetRule::of_list(&list).num_subsets());
        let settings = RunSettings { num_subsets, ..self.settings.clone() };
        let Self { device, sensitivity, rays, additions, .. } = self;
        let make = || {
            let (members, _) = members_of(*device, &list.facts)?;
            needs_of(&members, &list, &settings, additions.accumulation).check()?;
            Parts { list: &list, settings: &settings, sensitivity, rays: *rays, additions: *additions }.on_all(members, task)
        };
        let algorithm = make().map_err(|error| match error {
            SetupError::Recon(error) => error,
            other => PassedOn::of(&other).into(),
        })?;
        Ok((algorithm, num_events))
    }
}

/// Returns the memory forecast of a run on one device, or on several, after the end of a run that uses `given_back`.
fn forecast_on(
    device: DeviceChoice,
    list: &EventList,
    settings: &RunSettings,
    growing: Option<&ListAcquisition>,
    given_back: &[DeviceMemory],
) -> Result<Forecast, SetupError> {
    check(growing.map_or(Some(list), |_| None), settings)?;
    let (members, _) = members_of(device, &list.facts)?;
    let accumulation = settings.accumulation.unwrap_or(default_accumulation(&members));
    let current;
    let list = match growing {
        None => list,
        Some(acquisition) => {
            current = acquisition.look(|events| events.list().clone());
            &current
        }
    };
    let needs = |settings: &RunSettings| needs_of(&members, list, settings, accumulation).with_given_back(given_back);
    let needs = needs(&within_memory(settings, needs));
    needs.check()?;
    Ok(Forecast::of(&needs, text_of(&members)))
}

/// Returns the seconds of the backprojection of some events on a device; `None` without events.
fn trial_secs(device: DeviceChoice, list: &EventList, settings: &RunSettings, task: &Task) -> Result<Option<f64>, SetupError> {
    let num = list.prompts.len().min(NUM_TRIED);
    if num == 0 {
        return Ok(None);
    }
    let tof_mm = list.prompts.tof_mm.iter().take(num).copied().collect();
    let events = Events { pairs: list.prompts.pairs[..num].to_vec(), tof_mm, ..Events::default() };
    let (members, _) = members_of(device, &list.facts)?;
    let (mut platform, _) = members.into_iter().next().ok_or(ReconError::NoDevice)?;
    let recipe = EventRecipe {
        events: Arc::new(events),
        facts: &list.facts,
        grid: &settings.grid,
        fov_radius_mm: settings.fov_radius_mm,
        rays: rays_of_a_pair(&list.facts, &settings.grid, settings.rays),
        order: EventOrder::default(),
    };
    let start = Instant::now();
    platform.backproject_events(recipe, vec![1.0; num], task)?;
    Ok(Some(start.elapsed().as_secs_f64()))
}

/// Refuses settings of a list that is whole, or of one to which events are added.
///
/// # Errors
/// No events, more subsets than events, an image that is too large, a start image on another grid.
fn check(whole: Option<&EventList>, settings: &RunSettings) -> Result<(), SetupError> {
    let num_events = whole.map_or(usize::MAX, |list| list.prompts.len());
    if num_events == 0 {
        let frame = whole.and_then(|list| Some((list.frame_time(list.frame_ms.as_ref()?), list.extent_text())));
        return Err(ReconError::from(DataProblem::NoEvents(frame)).into());
    }
    if settings.num_subsets == 0 || settings.num_subsets > num_events {
        let num_subsets = settings.num_subsets;
        return Err(SetupProblem::Subsets { num_subsets, max: num_events, of: "event" }.into());
    }
    check_image(&settings.grid, &FreeMemory::of_the_computer())?;
    check_field_of_view(&settings.grid, settings.fov_radius_mm)?;
    check_start_images(settings)
}

/// Where the events are reconstructed.
type Members = Vec<(Opened, PeerGroup)>;

/// Returns the devices for a list. One with several resolutions of time of flight goes to the processor where nothing else is
/// asked.
fn members_of(device: DeviceChoice, facts: &ListMetadata) -> Result<(Members, Vec<Notice>), SetupError> {
    let has_several = facts.tof.as_ref().is_some_and(TofMeasurement::has_several_resolutions);
    if !has_several || device != DeviceChoice::Auto {
        return choose_members(device);
    }
    let (members, mut notices) = choose_members(DeviceChoice::Cpu)?;
    notices.push(Notice::info("the list has several time-of-flight resolutions: it runs on the processor"));
    Ok((members, notices))
}

fn default_accumulation(members: &Members) -> Accumulation {
    members.first().map_or(Accumulation::Deterministic, |(platform, _)| platform.accumulation_of_events())
}

/// Devices and projector in words.
fn text_of(members: &Members) -> [String; 2] {
    let devices: Vec<String> = members.iter().map(|(platform, _)| platform.text(Simd::fastest())).collect();
    [join_device_names(&devices), EVENTS_PROJECTOR.to_owned()]
}

/// Returns the bytes of a run: its arrays, the order of the events, and their crystals and time of flight where they are copied.
fn bytes_of(platform: &dyn Platform, share: Shard, list: &EventList, settings: &RunSettings, accumulation: Accumulation) -> u64 {
    // In the memory of the computer the data of a share lie among all others.
    let num = list.prompts.len().div_ceil(if platform.has_own_memory() { share.count } else { 1 });
    let space = EventSpace::of(num);
    let (num, image_len) = (num as u64, settings.grid.num_voxels());
    let terms = |is_there: bool| is_there.then(|| Factors::PerDatum(Arc::default()));
    let counts = MeasuredValues {
        prompts: Arc::default(),
        multiplicative: terms(list.has_factors()),
        additive: terms(!list.prompts.additive.is_empty()),
        bootstrap: None,
    };
    // On every device in the order in which the events are taken, and so copied.
    let arrays = Arrays {
        are_copied: true,
        image_len,
        grid: &settings.grid,
        data: &space,
        corrections_per_datum: counts.corrections_per_datum(),
    };
    let [pair, order_and_key] = [8, 8];
    let interval = if list.prompts.tof_mm.is_empty() { 0 } else { 8 };
    let of_event = order_and_key + if platform.has_own_memory() { pair + interval } else { 0 };
    // A sensitivity of the whole, and private images or integers to add to.
    let scratch = 4 * image_len as u64 * if platform.has_own_memory() { 3 } else { 8 };
    // Images between the steps of a resolution model, and the one that is projected.
    let scratch = scratch + if settings.psf.is_some() { 4 * 3 * image_len as u64 } else { 0 };
    // Further data of a subset and images of the replicates that are projected at once.
    let of_subset = space.len(Subset { index: 0, count: settings.num_subsets });
    let (num_at_once, of_operator) = at_once(platform, of_subset, list, settings, accumulation);
    let num_further = num_at_once.min(settings.num_replicates()).saturating_sub(1) as u64;
    let further = 4 * num_further * (of_subset + image_len) as u64 + if num_further > 0 { of_operator } else { 0 };
    settings.bytes_of_run(arrays.bytes(settings.num_subsets, accumulation, scratch), num as usize) + of_event * num + further
}

/// Returns how many replicates are projected at once, 1 where each is projected on its own, and the bytes of the operator for them.
fn at_once(
    platform: &dyn Platform,
    num_events: usize,
    list: &EventList,
    settings: &RunSettings,
    accumulation: Accumulation,
) -> (usize, u64) {
    // (Those of other algorithms climb each on its own, and a resolution model has one image.)
    let can_share = matches!(settings.spec(), Ok(AlgorithmSpec::Em { .. })) && settings.psf.is_none();
    let has_tof = list.facts.tof.is_some() && !list.prompts.tof_mm.is_empty();
    match can_share && !settings.decisions.projects_replicates_singly {
        true => platform.images_at_once(num_events, settings.grid.num_voxels(), has_tof, accumulation),
        false => (1, 0),
    }
}

/// Returns the reason if each replicate is projected on its own where several could be.
fn singly_notice(members: &Members, list: &EventList, settings: &RunSettings, accumulation: Accumulation) -> Option<Notice> {
    let (platform, _) = members.first().filter(|_| settings.num_replicates() > 0)?;
    let num = |projects_replicates_singly, accumulation| {
        let settings =
            RunSettings { decisions: Decisions { projects_replicates_singly, ..settings.decisions }, ..settings.clone() };
        at_once(&**platform, list.prompts.len(), list, &settings, accumulation).0
    };
    let usual = platform.accumulation_of_events();
    let text = if num(false, accumulation) > 1 && settings.decisions.projects_replicates_singly {
        "too little memory to project several replicates at once: each is projected on its own, which takes longer".into()
    } else if num(settings.decisions.projects_replicates_singly, accumulation) == 1
        && num(settings.decisions.projects_replicates_singly, usual) > 1
    {
        format!(
            "with {accumulation} accumulation each replicate is projected on its own; with {usual} several are, which is faster"
        )
    } else {
        return None;
    };
    Some(Notice::info(text))
}

/// Returns the memory of each device's share.
fn needs_of(members: &Members, list: &EventList, settings: &RunSettings, accumulation: Accumulation) -> MemoryNeeds {
    MemoryNeeds::of(
        members
            .iter()
            .map(|(platform, team)| (bytes_of(&**platform, team.shard(), list, settings, accumulation), platform.free_memory())),
    )
}

/// Returns a notice if the detection efficiencies are unknown.
fn unnormalised(list: &EventList) -> Option<Notice> {
    list.facts.efficiency.is_none().then(|| {
        let text = match list.prompts.multiplicative.is_empty() {
            true => "the file contains no detection efficiencies: all crystal pairs have efficiency 1",
            false => {
                "the file contains detection efficiencies for its events only: the sensitivity uses 1 for all pairs; set a normalisation file (--normalization)"
            }
        };
        Notice::warning(text)
    })
}

/// Returns a warning of voxels that are too large for the time of flight of a list.
fn coarse_for_list(list: &EventList, grid: &Grid) -> Option<Notice> {
    let tof = list.facts.tof.as_ref().filter(|_| !list.prompts.tof_mm.is_empty())?;
    coarse_for_tof(tof.resolutions().map(|(fwhm_mm, _)| fwhm_mm).fold(f64::INFINITY, f64::min), grid)
}

/// Parts of an algorithm.
#[derive(Clone, Copy)]
struct Parts<'a> {
    list: &'a EventList,
    settings: &'a RunSettings,
    sensitivity: &'a Volume,
    rays: PairRays,
    additions: Additions,
}

impl Parts<'_> {
    /// Puts it together on one device or on several.
    fn on_all(self, members: Members, task: &Task) -> Result<Box<dyn Algorithm>, SetupError> {
        let factors = factors_of_events(self.list, task)?;
        let mut algorithms = Vec::with_capacity(members.len());
        for (platform, team) in members {
            algorithms.push((self.on(platform, team.clone(), factors.as_deref())?, team));
        }
        Ok(of_group(algorithms)?)
    }

    fn on(self, mut platform: Opened, team: PeerGroup, factors: Option<&[f32]>) -> Result<Box<dyn Algorithm>, SetupError> {
        let Self { list, settings, sensitivity, rays, additions } = self;
        let additive = list.prompts.additive.as_slice();
        let recipe = ListRecipe {
            lines: EventRecipe {
                events: Arc::clone(&list.prompts),
                facts: &list.facts,
                grid: &settings.grid,
                fov_radius_mm: settings.fov_radius_mm,
                rays,
                order: EventOrder::default(),
            },
            terms: EventTerms {
                multiplicative: factors,
                additive: (!additive.is_empty()).then_some(additive),
                total_additive: list.total_additive,
                bootstrap: settings.bootstrap(),
                shares_paths: !settings.decisions.projects_replicates_singly,
            },
            psf: settings.psf.as_ref(),
            sensitivity,
            num_subsets: settings.num_subsets,
            spec: settings.spec()?,
            additions,
            start: settings.start_images(),
        };
        platform.list_algorithm(&recipe, team)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{CountRates, ScanTime};
    use crate::operator::{EventLines, IMAGES_AT_ONCE};
    use crate::plan::algorithms::registry::AlgorithmChoice;
    use crate::plan::job::replicates::ReplicateSettings;
    use crate::scanner::{Detectors, find};

    #[test]
    fn replicates_are_projected_on_their_own_where_memory_is_too_small_for_several() {
        let detectors = Arc::new(Detectors::of_cylinder(&find("small").unwrap().geometry).unwrap());
        let tof = TofMeasurement { fwhm_mm: 30.0, window_mm: [-200.0, 200.0], ..TofMeasurement::default() };
        let (num, num_subsets) = (5000, 2);
        let list = EventList {
            facts: Arc::new(ListMetadata { tof: Some(tof), ..ListMetadata::new("a list", detectors) }),
            prompts: Arc::new(Events { pairs: vec![[0, 48]; num], tof_mm: vec![[0.0; 2]; num], ..Events::default() }),
            delayeds: Arc::default(),
            total_additive: 0.0,
            time: ScanTime::default(),
            rates: CountRates::default(),
            frame_ms: None,
            elsewhere: None,
        };
        let (members, _) = choose_members(DeviceChoice::Cpu).unwrap();
        const SINGLY: Decisions = Decisions { computes_gradients_again: false, projects_replicates_singly: true };
        let accumulation = default_accumulation(&members);
        let grid = Grid::centred([8; 3], [5.0; 3]).unwrap();
        let settings = |algorithm, num_replicates: usize| RunSettings {
            num_subsets,
            ..RunSettings::new(algorithm, grid.clone())
                .with_replicates((num_replicates > 0).then(|| ReplicateSettings::new(num_replicates)))
        };
        let bytes = |settings: &RunSettings| bytes_of(&*members[0].0, Shard::WHOLE, &list, settings, accumulation);
        let within = |settings: &RunSettings, free_bytes: u64| {
            let free = FreeMemory { bytes: Some(free_bytes), ..FreeMemory::default() };
            within_memory(settings, |settings| MemoryNeeds::of([(bytes(settings), free.clone())]))
        };
        for (num_replicates, num_further) in [(2, 1), (10, IMAGES_AT_ONCE as u64 - 1)] {
            let together = settings(AlgorithmChoice::OSEM, num_replicates);
            let singly = RunSettings { decisions: SINGLY, ..together.clone() };
            let of_operator = EventLines::bytes_at_once(num / num_subsets, 512, accumulation);
            assert_eq!(bytes(&together), bytes(&singly) + 4 * num_further * (2500 + 512) + of_operator);
            let chosen = within(&together, bytes(&together));
            assert!(
                !chosen.decisions.projects_replicates_singly && singly_notice(&members, &list, &chosen, accumulation).is_none()
            );
            let chosen = within(&together, bytes(&together) - 1);
            assert!(
                chosen.decisions.projects_replicates_singly && singly_notice(&members, &list, &chosen, accumulation).is_some()
            );
        }
        // Without replicates, and of an algorithm whose replicates climb each on its own, nothing is different.
        for settings in [settings(AlgorithmChoice::OSEM, 0), settings(AlgorithmChoice::BSREM, 10)] {
            let singly = RunSettings { decisions: SINGLY, ..settings.clone() };
            assert_eq!(bytes(&settings), bytes(&singly));
            assert!(singly_notice(&members, &list, &settings, accumulation).is_none());
        }
    }
}
