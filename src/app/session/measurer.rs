//! Thread that measures the stored iterates in parallel with the solver: the curve of a dragged region, comparisons with a reference,
//! peaks along a line.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender};

use super::history::History;
use super::measurements::{Active, LATEST_RUN, MeasurementKey, Query};
use super::outgoing::EventSender;
use super::{Event, EventKind, RunId};

/// Message to the measurer.
pub(super) enum Input {
    /// Measures the stored iterates of a run, or ends such a measurement.
    Measure(RunId, Query),
    /// Reports that the solver measures the current regions from here on: iterates stored before remain to be measured.
    CatchUp,
    /// Reports a new stored iterate.
    Stored,
    Quit,
}

/// Thread that measures. Dropping it ends the thread.
pub(super) struct Measurer {
    inputs: Sender<Input>,
    thread: Option<JoinHandle<()>>,
}

impl Measurer {
    /// Starts the thread, which sends its results through `events`.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn start(inputs: Sender<Input>, inbox: Receiver<Input>, history: History, events: EventSender) -> io::Result<Self> {
        let thread = Builder::new().name("measurer".into()).spawn(move || run(&inbox, &history, &events))?;
        Ok(Self { inputs, thread: Some(thread) })
    }
}

impl Drop for Measurer {
    fn drop(&mut self) {
        let _ = self.inputs.send(Input::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(inbox: &Receiver<Input>, history: &History, events: &EventSender) {
    let mut measurements: BTreeMap<_, Active> = BTreeMap::new();
    while let Ok(input) = inbox.recv() {
        let mut queries = BTreeMap::new();
        let mut is_behind = false;
        // Edits of a dragged region arrive faster than they can be measured: only the last of a series counts.
        for input in std::iter::once(input).chain(inbox.try_iter()) {
            match input {
                Input::Measure(run, query) => _ = queries.insert((MeasurementKey::from(&query), run), query),
                Input::CatchUp => is_behind = true,
                Input::Stored => {}
                Input::Quit => return,
            }
        }
        let new: BTreeSet<_> = queries.keys().copied().collect();
        for (key, query) in queries {
            let next = Active::begin(query, measurements.remove(&key));
            measurements.extend(next.map(|next| (key, next)));
        }
        measurements.retain(|(_, run), _| history.has(*run));
        for (key @ (_, run), measurement) in &mut measurements {
            // (The solver measures regions on new iterates.)
            if key.0 == MeasurementKey::Regions && !is_behind && !new.contains(key) {
                continue;
            }
            let run = if *run == LATEST_RUN { history.latest() } else { *run };
            while let Some(answer) = measurement.measure(run, history) {
                events.send(Event { run, kind: EventKind::Measured(answer) });
                // Longer work is interrupted by another input, and resumed after it. One iterate is always measured, or frequent inputs
                // would delay it forever.
                if !inbox.is_empty() {
                    break;
                }
            }
        }
    }
}
