//! TODO: purpose.

pub mod bes3t;
pub mod follow;
pub mod numpy_sweep;
pub mod phase;
pub mod records;
pub mod saved_sweep;
pub mod sweep_space;

