//! How volumes reach the watcher: a channel on which the newest replaces an unread one, and a second channel on which buffers
//! come back, also from the history. An unread volume is taken back only when the newer one is there, so that there is always
//! one to read. Beside the volumes that the history keeps, three suffice (one shown, one unread, one being filled), and one
//! more for each that is under way.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::IterateUpdate;
use crate::data::{Unit, Volume};
use crate::geometry::Grid;

/// The solver's end; clones share the channels.
#[derive(Clone)]
pub(super) struct FrameSender {
    frames: Sender<IterateUpdate>,
    /// The same channel's other end, to take an unread frame back.
    unread: Receiver<IterateUpdate>,
    give_back: Sender<Arc<Volume>>,
    returned: Receiver<Arc<Volume>>,
}

/// The watcher's end.
pub(super) struct FrameReceiver {
    frames: Receiver<IterateUpdate>,
    returned: Sender<Arc<Volume>>,
}

/// Both ends.
pub(super) fn frame_channel() -> (FrameSender, FrameReceiver) {
    let (frames, receiver) = bounded(2);
    let (give_back, returned) = unbounded();
    let sender = FrameSender { frames, unread: receiver.clone(), give_back: give_back.clone(), returned };
    (sender, FrameReceiver { frames: receiver, returned: give_back })
}

impl FrameSender {
    /// Whether no frame waits to be read.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// A volume to fill: one that came back from everywhere if it fits, else a new one.
    pub fn buffer(&self, grid: &Grid, unit: Unit) -> Volume {
        let mut returned = self.returned.try_iter().filter_map(Arc::into_inner);
        let volume = returned.find(|volume| volume.grid == *grid).unwrap_or_else(|| Volume::filled(grid.clone(), 0.0));
        Volume { unit, ..volume }
    }

    /// Takes a volume back that nobody looks at any more.
    pub fn give_back(&self, volume: Arc<Volume>) {
        // The other end is here: it cannot be closed.
        let _ = self.give_back.send(volume);
    }

    /// Sends a frame in place of an unread one, whose buffer comes back.
    pub fn send(&self, frame: IterateUpdate) {
        let newest = Arc::as_ptr(&frame.volume);
        let mut next = Some(frame);
        while let Some(frame) = next.take() {
            // There is room for two: this one, and the one before.
            let _ = self.frames.try_send(frame);
            if self.frames.len() > 1
                && let Ok(old) = self.unread.try_recv()
            {
                // Where the watcher took the older one in between, this is the newest.
                if Arc::as_ptr(&old.volume) == newest { next = Some(old) } else { self.give_back(old.volume) }
            }
        }
    }
}

impl FrameReceiver {
    /// The newest volume, if one has come since the last call.
    pub fn take(&self) -> Option<IterateUpdate> {
        let mut newest = None;
        for frame in self.frames.try_iter() {
            if let Some(old) = newest.replace(frame) {
                self.give_back(old);
            }
        }
        newest
    }

    /// Gives a buffer back.
    pub fn give_back(&self, frame: IterateUpdate) {
        // The solver may be gone; then the buffer is freed here.
        let _ = self.returned.send(frame.volume);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::IterateId;

    #[test]
    fn the_newest_frame_wins_and_buffers_come_round() {
        let grid = Grid::centred([2, 2, 2], [1.0; 3]).unwrap();
        let (sender, receiver) = frame_channel();
        let mut seen = std::collections::HashSet::new();
        for subiteration in 1..=9 {
            let volume = sender.buffer(&grid, Unit::Mm);
            seen.insert(volume.as_slice().as_ptr());
            let extremes = volume.extremes();
            let id = IterateId { run: 1, iteration: 0, subiteration };
            sender.send(IterateUpdate { id, volume: Arc::new(volume), extremes, slices: None });
            if subiteration % 3 == 0 {
                let frame = receiver.take().unwrap();
                assert_eq!(frame.id.subiteration, subiteration);
                assert!(sender.is_empty() && receiver.take().is_none());
                receiver.give_back(frame);
            }
        }
        assert!(seen.len() <= 3, "{} buffers", seen.len());
        // What the history holds too comes back when it lets go.
        let shared = Arc::new(sender.buffer(&grid, Unit::Mm));
        let place = shared.as_slice().as_ptr();
        sender.give_back(Arc::clone(&shared));
        assert_ne!(sender.buffer(&grid, Unit::Mm).as_slice().as_ptr(), place);
        sender.give_back(shared);
        assert_eq!(sender.buffer(&grid, Unit::Mm).as_slice().as_ptr(), place);
        let other = Grid::centred([3, 2, 2], [1.0; 3]).unwrap();
        assert_eq!(sender.buffer(&other, Unit::Mm).grid, other);
    }
}
