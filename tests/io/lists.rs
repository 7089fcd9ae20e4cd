//! What tests of lists of events share: small scanners, and reading a list to its end.

use std::fs;
use std::path::{Path, PathBuf};

use tomoscope::data::{EventChunk, Events, ListMetadata, Notice};
use tomoscope::io::list_mode::{EventReader, ListFollower, ListOptions};
use tomoscope::io::{IoError, list_mode, open_list_mode};

use super::folder;

pub(super) use tomoscope_support::square::{SQUARE, Word, bytes_of_words, put_castor, put_square, square_lut};

/// A list that was read.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) facts: std::sync::Arc<ListMetadata>,
    pub(super) prompts: Events,
    pub(super) delayeds: Events,
    pub(super) notices: Vec<Notice>,
}

/// Bytes that were read of a file, and bytes that it has.
pub(super) fn progress(reader: &mut dyn EventReader) -> [u64; 2] {
    [reader.stream().position(), reader.stream().len().unwrap()]
}

/// Reads to the end, which must be one.
pub(super) fn drain(mut reader: Box<dyn EventReader>) -> Result<Whole, IoError> {
    let (mut chunk, mut prompts, mut delayeds) = (EventChunk::default(), Events::default(), Events::default());
    while reader.next(&mut chunk)? {
        prompts.extend(&chunk.prompts);
        delayeds.extend(&chunk.delayeds);
        assert!(chunk.prompts.len() <= list_mode::EVENTS_AT_ONCE, "{}", chunk.prompts.len());
    }
    reader.check_end()?;
    let [read, size] = progress(&mut *reader);
    assert_eq!(read, size);
    let notices = reader.notices();
    assert!(reader.notices().is_empty(), "each is told once");
    Ok(Whole { facts: reader.facts().clone(), prompts, delayeds, notices })
}

/// Reads a whole list.
pub(super) fn read_list(path: &Path, options: &ListOptions) -> Result<Whole, IoError> {
    drain(open_list_mode(path, options)?)
}

/// A list of the square scanner that is being written, and what follows it.
struct DeviceResult {
    folder: tempfile::TempDir,
    events: Vec<u8>,
    follower: ListFollower,
    chunk: EventChunk,
}

/// Bytes of an event of [`DeviceResult`].
const EVENT_BYTES: usize = 12;

impl DeviceResult {
    fn new(num_written: usize) -> Self {
        let folder = folder();
        let words = (0..3000u32).flat_map(|event| [event, event % 3, 3]).collect::<Vec<_>>();
        let events: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        fs::write(folder.path().join("a.lmDat"), &events[..num_written]).unwrap();
        let lut = folder.path().join("square.lut");
        fs::write(&lut, square_lut()).unwrap();
        let options = ListOptions { scanner: Some(lut), ..ListOptions::default() };
        let follower = ListFollower::new(open_list_mode(&folder.path().join("a.lmDat"), &options).unwrap());
        Self { folder, events, follower, chunk: EventChunk::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("a.lmDat")
    }

    /// Numbers of the new events, and what is told.
    fn poll(&mut self) -> (Vec<u32>, Vec<String>) {
        let update = self.follower.poll(&mut self.chunk);
        assert_eq!(update.has_events, !self.chunk.prompts.is_empty());
        (self.chunk.prompts.times_ms.clone(), update.notices.into_iter().map(|notice| notice.text).collect())
    }

    fn assert_gives(&mut self, events: std::ops::Range<u32>) {
        assert_eq!(self.poll(), (events.collect(), Vec::new()));
    }

    fn assert_tells(&mut self, words: &str) {
        let (events, told) = self.poll();
        assert!(events.is_empty() && told.len() == 1 && told[0].contains(words), "{told:?}");
        assert_eq!(self.poll(), (Vec::new(), Vec::new()), "it is told once");
    }
}

#[test]
fn a_list_is_followed_through_what_can_happen_to_its_file() {
    // A thousand events and half of another.
    let mut list = DeviceResult::new(1000 * EVENT_BYTES + 5);
    list.assert_gives(0..1000);
    list.assert_gives(1000..1000);
    fs::write(list.path(), &list.events[..1500 * EVENT_BYTES]).unwrap();
    list.assert_gives(1000..1500);
    // It gets shorter, and goes on where it was when it has grown again.
    fs::write(list.path(), &list.events[..700 * EVENT_BYTES]).unwrap();
    list.assert_tells("has become shorter: 8400 bytes, where 18000 were read");
    fs::write(list.path(), &list.events[..1600 * EVENT_BYTES]).unwrap();
    let (events, told) = list.poll();
    assert!(
        events == (1500..1600).collect::<Vec<_>>() && told.len() == 1 && told[0].contains("available again, unchanged"),
        "{told:?}"
    );
    // It vanishes, and comes back as another file of the same bytes, longer.
    fs::remove_file(list.path()).unwrap();
    list.assert_tells("waiting for it");
    fs::write(list.path(), &list.events[..1700 * EVENT_BYTES + 3]).unwrap();
    assert_eq!(list.poll().0, (1600..1700).collect::<Vec<_>>());
    // Renamed onto it, so that nobody saw it vanish.
    let longer = list.folder.path().join("b.lmDat");
    fs::write(&longer, &list.events[..1800 * EVENT_BYTES]).unwrap();
    fs::rename(&longer, list.path()).unwrap();
    list.assert_gives(1700..1800);
    assert!(!list.follower.is_finished());
    // Another list in its place.
    let mut other = list.events.clone();
    other[20] = 1;
    fs::write(list.path(), &other).unwrap();
    list.assert_tells("was replaced by another file");
    assert!(list.follower.is_finished());
}

#[test]
fn a_followed_list_ends_where_it_cannot_be() {
    let mut list = DeviceResult::new(500 * EVENT_BYTES);
    list.assert_gives(0..500);
    // A crystal that the scanner has not.
    list.events[600 * EVENT_BYTES + 4] = 200;
    fs::write(list.path(), &list.events[..900 * EVENT_BYTES]).unwrap();
    list.assert_tells("byte 7200");
    assert!(list.follower.is_finished());
}
