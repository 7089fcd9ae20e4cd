//! A list that is still being written: its new whole events, each time it is asked.
//!
//! Files that get shorter or vanish are told as notices, once, and waited for; nothing that was read before is taken back. A file that
//! comes back with the same bytes goes on where it was; one with others, and one that holds what cannot be, ends the following.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use super::reader::EventReader;
use crate::data::{EventChunk, ListMetadata, Notice, frame_words};
use crate::io::error::IoError;

/// Bytes by which a file is known again, at its beginning and at the place up to which it was read.
const WITNESS_BYTES: u64 = 4096;

/// Follows the file of a list.
pub struct ListFollower {
    reader: Box<dyn EventReader>,
    path: PathBuf,
    /// Places and bytes: they tell whether the file is still the same.
    witnesses: Vec<(u64, Vec<u8>)>,
    /// What was wrong when last looked at, to say it once.
    trouble: Option<Trouble>,
    has_ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Unreadable,
    Shorter,
}

/// What a look at a file gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListUpdate {
    /// Whether there were new events: then there may be more.
    pub has_events: bool,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

impl ListFollower {
    /// Follows what a reader reads, from where it is.
    pub fn new(mut reader: Box<dyn EventReader>) -> Self {
        let path = reader.stream().path().to_owned();
        Self { reader, path, witnesses: Vec::new(), trouble: None, has_ended: false }
    }

    /// What is known beside the events.
    pub fn facts(&self) -> &Arc<ListMetadata> {
        self.reader.facts()
    }

    /// Whether nothing more will come: the file tells its end, or became another.
    pub fn is_finished(&self) -> bool {
        self.has_ended || self.reader.is_complete()
    }

    /// Looks at the file again: the next events, if there are any, take the place of those that the chunk has.
    pub fn poll(&mut self, chunk: &mut EventChunk) -> ListUpdate {
        let mut update = ListUpdate::default();
        chunk.clear();
        if self.is_finished() {
            return update;
        }
        match self.is_the_same() {
            Ok(true) => {}
            Ok(false) => {
                self.has_ended = true;
                let text = "was replaced by another file; the events read so far are used: open it again to read the new one";
                update.notices.push(Notice::warning(format!("{} {text}", self.path.display())));
                return update;
            }
            Err(Unknown::Shorter { len, read }) => {
                let text = format!(
                    "{} has become shorter: {len} bytes, where {read} were read; their events are used, and more are added when it has \
                     grown again",
                    self.path.display()
                );
                self.tell(&mut update, Trouble::Shorter, text);
                return update;
            }
            Err(Unknown::Unreadable(error)) => {
                self.tell(&mut update, Trouble::Unreadable, format!("{error}; waiting for it"));
                return update;
            }
        }
        if self.trouble.take().is_some() {
            if let Err(error) = self.reader.stream().reopen() {
                self.tell(&mut update, Trouble::Unreadable, format!("{error}; waiting for it"));
                return update;
            }
            update.notices.push(Notice::info(format!("{} is available again, unchanged", self.path.display())));
        }
        match self.reader.next(chunk) {
            Ok(has_events) => update.has_events = has_events,
            // What stood before it in the same piece was not handed over.
            Err(error) => {
                self.has_ended = true;
                chunk.clear();
                update.notices.push(Notice::warning(format!("{error}. The events before it are used; following ends here")));
            }
        }
        if let Err(error) = self.keep_witnesses() {
            self.tell(&mut update, Trouble::Unreadable, format!("{error}; waiting for it"));
        }
        if self.is_finished() {
            update.notices.extend(self.last_words());
        }
        update
    }

    /// What there is to know about the list when no more of it will be read.
    pub fn last_words(&mut self) -> Vec<Notice> {
        let mut notices = self.reader.notices();
        if let Some([begin, end]) = self.reader.open_block_ms() {
            let block = frame_words(&(begin..end));
            let text = format!(
                "{}: the last time block, {block}, is incomplete, but counts with its whole duration",
                self.path.display()
            );
            notices.push(Notice::warning(text));
        }
        notices
    }

    /// Whether the file begins and goes on with the bytes that were read.
    fn is_the_same(&mut self) -> Result<bool, Unknown> {
        let read = self.reader.stream().place();
        let mut file = File::open(&self.path).map_err(IoError::open(&self.path))?;
        let len = file.metadata().map_err(IoError::open(&self.path))?.len();
        if len < read {
            return Err(Unknown::Shorter { len, read });
        }
        for (place, bytes) in &self.witnesses {
            if bytes_at(&mut file, *place, bytes.len() as u64).map_err(IoError::read(&self.path))? != *bytes {
                return Ok(false);
            }
        }
        // Another file with the same bytes: the one that was opened grows no more.
        let stream = self.reader.stream();
        if stream.len()? < len {
            stream.reopen()?;
        }
        Ok(true)
    }

    fn keep_witnesses(&mut self) -> Result<(), IoError> {
        let read = self.reader.stream().place();
        let is_known =
            |witnesses: &[(u64, Vec<u8>)]| witnesses.last().is_some_and(|(place, bytes)| place + bytes.len() as u64 == read);
        if is_known(&self.witnesses) {
            return Ok(());
        }
        let mut file = File::open(&self.path).map_err(IoError::open(&self.path))?;
        let mut witness = |from: u64, to: u64| {
            bytes_at(&mut file, from, to - from).map(|bytes| (from, bytes)).map_err(IoError::read(&self.path))
        };
        self.witnesses = vec![witness(0, read.min(WITNESS_BYTES))?, witness(read.saturating_sub(WITNESS_BYTES), read)?];
        Ok(())
    }

    fn tell(&mut self, update: &mut ListUpdate, trouble: Trouble, text: String) {
        if self.trouble.replace(trouble) != Some(trouble) {
            update.notices.push(Notice::warning(text));
        }
    }
}

/// Why it is not known whether a file is still the same.
enum Unknown {
    Shorter { len: u64, read: u64 },
    Unreadable(IoError),
}

impl From<IoError> for Unknown {
    fn from(error: IoError) -> Self {
        Unknown::Unreadable(error)
    }
}

/// Bytes of a file, fewer where it ends.
fn bytes_at(file: &mut File, place: u64, num: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(place))?;
    file.take(num).read_to_end(&mut bytes)?;
    Ok(bytes)
}
