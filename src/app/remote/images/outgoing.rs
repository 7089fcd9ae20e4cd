//! Images on their way to the window: the displayed slices of the newest image first, then the whole image. Both go in pieces with
//! flow control ([`Flow`]), so that other messages wait for one piece and not for an image. A newer image replaces one that was not
//! begun.

use std::collections::VecDeque;
use std::mem::discriminant;
use std::sync::Arc;
use std::time::Instant;

use super::flow::Flow;
use super::slices::{slices, within};
use crate::data::Volume;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::framing::encode;
use crate::remote::protocol::messages::{ImageHead, PieceHead, PieceOf, ToClient};
use crate::session::{IterateUpdate, StoredIterate, Volumes, pack, plain};

/// Minimum and maximum number of values of a piece. The minimum takes 2 ms at 100 Mbit/s.
pub const PIECE: [usize; 2] = [1 << 13, 1 << 16];

/// Target duration of a piece, s: other messages wait for it.
const PIECE_SECS: f64 = 2e-3;

/// Rate from which values are sent plain, bytes/s: packing and unpacking take as long.
const PLAIN_FROM: f64 = 40e6;

/// Limits of the time, s, in which a whole image must arrive to be sent without slices: the interval of images within these.
const SOON_SECS: [f64; 2] = [0.05, 0.25];

/// Maximum number of images whose slices are in flight: one is displayed while the next arrives.
const MAX_SLICES: usize = 2;

/// Bytes of a whole image for each byte of slices while both are sent: ten slices and one image per second at 100 Mbit/s for
/// 256 × 256 × 47 voxels.
const WHOLE_TO_SLICES: usize = 2;

/// Maximum number of requested stored iterates: older requests were made in passing.
const MAX_REQUESTED: usize = 4;

/// Array that is being sent.
struct Sending {
    image: ImageHead,
    of: PieceOf,
    values: Values,
    num_sent: usize,
}

/// Values of an array.
enum Values {
    Own(Vec<f32>),
    Shared(Arc<Volume>),
}

impl Values {
    fn as_slice(&self) -> &[f32] {
        match self {
            Values::Own(values) => values,
            Values::Shared(volume) => volume.as_slice(),
        }
    }
}

#[derive(Default)]
pub struct OutgoingImages {
    slices_at: [usize; 3],
    newest: Option<IterateUpdate>,
    /// Arrival of the newest image.
    newest_at: Option<Instant>,
    /// Time between the last two images, s.
    interval_secs: f64,
    /// Voxel whose slices of the newest image were sent.
    slices_sent: Option<[usize; 3]>,
    slices: Option<Sending>,
    whole: Option<Sending>,
    /// Last image that was sent as a whole.
    whole_sent: Option<ImageHead>,
    requested: VecDeque<StoredIterate>,
    /// Newest volumes of each kind, with the number of those that were sent.
    volumes: Vec<(Volumes, usize)>,
    flow: Flow,
    /// Bytes of whole images to send before the next slices.
    owed: usize,
}

fn head(frame: &IterateUpdate) -> ImageHead {
    ImageHead { id: frame.id, unit: frame.volume.unit, extremes: frame.extremes }
}

impl OutgoingImages {
    /// Sets the newest image, and returns the one before.
    pub fn set_newest(&mut self, frame: IterateUpdate, now: Instant) -> Option<IterateUpdate> {
        self.interval_secs = self.newest_at.replace(now).map_or(0.0, |before| now.duration_since(before).as_secs_f64());
        // Images of the previous run are discarded.
        let run = frame.id.run;
        let continues = |sending: &Sending| sending.of == PieceOf::Stored || sending.image.id.run == run;
        self.volumes.retain(|(volumes, _)| volumes.id.run == run);
        self.slices = self.slices.take().filter(continues);
        self.whole = self.whole.take().filter(continues);
        self.slices_sent = None;
        self.newest.replace(frame)
    }

    /// Sets the voxel whose slices are displayed.
    pub fn show_slices(&mut self, at: [usize; 3]) {
        self.slices_at = at;
    }

    pub fn request(&mut self, image: StoredIterate) {
        self.requested.push_back(image);
        if self.requested.len() > MAX_REQUESTED {
            self.requested.pop_front();
        }
    }

    /// Sets the newest volumes of a kind.
    pub fn set_volumes(&mut self, volumes: Volumes) {
        self.volumes.retain(|(other, _)| discriminant(&other.of) != discriminant(&volumes.of));
        self.volumes.push((volumes, 0));
    }

    /// Reports that pieces have arrived.
    ///
    /// # Errors
    /// More pieces than were in flight.
    pub fn received(&mut self, num_pieces: usize, now: Instant) -> Result<(), RemoteError> {
        for _ in 0..num_pieces {
            self.flow.received(now).ok_or_else(|| RemoteError::invalid("that more of the images has arrived than was sent"))?;
        }
        Ok(())
    }

    /// Begins a new connection: nothing is in flight, and incomplete images are sent again.
    pub fn begin_connection(&mut self) {
        let Self { slices_at, newest, requested, volumes, .. } = std::mem::take(self);
        let volumes = volumes.into_iter().map(|(volumes, _)| (volumes, 0)).collect();
        *self = Self { slices_at, newest, requested, volumes, ..Self::default() };
    }

    /// Returns the next message, unless the flow control forbids it.
    ///
    /// # Errors
    /// Serialisation failed.
    pub fn next(&mut self, now: Instant) -> Result<Option<Vec<u8>>, RemoteError> {
        if !self.flow.has_room(now) {
            return Ok(None);
        }
        self.whole = self.whole.take().or_else(|| self.next_whole());
        if self.slices.is_none() && (self.owed == 0 || self.whole.is_none()) {
            self.slices = self.next_slices();
        }
        let (array, are_slices) = if self.slices.is_some() { (&mut self.slices, true) } else { (&mut self.whole, false) };
        let Some(sending) = array else { return Ok(None) };
        let (message, is_last) = sending.piece(self.flow.bytes_per_sec())?;
        if is_last {
            *array = None;
        }
        self.owed =
            if are_slices { self.owed + WHOLE_TO_SLICES * message.len() } else { self.owed.saturating_sub(message.len()) };
        self.flow.sent(now, message.len(), are_slices && is_last);
        Ok(Some(message))
    }

    /// Returns the displayed slices of the newest image, unless the whole image was sent or arrives as soon.
    fn next_slices(&mut self) -> Option<Sending> {
        let frame = self.newest.as_ref()?;
        let at = within(self.slices_at, &frame.volume.grid);
        let soon_secs = self.interval_secs.clamp(SOON_SECS[0], SOON_SECS[1]);
        let is_whole_soon = (4 * frame.volume.grid.num_voxels()) as f64 <= soon_secs * self.flow.bytes_per_sec();
        let is_whole_sent = self.whole.is_none() && self.whole_sent.is_some_and(|sent| is_same(&sent, &head(frame)));
        let is_enough = is_whole_soon || is_whole_sent || self.flow.num_slices() >= MAX_SLICES;
        if self.slices_sent == Some(at) || is_enough {
            return None;
        }
        self.slices_sent = Some(at);
        self.owed = 0;
        let values = Values::Own(slices(&frame.volume, at));
        Some(Sending { image: head(frame), of: PieceOf::Slices(at), values, num_sent: 0 })
    }

    /// Returns the next whole image: a requested one, or volumes or the newest if they were not sent yet.
    fn next_whole(&mut self) -> Option<Sending> {
        let sending = |image, of, volume| Some(Sending { image, of, values: Values::Shared(volume), num_sent: 0 });
        if let Some(StoredIterate { id, volume, extremes }) = self.requested.pop_front() {
            return sending(ImageHead { id, unit: volume.unit, extremes }, PieceOf::Stored, volume);
        }
        if let Some((Volumes { id, of, volumes }, next)) = self.volumes.iter_mut().find(|(all, next)| *next < all.volumes.len()) {
            let (volume, index) = (Arc::clone(&volumes[*next]), *next);
            *next += 1;
            let image = ImageHead { id: *id, unit: volume.unit, extremes: volume.extremes() };
            return sending(image, PieceOf::Volumes { of: *of, index, num: volumes.len() }, volume);
        }
        let frame = self.newest.as_ref().filter(|frame| self.whole_sent.is_none_or(|sent| !is_same(&sent, &head(frame))))?;
        let (image, volume) = (head(frame), Arc::clone(&frame.volume));
        self.whole_sent = Some(image);
        sending(image, PieceOf::Newest, volume)
    }
}

impl Sending {
    /// Returns the next piece as a message for a connection of this rate, and true if it is the last.
    fn piece(&mut self, bytes_per_sec: f64) -> Result<(Vec<u8>, bool), RemoteError> {
        let values = &self.values.as_slice()[self.num_sent..];
        let num = ((PIECE_SECS * bytes_per_sec / 4.0) as usize).clamp(PIECE[0], PIECE[1]).min(values.len());
        let head = PieceHead { image: self.image, of: self.of, first: self.num_sent, num };
        let bytes = if bytes_per_sec < PLAIN_FROM { pack(&values[..num]) } else { plain(&values[..num]) };
        let message = encode(&ToClient::Piece(head), &bytes)?;
        self.num_sent += num;
        Ok((message, num == values.len()))
    }
}

/// Returns true if two images are the same iterate.
fn is_same(a: &ImageHead, b: &ImageHead) -> bool {
    (a.id.run, a.id.subiteration) == (b.id.run, b.id.subiteration)
}
