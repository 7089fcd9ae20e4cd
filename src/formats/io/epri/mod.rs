//! EPRI acquisitions: Bruker BES3T, sets of NumPy arrays, the program's own form, and acquisitions in progress.

pub mod bes3t;
pub mod follow;
pub mod numpy_sweep;
pub mod phase;
pub mod plausibility;
pub mod problem;
pub mod records;
pub mod reference_reader;
pub mod saved_sweep;
pub mod spectrum_settings;
pub mod sweep_space;
