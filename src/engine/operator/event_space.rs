//! Events as the data of an operator: which of them belong to a subset, and in which order arrays hold them.

use std::f64::consts::PI;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::{DataSpace, Subset};
use crate::algebra::Shard;
use crate::geometry::{Grid, Line};

/// In which order the events of a subset lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventOrder {
    /// Those whose lines meet the same voxels next to each other: by direction, then by distance from the axis, then by d where
    /// it is known, else by how steep they are. A permutation of the list, made once.
    #[default]
    ByLine,
    /// As they were written.
    AsWritten,
}

/// Events of a list, or a shard of them, in subsets: event i belongs to subset i modulo their number. Values of a subset lie
/// contiguously.
#[derive(Clone, Debug)]
pub struct EventSpace {
    /// Number of events of the list.
    num_events: usize,
    /// In the order in which those of each subset are to lie; `None` = all, as they are numbered.
    sorted: Option<Arc<Vec<u32>>>,
    arrangement: Arc<Mutex<Option<Arrangement>>>,
}

/// Order of the events for the last number of subsets.
#[derive(Clone, Debug)]
struct Arrangement {
    num_subsets: usize,
    order: Arc<Vec<u32>>,
    /// Where the events of each subset begin, and where they end.
    firsts: Arc<Vec<usize>>,
}

impl EventSpace {
    /// `num_events` events as they are numbered, interleaved.
    pub fn of(num_events: usize) -> Self {
        Self::new(num_events, None)
    }

    /// Makes the space of `num_events` events in their order, or sorted by keys and of them a shard. A line belongs to one shard
    /// with all its events, in the order that they have among all.
    pub(super) fn new(num_events: usize, keys: Option<(&[u32], Shard)>) -> Self {
        let sorted = keys.map(|(keys, shard)| {
            let owner = |key: u32| ((key >> LINE_BITS).wrapping_mul(0x9e37_79b1) as usize >> 8) % shard.count.max(1);
            Arc::new(sorted(keys.par_iter().copied().enumerate().filter(|(_, key)| owner(*key) == shard.index)))
        });
        Self { num_events, sorted, arrangement: Arc::default() }
    }

    /// Returns the number of events of the whole list, not of a shard.
    pub fn num_events_of_list(&self) -> usize {
        self.num_events
    }

    fn is_whole(&self) -> bool {
        self.sorted.as_ref().is_none_or(|sorted| sorted.len() == self.num_events)
    }

    /// Returns the event of each place of an array for a number of subsets.
    pub fn order(&self, num_subsets: usize) -> Arc<Vec<u32>> {
        self.arrangement(num_subsets).order
    }

    fn arrangement(&self, num_subsets: usize) -> Arrangement {
        let mut arrangement = self.arrangement.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arrangement) = arrangement.as_ref().filter(|arrangement| arrangement.num_subsets == num_subsets) {
            return arrangement.clone();
        }
        arrangement.insert(self.new_arrangement(num_subsets)).clone()
    }

    fn new_arrangement(&self, num_subsets: usize) -> Arrangement {
        let firsts = self.firsts(num_subsets);
        let mut places = firsts.clone();
        let mut order = vec![0; places.last().copied().unwrap_or_default()];
        let mut put = |event: u32| {
            let place = &mut places[event as usize % num_subsets];
            order[*place] = event;
            *place += 1;
        };
        let order = match &self.sorted {
            Some(sorted) if num_subsets == 1 => Arc::clone(sorted),
            Some(sorted) => {
                sorted.iter().for_each(|&event| put(event));
                Arc::new(order)
            }
            None => {
                (0..self.num_events as u32).for_each(&mut put);
                Arc::new(order)
            }
        };
        Arrangement { num_subsets, order, firsts: Arc::new(firsts) }
    }

    fn firsts(&self, num_subsets: usize) -> Vec<usize> {
        let Some(shard) = self.sorted.as_ref().filter(|_| !self.is_whole()) else {
            return (0..=num_subsets).map(|index| self.first_of_list(Subset { index, count: num_subsets })).collect();
        };
        let mut firsts = vec![0; num_subsets + 1];
        shard.iter().for_each(|&event| firsts[event as usize % num_subsets + 1] += 1);
        (0..num_subsets).for_each(|index| firsts[index + 1] += firsts[index]);
        firsts
    }

    /// Where the events of a subset begin.
    pub(crate) fn first(&self, subset: Subset) -> usize {
        match self.is_whole() {
            true => self.first_of_list(subset),
            false => self.arrangement(subset.count).firsts[subset.index],
        }
    }

    fn first_of_list(&self, Subset { index, count }: Subset) -> usize {
        let (num, count) = (self.num_events, count.max(1));
        index * (num / count) + index.min(num % count)
    }

    /// Where they lie.
    pub(crate) fn range(&self, subset: Subset) -> Range<usize> {
        self.first(subset)..self.first(Subset { index: subset.index + 1, ..subset })
    }

    /// Values, event by event in the order of the list, in the order in which they are taken; those of a subset lie together.
    pub fn arranged_values(&self, values: &[f32], num_subsets: usize) -> Arc<Vec<f32>> {
        Arc::new(self.order(num_subsets).par_iter().map(|&event| values[event as usize]).collect())
    }
}

impl DataSpace for EventSpace {
    fn max_subsets(&self) -> usize {
        self.num_events.max(1)
    }

    fn len(&self, subset: Subset) -> usize {
        self.range(subset).len()
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        self.arranged_values(values, num_subsets)
    }

    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        let mut ordered = vec![0.0; self.num_events];
        for (value, &event) in values.into_iter().zip(self.order(1).iter()) {
            ordered[event as usize] = value;
        }
        ordered
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        vec![(0, self.range(subset))]
    }
}

/// Events in the order of their keys.
fn sorted(keys: impl ParallelIterator<Item = (usize, u32)>) -> Vec<u32> {
    let mut pairs: Vec<(u32, u32)> = keys.map(|(event, key)| (key, event as u32)).collect();
    pairs.par_sort_unstable();
    pairs.into_par_iter().map(|(_, event)| event).collect()
}

/// Last bits of a key, which distinguish events of the same transaxial line.
const LINE_BITS: u32 = 7;

/// Returns the place of a line, and of d on it, among all: lines that are alike meet the same voxels at the same time.
/// `is_one_way`: the two directions of a line have different rays.
pub(super) fn key(line: &Line, tof_mm: Option<[f32; 2]>, grid: &Grid, is_one_way: bool) -> u32 {
    let [dx, dy] = [0, 1].map(|a| line.end[a] - line.start[a]);
    // Both directions of a line are one, to the last digit; distances along it and across it turn with it.
    let sign = if dy < 0.0 || (dy == 0.0 && dx < 0.0) { -1.0 } else { 1.0 };
    let begin = if sign < 0.0 { line.end } else { line.start };
    let (dx, dy, length) = (sign * dx, sign * dy, dx.hypot(dy).max(f64::MIN_POSITIVE));
    let cell = |value: f64, num: u32| (value + f64::from(num / 2)).clamp(0.0, f64::from(num - 1)) as u32;
    let direction = |num: u32| ((dy.atan2(dx) / PI * f64::from(num)) as u32).min(num - 1);
    let across = (begin[0] * dy - begin[1] * dx) / (length * grid.voxel_mm[0]);
    match tof_mm {
        // 512 directions, distances from the axis of half a voxel; among those alike, which have the same line seen along the
        // axis, and which rise alike, by two voxels in z.
        None => {
            let (direction, across) = (direction(4096), cell(16.0 * across, 8192));
            let rise = ((line.end[2] - line.start[2]).abs() / (2.0 * grid.voxel_mm[2])).round().min(63.0) as u32;
            let way = u32::from(is_one_way && sign < 0.0);
            (direction >> 3) << 23 | (across >> 3) << 13 | (direction & 7) << 10 | (across & 7) << LINE_BITS | way << 6 | rise
        }
        // Only a short part of the line is walked: 256 directions, distances of a voxel, d of two.
        Some([low, high]) => {
            let middle = [0, 1].map(|a| 0.5 * (line.start[a] + line.end[a]));
            let along = (middle[0] * dx + middle[1] * dy) / length + sign * 0.5 * f64::from(low + high);
            (direction(256) << 9 | cell(across, 512)) << 9 | cell(along / (2.0 * grid.voxel_mm[0]), 512)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_is_in_the_subset_that_it_belongs_to_and_comes_back() {
        let values: Arc<Vec<f32>> = Arc::new((0..103).map(|event| event as f32).collect());
        let keys: Vec<u32> = (0..103).map(|event| event * 37 % 103).collect();
        for keys in [None, Some(keys)] {
            let space = EventSpace::new(values.len(), keys.as_deref().map(|keys| (keys, Shard::WHOLE)));
            for num_subsets in [1, 2, 7, 103] {
                let arranged = space.arranged(&values, num_subsets);
                for subset in Subset::all(num_subsets) {
                    let pieces = space.pieces(subset);
                    assert_eq!((pieces.len(), pieces[0].0, pieces[0].1.len()), (1, 0, space.len(subset)));
                    let found: Vec<usize> = arranged[pieces[0].1.clone()].iter().map(|value| *value as usize).collect();
                    let mut expected: Vec<usize> = (subset.index..103).step_by(num_subsets).collect();
                    if let Some(keys) = &keys {
                        expected.sort_by_key(|event| keys[*event]);
                    }
                    assert_eq!(found, expected, "{subset:?}");
                }
            }
            assert_eq!(space.in_order(space.arranged(&values, 1).to_vec()), *values);
        }
        assert_eq!(EventSpace::new(0, None).len(Subset::ALL), 0);
    }

    #[test]
    fn shares_have_whole_lines_in_the_order_of_all() {
        let num = 5000;
        let keys: Vec<u32> = (0..num as u32).map(|event| ((event * 37 % 997) << LINE_BITS) | (event % 13)).collect();
        let line = |event: u32| keys[event as usize] >> LINE_BITS;
        let whole = EventSpace::new(num, Some((&keys, Shard::WHOLE)));
        for (count, num_subsets) in [(1, 1), (2, 1), (2, 7), (3, 4)] {
            let all = Subset::all(num_subsets);
            let shards: Vec<EventSpace> =
                (0..count).map(|index| EventSpace::new(num, Some((&keys, Shard { index, count })))).collect();
            for subset in all {
                let of = |space: &EventSpace| space.order(num_subsets)[space.range(subset)].to_vec();
                let mut joined = Vec::new();
                for shard in &shards {
                    let own = of(shard);
                    let lines: std::collections::HashSet<u32> = own.iter().map(|&event| line(event)).collect();
                    let among_all: Vec<u32> = of(&whole).into_iter().filter(|&event| lines.contains(&line(event))).collect();
                    assert_eq!(own, among_all);
                    assert!(own.len() * count * 10 > 8 * whole.len(subset), "{} of {}", own.len(), whole.len(subset));
                    assert_eq!(shard.len(subset), own.len());
                    joined.extend(own);
                }
                let sorted = |mut events: Vec<u32>| {
                    events.sort_unstable();
                    events
                };
                assert_eq!(sorted(joined), sorted(of(&whole)));
            }
        }
    }

    #[test]
    fn both_directions_of_a_line_are_one_and_time_of_flight_turns_with_it() {
        let grid = Grid::centred([64, 64, 8], [4.0, 4.0, 4.0]).unwrap();
        let line = Line { start: [-200.0, 31.0, 3.0], end: [190.0, 77.0, -9.0] };
        let back = Line { start: line.end, end: line.start };
        assert_eq!(key(&line, None, &grid, false), key(&back, None, &grid, false));
        assert_eq!(key(&line, None, &grid, true) ^ key(&back, None, &grid, true), 1 << 6);
        assert_eq!(key(&line, Some([30.0, 32.0]), &grid, false), key(&back, Some([-32.0, -30.0]), &grid, false));
        assert_ne!(key(&line, Some([30.0, 32.0]), &grid, false), key(&line, Some([-32.0, -30.0]), &grid, false));
        let beside = Line { start: [-200.0, 36.0, 3.0], end: [190.0, 82.0, -9.0] };
        assert_ne!(key(&line, None, &grid, false), key(&beside, None, &grid, false));
    }
}
