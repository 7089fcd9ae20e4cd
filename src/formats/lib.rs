//! File formats of tomoscope, read and written, and sending to archives.
//!
//! Modules import only from lower rows; neighbours in a row are independent of each other (`tests/project/layers.rs`):
//!
//! ```text
//! row 0: io
//! row 1: pacs
//! ```

#![warn(missing_docs)]

pub use tomoscope_base::{coded, data, geometry, random, scanner, statistics, task, text};

pub mod io;
#[doc(hidden)]
pub mod pacs;
