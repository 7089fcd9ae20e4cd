//! Beams: events that have one line, seen along the axis, which GPUs backproject together. On a cylinder they are those between the
//! same two columns of crystals.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::{EventRays, Subset};

/// Beams of fewer events, on the average, take longer than their events one by one: on an H200 each takes as long as 27.
const MIN_EVENTS: usize = 30;
/// Rows of voxels along z for an event of a beam at most: a beam looks after all of them.
const ROWS_PER_EVENT: usize = 8;
/// Events among which a thread looks for beams.
const EVENTS_PER_TASK: usize = 1 << 16;

/// The beams of events in the order for a number of subsets.
#[derive(Clone, Debug)]
pub struct EventBeams {
    /// The first event of each, counted from the first of its subset, and how many it has.
    pub rows: Vec<[u32; 2]>,
    of_subsets: Vec<Range<usize>>,
}

impl EventBeams {
    /// Returns the beams, of `max_events` at most, of `pairs`, which are in the order of `num_subsets` subsets.
    pub fn new(rays: &EventRays, pairs: &[[u32; 2]], num_subsets: usize, max_events: usize) -> Self {
        let (rows, of_subsets) = beams_of(rays, pairs, num_subsets, max_events);
        Self { rows, of_subsets }
    }

    /// Returns true if the beams, in images of `num_rows` voxels along z, are faster than their events one by one.
    pub fn are_large([num_events, num_beams]: [f64; 2], num_rows: usize) -> bool {
        num_events >= num_beams * MIN_EVENTS.max(num_rows / ROWS_PER_EVENT) as f64
    }

    /// Returns the beams that begin among some events of a subset.
    pub fn among(&self, subset: Subset, events: &Range<usize>) -> Range<usize> {
        let range = &self.of_subsets[subset.index];
        let of_subset = &self.rows[range.clone()];
        let [begin, end] = [events.start, events.end].map(|event| of_subset.partition_point(|row| (row[0] as usize) < event));
        range.start + begin..range.start + end
    }
}

/// Returns the beams, subset after subset, and which belong to each.
fn beams_of(rays: &EventRays, pairs: &[[u32; 2]], num_subsets: usize, max_events: usize) -> (Vec<[u32; 2]>, Vec<Range<usize>>) {
    let columns = columns_of(rays);
    // Where rays begin as they end, a pair is the same line in both directions.
    let is_two_way = rays.points()[0] == rays.points()[1];
    let line = |pair: [u32; 2]| {
        let [first, second] = pair.map(|crystal| columns[crystal as usize]);
        if is_two_way { [first.min(second), first.max(second)] } else { [first, second] }
    };
    let mut rows = Vec::new();
    let of_subsets = Subset::all(num_subsets).map(|subset| {
        let begin = rows.len();
        let pairs = &pairs[rays.space().range(subset)];
        // The sum of a beam depends in its last digits on its events: no line is divided.
        let edge = |at: usize| {
            let at = at.min(pairs.len());
            let before = at.checked_sub(1).map(|before| line(pairs[before]));
            at + pairs[at..].iter().take_while(|pair| Some(line(**pair)) == before).count()
        };
        let pieces = (0..pairs.len().div_ceil(EVENTS_PER_TASK)).into_par_iter().map(|piece| piece * EVENTS_PER_TASK);
        rows.par_extend(pieces.flat_map_iter(|at| {
            let mut first = edge(at);
            pairs[first..edge(at + EVENTS_PER_TASK)].chunk_by(|a, b| line(*a) == line(*b)).flat_map(move |run| {
                let (num, begin) = (run.len().div_ceil(max_events), first);
                first += run.len();
                let edge = move |part: usize| begin + run.len() * part / num;
                (0..num).map(move |part| [edge(part) as u32, (edge(part + 1) - edge(part)) as u32])
            })
        }));
        begin..rows.len()
    });
    let of_subsets = of_subsets.collect();
    (rows, of_subsets)
}

/// Returns a number for each crystal that those above and below it have too: seen along the axis, their rays begin and end alike.
fn columns_of(rays: &EventRays) -> Vec<u32> {
    let num_crystals = rays.points()[0].len() / rays.num_rays();
    let mut numbers = HashMap::new();
    let column = |crystal: usize| {
        let of_rays = rays.points().iter().flat_map(|points| points.iter().skip(crystal).step_by(num_crystals));
        let places: Vec<[u64; 2]> = of_rays.map(|point| [point[0].to_bits(), point[1].to_bits()]).collect();
        let next = numbers.len() as u32;
        *numbers.entry(places).or_insert(next)
    };
    (0..num_crystals).map(column).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::algebra::Shard;
    use crate::data::Events;
    use crate::operator::EventOrder;
    use crate::scanner::{Detectors, PairRays, find};

    const NUM_COLUMNS: u32 = 96;
    const MAX_EVENTS: usize = 128;

    /// Some lines are met by many events, in both directions, others by few.
    fn events() -> Arc<Events> {
        let num_rings = 8;
        let pair = |i: u32| {
            let column = if i.is_multiple_of(3) { 7 } else { i / 100 % NUM_COLUMNS };
            let [a, b] = [
                column + i % num_rings * NUM_COLUMNS,
                (column + NUM_COLUMNS / 2) % NUM_COLUMNS + i / 7 % num_rings * NUM_COLUMNS,
            ];
            if i.is_multiple_of(2) { [a, b] } else { [b, a] }
        };
        Arc::new(Events { pairs: (0..150_000).map(pair).collect(), ..Events::default() })
    }

    fn rays(events: &Arc<Events>, num_rays: usize, shard: Shard) -> EventRays {
        let geometry = &find("small").unwrap().geometry;
        assert_eq!((geometry.num_detectors_per_ring, geometry.num_rings), (NUM_COLUMNS as usize, 8));
        let (detectors, grid) = (Detectors::of_cylinder(geometry).unwrap(), geometry.default_grid().unwrap());
        let pair_rays = PairRays { tangential: num_rays, ..PairRays::ONE };
        EventRays::new(Arc::clone(events), &detectors, None, &grid, pair_rays, EventOrder::default(), shard).unwrap()
    }

    fn arranged(rays: &EventRays, num_subsets: usize) -> Vec<[u32; 2]> {
        rays.space().order(num_subsets).iter().map(|&event| rays.events().pairs[event as usize]).collect()
    }

    #[test]
    fn beams_hold_every_event_once_with_those_of_the_same_two_columns() {
        let events = events();
        for num_rays in [1, 3] {
            let rays = rays(&events, num_rays, Shard::WHOLE);
            for num_subsets in [1, 4] {
                let arranged = arranged(&rays, num_subsets);
                let (rows, of_subsets) = beams_of(&rays, &arranged, num_subsets, MAX_EVENTS);
                for subset in Subset::all(num_subsets) {
                    let range = rays.space().range(subset);
                    let mut next = 0;
                    for &[first, count] in &rows[of_subsets[subset.index].clone()] {
                        assert_eq!(first as usize, next);
                        assert!((1..=MAX_EVENTS as u32).contains(&count));
                        next += count as usize;
                        let lines: Vec<[u32; 2]> = arranged[range.clone()][first as usize..next]
                            .iter()
                            .map(|pair| pair.map(|crystal| crystal % NUM_COLUMNS))
                            .map(|[a, b]| if num_rays == 1 { [a.min(b), a.max(b)] } else { [a, b] })
                            .collect();
                        assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
                    }
                    assert_eq!(next, range.len());
                }
                // 50 000 events of one line, and some 100 of most others.
                assert!(rows.len() < if num_rays == 1 { 2200 } else { 4000 } * num_subsets, "{}", rows.len());
            }
        }
    }
    #[test]
    fn beams_of_shares_are_those_of_the_whole() {
        let events = events();
        for num_rays in [1, 3] {
            for num_subsets in [1, 4] {
                let beams = |shard: Shard| {
                    let rays = rays(&events, num_rays, shard);
                    let (rows, of_subsets) = beams_of(&rays, &arranged(&rays, num_subsets), num_subsets, MAX_EVENTS);
                    let (order, space) = (rays.space().order(num_subsets), rays.space());
                    let of_subset = |subset: Subset| {
                        let first = space.first(subset);
                        let range = of_subsets[subset.index].clone();
                        let event_range = |row: &[u32; 2]| first + row[0] as usize..first + (row[0] + row[1]) as usize;
                        rows[range].iter().map(|row| order[event_range(row)].to_vec()).collect::<Vec<Vec<u32>>>()
                    };
                    Subset::all(num_subsets).flat_map(of_subset).collect::<Vec<Vec<u32>>>()
                };
                let mut whole = beams(Shard::WHOLE);
                whole.sort_unstable();
                for count in [2, 3] {
                    let mut joined: Vec<Vec<u32>> = (0..count).flat_map(|index| beams(Shard { index, count })).collect();
                    joined.sort_unstable();
                    assert!(joined == whole, "{} and {} beams", joined.len(), whole.len());
                }
            }
        }
    }
}
