//! Papers whose tables and figures are measured again, and benchmarks of the program.
//!
//! Modules import only from lower rows; neighbours in a row are independent of each other (`tests/project/layers.rs`):
//!
//! ```text
//! row 0: bench reproduce
//! ```

use tomoscope_app::session;
use tomoscope_base::{coded, data, geometry, named, random, scanner, statistics, task, text};
#[cfg(feature = "cuda")]
use tomoscope_engine::cuda;
use tomoscope_engine::{algebra, measure, montecarlo, operator, phantom, plan, recon, webgpu};
use tomoscope_formats::io;
use tomoscope_report as report;

pub mod bench;
pub mod reproduce;
