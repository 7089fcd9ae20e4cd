//! `tomoscope bench`: how fast the program is, measured by itself.

pub mod arrival;
pub mod common;
pub mod epri;
pub mod iteration;
pub mod list_mode;
pub mod matrix;
pub mod projector;
pub mod run;
pub mod tubes;
