//! Sensitivity of list-mode data: Σ of m_p a_pj w_p(l) over all crystal pairs in coincidence, independent of the measured events.
//! w is the probability that the measured time of flight of an annihilation at l lies in the recorded window; without time of
//! flight it is 1.
//!
//! If the crystals form a cylinder and no window ends near the image, its michelogram has the same lines: all planes of a
//! transaxial LOR are backprojected at once. Else every pair is a separate line.

use std::sync::Arc;

use rayon::prelude::*;

use super::factors::attenuation_factors;
use super::sampling::{HistogramSettings, cylinder_of, sampling_of};
use crate::data::{Events, ListMetadata, TofMeasurement, Unit, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, EventOrder, REACH_SIGMAS, Subset, TofKernel};
use crate::plan::attenuation::factors::AttenuationOfViews;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::plan::platform::Platform;
use crate::plan::platform::choose::{ChosenProjector, choose_projector};
use crate::plan::platform::open::{Opened, choose_device};
use crate::plan::platform::recipes::EventRecipe;
use crate::plan::projector::settings::{ProjectorChoice, ProjectorSettings, Rays};
use crate::plan::projector::system::Pairs;
use crate::scanner::{Cylinder, InPlane, PairRays, ScanGeometry, Segment};
use crate::task::Task;

/// Maximum deviation of crystals from the places of a cylinder for a backprojection from these places, mm.
const SAME_PLACE_MM: f64 = 1e-3;
/// Bins of the views that are backprojected at a time (512 MiB): many, for views have more mirror images the more there are of them.
const BINS_AT_ONCE: usize = 1 << 27;
/// Pairs of crystals that are, on the processor and on a device (320 MiB there).
const PAIRS_AT_ONCE: usize = 1 << 20;
const PAIRS_AT_ONCE_ON_DEVICE: usize = 1 << 24;

/// Settings of a sensitivity.
#[derive(Clone, Debug)]
pub struct SensitivitySettings {
    /// Image grid.
    pub grid: Grid,
    /// Voxels whose centre lies farther than this from the axis stay zero, mm.
    pub fov_radius_mm: f64,
    /// Rays of a pair of crystals.
    pub rays: PairRays,
    /// Device, where there is a choice.
    pub device: DeviceChoice,
}

/// A sensitivity, and what computed it.
pub struct Sensitivity {
    /// Σ m_p a_pj of each voxel, mm.
    pub volume: Volume,
    /// Pairs that could count.
    pub num_pairs: u64,
    /// True if all planes of a transaxial LOR were backprojected at once.
    pub is_of_planes: bool,
}

/// Computes it; `task` counts the progress.
///
/// # Errors
/// Stopped, too little memory, device failure.
pub fn list_sensitivity(facts: &ListMetadata, settings: &SensitivitySettings, task: &Task) -> Result<Sensitivity, SetupError> {
    let cylinder = cylinder_of(facts).ok().filter(|cylinder| cylinder.deviation_mm <= SAME_PLACE_MM);
    let geometry = cylinder.as_ref().and_then(|cylinder| {
        let all = HistogramSettings {
            num_tangential: facts.sampling.is_none().then_some(cylinder.num_detectors - 1),
            ..Default::default()
        };
        sampling_of(facts, cylinder, &all).ok()
    });
    // A michelogram has rays side by side over the distance of its rings.
    let has_rays = |cylinder: &Cylinder| match settings.rays {
        PairRays { tangential: 1, axial: 1, .. } => true,
        PairRays { tangential, axial_mm, .. } => {
            tangential == 1 && axial_mm.is_some_and(|mm| (mm - cylinder.ring_spacing_mm).abs() <= SAME_PLACE_MM)
        }
    };
    let is_whole = !has_window_in(facts, settings.fov_radius_mm);
    if let Some((cylinder, geometry)) = cylinder.zip(geometry).filter(|(cylinder, _)| is_whole && has_rays(cylinder))
        && let Some(made) = of_planes(facts, cylinder, geometry, settings, task)?
    {
        return Ok(made);
    }
    match of_pairs(facts, settings, task) {
        // The processor takes over when the device memory is too small.
        Err(error) if error.is_of_a_gpu() => {
            of_pairs(facts, &SensitivitySettings { device: DeviceChoice::Cpu, ..settings.clone() }, task)
        }
        made => made,
    }
}

/// Returns true if a time-of-flight window ends so near to a field of view of this radius that it lowers the sensitivity there:
/// nearer than the reach of the timing uncertainty.
///
/// A point at l on a line between two crystals is L/2 − |l| from the nearer one. This is at least the distance of the field of
/// view from the crystals.
pub(in crate::plan) fn has_window_in(facts: &ListMetadata, fov_radius_mm: f64) -> bool {
    let Some(tof) = &facts.tof else { return false };
    let [radius, half_length] = facts.detectors.extent_mm();
    // Rays may end at the edges of the crystals.
    let sides = facts.detectors.crystals().iter().flat_map(|crystal| [crystal.size_mm[1], crystal.size_mm[2]]);
    let margin_mm = sides.fold(0.0, f64::max);
    let farthest_mm = radius.hypot(half_length) - (facts.detectors.bore_mm() - fov_radius_mm).max(0.0) + margin_mm;
    tof.resolutions().any(|(fwhm_mm, window_mm)| {
        let [from, to] = window_mm;
        (-from).min(to) < farthest_mm + REACH_SIGMAS * TofKernel::new(fwhm_mm).sigma_mm()
    })
}

/// Computes it with the projector for all planes at once; `None` if that does not suit the grid.
fn of_planes(
    facts: &ListMetadata,
    cylinder: Cylinder,
    geometry: ScanGeometry,
    settings: &SensitivitySettings,
    task: &Task,
) -> Result<Option<Sensitivity>, SetupError> {
    debug_assert_eq!(geometry.in_plane, InPlane::DetectorPairs);
    let (cylinder, geometry) = (Arc::new(cylinder), Arc::new(geometry));
    let (grid, fov_radius_mm) = (settings.grid.clone(), settings.fov_radius_mm);
    let rays = Rays::Fixed { tangential: 1, axial: settings.rays.axial };
    let axial_runs = ProjectorSettings::new(grid, fov_radius_mm, ProjectorChoice::AXIAL_RUNS, settings.device);
    let projector = ProjectorSettings { rays, may_resample: false, ..axial_runs };
    // The processor takes over when the device memory is too small.
    let on_host = ProjectorSettings { device: DeviceChoice::Cpu, ..projector.clone() };
    let chosen = choose_projector(&geometry, &projector).or_else(|_| choose_projector(&geometry, &on_host));
    let Ok(ChosenProjector { mut system, .. }) = chosen else { return Ok(None) };
    let maps = facts.attenuation.maps();
    let num_views = geometry.num_views;
    let count = geometry.num_bins().div_ceil(BINS_AT_ONCE).clamp(1, num_views);
    if maps.is_empty()
        && let Some(is_there) = crystals_of_places(facts, &cylinder)
    {
        let rows = |subset| detectors_of_views(&cylinder, &geometry, subset);
        let place = |ring: usize| (ring * cylinder.num_detectors) as u32;
        let columns = geometry.segments.iter().flat_map(Segment::ring_pairs).map(|rings| rings.map(place)).collect();
        task.begin(count as u64);
        let (volume, num_pairs) = system.backproject_pairs(&Pairs { is_there, rows: &rows, columns }, count, task)?;
        return Ok(Some(Sensitivity { volume, num_pairs, is_of_planes: true }));
    }
    let of_map = |map| AttenuationOfViews::new(map, &geometry, settings.device);
    let mut attenuation = maps.iter().map(of_map).collect::<Result<Vec<_>, _>>()?;
    task.begin(num_views as u64);
    let mut volume = Volume { unit: Unit::Mm, ..Volume::filled(settings.grid.clone(), 0.0) };
    let mut num_pairs = 0;
    for subset in Subset::all(count) {
        let mut factors = factors_of_views(facts, &cylinder, &geometry, subset);
        num_pairs += factors.iter().filter(|factor| **factor > 0.0).count() as u64;
        for of_map in &mut attenuation {
            of_map.multiply(subset, &mut factors, task)?;
        }
        // The same bits on every run, as a deterministic reconstruction promises.
        let part = system.backproject(subset, Arc::new(factors), Accumulation::Deterministic, task)?;
        volume.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(sum, value)| *sum += value);
        task.advance(subset.views(num_views).len() as u64);
    }
    Ok(Some(Sensitivity { volume, num_pairs, is_of_planes: true }))
}

/// Returns 1 for each place `[ring][detector]` with a counting crystal, else 0; `None` if pairs differ in their efficiency.
fn crystals_of_places(facts: &ListMetadata, cylinder: &Cylinder) -> Option<Vec<f32>> {
    let places = (0..cylinder.num_rings).flat_map(|ring| (0..cylinder.num_detectors).map(move |detector| [ring, detector]));
    let counts = |[ring, detector]: [usize; 2]| match (cylinder.crystal(ring, detector), &facts.efficiency) {
        (None, _) => Some(false),
        (Some(_), None) => Some(true),
        (Some(crystal), Some(efficiency)) => efficiency.of_crystal(crystal),
    };
    places.map(|place| counts(place).map(|counts| f32::from(u8::from(counts)))).collect()
}

/// Returns both detectors of each transaxial LOR of a subset's views, in the order of a michelogram.
fn detectors_of_views(cylinder: &Cylinder, geometry: &ScanGeometry, subset: Subset) -> Vec<[u32; 2]> {
    let of_view = |view: usize| {
        let positions = (0..geometry.num_tangential).map(|position| geometry.tangential_index(position) as i32);
        positions.map(move |tangential| cylinder.detectors(view, tangential).map(|detector| detector as u32))
    };
    subset.views(geometry.num_views).flat_map(of_view).collect()
}

/// Returns m of the bins of a subset's views, in the order of a michelogram; 0 for a missing crystal.
fn factors_of_views(facts: &ListMetadata, cylinder: &Cylinder, geometry: &ScanGeometry, subset: Subset) -> Vec<f32> {
    let (num_tangential, num_planes) = (geometry.num_tangential, geometry.num_planes());
    let views: Vec<usize> = subset.views(geometry.num_views).collect();
    let mut factors = vec![1.0f32; views.len() * num_tangential * num_planes];
    let rings: Vec<[usize; 2]> = geometry.segments.iter().flat_map(Segment::ring_pairs).collect();
    factors.par_chunks_exact_mut(num_planes).enumerate().for_each(|(transaxial, factors)| {
        let (view, tangential_pos) = (views[transaxial / num_tangential], transaxial % num_tangential);
        let [end1, end2] = cylinder.detectors(view, geometry.tangential_index(tangential_pos) as i32);
        let [first, second] =
            [end1, end2].map(|end| (0..cylinder.num_rings).map(|ring| cylinder.crystal(ring, end)).collect::<Vec<_>>());
        for (factor, &[ring1, ring2]) in factors.iter_mut().zip(&rings) {
            *factor = match (first[ring1], second[ring2]) {
                (Some(first), Some(second)) => facts.efficiency.as_ref().map_or(1.0, |efficiency| efficiency.of([first, second])),
                _ => 0.0,
            };
        }
    });
    factors
}

/// Computes it pair by pair.
fn of_pairs(facts: &ListMetadata, settings: &SensitivitySettings, task: &Task) -> Result<Sensitivity, SetupError> {
    let num = facts.detectors.crystals().len() as u32;
    let is_sampled = in_sampling(facts);
    let has_window = has_window_in(facts, settings.fov_radius_mm);
    let mut platform = device_of_pairs(facts, settings.device)?;
    let at_once = if platform.has_own_memory() { PAIRS_AT_ONCE_ON_DEVICE } else { PAIRS_AT_ONCE };
    let mut volume = Volume { unit: Unit::Mm, ..Volume::filled(settings.grid.clone(), 0.0) };
    let (mut pairs, mut factors) = (Vec::new(), Vec::new());
    let mut num_pairs = 0;
    task.begin(u64::from(num));
    for first in 0..num {
        let mut visit = |pair: [u32; 2], factor: f32| {
            if is_sampled(pair) {
                pairs.push(pair);
                factors.push(factor);
            }
        };
        match &facts.efficiency {
            Some(efficiency) => efficiency.for_each_pair(first..first + 1, num, &mut visit),
            None => (first + 1..num).for_each(|second| visit([first, second], 1.0)),
        }
        if pairs.len() >= at_once || first + 1 == num {
            num_pairs += pairs.len() as u64;
            let events =
                Events { tof_mm: windows_of(facts, &pairs, has_window), pairs: std::mem::take(&mut pairs), ..Events::default() };
            let part = of_some_pairs(facts, settings, events, std::mem::take(&mut factors), &mut *platform, task)?;
            volume.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(sum, value)| *sum += value);
        }
        task.advance(1);
    }
    Ok(Sensitivity { volume, num_pairs, is_of_planes: false })
}

/// Returns the device for pairs; the processor where there are several resolutions of time of flight.
fn device_of_pairs(facts: &ListMetadata, device: DeviceChoice) -> Result<Opened, SetupError> {
    let has_several = facts.tof.as_ref().is_some_and(TofMeasurement::has_several_resolutions);
    let device = if has_several { DeviceChoice::Cpu } else { device.first() };
    Ok(choose_device(device)?.0)
}

/// Returns the window of d of each pair, where it is looked at.
fn windows_of(facts: &ListMetadata, pairs: &[[u32; 2]], has_window: bool) -> Vec<[f32; 2]> {
    match facts.tof.as_ref().filter(|_| has_window) {
        Some(tof) => pairs.iter().map(|&pair| tof.window_of(pair).map(|mm| mm as f32)).collect(),
        None => Vec::new(),
    }
}

/// Returns a test of a pair for the sampling of the list's format; pairs outside are not in coincidence. Without a sampling all
/// pairs pass.
fn in_sampling(facts: &ListMetadata) -> impl Fn([u32; 2]) -> bool {
    let sampled = facts.sampling.zip(cylinder_of(facts).ok());
    move |pair| {
        sampled.as_ref().is_none_or(|(sampling, cylinder)| {
            let (bin, first) = (cylinder.bin(pair), -((sampling.num_tangential / 2) as i32));
            (first..first + sampling.num_tangential as i32).contains(&bin.tangential)
                && bin.ring1.abs_diff(bin.ring2) as usize <= sampling.max_ring_difference
        })
    }
}

/// Returns Aᵀ m over these pairs.
fn of_some_pairs(
    facts: &ListMetadata,
    settings: &SensitivitySettings,
    events: Events,
    mut factors: Vec<f32>,
    platform: &mut dyn Platform,
    task: &Task,
) -> Result<Volume, SetupError> {
    let events = Arc::new(events);
    for map in facts.attenuation.maps() {
        let survival = attenuation_factors(map, &facts.detectors, &events, task)?;
        factors.iter_mut().zip(survival).for_each(|(factor, survival)| *factor *= survival);
    }
    // An event weighs places by the mean density over its interval of d; the probability of the interval is its width times that.
    factors.iter_mut().zip(&events.tof_mm).for_each(|(factor, [from, to])| *factor *= to - from);
    let order = EventOrder::AsWritten;
    let SensitivitySettings { grid, fov_radius_mm, rays, .. } = settings;
    let recipe = EventRecipe { events, facts, grid, fov_radius_mm: *fov_radius_mm, rays: *rays, order };
    platform.backproject_events(recipe, factors, task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Attenuation, AttenuationMap, ListSampling};
    use crate::scanner::{Detectors, find};

    #[test]
    fn all_planes_at_once_are_the_pairs_one_after_the_other_with_and_without_attenuation() {
        let geometry = &find("small").unwrap().geometry;
        let grid = Grid::centred([15, 13, 5], [5.0, 5.0, 5.0]).unwrap();
        let map = AttenuationMap { file: "mu.nii".into(), per_mm: Volume::filled(grid.clone(), 0.0096), ct: None };
        let several = PairRays { tangential: 1, axial: 3, axial_mm: Some(geometry.ring_spacing_mm) };
        let sum = |(attenuation, rays, sampling): (Attenuation, PairRays, Option<ListSampling>)| {
            let detectors = Arc::new(Detectors::of_cylinder(geometry).unwrap());
            let facts = ListMetadata { attenuation, sampling, ..ListMetadata::new("test", detectors) };
            let settings = SensitivitySettings { grid: grid.clone(), fov_radius_mm: 30.0, rays, device: DeviceChoice::Cpu };
            let [planes, pairs] = [list_sensitivity, of_pairs].map(|made| made(&facts, &settings, &Task::new()).unwrap());
            assert!(planes.is_of_planes && !pairs.is_of_planes);
            let largest = pairs.volume.range().1;
            for (planes, pairs) in planes.volume.as_slice().iter().zip(pairs.volume.as_slice()) {
                assert!((planes - pairs).abs() <= 1e-4 * largest, "{planes} {pairs}");
            }
            pairs.volume.sum()
        };
        let sampling = ListSampling { num_tangential: 14, max_ring_difference: 2 };
        for (rays, sampling) in [(PairRays::ONE, None), (several, None), (several, Some(sampling))] {
            let [without, with] =
                [Attenuation::Untold, Attenuation::Maps(vec![Arc::new(map.clone())])].map(|map| sum((map, rays, sampling)));
            assert!(with < 0.8 * without && with > 0.3 * without, "{with} {without}");
        }
    }

    #[test]
    fn places_near_the_end_of_a_window_are_seen_less_and_others_as_before() {
        let geometry = &find("small").unwrap().geometry;
        let detectors = Arc::new(Detectors::of_cylinder(geometry).unwrap());
        let grid = Grid::centred([15, 13, 5], [5.0, 5.0, 5.0]).unwrap();
        let settings = SensitivitySettings { grid, fov_radius_mm: 30.0, rays: PairRays::ONE, device: DeviceChoice::Cpu };
        let made = |half_mm: f64| {
            let tof = TofMeasurement { fwhm_mm: 20.0, window_mm: [-half_mm, half_mm], ..TofMeasurement::default() };
            let facts = ListMetadata { tof: Some(tof), ..ListMetadata::new("test", Arc::clone(&detectors)) };
            (has_window_in(&facts, settings.fov_radius_mm), list_sensitivity(&facts, &settings, &Task::new()).unwrap())
        };
        let (has_window, wide) = made(400.0);
        assert!(!has_window && wide.is_of_planes, "no window ends near the image");
        let (has_window, near) = made(20.0);
        assert!(has_window && !near.is_of_planes);
        let value = |of: &Sensitivity, x: usize| f64::from(of.volume.as_slice()[(2 * 13 + 6) * 15 + x]);
        let part = |x: usize| value(&near, x) / value(&wide, x);
        // In the middle of the image σ of 8.5 mm are far from 20 mm; at 30 mm most lines along x are lost, and none across it.
        assert!((0.97..1.0).contains(&part(7)) && (0.3..0.8).contains(&part(2)), "{} {}", part(7), part(2));
        // A window that ends beyond the reach of every place, but so near that it is looked at, changes nothing.
        let (has_window, far) = made(63.0);
        assert!(has_window && !far.is_of_planes);
        let largest = wide.volume.range().1;
        for (far, wide) in far.volume.as_slice().iter().zip(wide.volume.as_slice()) {
            assert!((far - wide).abs() <= 1e-4 * largest, "{far} {wide}");
        }
    }
}
