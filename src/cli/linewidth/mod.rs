//! `tomoscope linewidth`: lines in the spectra of a spectral-spatial image.

pub mod options;
mod regions;
pub mod run;
