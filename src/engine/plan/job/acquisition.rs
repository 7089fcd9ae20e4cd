//! Data that may still grow: a feed adds to them, runs and windows read them.
//!
//! They only grow, so that a reader that remembers its position requests the rest. A run that begins in the middle of an
//! acquisition neither loses anything nor receives it twice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::data::{EventList, Phase, Projection, Sweep};
use crate::plan::list_mode::study::EventAccumulator;

/// Data that have arrived so far, by default of a sweep; clones share them.
#[derive(Debug)]
pub struct Acquisition<T = Sweep> {
    state: Arc<Mutex<State<T>>>,
}

/// Acquisition of list-mode data.
pub type ListAcquisition = Acquisition<EventAccumulator>;

#[derive(Debug)]
struct State<T> {
    data: T,
    is_over: bool,
}

impl<T> Clone for Acquisition<T> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state) }
    }
}

impl<T> Acquisition<T> {
    /// Returns complete data.
    pub fn complete(data: T) -> Self {
        Self { state: Arc::new(Mutex::new(State { data, is_over: true })) }
    }

    /// Returns data that will grow.
    pub fn growing(data: T) -> Self {
        Self { state: Arc::new(Mutex::new(State { data, is_over: false })) }
    }

    /// Reads the current data. The closure should be short: nothing can arrive meanwhile.
    pub fn look<R>(&self, at: impl FnOnce(&T) -> R) -> R {
        at(&self.lock().data)
    }

    /// Returns true if both are the same acquisition.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// Returns true if no more data will arrive.
    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Adds to the data.
    pub fn add<R>(&self, to: impl FnOnce(&mut T) -> R) -> R {
        to(&mut self.lock().data)
    }

    /// Nothing more will come.
    pub fn end(&self) {
        self.lock().is_over = true;
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Acquisition {
    /// Returns the sweep as it is now. Once the acquisition is over it expects no more than it has.
    pub fn snapshot(&self) -> Sweep {
        let state = self.lock();
        let mut sweep = state.data.clone();
        if state.is_over {
            sweep.num_expected = Some(sweep.num_complete());
        }
        sweep
    }

    /// Returns the number of complete projections.
    pub fn num_complete(&self) -> usize {
        self.look(Sweep::num_complete)
    }

    /// Returns the expected number of projections, if known.
    pub fn num_expected(&self) -> Option<usize> {
        let state = self.lock();
        if state.is_over { Some(state.data.num_complete()) } else { state.data.num_expected }
    }

    /// Returns the projections from number `first` on, and whether nothing more will come after them.
    pub fn since(&self, first: usize) -> (Vec<Projection>, bool) {
        let state = self.lock();
        (state.data.projections.get(first..).unwrap_or_default().to_vec(), state.is_over)
    }

    /// Adds projections that have become complete.
    pub fn append(&self, projections: Vec<Projection>) {
        self.add(|sweep| sweep.projections.extend(projections));
    }

    /// The phase of its complex projections was found.
    pub fn set_phase(&self, phase: Phase) {
        self.add(|sweep| sweep.facts.phase = Some(phase));
    }
}

/// Single events.
#[derive(Clone, Debug)]
pub struct ListData {
    /// Those that were read; of a file that is still being written, those at the start.
    pub list: EventList,
    /// Where they come from while the file is still being written; the image is then one of those that have arrived.
    pub growing: Option<ListAcquisition>,
}
