//! Outgoing side of a session: a thread that publishes images and events, so that the solver continues while a device copies an
//! image.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::frames::FrameSender;
use super::measurer;
use super::outgoing::{EventSender, Image, Outgoing, Parcel, Slot};
use super::run::panic_sentence;
use super::transport::SolverChannels;
use super::{Event, EventKind, IterateId, IterateUpdate, RunId, StoredIterate, Volumes};
use crate::coded::Problem;
use crate::data::{Notice, Unit, Volume};
use crate::geometry::Grid;
use crate::recon::Stage;

/// Maximum number of images in flight: one being copied, one waiting for it.
const MAX_IN_FLIGHT: usize = 2;

/// Solver's end. Dropping it publishes the images in flight and waits for the thread.
pub(super) struct Publisher {
    queue: Option<Sender<Outgoing>>,
    /// Channel with one message for each image in flight.
    in_flight: (Sender<()>, Receiver<()>),
    failures: Receiver<Problem>,
    frames: FrameSender,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Starts the thread, which calls `wake` after every event. Returns also a sender of events for another thread.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn start(
        channels: SolverChannels,
        wake: impl Fn() + Send + 'static,
        measurer: Sender<measurer::Input>,
    ) -> std::io::Result<(Self, EventSender)> {
        let ((queue, inbox), (failed, failures)) = (unbounded(), unbounded());
        let frames = channels.frames.clone();
        let mut worker = Worker { channels, wake, measurer, failed, last_copy: None, warned: None };
        let thread = Builder::new().name("publisher".into()).spawn(move || worker.run(&inbox))?;
        let events = EventSender(queue.clone());
        Ok((Self { queue: Some(queue), in_flight: bounded(MAX_IN_FLIGHT), failures, frames, thread: Some(thread) }, events))
    }

    /// Returns a sender of events for another thread.
    pub fn events(&self) -> Option<EventSender> {
        self.queue.clone().map(EventSender)
    }

    /// Returns true if the watcher has taken every image and none is in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight.1.is_empty() && self.frames.is_empty()
    }

    /// Waits until another image may be in flight.
    pub fn slot(&self) -> Slot {
        // Both ends are fields: the channel is open.
        let _ = self.in_flight.0.send(());
        Slot(self.in_flight.1.clone())
    }

    /// Returns a volume to fill.
    pub fn buffer(&self, grid: &Grid, unit: Unit) -> Volume {
        self.frames.buffer(grid, unit)
    }

    /// Publishes volumes, then the event that reports them.
    pub fn send_volumes(&self, volumes: Volumes) {
        let (id, of, num) = (volumes.id, volumes.of, volumes.volumes.len());
        self.frames.send_volumes(volumes);
        self.send(Outgoing::Event(Event { run: id.run, kind: EventKind::Volumes { id, of, num } }));
    }

    /// Waits until all messages sent before were handled.
    pub fn flush(&self) {
        let (barrier, passed) = bounded(0);
        self.send(Outgoing::Barrier(barrier));
        let _ = passed.recv();
    }

    /// Returns the last failure of a copy since the last call.
    pub fn failure(&self) -> Option<Problem> {
        self.failures.try_iter().last()
    }

    /// Sends a message to the thread, which ends early only after a panic of `wake`.
    pub fn send(&self, outgoing: Outgoing) {
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

/// State of the thread.
struct Worker<W> {
    channels: SolverChannels,
    wake: W,
    measurer: Sender<measurer::Input>,
    failed: Sender<Problem>,
    /// Run, step and time of the last copy.
    last_copy: Option<(RunId, usize, Duration)>,
    /// Run whose image was reported as not finite.
    warned: Option<RunId>,
}

impl<W: Fn()> Worker<W> {
    /// Runs until the solver's end is dropped.
    fn run(&mut self, inbox: &Receiver<Outgoing>) {
        for outgoing in inbox {
            match outgoing {
                Outgoing::Volume(parcel) => self.publish(*parcel),
                Outgoing::Event(event) => self.send(event),
                Outgoing::Wake => (self.wake)(),
                Outgoing::CatchUp => _ = self.measurer.send(measurer::Input::CatchUp),
                Outgoing::Barrier(barrier) => drop(barrier),
            }
        }
    }

    /// Completes the copy of an image, stores it and sends it.
    fn publish(&mut self, parcel: Parcel) {
        let Parcel { id, is_stored, image, slot } = parcel;
        let IterateId { run, iteration, subiteration } = id;
        let mut on_device = None;
        let (volume, time) = match image {
            Image::Shared(volume) => (volume, Duration::ZERO),
            Image::Filled(volume, time) => (Arc::new(volume), time),
            Image::Pending(mut pending, grid, unit) => {
                on_device = pending.take_on_device();
                let start = Instant::now();
                let mut volume = self.channels.frames.buffer(&grid, unit);
                let copied = catch_unwind(AssertUnwindSafe(|| pending.fill(volume.as_mut_slice())));
                let copied = copied.map_err(|panic| Problem::new("internal", panic_sentence(&*panic)));
                if let Err(problem) = copied.and_then(|copied| Ok(copied?)) {
                    let _ = self.failed.send(problem);
                    return;
                }
                (Arc::new(volume), start.elapsed())
            }
        };
        let extremes = volume.extremes();
        if self.warned != Some(run)
            && let Some(text) = extremes.not_finite(&volume)
        {
            self.warned = Some(run);
            let text = format!(
                "the image is broken: {text} since iteration {iteration}, step {subiteration}; the data or its factors are too \
                 large or too small to compute with"
            );
            self.send(Event { run, kind: EventKind::Notice(Notice::warning(text)) });
        }
        let SolverChannels { frames, history, trace, .. } = &self.channels;
        if is_stored {
            let discarded = history.push(StoredIterate { id, volume: Arc::clone(&volume), extremes });
            discarded.into_iter().for_each(|volume| frames.give_back(volume));
            let _ = self.measurer.send(measurer::Input::Stored);
        }
        let is_on_device = f64::from(u8::from(on_device.is_some()));
        frames.send(IterateUpdate { id, volume, on_device, extremes, slices: None });
        self.last_copy = Some((run, subiteration, time));
        let step = [("run", run as f64), ("iteration", iteration as f64), ("subiteration", subiteration as f64)];
        trace.record("iterate_published", &[&step[..], &[("on_device", is_on_device)]].concat());
        drop(slot);
    }

    /// Sends an event, with the time of the copy if it reports the copied step, and wakes the watcher.
    fn send(&mut self, mut event: Event) {
        if let EventKind::Iterate(report) = &mut event.kind
            && let Some((run, subiteration, time)) = self.last_copy
            && (run, subiteration) == (event.run, report.subiteration)
        {
            report.stages[Stage::Copy] = time;
        }
        let (trace, run) = (&self.channels.trace, ("run", event.run as f64));
        match &event.kind {
            EventKind::Started(info) => trace.record("run_started", &[run, ("num_subsets", info.num_subsets as f64)]),
            EventKind::Paused => trace.record("run_paused", &[run]),
            EventKind::Ended(_) => trace.record("run_ended", &[run]),
            EventKind::Failed(_) => trace.record("run_failed", &[run]),
            _ => {}
        }
        // A watcher without a handle has ended the session.
        let _ = self.channels.events.send(event);
        (self.wake)();
    }
}
