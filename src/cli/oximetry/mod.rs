//! `tomoscope oximetry`: relaxation rates and oxygen pressures of EPRI images.

mod checks;
pub mod options;
mod regions;
pub mod run;
mod sweeps;
