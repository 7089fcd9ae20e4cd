//! Events as the data of an operator: which of them belong to a subset, and in which order arrays hold them.

use std::f64::consts::PI;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::{DataSpace, Subset};
use crate::algebra::Shard;
use crate::geometry::{Grid, Line};

/// Which events belong to a subset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventSplit {
    /// Event i to subset i modulo their number: each is a sample of the whole scan.
    #[default]
    Interleaved,
    /// Each subset has a piece of the list: it is a part of the scan's time.
    ByTime,
}

/// In which order the events of a subset lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventOrder {
    /// Those whose lines meet the same voxels next to each other: by direction, then by distance from the axis, then by d where it is
    /// known, else by how steep they are. A permutation of the list, made once.
    #[default]
    ByLine,
    /// As they were written.
    AsWritten,
}

/// Events of a list, or a share of them, in subsets. Values of a subset lie in one piece.
#[derive(Clone, Debug)]
pub struct EventSpace {
    /// Of the list.
    num_events: usize,
    split: EventSplit,
    /// In the order in which those of each subset are to lie; `None` = all, as they are numbered.
    sorted: Option<Arc<Vec<u32>>>,
    known: Arc<Mutex<Option<Known>>>,
}

/// What was asked for last.
#[derive(Clone, Debug)]
struct Known {
    num_subsets: usize,
    order: Arc<Vec<u32>>,
    /// Where the events of each subset begin, and where they end.
    firsts: Arc<Vec<usize>>,
}

impl EventSpace {
    /// So many events as they are numbered, interleaved.
    pub fn of(num_events: usize) -> Self {
        Self::new(num_events, EventSplit::default(), None)
    }

    /// So many events, as they are numbered, or sorted by keys and of them a share. A line is of one share with all its events, which
    /// so lie as they do among all.
    pub(super) fn new(num_events: usize, split: EventSplit, keys: Option<(&[u32], Shard)>) -> Self {
        let sorted = keys.map(|(keys, share)| {
            let owner = |key: u32| ((key >> LINE_BITS).wrapping_mul(0x9e37_79b1) as usize >> 8) % share.count.max(1);
            Arc::new(sorted(keys.par_iter().copied().enumerate().filter(|(_, key)| owner(*key) == share.index)))
        });
        Self { num_events, split, sorted, known: Arc::default() }
    }

    /// Events of the list, of which these may be a share.
    pub fn num_events_of_list(&self) -> usize {
        self.num_events
    }

    fn is_whole(&self) -> bool {
        self.sorted.as_ref().is_none_or(|sorted| sorted.len() == self.num_events)
    }

    /// The event of each place where arrays hold so many subsets.
    pub fn order(&self, num_subsets: usize) -> Arc<Vec<u32>> {
        self.known(num_subsets).order
    }

    fn known(&self, num_subsets: usize) -> Known {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.num_subsets == num_subsets) {
            return known.clone();
        }
        known.insert(self.arrangement(num_subsets)).clone()
    }

    fn arrangement(&self, num_subsets: usize) -> Known {
        let firsts = self.firsts(num_subsets);
        let mut places = firsts.clone();
        let mut order = vec![0; places.last().copied().unwrap_or_default()];
        let mut put = |event: u32| {
            let place = &mut places[self.subset_of(event as usize, num_subsets)];
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
        Known { num_subsets, order, firsts: Arc::new(firsts) }
    }

    fn firsts(&self, num_subsets: usize) -> Vec<usize> {
        let Some(share) = self.sorted.as_ref().filter(|_| !self.is_whole()) else {
            return (0..=num_subsets).map(|index| self.first_of_list(Subset { index, count: num_subsets })).collect();
        };
        let mut firsts = vec![0; num_subsets + 1];
        share.iter().for_each(|&event| firsts[self.subset_of(event as usize, num_subsets) + 1] += 1);
        (0..num_subsets).for_each(|index| firsts[index + 1] += firsts[index]);
        firsts
    }

    /// The subset of an event.
    fn subset_of(&self, event: usize, num_subsets: usize) -> usize {
        match self.split {
            EventSplit::Interleaved => event % num_subsets,
            EventSplit::ByTime => ((event + 1) * num_subsets - 1) / self.num_events,
        }
    }

    /// Where the events of a subset begin.
    pub(crate) fn first(&self, subset: Subset) -> usize {
        match self.is_whole() {
            true => self.first_of_list(subset),
            false => self.known(subset.count).firsts[subset.index],
        }
    }

    fn first_of_list(&self, Subset { index, count }: Subset) -> usize {
        let num = self.num_events;
        match self.split {
            EventSplit::Interleaved => index * (num / count.max(1)) + index.min(num % count.max(1)),
            EventSplit::ByTime => index * num / count.max(1),
        }
    }

    /// Where they lie.
    pub(crate) fn range(&self, subset: Subset) -> Range<usize> {
        self.first(subset)..self.first(Subset { index: subset.index + 1, ..subset })
    }

    /// Values, event by event in the order of the list, in the order in which they are taken; those of a subset lie together.
    pub fn arranged_values(&self, values: &[f32], num_subsets: usize) -> Arc<Vec<f32>> {
        Arc::new(self.order(num_subsets).par_iter().map(|&event| values[event as usize]).collect())
    }

    /// A subset's part of what all pairs could have counted: each subset is an equal sample of the scan, or a part of it by time as
    /// long as its events are many.
    pub fn share(&self, subset: Subset) -> f64 {
        match self.split {
            EventSplit::ByTime if self.num_events > 0 => {
                let end = self.first_of_list(Subset { index: subset.index + 1, ..subset });
                (end - self.first_of_list(subset)) as f64 / self.num_events as f64
            }
            _ => 1.0 / subset.count.max(1) as f64,
        }
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

/// The last bits of a key tell events of the same line, seen along the axis, from each other.
const LINE_BITS: u32 = 7;

/// The place of a line, and of d on it, among all: lines that are alike meet the same voxels at the same time.
/// `is_one_way`: of the two directions of a line each has rays of its own.
pub(super) fn key(line: &Line, tof_mm: Option<[f32; 2]>, grid: &Grid, is_one_way: bool) -> u32 {
    let [dx, dy] = [0, 1].map(|a| line.end[a] - line.start[a]);
    // Both directions of a line are one, to the last digit; what is measured along it and across it turns with it.
    let sign = if dy < 0.0 || (dy == 0.0 && dx < 0.0) { -1.0 } else { 1.0 };
    let begin = if sign < 0.0 { line.end } else { line.start };
    let (dx, dy, length) = (sign * dx, sign * dy, dx.hypot(dy).max(f64::MIN_POSITIVE));
    let cell = |value: f64, num: u32| (value + f64::from(num / 2)).clamp(0.0, f64::from(num - 1)) as u32;
    let direction = |num: u32| ((dy.atan2(dx) / PI * f64::from(num)) as u32).min(num - 1);
    let across = (begin[0] * dy - begin[1] * dx) / (length * grid.voxel_mm[0]);
    match tof_mm {
        // 512 directions, distances from the axis of half a voxel; among those alike, which have the same line seen along the axis,
        // and which rise alike, by two voxels in z.
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
        for split in [EventSplit::Interleaved, EventSplit::ByTime] {
            for keys in [None, Some(keys.clone())] {
                let space = EventSpace::new(values.len(), split, keys.as_deref().map(|keys| (keys, Shard::WHOLE)));
                for num_subsets in [1, 2, 7, 103] {
                    let arranged = space.arranged(&values, num_subsets);
                    let mut share = 0.0;
                    for subset in Subset::all(num_subsets) {
                        let pieces = space.pieces(subset);
                        assert_eq!((pieces.len(), pieces[0].0, pieces[0].1.len()), (1, 0, space.len(subset)));
                        let found: Vec<usize> = arranged[pieces[0].1.clone()].iter().map(|value| *value as usize).collect();
                        let mut expected: Vec<usize> = match split {
                            EventSplit::Interleaved => (subset.index..103).step_by(num_subsets).collect(),
                            EventSplit::ByTime => {
                                (subset.index * 103 / num_subsets..(subset.index + 1) * 103 / num_subsets).collect()
                            }
                        };
                        if let Some(keys) = &keys {
                            expected.sort_by_key(|event| keys[*event]);
                        }
                        assert_eq!(found, expected, "{split:?} {subset:?}");
                        share += space.share(subset);
                    }
                    assert!((share - 1.0).abs() < 1e-12);
                }
                assert_eq!(space.in_order(space.arranged(&values, 1).to_vec()), *values);
            }
        }
        assert_eq!(EventSpace::new(0, EventSplit::ByTime, None).len(Subset::ALL), 0);
    }

    #[test]
    fn shares_have_whole_lines_in_the_order_of_all() {
        let num = 5000;
        let keys: Vec<u32> = (0..num as u32).map(|event| ((event * 37 % 997) << LINE_BITS) | (event % 13)).collect();
        let line = |event: u32| keys[event as usize] >> LINE_BITS;
        for split in [EventSplit::Interleaved, EventSplit::ByTime] {
            let whole = EventSpace::new(num, split, Some((&keys, Shard::WHOLE)));
            for (count, num_subsets) in [(1, 1), (2, 1), (2, 7), (3, 4)] {
                let all = Subset::all(num_subsets);
                let shares: Vec<EventSpace> =
                    (0..count).map(|index| EventSpace::new(num, split, Some((&keys, Shard { index, count })))).collect();
                for subset in all {
                    let of = |space: &EventSpace| space.order(num_subsets)[space.range(subset)].to_vec();
                    let mut joined = Vec::new();
                    for share in &shares {
                        let own = of(share);
                        let lines: std::collections::HashSet<u32> = own.iter().map(|&event| line(event)).collect();
                        let among_all: Vec<u32> = of(&whole).into_iter().filter(|&event| lines.contains(&line(event))).collect();
                        assert_eq!(own, among_all);
                        assert!(own.len() * count * 10 > 8 * whole.len(subset), "{} of {}", own.len(), whole.len(subset));
                        assert_eq!((share.len(subset), share.share(subset)), (own.len(), whole.share(subset)));
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
