//! Events that all take the same number of bytes, one after the other.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bytes::ByteStream;
use super::reader::{EVENTS_AT_ONCE, EventReader};
use crate::data::{EventChunk, ListMetadata, Notice};
use crate::io::error::{EventProblem, IoError};

/// Bytes that are looked at together at most, where an event does not take more.
const MOST_AT_ONCE: usize = 4 << 20;

/// Takes events out of records of one size.
pub(super) trait RecordDecoder: Send {
    /// Adds the event of a record, or takes note of what it is instead.
    ///
    /// # Errors
    /// The problem of the record.
    fn decode(&mut self, record: &[u8], chunk: &mut EventChunk) -> Result<(), EventProblem>;

    /// What the user should know about the records so far of a file: each once.
    fn notices(&mut self, data: &Path) -> Vec<Notice>;
}

/// A list of events that are records of one size.
pub(super) struct RecordReader<D> {
    pub facts: Arc<ListMetadata>,
    pub decoder: D,
    pub records: Records,
    /// Events of the header.
    pub num_expected: Option<u64>,
    /// What the user should know about the header.
    pub notices: Vec<Notice>,
}

impl<D: RecordDecoder> EventReader for RecordReader<D> {
    fn facts(&self) -> &Arc<ListMetadata> {
        &self.facts
    }

    fn next(&mut self, chunk: &mut EventChunk) -> Result<bool, IoError> {
        chunk.clear();
        let (block, decoder) = (self.records.peek()?, &mut self.decoder);
        block.try_for_each(|record| decoder.decode(record, chunk))?;
        let num = block.len();
        self.records.advance(num);
        Ok(num > 0)
    }

    fn check_end(&self) -> Result<(), IoError> {
        self.records.check_num(self.num_expected).map(|_| ())
    }

    fn is_complete(&self) -> bool {
        self.num_expected.is_some_and(|num| self.records.num_read() >= num)
    }

    fn stream(&mut self) -> &mut ByteStream {
        self.records.stream()
    }

    fn notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(self.decoder.notices(&self.records.path));
        notices
    }
}

/// A file of events of one size.
#[derive(Debug)]
pub(super) struct Records {
    stream: ByteStream,
    path: PathBuf,
    size: usize,
}

/// Some whole events of a file.
pub(super) struct Block<'a> {
    path: &'a Path,
    place: u64,
    bytes: &'a [u8],
    size: usize,
}

impl Records {
    /// Opens a file whose events take `size` bytes each.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn open(path: &Path, size: usize) -> Result<Self, IoError> {
        Ok(Self { stream: ByteStream::open(path)?, path: path.to_owned(), size })
    }

    /// The whole events that the file has next, some [`EVENTS_AT_ONCE`]; none where there are none now. They stay until
    /// [`Records::advance`].
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn peek(&mut self) -> Result<Block<'_>, IoError> {
        let num = EVENTS_AT_ONCE.min(MOST_AT_ONCE / self.size).max(1);
        let (place, most) = (self.stream.place(), num * self.size);
        let bytes = self.stream.peek(most)?;
        let whole = bytes.len().min(most) / self.size * self.size;
        Ok(Block { path: &self.path, place, bytes: &bytes[..whole], size: self.size })
    }

    /// Goes on by so many events of those that were peeked.
    pub(super) fn advance(&mut self, num: usize) {
        self.stream.advance(num * self.size);
    }

    /// The last whole event that the file has now, if it has any.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn last<T>(&self, take: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, IoError> {
        let num = self.stream.len()? / self.size as u64;
        let Some(index) = num.checked_sub(1) else { return Ok(None) };
        let mut record = vec![0; self.size];
        let mut file = File::open(&self.path).map_err(IoError::open(&self.path))?;
        file.seek(SeekFrom::Start(index * self.size as u64)).map_err(IoError::read(&self.path))?;
        file.read_exact(&mut record).map_err(IoError::read(&self.path))?;
        Ok(Some(take(&record)))
    }

    /// The file, at the place up to which it was read.
    pub(super) fn stream(&mut self) -> &mut ByteStream {
        &mut self.stream
    }

    /// Events that were read.
    pub(super) fn num_read(&self) -> u64 {
        self.stream.place() / self.size as u64
    }

    /// Events that the file has: a file of whole ones, and as many as its header tells, where it does.
    ///
    /// # Errors
    /// It ends inside one, or has another number.
    pub(super) fn check_num(&self, expected: Option<u64>) -> Result<u64, IoError> {
        let (len, size) = (self.stream.len()?, self.size as u64);
        let (num, rest) = (len / size, len % size);
        if rest != 0 {
            return Err(self.stream.refuse(len - rest, EventProblem::CutEvent { found: rest, size }));
        }
        match expected.filter(|&expected| expected != num) {
            Some(expected) => Err(self.stream.refuse(len, EventProblem::NumEvents { found: num, size, expected })),
            None => Ok(num),
        }
    }
}

impl<'a> Block<'a> {
    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    /// The events in order, until one is refused: by what is wrong with it.
    ///
    /// # Errors
    /// What was wrong, and where.
    pub(super) fn try_for_each(&self, mut take: impl FnMut(&'a [u8]) -> Result<(), EventProblem>) -> Result<(), IoError> {
        let mut records = self.bytes.chunks_exact(self.size).enumerate();
        records.try_for_each(|(index, record)| take(record).map_err(|problem| self.refuse(index, problem)))
    }

    /// One of the events, unless it is refused.
    ///
    /// # Errors
    /// What was wrong, and where.
    pub(super) fn nth(&self, index: usize, take: impl FnOnce(&'a [u8]) -> Result<(), EventProblem>) -> Result<(), IoError> {
        let record = &self.bytes[index * self.size..(index + 1) * self.size];
        take(record).map_err(|problem| self.refuse(index, problem))
    }

    fn refuse(&self, index: usize, problem: EventProblem) -> IoError {
        IoError::Events { path: self.path.to_owned(), place: self.place + (index * self.size) as u64, problem }
    }
}

/// The four bytes at a place. (The record must have them.)
fn four(record: &[u8], at: usize) -> [u8; 4] {
    record[at..].first_chunk().copied().unwrap_or_default()
}

/// The whole number of two bytes at a place.
pub(super) fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(record[at..].first_chunk().copied().unwrap_or_default())
}

/// The whole number at a place.
pub(super) fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(four(record, at))
}

/// The number at a place.
pub(super) fn f32_at(record: &[u8], at: usize) -> f32 {
    f32::from_le_bytes(four(record, at))
}

/// A number that comes of those of a record, as 32 bits have it.
///
/// # Errors
/// It is too large for them.
pub(super) fn finite(value: f64, name: &'static str) -> Result<f32, EventProblem> {
    let rounded = value as f32;
    if rounded.is_finite() { Ok(rounded) } else { Err(EventProblem::OutOfRange { name, value }) }
}

/// The numbers of two crystals at a place.
///
/// # Errors
/// One that the scanner does not have, or one crystal twice.
pub(super) fn pair_at(record: &[u8], at: usize, num_crystals: usize) -> Result<[u32; 2], EventProblem> {
    let pair = [u32_at(record, at), u32_at(record, at + 4)];
    if let Some(found) = pair.into_iter().find(|&crystal| crystal as usize >= num_crystals) {
        return Err(EventProblem::UnknownCrystal { found, num_crystals });
    }
    if pair[0] == pair[1] {
        return Err(EventProblem::SameCrystal(pair[0]));
    }
    Ok(pair)
}
