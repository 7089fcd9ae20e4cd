//! Stored iterates of all runs within one memory limit: every full iteration (for a sweep every block of projections), thinned
//! to every 2nd, 4th, … when the limit is reached, first those of the run that uses most memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::packed::{pack, unpack};
use crate::data::{Extremes, IterateId, RunId, Unit, Volume};
use crate::geometry::Grid;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum HistoryChange {
    /// Stores the iterates of a run also after another run begins.
    Retain(RunId),
    /// Discards the iterates of a run: at once, or for the latest run when another begins.
    Release(RunId),
    /// Protects an iterate (run, steps done) from thinning, or no longer.
    Pin(RunId, usize, bool),
    /// Sets the memory limit, bytes.
    SetBudget(u64),
}

/// Stored iterate: after a full iteration, or after a block of projections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SentIterate", into = "SentIterate")]
pub struct StoredIterate {
    pub id: IterateId,
    pub volume: Arc<Volume>,
    pub extremes: Extremes,
}

/// Iterate as it is sent.
#[derive(Serialize, Deserialize)]
struct SentIterate {
    id: IterateId,
    grid: Grid,
    unit: Unit,
    values: Vec<u8>,
}

impl From<StoredIterate> for SentIterate {
    fn from(StoredIterate { id, volume, .. }: StoredIterate) -> Self {
        Self { id, grid: volume.grid.clone(), unit: volume.unit, values: pack(volume.as_slice()) }
    }
}

impl TryFrom<SentIterate> for StoredIterate {
    type Error = String;

    fn try_from(SentIterate { id, grid, unit, values: bytes }: SentIterate) -> Result<Self, String> {
        let mut values = Vec::new();
        unpack(&bytes, grid.num_voxels(), &mut values)?;
        let volume = Volume::from_vec(grid, values, unit).ok_or("an image of another size")?;
        Ok(Self { id, extremes: volume.extremes(), volume: Arc::new(volume) })
    }
}

/// Stored iterates; clones share them.
#[derive(Clone, Debug)]
pub struct History {
    /// True if iterates are stored at all.
    is_enabled: bool,
    runs: Arc<Mutex<Runs>>,
}

#[derive(Debug, Default)]
struct Runs {
    budget_bytes: u64,
    /// Run begun last.
    latest: RunId,
    /// Runs whose iterates stay when another begins.
    retained: BTreeSet<RunId>,
    histories: BTreeMap<RunId, RunHistory>,
}

/// Iterates of a run.
#[derive(Debug)]
struct RunHistory {
    /// Iterates whose number is a multiple of this stay.
    stride: usize,
    /// Number of iterates pushed; they are numbered from 1.
    num_pushed: usize,
    /// Iterates with their numbers, oldest first.
    images: Vec<(usize, StoredIterate)>,
    /// Steps done of the iterates that are never thinned.
    pinned: BTreeSet<usize>,
}

impl RunHistory {
    const EMPTY: Self = Self { stride: 1, num_pushed: 0, images: Vec::new(), pinned: BTreeSet::new() };

    fn bytes(&self) -> u64 {
        self.images.iter().map(|(_, image)| 4 * image.volume.values.len() as u64).sum()
    }

    /// Adds the newest iterate. Returns the one that stayed only as the newest.
    fn push(&mut self, image: StoredIterate) -> Vec<Arc<Volume>> {
        self.num_pushed += 1;
        let discarded = self.discard_off_stride();
        self.images.push((self.num_pushed, image));
        discarded
    }

    /// Discards every second iterate except the newest, and returns them.
    fn thin(&mut self) -> Vec<Arc<Volume>> {
        self.stride *= 2;
        self.discard_off_stride()
    }

    /// Returns true if an iterate could be discarded.
    fn is_thinnable(&self) -> bool {
        self.images.iter().rev().skip(1).any(|(_, image)| !self.pinned.contains(&image.id.subiteration))
    }

    /// Discards the iterates between strides, except the newest and pinned ones.
    fn discard_off_stride(&mut self) -> Vec<Arc<Volume>> {
        let Self { stride, num_pushed, images, pinned } = self;
        let is_off = |number: &usize| !number.is_multiple_of(*stride) && number != num_pushed;
        let discarded = images.extract_if(.., |(number, image)| is_off(number) && !pinned.contains(&image.id.subiteration));
        discarded.map(|(_, image)| image.volume).collect()
    }
}

impl Runs {
    fn bytes(&self) -> u64 {
        self.histories.values().map(RunHistory::bytes).sum()
    }

    /// Thins the iterates until they fit, first those of the run that uses most memory. Returns the discarded ones.
    fn fit(&mut self) -> Vec<Arc<Volume>> {
        let mut discarded = Vec::new();
        while self.bytes() > self.budget_bytes {
            // Of two equal runs, the older.
            let thinnable = self.histories.values_mut().rev().filter(|run| run.is_thinnable());
            let Some(largest) = thinnable.max_by_key(|run| run.bytes()) else { break };
            discarded.extend(largest.thin());
        }
        discarded
    }
}

impl History {
    /// Returns an empty history with a memory limit in bytes. The newest iterate of each run is stored beyond the limit; a
    /// limit of zero stores none.
    pub fn new(budget_bytes: u64) -> Self {
        let runs = Runs { budget_bytes, ..Runs::default() };
        Self { is_enabled: budget_bytes > 0, runs: Arc::new(Mutex::new(runs)) }
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Begins a run: discards the iterates of all others that are not retained.
    pub fn begin(&self, run: RunId) {
        let Runs { latest, retained, histories, .. } = &mut *self.runs();
        *latest = run;
        histories.retain(|run, _| retained.contains(run));
    }

    pub fn apply(&self, change: HistoryChange) {
        let runs = &mut *self.runs();
        let Runs { budget_bytes, latest, retained, histories } = runs;
        match change {
            HistoryChange::Retain(run) => _ = retained.insert(run),
            HistoryChange::Release(run) => {
                retained.remove(&run);
                histories.retain(|other, _| *other != run || run == *latest);
            }
            HistoryChange::Pin(run, subiteration, is_pinned) => {
                let pinned = histories.get_mut(&run).map(|run| &mut run.pinned);
                pinned.map(|pinned| if is_pinned { pinned.insert(subiteration) } else { pinned.remove(&subiteration) });
            }
            HistoryChange::SetBudget(bytes) => {
                *budget_bytes = bytes;
                runs.fit();
            }
        }
    }

    /// Returns true if iterates of this run are or may be stored.
    pub fn has(&self, run: RunId) -> bool {
        let runs = self.runs();
        run >= runs.latest || runs.retained.contains(&run)
    }

    pub fn latest(&self) -> RunId {
        self.runs().latest
    }

    /// Adds the newest iterate of a run and thins the others until they fit. Returns the discarded ones.
    pub fn push(&self, image: StoredIterate) -> Vec<Arc<Volume>> {
        let runs = &mut *self.runs();
        let mut discarded = runs.histories.entry(image.id.run).or_insert(RunHistory::EMPTY).push(image);
        discarded.extend(runs.fit());
        discarded
    }

    /// Returns the bytes of all iterates and their limit.
    pub fn bytes(&self) -> [u64; 2] {
        let runs = self.runs();
        [runs.bytes(), runs.budget_bytes]
    }

    /// Returns the last stored iterate of a run for which `is_wanted` holds, else its first one.
    pub fn last(&self, run: RunId, is_wanted: impl Fn(IterateId) -> bool) -> Option<StoredIterate> {
        let runs = self.runs();
        let images = &runs.histories.get(&run)?.images;
        images.iter().rfind(|(_, image)| is_wanted(image.id)).or(images.first()).map(|(_, image)| image.clone())
    }

    /// Returns the first stored iterate of a run for which `is_wanted` holds.
    pub fn next(&self, run: RunId, mut is_wanted: impl FnMut(IterateId) -> bool) -> Option<StoredIterate> {
        let runs = self.runs();
        runs.histories.get(&run)?.images.iter().find(|(_, image)| is_wanted(image.id)).map(|(_, image)| image.clone())
    }

    /// Returns the stored iterates of a run, oldest first, including the newest.
    pub fn entries(&self, run: RunId) -> Vec<StoredIterate> {
        let runs = self.runs();
        runs.histories.get(&run).into_iter().flat_map(|run| &run.images).map(|(_, image)| image.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    fn grid() -> Grid {
        Grid::centred([4, 4, 2], [1.0; 3]).unwrap()
    }

    /// Returns a history with room for this number of images.
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
        assert!(entries.iter().all(|image| image.id.run == run && image.volume.as_slice()[0] == image.id.iteration as f32));
        entries.iter().map(|image| image.id.iteration).collect()
    }

    fn stored_iterations(budget_volumes: u64, count: usize) -> Vec<usize> {
        let history = history(budget_volumes);
        history.begin(1);
        for iteration in 1..=count {
            history.push(image(1, iteration));
            let stored = iterations(&history, 1);
            assert!(stored.len() as u64 <= budget_volumes.max(1), "{} of {budget_volumes}", stored.len());
            assert_eq!(stored.last(), Some(&iteration));
        }
        iterations(&history, 1)
    }

    #[test]
    fn the_history_is_thinned_and_the_newest_iterate_always_stored() {
        assert_eq!(stored_iterations(8, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(stored_iterations(8, 9), [2, 4, 6, 8, 9]);
        assert_eq!(stored_iterations(8, 10), [2, 4, 6, 8, 10]);
        assert_eq!(stored_iterations(8, 17), [4, 8, 12, 16, 17]);
        assert_eq!(stored_iterations(1, 5), [5]);
        assert_eq!(stored_iterations(2, 100).len(), 2);
    }

    #[test]
    fn pinned_iterates_are_not_thinned_and_a_smaller_budget_thins_at_once() {
        let history = history(8);
        history.begin(1);
        (1..=8).for_each(|iteration| _ = history.push(image(1, iteration)));
        history.apply(HistoryChange::Pin(1, 3 * 3, true));
        history.apply(HistoryChange::SetBudget(5 * 4 * 32));
        assert_eq!(iterations(&history, 1), [2, 3, 4, 6, 8]);
        assert_eq!(history.bytes(), [5 * 4 * 32; 2]);
        // However small the budget is, the pinned image and the newest stay.
        history.apply(HistoryChange::SetBudget(1));
        assert_eq!(iterations(&history, 1), [3, 8]);
        history.apply(HistoryChange::Pin(1, 3 * 3, false));
        history.push(image(1, 9));
        assert_eq!(iterations(&history, 1), [9]);
    }

    #[test]
    fn an_image_larger_than_the_budget_is_stored_alone() {
        let history = History::new(1);
        history.begin(1);
        history.push(image(1, 1));
        history.push(image(1, 2));
        assert_eq!(iterations(&history, 1), [2]);
        history.begin(2);
        assert_eq!(iterations(&history, 1), [0; 0]);
    }

    #[test]
    fn a_retained_run_stays_until_it_is_released() {
        let history = history(100);
        for run in 1..=3 {
            history.begin(run);
            (1..=4).for_each(|iteration| _ = history.push(image(run, iteration)));
            if run == 1 {
                history.apply(HistoryChange::Retain(run));
            }
        }
        // The second was not retained.
        let lengths = || [1, 2, 3].map(|run| history.entries(run).len());
        assert_eq!((lengths(), [1, 2, 3, 4].map(|run| history.has(run))), ([4, 0, 4], [true, false, true, true]));
        let volume = Arc::downgrade(&history.entries(1)[0].volume);
        history.apply(HistoryChange::Release(1));
        assert_eq!((lengths(), history.has(1), volume.upgrade()), ([0, 0, 4], false, None));
        // The latest stays until another begins, retained or not.
        history.apply(HistoryChange::Retain(3));
        history.apply(HistoryChange::Release(3));
        assert_eq!(lengths(), [0, 0, 4]);
        history.begin(4);
        assert_eq!(lengths(), [0, 0, 0]);
    }

    #[test]
    fn the_run_that_uses_most_memory_is_thinned_first() {
        let history = history(8);
        history.begin(1);
        history.apply(HistoryChange::Retain(1));
        (1..=8).for_each(|iteration| _ = history.push(image(1, iteration)));
        history.begin(2);
        let mut lengths = Vec::new();
        for iteration in 1..=5 {
            let before = history.entries(1).len() + history.entries(2).len();
            let discarded = history.push(image(2, iteration)).len();
            lengths.push([1, 2].map(|run| history.entries(run).len()));
            assert_eq!(
                lengths.last().map(|both| both[0] + both[1] + discarded),
                Some(before + 1),
                "discarded images are returned"
            );
        }
        assert_eq!(lengths, [[4, 1], [4, 2], [4, 3], [4, 4], [4, 3]]);
        assert_eq!((iterations(&history, 1), iterations(&history, 2)), (vec![2, 4, 6, 8], vec![2, 4, 5]));
        // Each retained run has its newest image.
        let history = History::new(2 * 4 * 32);
        for run in 1..=3 {
            history.begin(run);
            history.apply(HistoryChange::Retain(run));
            (1..=7).for_each(|iteration| _ = history.push(image(run, iteration)));
        }
        assert_eq!([1, 2, 3].map(|run| iterations(&history, run)), [[7], [7], [7]]);
    }
}
