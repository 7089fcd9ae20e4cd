//! Reading list-mode data: the trait of its readers, and a file piece by piece.

use std::sync::Arc;

use super::bytes::ByteStream;
use crate::data::{EventChunk, ListMetadata, Notice};
use crate::io::error::IoError;
use crate::task::{Stopped, Task};

/// Events that a piece has about.
pub const EVENTS_AT_ONCE: usize = 1 << 16;

/// Reader of list-mode data from its beginning.
pub trait EventReader: Send {
    /// Returns the facts other than the events.
    fn facts(&self) -> &Arc<ListMetadata>;

    /// Replaces the events of the chunk by the next ones, about [`EVENTS_AT_ONCE`], or by the next time blocks; `false` if the
    /// file has no further whole event now. (If the file is still being written, a later call may return one.)
    ///
    /// # Errors
    /// The file does not read or has invalid content: position and problem.
    fn next(&mut self, chunk: &mut EventChunk) -> Result<bool, IoError>;

    /// Refuses a file that ends inside an event, or has another number of events than its header. For the end of a file that is
    /// complete.
    ///
    /// # Errors
    /// Position and problem.
    fn check_end(&self) -> Result<(), IoError>;

    /// Returns true if nothing follows, according to the file, although it may be growing.
    fn is_complete(&self) -> bool {
        false
    }

    /// Returns the time block inside which reading has stopped, ms.
    fn open_block_ms(&self) -> Option<[u32; 2]> {
        None
    }

    /// Returns the file of the events, at the position up to which they were read.
    fn stream(&mut self) -> &mut ByteStream;

    /// Returns the notices on the file, from its header and from the events so far, each once.
    fn notices(&mut self) -> Vec<Notice>;
}

/// Passes list-mode data to `visit`, piece by piece, up to the end; `task` gets the progress.
///
/// # Errors
/// The file does not read, has invalid content or is truncated; stopped; those of `visit`.
pub fn for_each_piece<E: From<IoError> + From<Stopped>>(
    reader: &mut dyn EventReader,
    task: &Task,
    mut visit: impl FnMut(&mut EventChunk) -> Result<(), E>,
) -> Result<(), E> {
    let mut chunk = EventChunk::default();
    let mut read = 0;
    task.begin(reader.stream().len()?);
    while reader.next(&mut chunk)? {
        task.check()?;
        visit(&mut chunk)?;
        let position = reader.stream().position();
        task.advance(position - read);
        read = position;
    }
    Ok(reader.check_end()?)
}
