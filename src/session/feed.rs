//! Where the projections of a growing acquisition come from: a file that is still being written, or a finished sweep that
//! is played again at the scanner's pace or another.

use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use crate::data::{Notice, Projection};
use crate::io::SweepFollower;
use crate::plan::Acquisition;

/// How often a file is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Longest sleep of a player, so that it is never far behind.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

/// A thread that adds projections to an acquisition. Dropping it ends the thread and with it the acquisition.
#[derive(Debug)]
pub struct Feed {
    /// The pace of a player. The thread ends when this is dropped.
    pace: Option<Sender<f64>>,
    notices: Receiver<Notice>,
    thread: Option<JoinHandle<()>>,
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
        Self::start(acquisition, arrived, move |acquisition, arrived, paces, notices| {
            while !follower.is_finished() {
                let update = follower.poll();
                let is_new = !update.projections.is_empty() || !update.notices.is_empty();
                if let Some(phase) = update.phase {
                    acquisition.set_phase(phase);
                }
                acquisition.append(update.projections);
                for notice in update.notices {
                    let _ = notices.send(notice);
                }
                if is_new {
                    arrived();
                }
                if paces.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
            }
            if let Some(notice) = follower.unmeasured() {
                let _ = notices.send(notice);
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
        Self::start(acquisition, arrived, move |acquisition, arrived, paces, _| {
            let mut pause = interval(per_sec);
            let mut last = Instant::now();
            for projection in projections {
                loop {
                    match paces.recv_deadline(last + pause) {
                        // The one that is waited for comes as the new pace would have it.
                        Ok(per_sec) => pause = interval(per_sec),
                        Err(RecvTimeoutError::Timeout) => break,
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
                // What came late is not made up for: the scanner would not do so either.
                last = Instant::now();
                acquisition.append(vec![projection]);
                arrived();
            }
        })
    }

    /// Starts a thread that does `work` until it is done or the paces are disconnected; then the acquisition is over.
    fn start<A: Fn() + Send + 'static>(
        acquisition: Acquisition,
        arrived: A,
        work: impl FnOnce(&Acquisition, &A, &Receiver<f64>, &Sender<Notice>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (pace, paces) = unbounded();
        let (told, notices) = unbounded();
        let thread = Builder::new().name("feed".into()).spawn(move || {
            work(&acquisition, &arrived, &paces, &told);
            acquisition.end();
            arrived();
        })?;
        Ok(Self { pace: Some(pace), notices, thread: Some(thread) })
    }

    /// Plays at another pace from now on.
    pub fn set_pace(&self, per_sec: f64) {
        if let Some(pace) = &self.pace {
            let _ = pace.send(per_sec);
        }
    }

    /// Ends the thread and with it the acquisition; gives what is still to be told about the file.
    pub fn stop(mut self) -> Vec<Notice> {
        self.join();
        self.notices.try_iter().collect()
    }

    fn join(&mut self) {
        self.pace = None;
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
