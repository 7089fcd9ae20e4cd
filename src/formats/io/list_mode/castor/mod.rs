//! CASToR's data files: a header (`.Cdh`) of `key: value` lines, a file (`.Cdf`) of entries of one size, little endian, and the
//! scanner's table of crystals (`.hscan` and `.lut`, or `.geom`) in the folder of the header. Source: CASToR 3 (Merlin et al.
//! 2018, Phys Med Biol 63:185005), whose files these readers and the writer exchange.
//!
//! | `Data mode` | read by | an entry is |
//! |---|---|---|
//! | `list-mode` | [`open`] | an event: one or several pairs of crystals |
//! | `histogram` | [`Histogram`], and [`open`] | a bin: one or several pairs, with counts |
//! | `normalization` | the option of [`open`] | one or several pairs that can be in coincidence |
//!
//! Several pairs are one line, between the mean of their first crystals and the mean of their second ones ([`ends`]).
//!
//! Expected counts of a pair are line integral / (attenuation · normalisation · calibration) + (randoms + scatter) · duration. An
//! event's time of flight is t₁ − t₂, ps, in a range around 0 whose width is in the header. Its randoms are spread evenly over
//! that range, its scatter is a rate per mm of d.

mod ends;
mod events;
mod factors;
mod facts;
mod geom;
mod header;
mod histogram;
mod histogram_events;
mod keys;
mod layer;
mod normalization;
mod problem;
pub(super) mod scanner;
mod writer;

use std::path::{Path, PathBuf};

use self::header::Header;

pub use events::open;
pub use histogram::{Histogram, HistogramBin};
pub use writer::Writer;

/// Returns the data file that a file names, if it is a header.
pub(in crate::io) fn data_files(header: &Path) -> Vec<PathBuf> {
    Header::read(header).into_iter().map(|header| header.data).collect()
}
