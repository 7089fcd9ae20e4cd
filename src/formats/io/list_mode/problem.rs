//! Problems of list-mode data with events of one size.

use crate::coded::coded;
use crate::text::counted;

/// A problem of list-mode data with events of one size.
#[derive(Debug, thiserror::Error)]
pub enum EventProblem {
    /// A file that ends inside an event.
    #[error(
        "the file ends inside an event: {found} of {size} bytes; copy it again (the copy may be truncated), or check the fields of \
         its events"
    )]
    CutEvent {
        /// Bytes of the event that the file contains.
        found: u64,
        /// Bytes of an event.
        size: u64,
    },
    /// Another number of events than the header has.
    #[error("the file ends after {} of {size} bytes, its header has {expected}; copy both again", counted(*found as usize, "event"))]
    NumEvents {
        /// Events of the file.
        found: u64,
        /// Bytes of an event.
        size: u64,
        /// Events of the header.
        expected: u64,
    },
    /// A crystal number that the scanner does not have, and the number of its crystals.
    #[error("crystal number {}, expected 0 to {}; check the scanner and the fields of the events", .0, .1 - 1)]
    UnknownCrystal(u32, usize),
    /// An event with the same crystal, by its number, at both ends.
    #[error("both its crystals are number {0}; a coincidence has two")]
    SameCrystal(u32),
    /// A time of flight, ps, that is not finite.
    #[error("its time of flight is {0} ps; a finite number is expected")]
    TimeOfFlight(f32),
    /// A rate ("random" or "scatter"), counts per second, that is negative or not finite.
    #[error("its {0} rate is {1} counts per second; a finite number from 0 on is expected")]
    Rate(&'static str, f32),
    /// A value, by its name, that is too large for 32 bits.
    #[error("{0} is {1}, which is out of range")]
    OutOfRange(&'static str, f64),
}

coded!(EventProblem = "io.events", "io.truncated": CutEvent);
