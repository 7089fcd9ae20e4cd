//! Messages to the publisher's thread. All pass through one queue and arrive in the order in which they were sent: an image
//! before the event that reports it.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use super::{Event, IterateId};
use crate::algebra::PendingVolume;
use crate::data::{Unit, Volume};
use crate::geometry::Grid;

/// Place among the images in flight; dropping it frees the place.
pub(super) struct Slot(pub Receiver<()>);

impl Drop for Slot {
    fn drop(&mut self) {
        let _ = self.0.try_recv();
    }
}

/// Image on its way to the watcher.
pub(super) struct Parcel {
    pub id: IterateId,
    /// True if the history stores it.
    pub is_stored: bool,
    pub image: Image,
    pub slot: Slot,
}

/// Values of a parcel.
pub(super) enum Image {
    /// Volume that never changes.
    Shared(Arc<Volume>),
    /// Filled buffer and the time of the copy.
    Filled(Volume, Duration),
    /// Copy that a device has begun.
    Pending(PendingVolume, Grid, Unit),
}

/// Message to the publisher's thread.
pub(super) enum Outgoing {
    Volume(Box<Parcel>),
    Event(Event),
    Wake,
    /// Requests a measurement of the iterates stored before this message.
    CatchUp,
    /// Dropped after the messages before it.
    Barrier(Sender<()>),
}

/// Sender of events of another thread. The publisher's thread lives as long as there is one.
#[derive(Clone)]
pub(super) struct EventSender(pub Sender<Outgoing>);

impl EventSender {
    /// Sends an event and wakes the watcher.
    pub fn send(&self, event: Event) {
        // The thread ends early only after a panic of `wake`.
        let _ = self.0.send(Outgoing::Event(event));
    }
}
