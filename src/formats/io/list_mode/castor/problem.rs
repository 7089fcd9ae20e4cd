//! Problems of CASToR files, of reading and writing.

use crate::coded::coded;
use crate::io::error::{Excess, Mismatch};

/// Largest counts of a bin of a histogram: 32-bit floats hold all whole numbers up to here.
pub const MAX_COUNTS: f32 = 16_777_216.0;

/// A problem of a CASToR file.
#[derive(Debug, thiserror::Error)]
pub enum CastorProblem {
    /// Events with the depth of interaction.
    #[error("its events contain the depth of interaction ('POI capability'), which is not supported; write it without")]
    DepthOfInteraction,
    /// No histogram, where one is expected.
    #[error("it is not a histogram ('Data mode'); one's mode is histogram")]
    NotAHistogram,
    /// No events, where they are expected.
    #[error("it has no events ('Data mode'); the mode of those that are read is list-mode or histogram")]
    NoEvents,
    /// No normalisation, where one is expected.
    #[error("it is not a normalisation file ('Data mode'); one's mode is normalization")]
    NotANormalization,
    /// A normalisation of another scanner.
    #[error("it is of the scanner '{}', but the list's is '{}'", .0.found, .0.expected)]
    OtherScanner(Mismatch<String>),
    /// No table of the scanner of this name.
    #[error(
        "the table of its scanner is missing: put {0}.hscan and {0}.lut, {0}.geom or {0}.crystals.toml in its folder, or set the table (--crystals)"
    )]
    NoTable(String),
    /// A table of another size than its header describes.
    #[error("it has {found} bytes where {num} crystals of {size} bytes are expected (at most {max})")]
    TableSize {
        /// Bytes of the file.
        found: u64,
        /// Crystals of the scanner.
        num: u64,
        /// Bytes of a crystal.
        size: u64,
        /// Crystals that a scanner can have.
        max: u64,
    },
    /// Counts of a bin, by its number, that are not whole numbers.
    #[error("bin {0} has {1} counts; whole numbers from 0 to {MAX_COUNTS} are expected, not counts that were corrected before")]
    BinCounts(u64, f32),
    /// An entry of several pairs that was not in the file when it was opened.
    #[error("it has several pairs of crystals and came after the file was opened; open the file when it is whole")]
    LateEntry,
    /// A factor ("attenuation" or "normalisation") that is not positive and finite.
    #[error("its {0} factor is {1}; a finite number above 0 is expected")]
    Factor(&'static str, f32),
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
    /// A scanner name that is not a valid file name.
    #[error("the scanner name '{0}' is not a valid file name; use letters, digits, - and _")]
    ScannerName(String),
    /// A data file name that is not valid in a header.
    #[error("its name is not valid in a CASToR header; use plain characters and the ending .Cdh")]
    HeaderName,
    /// A background without the duration of the scan.
    #[error("the background is stored as a rate, but the duration of the scan is unknown; set its duration")]
    NoDuration,
    /// Time of flight without its resolution.
    #[error("its events have time of flight, but the resolution is unknown")]
    NoTofResolution,
    /// Events with other fields than those before.
    #[error("these events have other fields than the previous ones (time, time of flight, factors, background)")]
    OtherFields,
    /// An event with invalid crystal numbers, and the last crystal of the scanner.
    #[error("an event is of the crystals {} and {}, but two of 0 to {} are expected", .0[0], .0[1], .1)]
    EventCrystals([u32; 2], usize),
    /// An event of crystals without efficiency.
    #[error("an event of the crystals {} and {} exists, but their efficiency is {}", .0[0], .0[1], .1)]
    EventEfficiency([u32; 2], f32),
    /// Intervals of time of flight of different widths, mm.
    #[error("the intervals of time of flight are {} mm and {} mm wide, but CASToR's lists have one width", .0.expected, .0.found)]
    TofWidths(Mismatch<f64>),
    /// Crystals of too many sizes.
    #[error("the sides of its scanner's crystals differ too much for CASToR's table, which has those of whole layers")]
    CrystalSizes,
    /// A table of another scanner with this name.
    #[error("another table of this scanner exists, which other files may need; write to another folder")]
    OtherTable,
}

coded!(CastorProblem = "io.unsupported.castor");
