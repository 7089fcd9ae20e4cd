//! `tomoscope simulate`, `tubes` and `matrix`: simulated data, as files.

pub mod epri;
pub mod epri_options;
pub mod list;
pub mod list_options;
pub mod matrix;
pub mod options;
pub mod oxygen;
pub mod oxygen_options;
pub mod petric;
pub mod photons;
pub mod run;
pub mod scan;
pub mod tubes;
