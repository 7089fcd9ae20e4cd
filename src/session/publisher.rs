//! The outgoing side of a session: a thread that hands volumes and events over, so that the solver steps on while a
//! volume is copied from a device. Everything goes through one queue and arrives in the order in which it was sent: a
//! volume before the event that tells of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::frames::FrameSender;
use super::history::History;
use super::measurer::Query;
use super::run::panic_sentence;
use super::{Event, EventKind, IterateUpdate, RunId, StoredIterate, Trace};
use crate::algebra::PendingVolume;
use crate::coded::Problem;
use crate::data::{IterateId, Notice, Unit, Volume};
use crate::geometry::Grid;
use crate::recon::Stage;

/// Volumes that may be under way: one being copied, one that waits for it.
const MAX_UNDER_WAY: usize = 2;

/// A place among the volumes that may be under way; free again when dropped.
pub(super) struct Slot(Receiver<()>);

impl Drop for Slot {
    fn drop(&mut self) {
        let _ = self.0.try_recv();
    }
}

/// An image on its way to the watcher.
pub(super) struct Parcel {
    pub id: IterateId,
    /// Whether the history keeps it.
    pub is_kept: bool,
    pub image: Image,
    pub slot: Slot,
}

/// What a parcel holds.
pub(super) enum Image {
    /// A filled buffer and the time that filling took.
    Filled(Volume, Duration),
    /// A copy that a device has begun.
    Pending(PendingVolume, Grid, Unit),
}

enum Outgoing {
    Volume(Box<Parcel>),
    Event(Event),
    Wake,
    /// Measure the images that were kept before this, once they have arrived.
    CatchUp,
    /// Dropped once everything before it was handed over.
    Barrier(Sender<()>),
}

/// The solver's end. Dropping it hands over what is under way and waits for the thread.
pub(super) struct Publisher {
    queue: Option<Sender<Outgoing>>,
    /// One message for each volume under way.
    under_way: (Sender<()>, Receiver<()>),
    failures: Receiver<Problem>,
    frames: FrameSender,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Starts the thread, which calls `wake` after every event.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn start(
        events: Sender<Event>,
        frames: FrameSender,
        history: History,
        wake: impl Fn() + Send + 'static,
        trace: Trace,
        measurer: Sender<Query>,
    ) -> std::io::Result<Self> {
        let (queue, inbox) = unbounded();
        let (failed, failures) = unbounded();
        let frames_too = frames.clone();
        let mut worker =
            Worker { events, frames: frames_too, history, wake, trace, measurer, failed, last_copy: None, warned: None };
        let thread = Builder::new().name("publisher".into()).spawn(move || worker.run(&inbox))?;
        Ok(Self { queue: Some(queue), under_way: bounded(MAX_UNDER_WAY), failures, frames, thread: Some(thread) })
    }

    /// Whether the watcher has taken every volume, and none is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way.1.is_empty() && self.frames.is_empty()
    }

    /// Waits until another volume may be under way.
    pub fn slot(&self) -> Slot {
        // Both ends are here: this cannot fail.
        let _ = self.under_way.0.send(());
        Slot(self.under_way.1.clone())
    }

    /// A volume to fill.
    pub fn buffer(&self, grid: &Grid, unit: Unit) -> Volume {
        self.frames.buffer(grid, unit)
    }

    /// Hands a volume over.
    pub fn send_volume(&self, parcel: Parcel) {
        self.send(Outgoing::Volume(Box::new(parcel)));
    }

    /// Says something and wakes the watcher.
    pub fn send_event(&self, event: Event) {
        self.send(Outgoing::Event(event));
    }

    /// Wakes the watcher once it has all that was sent before.
    pub fn wake(&self) {
        self.send(Outgoing::Wake);
    }

    /// Lets what is kept of everything sent before be measured, beside the solver.
    pub fn catch_up(&self) {
        self.send(Outgoing::CatchUp);
    }

    /// A second sender of events, for another thread.
    pub fn outlet(&self) -> EventSender {
        EventSender(self.queue.clone())
    }

    /// Waits until everything sent before was handed over.
    pub fn flush(&self) {
        let (barrier, passed) = bounded(0);
        self.send(Outgoing::Barrier(barrier));
        let _ = passed.recv();
    }

    /// Why a volume could not be copied, if one could not since the last call.
    pub fn failure(&self) -> Option<Problem> {
        self.failures.try_iter().last()
    }

    /// The thread ends before this only when `wake` panics; then nobody listens any more.
    fn send(&self, outgoing: Outgoing) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(outgoing);
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A way for the events of another thread. The publisher's thread lives as long as there is one.
pub(super) struct EventSender(Option<Sender<Outgoing>>);

impl EventSender {
    /// Says something and wakes the watcher.
    pub fn say(&self, event: Event) {
        if let Some(queue) = &self.0 {
            let _ = queue.send(Outgoing::Event(event));
        }
    }
}

/// What the thread owns.
struct Worker<W> {
    events: Sender<Event>,
    frames: FrameSender,
    history: History,
    wake: W,
    trace: Trace,
    measurer: Sender<Query>,
    failed: Sender<Problem>,
    /// Run, step and time of the volume copied last.
    last_copy: Option<(RunId, usize, Duration)>,
    /// The run whose image was said not to be finite.
    warned: Option<RunId>,
}

impl<W: Fn()> Worker<W> {
    /// Until the solver's end is dropped.
    fn run(&mut self, inbox: &Receiver<Outgoing>) {
        for outgoing in inbox {
            match outgoing {
                Outgoing::Volume(parcel) => self.hand_over(*parcel),
                Outgoing::Event(event) => self.tell(event),
                Outgoing::Wake => (self.wake)(),
                Outgoing::CatchUp => _ = self.measurer.send(Query::CatchUp),
                Outgoing::Barrier(barrier) => drop(barrier),
            }
        }
    }

    /// Copies a volume where that is still to be done, keeps it and sends it.
    fn hand_over(&mut self, parcel: Parcel) {
        let Parcel { id, is_kept, image, slot } = parcel;
        let IterateId { run, iteration, subiteration } = id;
        let (volume, time) = match image {
            Image::Filled(volume, time) => (volume, time),
            Image::Pending(pending, grid, unit) => {
                let start = Instant::now();
                let mut volume = self.frames.buffer(&grid, unit);
                let copied = catch_unwind(AssertUnwindSafe(|| pending(volume.as_mut_slice())));
                let failure = match copied {
                    Ok(Ok(())) => None,
                    Ok(Err(error)) => Some(error.into()),
                    Err(panic) => Some(Problem::new("internal", panic_sentence(&*panic))),
                };
                if let Some(problem) = failure {
                    let _ = self.failed.send(problem);
                    return;
                }
                (volume, start.elapsed())
            }
        };
        let (extremes, volume) = (volume.extremes(), Arc::new(volume));
        if self.warned != Some(run)
            && let Some(text) = extremes.not_finite(&volume)
        {
            self.warned = Some(run);
            let text = format!(
                "the image is broken: {text} since iteration {iteration}, step {subiteration}; the data or its factors are too \
                 large or too small to compute with"
            );
            self.tell(Event { run, kind: EventKind::Notice(Notice::warning(text)) });
        }
        if is_kept {
            let gone = self.history.push(StoredIterate { id, volume: Arc::clone(&volume), extremes });
            gone.into_iter().for_each(|volume| self.frames.give_back(volume));
            let _ = self.measurer.send(Query::StoredIterate);
        }
        self.frames.send(IterateUpdate { id, volume, extremes, slices: None });
        self.last_copy = Some((run, subiteration, time));
        let figures = [("run", run as f64), ("iteration", iteration as f64), ("subiteration", subiteration as f64)];
        self.trace.record("iterate_published", &figures);
        drop(slot);
    }

    /// Sends an event, with the time of the copy where it tells of the step that was copied, and wakes the watcher.
    fn tell(&mut self, mut event: Event) {
        if let EventKind::Iterate(report) = &mut event.kind
            && let Some((run, subiteration, time)) = self.last_copy
            && (run, subiteration) == (event.run, report.subiteration)
        {
            report.stages[Stage::Copy] = time;
        }
        let run = ("run", event.run as f64);
        match &event.kind {
            EventKind::Started(info) => {
                self.trace.record("run_started", &[run, ("num_subsets", info.num_subsets as f64)]);
            }
            EventKind::Paused => self.trace.record("run_paused", &[run]),
            EventKind::Ended(_) => self.trace.record("run_ended", &[run]),
            EventKind::Failed(_) => self.trace.record("run_failed", &[run]),
            _ => {}
        }
        // A watcher that is gone has dropped its handle, and the solver is about to end.
        let _ = self.events.send(event);
        (self.wake)();
    }
}
