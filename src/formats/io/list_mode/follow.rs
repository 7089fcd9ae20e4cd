//! List-mode data that is still being written: each poll returns its new whole events.
//!
//! A file that gets shorter or disappears is reported once and awaited; all events read before remain. If the file returns with
//! the same bytes, following continues. If it returns with others, or has invalid content, following ends.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use super::reader::EventReader;
use crate::data::{EventChunk, ListMetadata, Notice, frame_text};
use crate::io::bytes::regular_file_len;
use crate::io::error::IoError;
use crate::io::notice;

/// Bytes by which a file is known again, at its beginning and at the place up to which it was read.
const WITNESS_BYTES: u64 = 4096;

/// Follows the file of a list.
pub struct ListFollower {
    reader: Box<dyn EventReader>,
    path: PathBuf,
    /// Positions and bytes that identify the file.
    witnesses: Vec<(u64, Vec<u8>)>,
    /// The current trouble, which is reported once.
    trouble: Option<Trouble>,
    has_ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Unreadable,
    Shorter,
}

/// Result of a poll.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListUpdate {
    /// True if there were new events: then more may follow.
    pub has_events: bool,
    /// Notices for the user.
    pub notices: Vec<Notice>,
}

impl ListFollower {
    /// Follows the file of a reader from its current position.
    pub fn new(mut reader: Box<dyn EventReader>) -> Self {
        let path = reader.stream().path().to_owned();
        Self { reader, path, witnesses: Vec::new(), trouble: None, has_ended: false }
    }

    /// Returns the facts other than the events.
    pub fn facts(&self) -> &Arc<ListMetadata> {
        self.reader.facts()
    }

    /// Returns true if no events will follow: the file has its end, or was replaced.
    pub fn is_finished(&self) -> bool {
        self.has_ended || self.reader.is_complete()
    }

    /// Looks at the file again: the next events, if there are any, take the place of those that the chunk has.
    pub fn poll(&mut self, chunk: &mut EventChunk) -> ListUpdate {
        let mut update = ListUpdate::default();
        chunk.clear();
        if !self.is_finished()
            && let Err(error) = self.look(chunk, &mut update)
        {
            self.report(&mut update, Trouble::Unreadable, format!("{error}; waiting for it"));
        }
        update
    }

    fn look(&mut self, chunk: &mut EventChunk, update: &mut ListUpdate) -> Result<(), IoError> {
        let path = self.path.display().to_string();
        let (len, read) = (regular_file_len(&self.path)?, self.reader.stream().position());
        if len < read {
            let text = format!(
                "{path} has become shorter: {len} bytes, where {read} were read; their events are used, and more are added when it has \
                 grown again"
            );
            self.report(update, Trouble::Shorter, text);
            return Ok(());
        }
        if !self.is_unchanged(len)? {
            let text = "was replaced by another file; the events read so far are used: open it again to read the new one";
            update.notices.push(Notice::warning(format!("{path} {text}")));
            self.has_ended = true;
            return Ok(());
        }
        if self.trouble.take().is_some() {
            self.reader.stream().reopen()?;
            update.notices.push(Notice::info(format!("{path} is available again, unchanged")));
        }
        match self.reader.next(chunk) {
            Ok(has_events) => update.has_events = has_events,
            // The events before it in the same piece were not passed on.
            Err(error) => {
                self.has_ended = true;
                chunk.clear();
                update.notices.push(Notice::warning(format!("{error}. The events before it are used; following ends here")));
            }
        }
        let updated = self.update_witnesses();
        if self.is_finished() {
            update.notices.extend(self.final_notices());
        }
        updated
    }

    /// Returns the last notices on the file, after which nothing more is read.
    pub fn final_notices(&mut self) -> Vec<Notice> {
        let mut notices = self.reader.notices();
        if let Some([begin, end]) = self.reader.open_block_ms() {
            let block = frame_text(&(begin..end));
            let text = format!("the last time block, {block}, is incomplete, but counts with its whole duration");
            notices.push(notice::warning(&self.path, text));
        }
        notices
    }

    /// Returns true if the file still has the bytes that were read.
    fn is_unchanged(&mut self, len: u64) -> Result<bool, IoError> {
        let mut file = File::open(&self.path).map_err(IoError::open(&self.path))?;
        for (position, bytes) in &self.witnesses {
            if bytes_at(&mut file, *position, bytes.len() as u64).map_err(IoError::read(&self.path))? != *bytes {
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

    fn update_witnesses(&mut self) -> Result<(), IoError> {
        let read = self.reader.stream().position();
        if self.witnesses.last().is_some_and(|(position, bytes)| position + bytes.len() as u64 == read) {
            return Ok(());
        }
        let mut file = File::open(&self.path).map_err(IoError::open(&self.path))?;
        let mut witness = |from: u64, to: u64| {
            bytes_at(&mut file, from, to - from).map(|bytes| (from, bytes)).map_err(IoError::read(&self.path))
        };
        self.witnesses = vec![witness(0, read.min(WITNESS_BYTES))?, witness(read.saturating_sub(WITNESS_BYTES), read)?];
        Ok(())
    }

    fn report(&mut self, update: &mut ListUpdate, trouble: Trouble, text: String) {
        if self.trouble.replace(trouble) != Some(trouble) {
            update.notices.push(Notice::warning(text));
        }
    }
}

/// Reads bytes of a file, fewer where it ends.
fn bytes_at(file: &mut File, position: u64, num: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(position))?;
    file.take(num).read_to_end(&mut bytes)?;
    Ok(bytes)
}
