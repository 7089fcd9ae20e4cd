//! Reading list-mode data: the trait of its readers, and a file piece by piece.

use std::sync::Arc;

use super::bytes::ByteStream;
use crate::data::{EventChunk, ListMetadata, Notice};
use crate::io::error::IoError;
use crate::task::{Stopped, Task};

/// Events that a piece has about.
pub const EVENTS_AT_ONCE: usize = 1 << 16;

/// Reads a list of events from its beginning on.
pub trait EventReader: Send {
    /// What is known beside the events.
    fn facts(&self) -> &Arc<ListMetadata>;

    /// Puts the next events, some [`EVENTS_AT_ONCE`], or time blocks in place of those that the chunk has. `false` = the file has no further
    /// whole event now. (A file that is still being written may have one later; then the next call gives it.)
    ///
    /// # Errors
    /// The file cannot be read or holds what cannot be: where, and what.
    fn next(&mut self, chunk: &mut EventChunk) -> Result<bool, IoError>;

    /// Refuses a file that was cut inside an event, or has fewer or more events than its header tells. For the end of a file that is
    /// not being written any more.
    ///
    /// # Errors
    /// Where and what.
    fn check_end(&self) -> Result<(), IoError>;

    /// Whether the file tells that nothing follows what was read, although it may be growing.
    fn is_complete(&self) -> bool {
        false
    }

    /// Returns the time block inside which reading has stopped, ms.
    fn open_block_ms(&self) -> Option<[u32; 2]> {
        None
    }

    /// The file of the events, at the place up to which they were read.
    fn stream(&mut self) -> &mut ByteStream;

    /// What the user should know about the file, from its header and from what was read so far: each once.
    fn notices(&mut self) -> Vec<Notice>;
}

/// Hands the events of a list to `visit`, piece by piece, up to its end; `task` tells how far that is.
///
/// # Errors
/// The file cannot be read, holds what cannot be or was cut; stopped; those of `visit`.
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
        let place = reader.stream().place();
        task.advance(place - read);
        read = place;
    }
    Ok(reader.check_end()?)
}
