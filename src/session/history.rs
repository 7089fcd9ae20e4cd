//! The iterates of the past, of each run its own, within a byte budget for all: every full iteration (of a sweep every block
//! of projections), thinned to every 2nd, 4th, … when full, first those of the run that holds most.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{RunId, StoredIterate};
use crate::data::Volume;

/// Images of the past; clones share the same.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Whether anything is kept at all.
    is_kept: bool,
    runs: Arc<Mutex<Runs>>,
}

#[derive(Debug, Default)]
struct Runs {
    budget_bytes: u64,
    /// The run begun last.
    latest: RunId,
    /// Runs whose images stay when another begins.
    kept: BTreeSet<RunId>,
    pasts: BTreeMap<RunId, HistoryOfRuns>,
}

/// The images of a run.
#[derive(Debug)]
struct HistoryOfRuns {
    /// Images whose number is a multiple of this stay.
    stride: usize,
    /// Images pushed so far; they are numbered from 1.
    num_pushed: usize,
    /// With their numbers, oldest first.
    images: Vec<(usize, StoredIterate)>,
    /// Steps done of the images that are never thinned out.
    pinned: BTreeSet<usize>,
}

impl HistoryOfRuns {
    const NONE: Self = Self { stride: 1, num_pushed: 0, images: Vec::new(), pinned: BTreeSet::new() };

    fn bytes(&self) -> u64 {
        self.images.iter().map(|(_, image)| bytes(&image.volume)).sum()
    }

    /// Adds an image, which is the newest now. What stayed only for being the newest is returned.
    fn push(&mut self, image: StoredIterate) -> Vec<Arc<Volume>> {
        self.num_pushed += 1;
        let gone = self.drop_between();
        self.images.push((self.num_pushed, image));
        gone
    }

    /// Keeps every second image of those that are there, and the newest. What went is returned.
    fn thin(&mut self) -> Vec<Arc<Volume>> {
        self.stride *= 2;
        self.drop_between()
    }

    /// Whether there is something that can be thinned out.
    fn can_be_thinned(&self) -> bool {
        self.images.iter().rev().skip(1).any(|(_, image)| !self.pinned.contains(&image.id.subiteration))
    }

    /// Drops what the stride does not hit, but neither the newest nor what is pinned.
    fn drop_between(&mut self) -> Vec<Arc<Volume>> {
        let Self { stride, num_pushed, images, pinned } = self;
        let is_between = |number: &usize| !number.is_multiple_of(*stride) && number != num_pushed;
        let gone = images.extract_if(.., |(number, image)| is_between(number) && !pinned.contains(&image.id.subiteration));
        gone.map(|(_, image)| image.volume).collect()
    }
}

impl Runs {
    fn bytes(&self) -> u64 {
        self.pasts.values().map(HistoryOfRuns::bytes).sum()
    }

    /// Thins the images out until they fit, first those of the run that holds most. What went is returned.
    fn fit(&mut self) -> Vec<Arc<Volume>> {
        let mut gone = Vec::new();
        while self.bytes() > self.budget_bytes {
            // Of two that hold as much, the older.
            let thinnable = self.pasts.values_mut().rev().filter(|past| past.can_be_thinned());
            let Some(largest) = thinnable.max_by_key(|past| past.bytes()) else { break };
            gone.extend(largest.thin());
        }
        gone
    }
}

impl History {
    /// An empty history that holds at most so many bytes, or the newest image of each run if that is more. A budget of zero
    /// keeps none.
    pub fn new(budget_bytes: u64) -> Self {
        let runs = Runs { budget_bytes, ..Runs::default() };
        Self { is_kept: budget_bytes > 0, runs: Arc::new(Mutex::new(runs)) }
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything is kept at all.
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// A new run begins: the images of the others go, except of those that are to be kept.
    pub fn begin(&self, run: RunId) {
        let Runs { latest, kept, pasts, .. } = &mut *self.runs();
        *latest = run;
        pasts.retain(|run, _| kept.contains(run));
    }

    /// The images of this run stay when another begins.
    pub fn keep(&self, run: RunId) {
        self.runs().kept.insert(run);
    }

    /// The images of this run go: at once, or if it is the latest when another begins.
    pub fn let_go(&self, run: RunId) {
        let Runs { latest, kept, pasts, .. } = &mut *self.runs();
        kept.remove(&run);
        if run != *latest {
            pasts.remove(&run);
        }
    }

    /// Whether there are images of this run, or may come to be.
    pub fn has(&self, run: RunId) -> bool {
        let runs = self.runs();
        run >= runs.latest || runs.kept.contains(&run)
    }

    /// The run begun last.
    pub fn latest(&self) -> RunId {
        self.runs().latest
    }

    /// Adds an image, which becomes the newest of its run, and thins what is there until it fits. What was thinned out is
    /// returned.
    pub fn push(&self, image: StoredIterate) -> Vec<Arc<Volume>> {
        let runs = &mut *self.runs();
        let mut gone = runs.pasts.entry(image.id.run).or_insert(HistoryOfRuns::NONE).push(image);
        gone.extend(runs.fit());
        gone
    }

    /// Bytes of all images, and how many they may be.
    pub fn bytes(&self) -> [u64; 2] {
        let runs = self.runs();
        [runs.bytes(), runs.budget_bytes]
    }

    /// Holds at most so many bytes from now on. What was thinned out is returned.
    pub fn set_budget(&self, bytes: u64) -> Vec<Arc<Volume>> {
        let runs = &mut *self.runs();
        runs.budget_bytes = bytes;
        runs.fit()
    }

    /// Never thins this image out, or does so again.
    pub fn pin(&self, run: RunId, subiteration: usize, is_pinned: bool) {
        if let Some(past) = self.runs().pasts.get_mut(&run) {
            if is_pinned {
                past.pinned.insert(subiteration)
            } else {
                past.pinned.remove(&subiteration)
            };
        }
    }

    /// The images of a run that are kept, oldest first, the newest always among them.
    pub fn entries(&self, run: RunId) -> Vec<StoredIterate> {
        let runs = self.runs();
        runs.pasts.get(&run).into_iter().flat_map(|past| &past.images).map(|(_, image)| image.clone()).collect()
    }
}

fn bytes(volume: &Volume) -> u64 {
    4 * volume.values.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::IterateId;
    use crate::geometry::Grid;

    fn grid() -> Grid {
        Grid::centred([4, 4, 2], [1.0; 3]).unwrap()
    }

    /// A history that holds so many images of this grid.
    fn history(budget_volumes: u64) -> History {
        History::new(budget_volumes * 4 * 32)
    }

    fn image(run: RunId, iteration: usize) -> StoredIterate {
        let volume = Arc::new(Volume::filled(grid(), iteration as f32));
        let id = IterateId { run, iteration, subiteration: 3 * iteration };
        StoredIterate { id, extremes: volume.extremes(), volume }
    }

    fn iterations(history: &History, run: RunId) -> Vec<usize> {
        let entries = history.entries(run);
        assert!(entries.iter().all(|kept| kept.id.run == run && kept.volume.as_slice()[0] == kept.id.iteration as f32));
        entries.iter().map(|kept| kept.id.iteration).collect()
    }

    fn iterations_kept(budget_volumes: u64, count: usize) -> Vec<usize> {
        let history = history(budget_volumes);
        history.begin(1);
        for iteration in 1..=count {
            history.push(image(1, iteration));
            let kept = iterations(&history, 1);
            assert!(kept.len() as u64 <= budget_volumes.max(1), "{} of {budget_volumes}", kept.len());
            assert_eq!(kept.last(), Some(&iteration));
        }
        iterations(&history, 1)
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
    fn what_is_pinned_is_not_thinned_out_and_a_smaller_budget_thins_at_once() {
        let history = history(8);
        history.begin(1);
        (1..=8).for_each(|iteration| _ = history.push(image(1, iteration)));
        history.pin(1, 3 * 3, true);
        assert_eq!(history.set_budget(5 * 4 * 32).len(), 3);
        assert_eq!(iterations(&history, 1), [2, 3, 4, 6, 8]);
        assert_eq!(history.bytes(), [5 * 4 * 32; 2]);
        // However small the budget is, the pinned image and the newest stay.
        history.set_budget(1);
        assert_eq!(iterations(&history, 1), [3, 8]);
        history.pin(1, 3 * 3, false);
        history.push(image(1, 9));
        assert_eq!(iterations(&history, 1), [9]);
    }

    #[test]
    fn an_image_larger_than_the_budget_is_kept_alone() {
        let history = History::new(1);
        history.begin(1);
        history.push(image(1, 1));
        history.push(image(1, 2));
        assert_eq!(iterations(&history, 1), [2]);
        history.begin(2);
        assert_eq!(iterations(&history, 1), [0; 0]);
    }

    #[test]
    fn a_run_stays_until_it_is_let_go() {
        let history = history(100);
        for run in 1..=3 {
            history.begin(run);
            (1..=4).for_each(|iteration| _ = history.push(image(run, iteration)));
            if run == 1 {
                history.keep(run);
            }
        }
        // Nobody has kept the second.
        let lengths = || [1, 2, 3].map(|run| history.entries(run).len());
        assert_eq!((lengths(), [1, 2, 3, 4].map(|run| history.has(run))), ([4, 0, 4], [true, false, true, true]));
        let volume = Arc::downgrade(&history.entries(1)[0].volume);
        history.let_go(1);
        assert_eq!((lengths(), history.has(1), volume.upgrade()), ([0, 0, 4], false, None));
        // The latest stays until another begins, whether it was kept or not.
        history.keep(3);
        history.let_go(3);
        assert_eq!(lengths(), [0, 0, 4]);
        history.begin(4);
        assert_eq!(lengths(), [0, 0, 0]);
    }

    #[test]
    fn the_run_that_holds_most_is_thinned_first() {
        let history = history(8);
        history.begin(1);
        history.keep(1);
        (1..=8).for_each(|iteration| _ = history.push(image(1, iteration)));
        history.begin(2);
        let mut lengths = Vec::new();
        for iteration in 1..=5 {
            let before = history.entries(1).len() + history.entries(2).len();
            let gone = history.push(image(2, iteration)).len();
            lengths.push([1, 2].map(|run| history.entries(run).len()));
            assert_eq!(lengths.last().map(|both| both[0] + both[1] + gone), Some(before + 1), "what went comes back");
        }
        assert_eq!(lengths, [[4, 1], [4, 2], [4, 3], [4, 4], [4, 3]]);
        assert_eq!((iterations(&history, 1), iterations(&history, 2)), (vec![2, 4, 6, 8], vec![2, 4, 5]));
        // However many runs are kept, each has its newest image.
        let history = History::new(2 * 4 * 32);
        for run in 1..=3 {
            history.begin(run);
            history.keep(run);
            (1..=7).for_each(|iteration| _ = history.push(image(run, iteration)));
        }
        assert_eq!([1, 2, 3].map(|run| iterations(&history, run)), [[7], [7], [7]]);
    }
}
