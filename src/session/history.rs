//! The iterates of the past, within a byte budget: every full iteration (of a sweep every block of projections), thinned to
//! every 2nd, 4th, … when full.

use std::sync::{Arc, Mutex, PoisonError};

use super::Kept;
use crate::data::Volume;

/// Images of the past, oldest first; clones share the same list.
#[derive(Clone, Debug)]
pub(super) struct History {
    budget_bytes: u64,
    entries: Arc<Mutex<Entries>>,
}

#[derive(Debug)]
struct Entries {
    /// Images whose number is a multiple of this stay.
    stride: usize,
    /// Images pushed so far; they are numbered from 1.
    num_pushed: usize,
    kept: Vec<(usize, Kept)>,
}

impl Entries {
    const NONE: Self = Self { stride: 1, num_pushed: 0, kept: Vec::new() };
}

impl History {
    /// An empty history that holds at most so many bytes, or one image if that is more. A budget of zero keeps none.
    pub fn new(budget_bytes: u64) -> Self {
        Self { budget_bytes, entries: Arc::new(Mutex::new(Entries::NONE)) }
    }

    /// Whether anything is kept at all.
    pub fn is_kept(&self) -> bool {
        self.budget_bytes > 0
    }

    /// Forgets everything, for a new run.
    pub fn clear(&self) {
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = Entries::NONE;
    }

    /// Adds an image, which becomes the newest, and thins what is there until it fits. What was thinned out is returned.
    pub fn push(&self, image: Kept) -> Vec<Arc<Volume>> {
        let max_kept = (self.budget_bytes / bytes(&image.volume).max(1)).max(1) as usize;
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let Entries { stride, num_pushed, kept } = &mut *entries;
        // The newest so far was kept whatever its number; now it stays only if the stride hits it.
        let mut gone: Vec<_> = kept.extract_if(.., |(earlier, _)| !earlier.is_multiple_of(*stride)).collect();
        *num_pushed += 1;
        let newest = *num_pushed;
        kept.push((newest, image));
        while kept.len() > max_kept {
            *stride *= 2;
            gone.extend(kept.extract_if(.., |(earlier, _)| !earlier.is_multiple_of(*stride) && *earlier != newest));
        }
        gone.into_iter().map(|(_, image)| image.volume).collect()
    }

    /// The images that are kept, oldest first, the newest always among them.
    pub fn entries(&self) -> Vec<Kept> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.kept.iter().map(|(_, image)| image.clone()).collect()
    }
}

fn bytes(volume: &Volume) -> u64 {
    4 * volume.values.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    fn image(grid: &Grid, iteration: usize) -> Kept {
        let volume = Arc::new(Volume::filled(grid.clone(), iteration as f32));
        Kept { run: 1, iteration, subiteration: 3 * iteration, extremes: volume.extremes(), volume }
    }

    fn iterations_kept(budget_volumes: u64, count: usize) -> Vec<usize> {
        let grid = Grid::centred([4, 4, 2], [1.0; 3]).unwrap();
        let history = History::new(budget_volumes * 4 * 32);
        for iteration in 1..=count {
            history.push(image(&grid, iteration));
            let kept = history.entries();
            assert!(kept.len() as u64 <= budget_volumes.max(1), "{} of {budget_volumes}", kept.len());
            let newest = kept.last().map(|kept| (kept.iteration, kept.volume.as_slice()[0]));
            assert_eq!(newest, Some((iteration, iteration as f32)));
        }
        history.entries().iter().map(|kept| kept.iteration).collect()
    }

    #[test]
    fn the_past_is_thinned_and_the_newest_always_kept() {
        assert_eq!(iterations_kept(8, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(iterations_kept(8, 9), [2, 4, 6, 8, 9]);
        assert_eq!(iterations_kept(8, 10), [2, 4, 6, 8, 10]);
        assert_eq!(iterations_kept(8, 17), [4, 8, 12, 16, 17]);
        assert_eq!(iterations_kept(1, 5), [5]);
        assert_eq!(iterations_kept(2, 100).len(), 2);
    }

    #[test]
    fn an_image_larger_than_the_budget_is_kept_alone() {
        let grid = Grid::centred([4, 4, 2], [1.0; 3]).unwrap();
        let history = History::new(1);
        history.push(image(&grid, 1));
        history.push(image(&grid, 2));
        assert_eq!(history.entries().len(), 1);
        history.clear();
        assert!(history.entries().is_empty());
    }
}
