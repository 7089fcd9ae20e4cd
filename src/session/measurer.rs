//! Measures the kept images beside the solver: the curve of a region that is dragged follows it while the solver steps.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender};

use super::history::History;
use super::publisher::Outlet;
use super::{Event, EventKind, Kept, RoiSet, RunId};
use crate::data::RoiSums;

/// What the measurer is asked for.
pub(super) enum Ask {
    /// Measure these regions on the images of a run.
    Rois(RunId, RoiSet),
    /// The solver measures the regions asked for last by itself from here on: measure what has been kept until now.
    CatchUp,
    /// End.
    Quit,
}

/// The thread that measures. It ends when dropped.
pub(super) struct Measurer {
    asks: Sender<Ask>,
    thread: Option<JoinHandle<()>>,
}

impl Measurer {
    /// Starts the thread, which says what it measured through `outlet`.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn start(asks: Sender<Ask>, inbox: Receiver<Ask>, history: History, outlet: Outlet) -> io::Result<Self> {
        let thread = Builder::new().name("measurer".into()).spawn(move || run(&inbox, &history, &outlet))?;
        Ok(Self { asks, thread: Some(thread) })
    }
}

impl Drop for Measurer {
    fn drop(&mut self) {
        let _ = self.asks.send(Ask::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(inbox: &Receiver<Ask>, history: &History, outlet: &Outlet) {
    let mut edits: BTreeMap<RunId, Edit> = BTreeMap::new();
    while let Ok(ask) = inbox.recv() {
        // While a region is dragged edits come faster than they can be measured: only the last of a row counts.
        for ask in std::iter::once(ask).chain(inbox.try_iter()) {
            match ask {
                Ask::Rois(run, rois) => _ = edits.insert(run, Edit { rois, measured: HashSet::new() }),
                Ask::CatchUp => {}
                Ask::Quit => return,
            }
        }
        edits.retain(|run, _| history.has(*run));
        for (run, edit) in &mut edits {
            let points = edit.measure(history.entries(*run));
            if !points.is_empty() {
                outlet.say(Event { run: *run, kind: EventKind::Remeasured { branch: edit.rois.branch, points } });
            }
        }
    }
}

/// Regions, and the images of a run that they were measured on.
struct Edit {
    rois: RoiSet,
    /// By the steps done.
    measured: HashSet<usize>,
}

impl Edit {
    /// (iteration, subiteration, sums of each region) of those of the images that were not measured yet, in their order.
    fn measure(&mut self, images: Vec<Kept>) -> Vec<(usize, usize, Vec<RoiSums>)> {
        let Self { rois, measured } = self;
        let points = images.into_iter().filter(|kept| measured.insert(kept.subiteration)).map(|kept| {
            let masks = rois.rois.masks(&kept.volume.grid);
            (kept.iteration, kept.subiteration, masks.iter().map(|mask| mask.sums(kept.volume.as_slice())).collect())
        });
        points.collect()
    }
}
