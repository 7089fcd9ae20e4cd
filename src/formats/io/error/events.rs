//! Problems of list-mode data, one variant each.

use super::Excess;
use super::petsird::PetsirdProblem;
use super::unsupported::Unsupported;
use crate::coded::coded;
use crate::text::counted;

/// A problem of list-mode data. Each has a code: [`Coded::code`](crate::coded::Coded::code).
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case", prefix = "io.events.")]
pub enum EventProblem {
    /// Content that is not supported; the code is that of the content.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A problem of a PETSIRD file; the code is that of the problem.
    #[error(transparent)]
    Petsird(#[from] PetsirdProblem),

    // Any format of events of one size.
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
    /// A factor ("attenuation" or "normalisation") that is not positive and finite.
    #[error("its {0} factor is {1}; a finite number above 0 is expected")]
    Factor(&'static str, f32),
    /// A value, by its name, that is too large for 32 bits.
    #[error("{0} is {1}, which is out of range")]
    OutOfRange(&'static str, f64),

    // CASToR.
    /// Counts of a bin that are not finite.
    #[error("its counts are {0}; a finite number is expected")]
    Counts(f32),
    /// No pairs of crystals, or too many.
    #[error("it has {} pairs of crystals; 1 to {} are expected", .0.found, .0.max)]
    NumPairs(Excess),
    /// A pair, by its number from 1, of the opposite direction to the first one.
    #[error(
        "its pair {0} of crystals runs against its first one, so that the mean of their ends is no end; exchange the crystals of the \
         pair"
    )]
    ReversedPair(usize),

    // Siemens.
    /// A time tag that is earlier than the one before it.
    #[error("its time tag is {time_ms} ms, but the one before it is {before_ms} ms: time runs backwards")]
    Backwards {
        /// Its time.
        time_ms: u32,
        /// Time of the tag before it.
        before_ms: u32,
    },
    /// An event in a plane that the scanner does not have.
    #[error("the event's bin {bin} is in plane {plane}, but there are {num_planes} planes; is it the data of this header?")]
    Plane {
        /// Number of the bin.
        bin: u32,
        /// Number of the plane.
        plane: u32,
        /// Planes of the scanner.
        num_planes: usize,
    },
}

coded!(EventProblem, Unsupported, Petsird);
