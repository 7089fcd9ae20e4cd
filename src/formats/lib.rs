//! File formats of tomoscope, read and written, and sending to archives.

#![warn(missing_docs)]

pub use tomoscope_base::{coded, data, geometry, random, scanner, statistics, task, text};

pub mod io;
#[doc(hidden)]
pub mod pacs;
