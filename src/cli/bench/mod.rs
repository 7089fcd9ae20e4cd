//! `tomoscope bench`: the speed of the program.

pub mod arrival;
pub mod common;
pub mod epri;
pub mod iteration;
pub mod list_mode;
pub mod matrix;
pub mod penalty;
pub mod projector;
pub mod replicates;
pub mod run;
pub mod tubes;
