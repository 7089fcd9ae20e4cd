//! What the solver's end says: the session's events, and its newest image.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::super::WireError;
use super::super::messages::{News, ToWindow};
use super::super::studies::Started;
use super::Hub;
use crate::session::threads::num_cores;
use crate::session::{Event, EventKind, RunId};

/// Pieces of images that are made at a time: what is said meanwhile waits a millisecond for them.
const PIECES_AT_A_TIME: usize = 16;

impl Hub {
    /// Hands over what the session has to say: events first, then its newest image, as its watchers take them.
    pub(in crate::session::wire) fn hand_over(&mut self) -> Result<(), WireError> {
        self.pending.store(false, Ordering::Release);
        let events: Vec<Event> = self.session.events().try_iter().collect();
        for Event { run, kind } in events {
            match kind {
                EventKind::Started(info) => {
                    self.running = Some(info.clone()).filter(|_| run == self.latest);
                    let study = self.runs.get(&run).copied().unwrap_or_default();
                    self.tell(News::Started(run, Box::new(Started::of(study, *info, num_cores()))))?;
                }
                kind => {
                    if run == self.latest && matches!(kind, EventKind::Failed(_)) {
                        self.running = None;
                    }
                    self.tell(News::Event(Event { run, kind }))?;
                }
            }
        }
        if let Some(frame) = self.session.take_frame()
            && let Some(before) = self.images.set_newest(frame, Instant::now())
        {
            self.session.return_frame(before);
        }
        let Some(line) = self.line.clone() else { return Ok(()) };
        self.tell_of_the_past()?;
        let making @ (done, total) = self.session.task().progress();
        if making != self.making {
            self.making = making;
            self.say(&ToWindow::Making { run: self.latest, done, total })?;
        }
        // When these have arrived it is told, and others go.
        for _ in 0..PIECES_AT_A_TIME {
            let Some(bytes) = self.images.next(Instant::now())? else { break };
            let _ = line.send(bytes);
        }
        Ok(())
    }

    /// Which images are kept, where that has changed.
    fn tell_of_the_past(&mut self) -> Result<(), WireError> {
        let runs: BTreeSet<RunId> = self.kept.iter().copied().chain([self.latest]).collect();
        self.past.retain(|run, _| runs.contains(run));
        for run in runs {
            let past: Vec<_> = self.session.history(run).iter().map(|kept| [kept.id.iteration, kept.id.subiteration]).collect();
            if self.past.get(&run) != Some(&past) {
                self.say(&ToWindow::Past(run, past.clone()))?;
                self.past.insert(run, past);
            }
        }
        Ok(())
    }
}
