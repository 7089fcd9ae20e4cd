//! List-mode data, read piece by piece: only a piece of a file is in memory.
//!
//! | format | ending | module |
//! |---|---|---|
//! | PETSIRD | `.petsird` | [`petsird`] |
//! | CASToR | `.Cdh` and `.Cdf`, with the scanner's `.hscan` and `.lut` or `.geom` | [`castor`] |
//! | Siemens, 32-bit words | `.l.hdr` and `.l` | [`siemens`] |
//! | YRT-PET | `.lmDat`, with the scanner's `.lut` | [`yrt`] |

mod bytes;
pub mod castor;
mod follow;
mod options;
pub mod petsird;
mod problem;
mod reader;
mod records;
pub mod siemens;
pub mod yrt;

pub use bytes::ByteStream;
pub use follow::ListFollower;
pub use options::{ListOptions, YrtFields};
pub use reader::{EVENTS_AT_ONCE, EventReader, for_each_piece};
