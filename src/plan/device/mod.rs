//! Devices: how one is asked for and shared, and how much of its memory is free.

pub mod choice;
pub mod memory;
pub mod processes;
