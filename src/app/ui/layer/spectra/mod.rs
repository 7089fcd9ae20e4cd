//! Spectra of the active run, their lines, and the lines of the regions.

pub mod regions;
pub mod state;
pub mod voxel_spectra;
