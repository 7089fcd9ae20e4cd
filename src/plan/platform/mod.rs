//! TODO: purpose.

pub mod agreement;
pub mod choice;
pub mod devices;
pub mod memory;
pub mod processes;
