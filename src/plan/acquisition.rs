//! A sweep that may still be growing: a feed adds projections to it, runs and windows read them.
//!
//! The list only ever grows, so that whoever remembers how many he has seen asks for the others; a run that begins in the
//! middle of an acquisition neither loses a projection nor gets one twice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::data::{Phase, Projection, Sweep};

/// A sweep with the projections that have arrived so far; clones share them.
#[derive(Clone, Debug)]
pub struct Acquisition {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    sweep: Sweep,
    is_over: bool,
}

impl Acquisition {
    /// A sweep that is there as a whole.
    pub fn complete(sweep: Sweep) -> Self {
        Self { state: Arc::new(Mutex::new(State { sweep, is_over: true })) }
    }

    /// A sweep to which projections will be added.
    pub fn growing(sweep: Sweep) -> Self {
        Self { state: Arc::new(Mutex::new(State { sweep, is_over: false })) }
    }

    /// Looks at the sweep as it is now. What is done here should be short: nothing can arrive meanwhile.
    pub fn look<T>(&self, at: impl FnOnce(&Sweep) -> T) -> T {
        at(&self.lock().sweep)
    }

    /// Whether both are the same one.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// The sweep as it is now. Once the acquisition is over it expects no more than it has.
    pub fn snapshot(&self) -> Sweep {
        let state = self.lock();
        let mut sweep = state.sweep.clone();
        if state.is_over {
            sweep.num_expected = Some(sweep.num_complete());
        }
        sweep
    }

    /// Number of complete projections.
    pub fn num_complete(&self) -> usize {
        self.lock().sweep.num_complete()
    }

    /// How many projections there will be, as far as it is known.
    pub fn num_expected(&self) -> Option<usize> {
        let state = self.lock();
        if state.is_over { Some(state.sweep.num_complete()) } else { state.sweep.num_expected }
    }

    /// Whether nothing more will come.
    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// The projections from number `first` on, and whether nothing more will come after them.
    pub fn since(&self, first: usize) -> (Vec<Projection>, bool) {
        let state = self.lock();
        (state.sweep.projections.get(first..).unwrap_or_default().to_vec(), state.is_over)
    }

    /// Adds projections that have become complete.
    pub(crate) fn append(&self, projections: Vec<Projection>) {
        self.lock().sweep.projections.extend(projections);
    }

    /// The phase of its complex projections was found.
    pub(crate) fn set_phase(&self, phase: Phase) {
        self.lock().sweep.facts.phase = Some(phase);
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
