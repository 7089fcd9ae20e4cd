//! The session that streams every iterate, also from a remote host; drawing; and the window.
//!
//! Modules import only from lower rows; neighbours in a row are independent of each other (`tests/project/layers.rs`):
//!
//! ```text
//! row 0: session render
//! row 1: remote
//! row 2: ui
//! ```

pub use tomoscope_base::{coded, data, geometry, scanner, statistics, task, text};
pub use tomoscope_engine::{algebra, measure, montecarlo, operator, phantom, plan, recon, webgpu};
pub use tomoscope_formats::{io, pacs};
#[cfg(feature = "window")]
use tomoscope_report as report;

pub mod remote;
pub mod render;
pub mod session;
#[cfg(feature = "window")]
pub mod ui;
