//! `tomoscope reconstruct`: options, the checks of the data, one or many inputs, the run and its outputs.

pub mod batch;
pub mod data;
pub mod epri;
pub mod epri_options;
pub mod follow_list;
pub mod frames;
pub mod json;
pub mod options;
pub mod parts;
pub mod processes;
pub mod reference_image;
pub mod replicates;
pub mod run;
pub mod run_progress;
pub mod runner;
pub mod sharing;
pub mod stop_options;
pub mod up_to_date;
pub mod uptake;
pub mod work;
