//! Sources of a growing acquisition: a file that is still being written, or a complete sweep that is replayed at the scanner's
//! pace or another.

use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use crate::data::{EventChunk, EventList, Notice, Projection};
use crate::io::SweepFollower;
use crate::io::list_mode::ListFollower;
use crate::plan::{Acquisition, EventAccumulator, ListAcquisition};
use crate::task::Task;

/// Interval at which a file is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time without events after which a list is idle.
const QUIET: Duration = Duration::from_millis(1500);
/// Maximum pause of a replay.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

/// Thread that adds to an acquisition. Dropping it ends the thread and the acquisition.
#[derive(Debug)]
pub struct Feed {
    /// Pace of a replay, per second. Dropping it ends the thread.
    pace: Option<Sender<f64>>,
    notices: Receiver<Notice>,
    list: Receiver<EventList>,
    task: Task,
    thread: Option<JoinHandle<()>>,
}

/// State of a feed's thread.
struct Work<A> {
    arrived: A,
    paces: Receiver<f64>,
    notices: Sender<Notice>,
    list: Sender<EventList>,
    task: Task,
}

impl<A> Work<A> {
    /// Waits until the next check of a file. Returns false if the feed ends.
    fn wait(&self, time: Duration) -> bool {
        self.paces.recv_timeout(time) != Err(RecvTimeoutError::Disconnected)
    }

    /// Sends notices, if the feed still exists.
    fn notify(&self, notices: Vec<Notice>) {
        notices.into_iter().for_each(|notice| _ = self.notices.send(notice));
    }
}

impl Feed {
    /// Follows a file; complete projections are added within a second. `arrived` is called after each change.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn follow(
        mut follower: SweepFollower,
        acquisition: Acquisition,
        arrived: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        Self::start(acquisition, arrived, move |acquisition, work| {
            while !follower.is_finished() {
                let update = follower.poll();
                let is_new = !update.projections.is_empty() || !update.notices.is_empty();
                if let Some(phase) = update.phase {
                    acquisition.set_phase(phase);
                }
                acquisition.append(update.projections);
                work.notify(update.notices);
                if is_new {
                    (work.arrived)();
                }
                if !work.wait(POLL_INTERVAL) {
                    break;
                }
            }
            work.notify(follower.unmeasured().into_iter().collect());
        })
    }

    /// Follows a list-mode file; complete events are added within a second. `arrived` is called after each change. At the end of the
    /// file, or after [`Feed::end`], the complete list is made ([`Feed::take_list`]).
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn follow_list(
        mut follower: ListFollower,
        acquisition: ListAcquisition,
        arrived: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        Self::start(acquisition, arrived, move |acquisition, work| {
            let mut chunk = EventChunk::default();
            let mut last = None;
            while !follower.is_finished() {
                let update = follower.poll(&mut chunk);
                let added = acquisition.add(|events| events.add(&mut chunk));
                if update.has_events {
                    last = Some(Instant::now());
                }
                // The last events are reported again after an idle time: they may have been too few for an image.
                let is_quiet = last.take_if(|last| last.elapsed() > QUIET).is_some();
                let is_new = update.has_events || is_quiet || !update.notices.is_empty();
                work.notify(update.notices);
                if is_new {
                    (work.arrived)();
                }
                if let Err(error) = added {
                    work.notify(vec![Notice::warning(format!("{error}. The list is not followed further"))]);
                    break;
                }
                if !work.wait(if update.has_events { Duration::ZERO } else { POLL_INTERVAL }) {
                    break;
                }
            }
            work.notify(follower.final_notices());
            if let Ok((list, notices)) = acquisition.look(EventAccumulator::clone).finish(&work.task) {
                work.notify(notices);
                let _ = work.list.send(list);
            }
        })
    }

    /// Replays projections at this rate per second (infinity: all at once). `arrived` is called after each.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn replay(
        projections: Vec<Projection>,
        per_sec: f64,
        acquisition: Acquisition,
        arrived: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        Self::start(acquisition, arrived, move |acquisition, work| {
            let mut pause = interval(per_sec);
            let mut last = Instant::now();
            for projection in projections {
                loop {
                    match work.paces.recv_deadline(last + pause) {
                        // The next projection follows the new pace.
                        Ok(per_sec) => pause = interval(per_sec),
                        Err(RecvTimeoutError::Timeout) => break,
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
                // Delays are not compensated: a scanner does not compensate them either.
                last = Instant::now();
                acquisition.append(vec![projection]);
                (work.arrived)();
            }
        })
    }

    /// Starts a thread that does `work`, and ends the acquisition after it.
    fn start<T: Send + 'static, A: Fn() + Send + 'static>(
        acquisition: Acquisition<T>,
        arrived: A,
        work: impl FnOnce(&Acquisition<T>, &Work<A>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let ((pace, paces), (notice_sender, notices), (list_sender, list)) = (unbounded(), unbounded(), unbounded());
        let task = Task::new();
        let state = Work { arrived, paces, notices: notice_sender, list: list_sender, task: task.clone() };
        let thread = Builder::new().name("feed".into()).spawn(move || {
            work(&acquisition, &state);
            acquisition.end();
            (state.arrived)();
        })?;
        Ok(Self { pace: Some(pace), notices, list, task, thread: Some(thread) })
    }

    pub fn set_pace(&self, per_sec: f64) {
        if let Some(pace) = &self.pace {
            let _ = pace.send(per_sec);
        }
    }

    /// Treats the data that have arrived as complete. The thread ends soon.
    pub fn end(&mut self) {
        self.pace = None;
    }

    /// Returns the complete list of a followed file, once.
    pub fn take_list(&self) -> Option<EventList> {
        self.list.try_recv().ok()
    }

    /// Ends the thread and the acquisition, and returns the last notices about the file.
    pub fn stop(mut self) -> Vec<Notice> {
        self.join();
        self.notices.try_iter().collect()
    }

    fn join(&mut self) {
        self.pace = None;
        self.task.stop();
        if let Some(thread) = self.thread.take() {
            // The panic of a thread was already printed.
            let _ = thread.join();
        }
    }

    /// Returns the channel of notices about the file.
    pub fn notices(&self) -> &Receiver<Notice> {
        &self.notices
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.join();
    }
}

fn interval(per_sec: f64) -> Duration {
    Duration::try_from_secs_f64(1.0 / per_sec).unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)
}
