//! Images on their way to the window: of the newest the slices on the screen at once, and the whole after them. Both go in pieces,
//! no more at a time than the line takes up ([`Flow`]), so that what else is said waits for one piece and not for an image. What was
//! not begun yet gives way to what is newer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::WireError;
use super::flow::Flow;
use super::framing::encode;
use super::image::{pack, plain, slices, within};
use super::messages::{ImageHead, PieceHead, PieceOf, ToWindow};
use crate::data::Volume;
use crate::session::{IterateUpdate, StoredIterate};

/// Fewest and most values of a piece; the fewest are two milliseconds of a line of 100 Mbit/s.
pub const PIECE: [usize; 2] = [1 << 13, 1 << 16];

/// How long a piece is to take: what else is said waits so long.
const PIECE_SECS: f64 = 2e-3;

/// Bytes a second from which on values go as they stand: to pack and unpack them takes a processor as long at each end.
const PLAIN_FROM: f64 = 40e6;

/// How soon a whole image must be there for its slices not to be sent before it: before the next one comes, and within these times.
const SOON_SECS: [f64; 2] = [0.05, 0.25];

/// Slices of one image that may be under way beside those of another: one is shown while the next comes.
const MAX_SLICES: usize = 2;

/// How many bytes of a whole image go for one of slices while both are to be sent: ten slices a second and an image in a second on a
/// line of 100 Mbit/s, of 256 × 256 × 47 voxels.
const WHOLE_TO_SLICES: usize = 2;

/// Images of the past that may be asked for at a time: more were asked for in passing.
const MAX_ASKED: usize = 4;

/// Values that are being sent.
struct Sending {
    image: ImageHead,
    of: PieceOf,
    values: Values,
    num_sent: usize,
}

/// Some, or those of an image that others look at too.
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

/// What is to be sent.
#[derive(Default)]
pub struct ImagesOut {
    look_at: [usize; 3],
    newest: Option<IterateUpdate>,
    /// When it came, and how long after the one before.
    came: Option<Instant>,
    every_secs: f64,
    /// The voxel whose slices of the newest were sent.
    slices_sent: Option<[usize; 3]>,
    slices: Option<Sending>,
    whole: Option<Sending>,
    /// Which image was sent last as a whole.
    whole_sent: Option<ImageHead>,
    asked: VecDeque<StoredIterate>,
    flow: Flow,
    /// Bytes of wholes that are to go before the next slices.
    owed: usize,
}

fn head(frame: &IterateUpdate) -> ImageHead {
    ImageHead { id: frame.id, unit: frame.volume.unit, extremes: frame.extremes }
}

impl ImagesOut {
    /// The newest image has come; the one before comes back.
    pub fn set_newest(&mut self, frame: IterateUpdate, now: Instant) -> Option<IterateUpdate> {
        self.every_secs = self.came.replace(now).map_or(0.0, |before| now.duration_since(before).as_secs_f64());
        // One of the run before is not gone on with.
        let goes_on = |sending: &Sending| sending.of == PieceOf::Past || sending.image.id.run == frame.id.run;
        self.slices = self.slices.take().filter(goes_on);
        self.whole = self.whole.take().filter(goes_on);
        self.slices_sent = None;
        self.newest.replace(frame)
    }

    /// The voxel whose slices are on the screen.
    pub fn look_at(&mut self, at: [usize; 3]) {
        self.look_at = at;
    }

    /// An image of the past was asked for.
    pub fn ask(&mut self, kept: StoredIterate) {
        self.asked.push_back(kept);
        if self.asked.len() > MAX_ASKED {
            self.asked.pop_front();
        }
    }

    /// So many pieces have arrived.
    ///
    /// # Errors
    /// More than were under way.
    pub fn arrived(&mut self, num_pieces: usize, now: Instant) -> Result<(), WireError> {
        for _ in 0..num_pieces {
            self.flow.arrived(now).ok_or_else(|| WireError::cannot_be("that more of the images has arrived than was sent"))?;
        }
        Ok(())
    }

    /// Another line has taken the place of the one before: nothing is under way, and what was is sent again.
    pub fn begin_line(&mut self) {
        let Self { look_at, newest, asked, .. } = std::mem::take(self);
        *self = Self { look_at, newest, asked, ..Self::default() };
    }

    /// The next message, if one may be sent now.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn next(&mut self, now: Instant) -> Result<Option<Vec<u8>>, WireError> {
        if !self.flow.has_room(now) {
            return Ok(None);
        }
        self.whole = self.whole.take().or_else(|| self.another_whole());
        if self.slices.is_none() && (self.owed == 0 || self.whole.is_none()) {
            self.slices = self.other_slices();
        }
        let (place, are_slices) = if self.slices.is_some() { (&mut self.slices, true) } else { (&mut self.whole, false) };
        let Some(sending) = place else { return Ok(None) };
        let (message, is_last) = sending.piece(self.flow.bytes_per_sec())?;
        if is_last {
            *place = None;
        }
        self.owed =
            if are_slices { self.owed + WHOLE_TO_SLICES * message.len() } else { self.owed.saturating_sub(message.len()) };
        self.flow.sent(now, message.len(), are_slices && is_last);
        Ok(Some(message))
    }

    /// The slices that are on the screen, if they are to be sent: not where the whole image was, or will be there as soon.
    fn other_slices(&mut self) -> Option<Sending> {
        let frame = self.newest.as_ref()?;
        let at = within(self.look_at, &frame.volume.grid);
        let soon_secs = self.every_secs.clamp(SOON_SECS[0], SOON_SECS[1]);
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

    /// The image that is to be sent next: one that was asked for, or the newest if it was not sent yet.
    fn another_whole(&mut self) -> Option<Sending> {
        if let Some(StoredIterate { id, volume, extremes }) = self.asked.pop_front() {
            let image = ImageHead { id, unit: volume.unit, extremes };
            return Some(Sending { image, of: PieceOf::Past, values: Values::Shared(volume), num_sent: 0 });
        }
        let frame = self.newest.as_ref().filter(|frame| self.whole_sent.is_none_or(|sent| !is_same(&sent, &head(frame))))?;
        let image = head(frame);
        self.whole_sent = Some(image);
        Some(Sending { image, of: PieceOf::Newest, values: Values::Shared(Arc::clone(&frame.volume)), num_sent: 0 })
    }
}

impl Sending {
    /// The next piece as a message for a line that carries so much, and whether it is the last.
    fn piece(&mut self, bytes_per_sec: f64) -> Result<(Vec<u8>, bool), WireError> {
        let values = &self.values.as_slice()[self.num_sent..];
        let num = ((PIECE_SECS * bytes_per_sec / 4.0) as usize).clamp(PIECE[0], PIECE[1]).min(values.len());
        let head = PieceHead { image: self.image, of: self.of, first: self.num_sent, num };
        let bytes = if bytes_per_sec < PLAIN_FROM { pack(&values[..num]) } else { plain(&values[..num]) };
        let message = encode(&ToWindow::Piece(head), &bytes)?;
        self.num_sent += num;
        Ok((message, num == values.len()))
    }
}

/// Whether two images are the same iterate.
fn is_same(a: &ImageHead, b: &ImageHead) -> bool {
    (a.id.run, a.id.subiteration) == (b.id.run, b.id.subiteration)
}
