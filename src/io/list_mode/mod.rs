//! Lists of events, read piece by piece: however long a file is, what is in memory is a piece of it.
//!
//! | format | ending | module |
//! |---|---|---|
//! | PETSIRD | `.petsird` | [`petsird`] |
//! | CASToR | `.Cdh` beside `.Cdf`, with the scanner's `.hscan` and `.lut` or `.geom` | [`castor`] |
//! | Siemens, 32-bit words | `.l.hdr` beside `.l` | [`siemens`] |
//! | YRT-PET | `.lmDat`, with the scanner's `.lut` | [`yrt`] |

mod bytes;
pub mod castor;
mod follow;
pub mod petsird;
mod problem;
mod records;
pub mod siemens;
pub mod yrt;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::error::IoError;
use crate::io::formats::{Access, Content, Format, Reader, not_understood};
use crate::data::{EventChunk, ListFacts, Notice};
use crate::task::{Stopped, Task};

pub use bytes::ByteStream;
pub use follow::ListFollower;
pub use crate::io::error::events::EventProblem;

/// Events that a piece has about.
pub const EVENTS_AT_ONCE: usize = 1 << 16;

/// Reads a list of events from its beginning on.
pub trait EventReader: Send {
    /// What is known beside the events.
    fn facts(&self) -> &Arc<ListFacts>;

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

/// What a list's own files do not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOptions {
    /// The scanner's table of crystals, for formats that do not name it, or where it is not found beside the list.
    pub scanner: Option<PathBuf>,
    /// CASToR: a normalisation file, which tells how well all pairs count.
    pub normalization: Option<PathBuf>,
    /// The object's map of attenuation. (It concerns no reader, but who makes a study of a list.)
    pub attenuation: Option<PathBuf>,
    /// YRT-PET: which fields an event has beside its time and crystals, and how well time of flight is measured.
    pub yrt: YrtFields,
}

/// What the events of a YRT-PET list hold; the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YrtFields {
    /// Time of flight: its uncertainty (FWHM) and the step in which it is told (0 = none), ps.
    pub tof_ps: Option<[f64; 2]>,
    /// Width of the range of t₁ − t₂ around 0 that is recorded, ps.
    #[serde(default)]
    pub tof_range_ps: Option<f64>,
    /// Whether each has its randoms, counts per second.
    pub has_randoms: bool,
}

impl YrtFields {
    /// Whether randoms are spread over a range of time of flight that is not told.
    pub fn lacks_range(&self) -> bool {
        self.has_randoms && self.tof_ps.is_some() && self.tof_range_ps.is_none()
    }
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

/// Opens a list of events.
///
/// # Errors
/// An ending that is not understood, a header that cannot be.
pub fn open(path: &Path, options: &ListOptions) -> Result<Box<dyn EventReader>, IoError> {
    match Format::of(path).map(|format| &format.reader) {
        Some(Reader::ListMode(open)) => open(path, options),
        _ => Err(not_understood(path, Content::ListMode, Access::Read)),
    }
}
