//! `tomoscope linewidth`: lines in the spectra of a spectral-spatial image.

pub mod options;
pub mod run;
