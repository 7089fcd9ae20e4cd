//! Messages of the server: the session's events, and its newest image.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::ServerSession;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::messages::{Notification, ToClient};
use crate::remote::protocol::study::StartedRun;
use crate::session::{Event, EventKind, RunId, VolumesOf, num_cores};

/// Maximum number of pieces of images made at a time: other messages wait a millisecond for them.
const PIECES_AT_A_TIME: usize = 16;

impl ServerSession {
    /// Sends the session's events, then changes of the history and the set-up, then its newest image.
    pub(in crate::remote) fn send_news(&mut self) -> Result<(), RemoteError> {
        self.is_pending.store(false, Ordering::Release);
        let events: Vec<Event> = self.session.events().try_iter().collect();
        for Event { run, kind } in events {
            match kind {
                EventKind::Started(info) => {
                    self.running = Some(info.clone()).filter(|_| run == self.latest);
                    let study = self.runs.get(&run).copied().unwrap_or_default();
                    self.notify(Notification::Started(run, Box::new(StartedRun::of(study, *info, num_cores()))))?;
                }
                EventKind::Volumes { of: VolumesOf::Coupled, .. } => {}
                kind => {
                    self.running.take_if(|_| run == self.latest && matches!(kind, EventKind::Failed(_)));
                    self.notify(Notification::Event(Event { run, kind }))?;
                }
            }
        }
        for volumes in self.session.take_volumes().into_iter().filter(|volumes| volumes.of != VolumesOf::Coupled) {
            self.images.set_volumes(volumes);
        }
        if let Some(frame) = self.session.take_frame()
            && let Some(before) = self.images.set_newest(frame, Instant::now())
        {
            self.session.return_frame(before);
        }
        let Some(output) = self.output.clone() else { return Ok(()) };
        self.send_stored()?;
        let progress @ (done, total) = self.session.task().progress();
        if std::mem::replace(&mut self.progress, progress) != progress {
            self.send(&ToClient::SetupProgress { run: self.latest, done, total })?;
        }
        // Further pieces follow when these have arrived.
        for _ in 0..PIECES_AT_A_TIME {
            let Some(bytes) = self.images.next(Instant::now())? else { break };
            let _ = output.send(bytes);
        }
        Ok(())
    }

    /// Sends which iterates are stored, after changes.
    fn send_stored(&mut self) -> Result<(), RemoteError> {
        let runs: BTreeSet<RunId> = self.retained.iter().copied().chain([self.latest]).collect();
        self.stored.retain(|run, _| runs.contains(run));
        for run in runs {
            let stored = self.session.stored(run);
            if self.stored.get(&run) != Some(&stored) {
                self.send(&ToClient::StoredIterates(run, stored.clone()))?;
                self.stored.insert(run, stored);
            }
        }
        Ok(())
    }
}
