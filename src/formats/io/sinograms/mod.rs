//! Projection data: Interfile of STIR, with its images, and the headers and sinograms of Siemens.

pub mod interfile;
pub mod siemens;
