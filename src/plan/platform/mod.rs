//! Devices: how one is asked for, opened and shared, and how much of its memory is free.

pub mod agreement;
pub mod choice;
pub mod devices;
pub mod memory;
pub mod processes;
