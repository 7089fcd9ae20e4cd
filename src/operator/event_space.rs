//! Events as the data of an operator: which of them belong to a subset, and in which order arrays hold them.

use std::f64::consts::PI;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::{DataSpace, Subset};
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

/// Events in subsets. Values of a subset lie in one piece.
#[derive(Clone, Debug)]
pub struct EventSpace {
    num_events: usize,
    split: EventSplit,
    /// All events in the order in which those of each subset are to lie; `None` = as they are numbered.
    sorted: Option<Arc<Vec<u32>>>,
    known: Arc<Mutex<Known>>,
}

/// The number of subsets that was asked for last, and its order.
type Known = Option<(usize, Arc<Vec<u32>>)>;

impl EventSpace {
    /// So many events as they are numbered, interleaved.
    pub fn of(num_events: usize) -> Self {
        Self::new(num_events, EventSplit::default(), None)
    }

    /// So many events; `keys` sorts them, where there are any.
    pub(super) fn new(num_events: usize, split: EventSplit, keys: Option<Vec<u32>>) -> Self {
        let sorted = keys.map(|keys| {
            let mut pairs: Vec<(u32, u32)> = keys.into_par_iter().enumerate().map(|(event, key)| (key, event as u32)).collect();
            pairs.par_sort_unstable();
            Arc::new(pairs.into_par_iter().map(|(_, event)| event).collect())
        });
        Self { num_events, split, sorted, known: Arc::default() }
    }

    /// The event of each place where arrays hold so many subsets.
    pub fn order(&self, num_subsets: usize) -> Arc<Vec<u32>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, order)) = known.as_ref().filter(|(count, _)| *count == num_subsets) {
            return Arc::clone(order);
        }
        let order = self.new_order(num_subsets);
        *known = Some((num_subsets, Arc::clone(&order)));
        order
    }

    fn new_order(&self, num_subsets: usize) -> Arc<Vec<u32>> {
        if let (1, Some(sorted)) = (num_subsets, &self.sorted) {
            return Arc::clone(sorted);
        }
        let mut places: Vec<usize> = Subset::all(num_subsets).map(|subset| self.first(subset)).collect();
        let mut order = vec![0; self.num_events];
        let mut put = |event: u32| {
            let place = &mut places[self.subset_of(event as usize, num_subsets)];
            order[*place] = event;
            *place += 1;
        };
        match &self.sorted {
            Some(sorted) => sorted.iter().for_each(|&event| put(event)),
            None => (0..self.num_events as u32).for_each(&mut put),
        }
        Arc::new(order)
    }

    /// The subset of an event.
    fn subset_of(&self, event: usize, num_subsets: usize) -> usize {
        match self.split {
            EventSplit::Interleaved => event % num_subsets,
            EventSplit::ByTime => ((event + 1) * num_subsets - 1) / self.num_events,
        }
    }

    /// Where the events of a subset begin.
    pub(crate) fn first(&self, Subset { index, count }: Subset) -> usize {
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
            EventSplit::ByTime if self.num_events > 0 => self.range(subset).len() as f64 / self.num_events as f64,
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
        let mut ordered = vec![0.0; values.len()];
        for (value, &event) in values.into_iter().zip(self.order(1).iter()) {
            ordered[event as usize] = value;
        }
        ordered
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        vec![(0, self.range(subset))]
    }
}

/// The place of a line, and of d on it, among all: lines that are alike meet the same voxels at the same time.
/// `is_one_way`: of the two directions of a line each has rays of its own.
pub(super) fn key(line: &Line, tof_mm: Option<[f32; 2]>, grid: &Grid, is_one_way: bool) -> u32 {
    let [dx, dy] = [0, 1].map(|a| line.end[a] - line.start[a]);
    // Both directions of a line are one; what is measured along it and across it turns with it.
    let sign = if dy < 0.0 || (dy == 0.0 && dx < 0.0) { -1.0 } else { 1.0 };
    let (dx, dy, length) = (sign * dx, sign * dy, dx.hypot(dy).max(f64::MIN_POSITIVE));
    let cell = |value: f64, num: u32| (value + f64::from(num / 2)).clamp(0.0, f64::from(num - 1)) as u32;
    let direction = |num: u32| ((dy.atan2(dx) / PI * f64::from(num)) as u32).min(num - 1);
    let across = (line.start[0] * dy - line.start[1] * dx) / (length * grid.voxel_mm[0]);
    match tof_mm {
        // 512 directions, distances from the axis of half a voxel; among those alike, which have the same line seen along the axis,
        // and which rise alike, by two voxels in z.
        None => {
            let (direction, across) = (direction(4096), cell(16.0 * across, 8192));
            let rise = ((line.end[2] - line.start[2]).abs() / (2.0 * grid.voxel_mm[2])).round().min(63.0) as u32;
            let way = u32::from(is_one_way && sign < 0.0);
            (direction >> 3) << 23 | (across >> 3) << 13 | (direction & 7) << 10 | (across & 7) << 7 | way << 6 | rise
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
                let space = EventSpace::new(values.len(), split, keys.clone());
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
