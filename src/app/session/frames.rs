//! Channels that carry images from the solver to the watcher. A new image replaces an unread one, and buffers return through a
//! second channel, also from the history. The sender takes an unread image back only after it has sent the newer one. Besides
//! the images in the history, three buffers suffice (displayed, unread, being filled), plus one for each image in flight. Volumes
//! besides the image have one place of each kind.

use std::mem::discriminant;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::{IterateUpdate, Volumes};
use crate::data::{Unit, Volume};
use crate::geometry::Grid;

/// Channel on which the newest image replaces an unread one.
#[derive(Clone)]
struct Newest {
    images: Sender<IterateUpdate>,
    /// Receiver of the same channel, which takes an unread image back.
    unread: Receiver<IterateUpdate>,
}

/// Newest volumes of each kind that were not taken.
type NewestVolumes = Arc<Mutex<Vec<Volumes>>>;

/// Solver's end of the channels; clones share them.
#[derive(Clone)]
pub struct FrameSender {
    whole: Newest,
    /// Partial images: their slices have arrived from a server.
    slices: Newest,
    volumes: NewestVolumes,
    give_back: Sender<Arc<Volume>>,
    returned: Receiver<Arc<Volume>>,
}

/// Watcher's end of the channels.
pub struct FrameReceiver {
    /// Receivers of whole images and of slices, in the order in which they are taken.
    images: [Receiver<IterateUpdate>; 2],
    volumes: NewestVolumes,
    returned: Sender<Arc<Volume>>,
}

/// Returns both ends of new channels.
pub fn frame_channel() -> (FrameSender, FrameReceiver) {
    let newest = || {
        let (images, unread) = bounded(2);
        Newest { images, unread }
    };
    let (whole, slices) = (newest(), newest());
    let (give_back, returned) = unbounded();
    let images = [whole.unread.clone(), slices.unread.clone()];
    let volumes = NewestVolumes::default();
    let receiver = FrameReceiver { images, volumes: Arc::clone(&volumes), returned: give_back.clone() };
    (FrameSender { whole, slices, volumes, give_back, returned }, receiver)
}

impl FrameSender {
    /// Returns true if no whole image is unread.
    pub fn is_empty(&self) -> bool {
        self.whole.images.is_empty()
    }

    /// Returns a volume to fill: a returned one of this grid, or a new one.
    pub fn buffer(&self, grid: &Grid, unit: Unit) -> Volume {
        let mut returned = self.returned.try_iter().filter_map(Arc::into_inner);
        let volume = returned.find(|volume| volume.grid == *grid).unwrap_or_else(|| Volume::filled(grid.clone(), 0.0));
        Volume { unit, ..volume }
    }

    /// Returns a volume to the buffers.
    pub fn give_back(&self, volume: Arc<Volume>) {
        // The receiver is a field of this value: the channel is open.
        let _ = self.give_back.send(volume);
    }

    /// Sends volumes, which replace unread ones of the same kind.
    pub fn send_volumes(&self, volumes: Volumes) {
        let mut unread = self.volumes.lock().unwrap_or_else(PoisonError::into_inner);
        unread.retain(|other| discriminant(&other.of) != discriminant(&volumes.of));
        unread.push(volumes);
    }

    /// Sends an image and takes an unread one back.
    pub fn send(&self, frame: IterateUpdate) {
        let Newest { images, unread } = if frame.slices.is_some() { &self.slices } else { &self.whole };
        // (Images of two runs can share their volume.)
        let identity = |frame: &IterateUpdate| (frame.id, Arc::as_ptr(&frame.volume));
        let newest = identity(&frame);
        let mut next = Some(frame);
        while let Some(frame) = next.take() {
            // The channel has room for this image and the one before.
            let _ = images.try_send(frame);
            if images.len() > 1
                && let Ok(old) = unread.try_recv()
            {
                // If the watcher took the older image meanwhile, this is the newest.
                if identity(&old) == newest { next = Some(old) } else { self.give_back(old.volume) }
            }
        }
    }
}

impl FrameReceiver {
    /// Returns the newest volumes of each kind since the last call.
    pub fn take_volumes(&self) -> Vec<Volumes> {
        std::mem::take(&mut *self.volumes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the newest whole image since the last call, else the newest slices.
    pub fn take(&self) -> Option<IterateUpdate> {
        self.images.iter().find_map(|images| {
            let mut newest = None;
            for frame in images.try_iter() {
                if let Some(old) = newest.replace(frame) {
                    self.give_back(old);
                }
            }
            newest
        })
    }

    /// Returns a buffer to the solver.
    pub fn give_back(&self, frame: IterateUpdate) {
        // Without a solver the buffer is freed here.
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
            sender.send(IterateUpdate { id, volume: Arc::new(volume), on_device: None, extremes, slices: None });
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
