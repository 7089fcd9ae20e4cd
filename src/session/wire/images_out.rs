//! Images on their way to the window: of the newest the slices on the screen at once, and the whole in parts once the one before
//! has arrived. What was not sent yet gives way to what is newer.
//!
//! Parts wait for one another: only so many bytes are under way that other messages wait some hundredths of a second behind them on
//! a line of 100 Mbit/s.

use std::collections::VecDeque;
use std::sync::Arc;

use super::WireError;
use super::framing::encode;
use super::image::{pack, slices, within};
use super::messages::{ImageHead, PartHead, SlicesHead, ToWindow};
use crate::data::Volume;
use crate::session::{Frame, Kept};

/// Bytes of parts that may be under way: those of a line of 100 Mbit/s in 20 ms.
const MAX_BYTES: usize = 256 << 10;

/// Messages of slices that may be under way: one that is shown while the next is.
const MAX_SLICES: usize = 2;

/// Values of a part.
pub const PART: usize = 1 << 15;

/// Images of the past that may be asked for at a time: more were asked for in passing.
const MAX_ASKED: usize = 4;

/// An image that is being sent.
struct Sending {
    image: ImageHead,
    is_past: bool,
    volume: Arc<Volume>,
    /// Values that were sent.
    num_sent: usize,
}

/// What is to be sent.
#[derive(Default)]
pub struct ImagesOut {
    look_at: [usize; 3],
    newest: Option<Frame>,
    /// The voxel whose slices of the newest were sent.
    slices_sent: Option<[usize; 3]>,
    slices_under_way: usize,
    bytes_under_way: usize,
    sending: Option<Sending>,
    /// Which image was sent last as a whole.
    whole_sent: Option<ImageHead>,
    asked: VecDeque<Kept>,
}

fn head(frame: &Frame) -> ImageHead {
    let Frame { run, iteration, subiteration, extremes, .. } = *frame;
    ImageHead { run, iteration, subiteration, unit: frame.volume.unit, extremes }
}

impl ImagesOut {
    /// The newest image has come; the one before comes back.
    pub fn set_newest(&mut self, frame: Frame) -> Option<Frame> {
        // One of the run before is not gone on with.
        self.sending = self.sending.take().filter(|sending| sending.is_past || sending.image.run == frame.run);
        self.slices_sent = None;
        self.newest.replace(frame)
    }

    /// The voxel whose slices are on the screen.
    pub fn look_at(&mut self, at: [usize; 3]) {
        self.look_at = at;
    }

    /// An image of the past was asked for.
    pub fn ask(&mut self, kept: Kept) {
        self.asked.push_back(kept);
        if self.asked.len() > MAX_ASKED {
            self.asked.pop_front();
        }
    }

    /// So much has arrived.
    ///
    /// # Errors
    /// More than was under way.
    pub fn arrived(&mut self, slices: usize, bytes: usize) -> Result<(), WireError> {
        let left = self.slices_under_way.checked_sub(slices).zip(self.bytes_under_way.checked_sub(bytes));
        (self.slices_under_way, self.bytes_under_way) =
            left.ok_or_else(|| WireError::cannot_be("that more of the images has arrived than was sent"))?;
        Ok(())
    }

    /// Another line has taken the place of the one before: nothing is under way, and what was is sent again.
    pub fn begin_line(&mut self) {
        (self.slices_sent, self.slices_under_way, self.bytes_under_way) = (None, 0, 0);
        (self.sending, self.whole_sent) = (None, None);
    }

    /// The next message, if one may be sent now.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        if let Some(frame) = &self.newest
            && self.slices_under_way < MAX_SLICES
        {
            let at = within(self.look_at, &frame.volume.grid);
            if self.slices_sent != Some(at) {
                (self.slices_sent, self.slices_under_way) = (Some(at), self.slices_under_way + 1);
                let message = ToWindow::Slices(SlicesHead { image: head(frame), at });
                return encode(&message, &pack(&slices(&frame.volume, at))).map(Some);
            }
        }
        if self.bytes_under_way >= MAX_BYTES {
            return Ok(None);
        }
        self.part()
    }

    /// The next part of the image that is being sent, or the first of another.
    fn part(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        let Some(sending) = self.sending.take().or_else(|| self.another()) else { return Ok(None) };
        let Sending { image, is_past, volume, num_sent: first } = sending;
        let values = &volume.as_slice()[first..];
        let num = values.len().min(PART);
        let bytes = pack(&values[..num]);
        self.bytes_under_way += bytes.len();
        let message = encode(&ToWindow::Part(PartHead { image, is_past, first, num }), &bytes)?;
        if num < values.len() {
            self.sending = Some(Sending { image, is_past, volume, num_sent: first + num });
        }
        Ok(Some(message))
    }

    /// The image that is to be sent next: one that was asked for, or the newest if it was not sent yet.
    fn another(&mut self) -> Option<Sending> {
        if let Some(Kept { run, iteration, subiteration, volume, extremes }) = self.asked.pop_front() {
            let image = ImageHead { run, iteration, subiteration, unit: volume.unit, extremes };
            return Some(Sending { image, is_past: true, volume, num_sent: 0 });
        }
        let frame = self.newest.as_ref().filter(|frame| self.whole_sent.is_none_or(|sent| !is_same(&sent, &head(frame))))?;
        let image = head(frame);
        self.whole_sent = Some(image);
        Some(Sending { image, is_past: false, volume: Arc::clone(&frame.volume), num_sent: 0 })
    }
}

/// Whether two images are the same iterate.
fn is_same(a: &ImageHead, b: &ImageHead) -> bool {
    (a.run, a.subiteration) == (b.run, b.subiteration)
}
