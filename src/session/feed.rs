//! Where the data of a growing acquisition come from: a file that is still being written, or a finished sweep that is played
//! again at the scanner's pace or another.

use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use crate::data::{EventChunk, EventList, Notice, Projection};
use crate::io::SweepFollower;
use crate::io::list_mode::ListFollower;
use crate::plan::{Acquisition, EventAccumulator, ListAcquisition};
use crate::task::Task;

/// How often a file is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// When a list does not grow any more for now.
const QUIET: Duration = Duration::from_millis(1500);
/// Longest sleep of a player, so that it is never far behind.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

/// A thread that adds to an acquisition. Dropping it ends the thread and with it the acquisition.
#[derive(Debug)]
pub struct Feed {
    /// The pace of a player. The thread ends when this is dropped.
    pace: Option<Sender<f64>>,
    notices: Receiver<Notice>,
    whole: Receiver<EventList>,
    task: Task,
    thread: Option<JoinHandle<()>>,
}

/// What a feed's thread works with.
struct Work<A> {
    arrived: A,
    paces: Receiver<f64>,
    notices: Sender<Notice>,
    whole: Sender<EventList>,
    task: Task,
}

impl<A> Work<A> {
    /// Waits until the next look at a file; whether there is to be one.
    fn wait(&self, time: Duration) -> bool {
        self.paces.recv_timeout(time) != Err(RecvTimeoutError::Disconnected)
    }

    /// Whoever does not listen any more has no need to know.
    fn tell(&self, notices: Vec<Notice>) {
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
                work.tell(update.notices);
                if is_new {
                    (work.arrived)();
                }
                if !work.wait(POLL_INTERVAL) {
                    break;
                }
            }
            work.tell(follower.unmeasured().into_iter().collect());
        })
    }

    /// Follows the file of a list; whole events are added within a second. `arrived` is called after each change. When nothing more
    /// comes, or [`Feed::end`] has asked for it, the whole list is made of them ([`Feed::take_whole`]).
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
                // The last ones are told of again when no others have come for a while: they may have been too few for an image.
                let is_quiet = last.take_if(|last| last.elapsed() > QUIET).is_some();
                let is_new = update.has_events || is_quiet || !update.notices.is_empty();
                work.tell(update.notices);
                if is_new {
                    (work.arrived)();
                }
                if let Err(error) = added {
                    work.tell(vec![Notice::warning(format!("{error}. The list is not followed further"))]);
                    break;
                }
                if !work.wait(if update.has_events { Duration::ZERO } else { POLL_INTERVAL }) {
                    break;
                }
            }
            work.tell(follower.last_words());
            if let Ok((list, notices)) = acquisition.look(EventAccumulator::clone).finish(&work.task) {
                work.tell(notices);
                let _ = work.whole.send(list);
            }
        })
    }

    /// Plays projections again, so many per second (infinity: all at once). `arrived` is called after each.
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
                        // The one that is waited for comes as the new pace would have it.
                        Ok(per_sec) => pause = interval(per_sec),
                        Err(RecvTimeoutError::Timeout) => break,
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
                // What came late is not made up for: the scanner would not do so either.
                last = Instant::now();
                acquisition.append(vec![projection]);
                (work.arrived)();
            }
        })
    }

    /// Starts a thread that does `work` until it is done or the paces are disconnected; then the acquisition is over.
    fn start<T: Send + 'static, A: Fn() + Send + 'static>(
        acquisition: Acquisition<T>,
        arrived: A,
        work: impl FnOnce(&Acquisition<T>, &Work<A>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let ((pace, paces), (told, notices), (made, whole)) = (unbounded(), unbounded(), unbounded());
        let task = Task::new();
        let with = Work { arrived, paces, notices: told, whole: made, task: task.clone() };
        let thread = Builder::new().name("feed".into()).spawn(move || {
            work(&acquisition, &with);
            acquisition.end();
            (with.arrived)();
        })?;
        Ok(Self { pace: Some(pace), notices, whole, task, thread: Some(thread) })
    }

    /// Plays at another pace from now on.
    pub fn set_pace(&self, per_sec: f64) {
        if let Some(pace) = &self.pace {
            let _ = pace.send(per_sec);
        }
    }

    /// Takes what has arrived for all there is. The thread ends soon.
    pub fn end(&mut self) {
        self.pace = None;
    }

    /// The whole of a list that was followed, once, when nothing more comes.
    pub fn take_whole(&self) -> Option<EventList> {
        self.whole.try_recv().ok()
    }

    /// Ends the thread and with it the acquisition; gives what is still to be told about the file.
    pub fn stop(mut self) -> Vec<Notice> {
        self.join();
        self.notices.try_iter().collect()
    }

    fn join(&mut self) {
        self.pace = None;
        self.task.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread itself was already printed.
            let _ = thread.join();
        }
    }

    /// What there is to know about the file.
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
