//! Factors of the events and the crystal pairs of list-mode data: detection efficiencies of the files, times the survival
//! probability exp(−∫ µ dl) of the photon pairs on the line between the middles of two crystals. Both are of one line for any
//! number of rays of a pair, so that events and their pairs have the same factor.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

use crate::algebra::{Backend as _, Host};
use crate::data::{Attenuation, AttenuationMap, EventList, Events, ListMetadata, Notice};
use crate::io::list_mode::ListOptions;
use crate::operator::{EventLines, EventOrder, EventProjector, LinearOperator as _, OperatorError, Subset};
use crate::plan::attenuation::maps::read_maps;
use crate::plan::error::{AttenuationError, ListError};
use crate::plan::list_mode::sampling::list_grid;
use crate::scanner::{Detectors, PairRays};
use crate::task::Task;

/// Returns the metadata of list-mode data with the attenuation of the options.
///
/// # Errors
/// The file contains no attenuation, or the list's own factors include it.
pub(in crate::plan) fn with_attenuation(
    facts: &Arc<ListMetadata>,
    options: &ListOptions,
    notices: &mut Vec<Notice>,
) -> Result<Arc<ListMetadata>, ListError> {
    let Some(file) = &options.attenuation else { return Ok(Arc::clone(facts)) };
    if facts.attenuation == Attenuation::InFactors {
        return Err(ListError::AttenuatedTwice { map: file.clone() });
    }
    let field = list_grid(facts).map_err(AttenuationError::from)?;
    let (maps, found) = read_maps(file, options.ct.as_ref(), &options.added_attenuation, options.mu_unit, &field)?;
    notices.extend(found);
    Ok(Arc::new(ListMetadata { attenuation: Attenuation::Maps(maps), ..(**facts).clone() }))
}

/// Returns m of each event, in the order of the list; `None` = 1.
///
/// # Errors
/// Stopped.
pub(in crate::plan) fn factors_of_events<'a>(list: &'a EventList, task: &Task) -> Result<Option<Cow<'a, [f32]>>, OperatorError> {
    let EventList { facts, prompts, .. } = list;
    let mut factors = match (prompts.multiplicative.as_slice(), &facts.efficiency) {
        ([], None) => None,
        ([], Some(efficiency)) => Some(Cow::Owned(prompts.pairs.par_iter().map(|&pair| efficiency.of(pair)).collect())),
        (known, _) => Some(Cow::Borrowed(known)),
    };
    for map in facts.attenuation.maps() {
        let mut survival = attenuation_factors(map, &facts.detectors, prompts, task)?;
        if let Some(known) = factors {
            survival.par_iter_mut().zip(known.par_iter()).for_each(|(factor, known)| *factor *= known);
        }
        factors = Some(Cow::Owned(survival));
    }
    Ok(factors)
}

/// Returns the part of the photon pairs that passes, of the pairs of events in their order.
///
/// # Errors
/// Stopped.
pub(in crate::plan) fn attenuation_factors(
    map: &AttenuationMap,
    detectors: &Detectors,
    events: &Arc<Events>,
    task: &Task,
) -> Result<Vec<f32>, OperatorError> {
    let (grid, radius_mm) = (map.per_mm.grid.clone(), map.per_mm.grid.farthest_from_axis_mm());
    let lines = EventLines::new(Arc::clone(events), detectors, None, grid, radius_mm, PairRays::ONE, EventOrder::AsWritten)?;
    let mu = Host.upload(Arc::new(lines.voxels().coefficients(&map.per_mm)))?;
    let mut integrals = Host.zeros(events.len())?;
    lines.apply(&mut Host, Subset::ALL, &mu, &mut integrals, task)?;
    Ok(Host.read(&integrals, |integrals| integrals.par_iter().map(|integral| (-integral).exp()).collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Volume;
    use crate::geometry::{Grid, Line};
    use crate::plan::attenuation::factors::AttenuationOfViews;
    use crate::plan::device::choice::DeviceChoice;
    use crate::plan::list_mode::sampling::{HistogramSettings, cylinder_of, sampling_of};
    use crate::scanner::{Segment, find};

    const WATER_PER_MM: f32 = 0.0096;

    /// A box of water about a point beside the axis, and the ring around it.
    fn water(voxel_mm: [f64; 3]) -> (Arc<AttenuationMap>, Arc<ListMetadata>) {
        let size = [40.0, 30.0, 12.0];
        let count = [0, 1, 2].map(|axis| (size[axis] / voxel_mm[axis]).round() as usize);
        let origin = [0, 1, 2].map(|axis| [7.0, -4.0, 1.7][axis] - 0.5 * (size[axis] - voxel_mm[axis]));
        let grid = Grid::new(count, voxel_mm, origin).unwrap();
        let map = Arc::new(AttenuationMap { file: "mu.nii".into(), per_mm: Volume::filled(grid, WATER_PER_MM), ct: None });
        let detectors = Arc::new(Detectors::of_cylinder(&find("small").unwrap().geometry).unwrap());
        let facts =
            ListMetadata { attenuation: Attenuation::Maps(vec![Arc::clone(&map)]), ..ListMetadata::new("test", detectors) };
        (map, Arc::new(facts))
    }

    /// Returns the length of a line in the box, mm.
    fn chord_mm(grid: &Grid, line: &Line) -> f64 {
        let (mut from, mut to) = (0.0f64, 1.0f64);
        for axis in 0..3 {
            let ([low, high], start, d) = (grid.extent_mm(axis), line.start[axis], line.end[axis] - line.start[axis]);
            if d == 0.0 {
                if start <= low || start >= high {
                    return 0.0;
                }
                continue;
            }
            let at = [(low - start) / d, (high - start) / d];
            (from, to) = (from.max(at[0].min(at[1])), to.min(at[0].max(at[1])));
        }
        (to - from).max(0.0) * line.length_mm()
    }

    fn events_between(num: u32, step: usize) -> Arc<Events> {
        let pairs = (0..num).flat_map(|first| (first + 1..num).map(move |second| [first, second])).step_by(step).collect();
        Arc::new(Events { pairs, ..Events::default() })
    }

    #[test]
    fn a_line_through_a_box_of_water_keeps_the_exponential_of_its_chord() {
        let (map, facts) = water([2.0, 1.5, 3.0]);
        let events = events_between(facts.detectors.crystals().len() as u32, 37);
        let found = attenuation_factors(&map, &facts.detectors, &events, &Task::new()).unwrap();
        let mut num_through = 0;
        for (&pair, found) in events.pairs.iter().zip(found) {
            let chord = chord_mm(&map.per_mm.grid, &facts.detectors.line(pair));
            let expected = (-f64::from(WATER_PER_MM) * chord).exp();
            assert!((f64::from(found) - expected).abs() < 1e-5, "{pair:?}: {found}, not {expected}");
            num_through += usize::from(chord > 20.0);
        }
        assert!(num_through > 300, "{num_through}");
    }

    #[test]
    fn the_planes_of_a_cylinder_attenuate_as_its_pairs() {
        // Slices that the projector for all planes at once can use, and others.
        for dz in [3.0, 2.5] {
            let (map, facts) = water([2.0, 1.5, dz]);
            let cylinder = cylinder_of(&facts).unwrap();
            let geometry = Arc::new(sampling_of(&facts, &cylinder, &HistogramSettings::default()).unwrap());
            let mut views = AttenuationOfViews::new(&map, &geometry, DeviceChoice::Cpu).unwrap();
            let subset = Subset { index: 1, count: 4 };
            let rings: Vec<[usize; 2]> = geometry.segments.iter().flat_map(Segment::ring_pairs).collect();
            let mut pairs = Vec::new();
            for view in subset.views(geometry.num_views) {
                for tangential in 0..geometry.num_tangential {
                    let [end1, end2] = cylinder.detectors(view, geometry.tangential_index(tangential) as i32);
                    let crystal = |ring, end| cylinder.crystal(ring, end).unwrap();
                    pairs.extend(rings.iter().map(|&[ring1, ring2]| [crystal(ring1, end1), crystal(ring2, end2)]));
                }
            }
            let events = Arc::new(Events { pairs, ..Events::default() });
            let expected = attenuation_factors(&map, &facts.detectors, &events, &Task::new()).unwrap();
            let mut found = vec![2.0; expected.len()];
            views.multiply(subset, &mut found, &Task::new()).unwrap();
            assert!(expected.iter().any(|factor| *factor < 0.8));
            for (pair, (found, expected)) in events.pairs.iter().zip(found.iter().zip(&expected)) {
                assert!((found - 2.0 * expected).abs() < 1e-4, "slices of {dz} mm, {pair:?}: {found}, not twice {expected}");
            }
        }
    }
}
