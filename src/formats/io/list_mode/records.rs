//! Events of one size, one after the other.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::bytes::ByteStream;
use super::reader::{EVENTS_AT_ONCE, EventReader};
use crate::data::{EventChunk, ListMetadata, Notice, tof_mm};
use crate::io::error::{IoError, Refusal};
use crate::io::list_mode::problem::EventProblem;
use crate::io::notice;

/// Largest number of bytes that are decoded together, unless one event takes more.
const MAX_AT_ONCE: usize = 4 << 20;

/// Decodes events from records of one size.
pub(super) trait RecordDecoder: Send {
    /// Adds the event of a record, or registers its other content.
    ///
    /// # Errors
    /// The problem of the record.
    fn decode(&mut self, record: &[u8], chunk: &mut EventChunk) -> Result<(), Refusal>;

    /// Returns the notices on the records so far of a file, each once.
    fn notices(&mut self, data: &Path) -> Vec<Notice>;
}

/// Reader of list-mode data in records of one size.
pub(super) struct RecordReader<D> {
    pub facts: Arc<ListMetadata>,
    pub decoder: D,
    pub records: Records,
    /// Events of the header.
    pub num_expected: Option<u64>,
    /// Notices on the header.
    pub notices: Vec<Notice>,
}

impl<D: RecordDecoder> EventReader for RecordReader<D> {
    fn facts(&self) -> &Arc<ListMetadata> {
        &self.facts
    }

    fn next(&mut self, chunk: &mut EventChunk) -> Result<bool, IoError> {
        chunk.clear();
        Ok(self.records.next_block(|record| self.decoder.decode(record, chunk))? > 0)
    }

    fn check_end(&self) -> Result<(), IoError> {
        self.records.check_num(self.num_expected)
    }

    fn is_complete(&self) -> bool {
        self.num_expected.is_some_and(|num| self.records.stream.position() / self.records.size as u64 >= num)
    }

    fn stream(&mut self) -> &mut ByteStream {
        &mut self.records.stream
    }

    fn notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(self.decoder.notices(self.records.stream.path()));
        notices
    }
}

/// File of events of one size.
#[derive(Debug)]
pub(super) struct Records {
    /// The file, at the position up to which it was read.
    pub(super) stream: ByteStream,
    size: usize,
}

impl Records {
    /// Opens a file whose events take `size` bytes each.
    ///
    /// # Errors
    /// The file does not open.
    pub(super) fn open(path: &Path, size: usize) -> Result<Self, IoError> {
        Ok(Self { stream: ByteStream::open(path)?, size })
    }

    /// Passes the next whole events, about [`EVENTS_AT_ONCE`], to `take` and returns their number; 0 at the end of the file.
    ///
    /// # Errors
    /// The file does not read; `take` refuses an event. Then none counts as read.
    pub(super) fn next_block(&mut self, take: impl FnMut(&[u8]) -> Result<(), Refusal>) -> Result<usize, IoError> {
        self.next_of(EVENTS_AT_ONCE.min(MAX_AT_ONCE / self.size).max(1), take)
    }

    /// Does the same for at most `max` events.
    ///
    /// # Errors
    /// As [`Records::next_block`].
    pub(super) fn next_of(&mut self, max: usize, mut take: impl FnMut(&[u8]) -> Result<(), Refusal>) -> Result<usize, IoError> {
        let position = self.stream.position();
        let bytes = self.stream.peek(max * self.size)?;
        let num = (bytes.len() / self.size).min(max);
        let mut records = bytes.chunks_exact(self.size).take(num).enumerate();
        match records.find_map(|(index, record)| Some((index, take(record).err()?))) {
            Some((index, problem)) => Err(self.stream.refuse(position + (index * self.size) as u64, problem)),
            None => {
                self.stream.advance(num * self.size);
                Ok(num)
            }
        }
    }

    /// Returns a part of the last whole event that the file has now, if it has any.
    ///
    /// # Errors
    /// The file does not read.
    pub(super) fn last<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, IoError> {
        let num = self.stream.len()? / self.size as u64;
        let Some(index) = num.checked_sub(1) else { return Ok(None) };
        let path = self.stream.path();
        let mut record = vec![0; self.size];
        let mut file = File::open(path).map_err(IoError::open(path))?;
        file.seek(SeekFrom::Start(index * self.size as u64)).map_err(IoError::read(path))?;
        file.read_exact(&mut record).map_err(IoError::read(path))?;
        Ok(Some(take(&record)))
    }

    /// Refuses a file that ends inside an event, or has another number of events than its header.
    ///
    /// # Errors
    /// [`EventProblem::CutEvent`], [`EventProblem::NumEvents`].
    pub(super) fn check_num(&self, expected: Option<u64>) -> Result<(), IoError> {
        let (len, size) = (self.stream.len()?, self.size as u64);
        let (num, rest) = (len / size, len % size);
        if rest != 0 {
            return Err(self.stream.refuse(len - rest, EventProblem::CutEvent { found: rest, size }));
        }
        match expected.filter(|&expected| expected != num) {
            Some(expected) => Err(self.stream.refuse(len, EventProblem::NumEvents { found: num, size, expected })),
            None => Ok(()),
        }
    }
}

/// Returns the four bytes at an offset, which the record must have.
fn four(record: &[u8], at: usize) -> [u8; 4] {
    record[at..].first_chunk().copied().unwrap_or_default()
}

/// Returns the 16-bit whole number at an offset.
pub(super) fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(record[at..].first_chunk().copied().unwrap_or_default())
}

/// Returns the 32-bit whole number at an offset.
pub(super) fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(four(record, at))
}

/// Returns the 32-bit float at an offset.
pub(super) fn f32_at(record: &[u8], at: usize) -> f32 {
    f32::from_le_bytes(four(record, at))
}

/// Returns the number of a time-of-flight difference, ps, as a position d, mm.
///
/// # Errors
/// It is not finite.
pub(super) fn tof_mm_at(record: &[u8], at: usize) -> Result<f64, Refusal> {
    let difference_ps = f32_at(record, at);
    if difference_ps.is_finite() {
        Ok(tof_mm(difference_ps.into()))
    } else {
        Err(EventProblem::TimeOfFlight(difference_ps).into())
    }
}

/// Returns a rate of background, counts per second.
///
/// # Errors
/// It is negative or not finite.
pub(super) fn rate_at(record: &[u8], at: usize, name: &'static str) -> Result<f64, Refusal> {
    let rate = f32_at(record, at);
    if rate >= 0.0 && rate.is_finite() { Ok(rate.into()) } else { Err(EventProblem::Rate(name, rate).into()) }
}

/// Returns the notice on events whose time of flight lies outside its range.
pub(super) fn outside_range(data: &Path, num: &mut u64, range: &str) -> Vec<Notice> {
    let num = std::mem::take(num);
    (num > 0).then(|| notice::warning(data, format!("the time of flight of {num} events {range}"))).into_iter().collect()
}

/// Returns a computed number as a 32-bit float.
///
/// # Errors
/// It is too large.
pub(super) fn finite(value: f64, name: &'static str) -> Result<f32, Refusal> {
    let rounded = value as f32;
    if rounded.is_finite() { Ok(rounded) } else { Err(EventProblem::OutOfRange(name, value).into()) }
}

/// Returns the numbers of two crystals at an offset.
///
/// # Errors
/// One that the scanner does not have, or one crystal twice.
pub(super) fn pair_at(record: &[u8], at: usize, num_crystals: usize) -> Result<[u32; 2], Refusal> {
    let pair = [u32_at(record, at), u32_at(record, at + 4)];
    if let Some(found) = pair.into_iter().find(|&crystal| crystal as usize >= num_crystals) {
        return Err(EventProblem::UnknownCrystal(found, num_crystals).into());
    }
    if pair[0] == pair[1] {
        return Err(EventProblem::SameCrystal(pair[0]).into());
    }
    Ok(pair)
}
