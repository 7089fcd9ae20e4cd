//! Devices: how one is asked for and shared, how much of its memory is free, and how long an iteration takes.

pub mod choice;
pub mod memory;
pub mod processes;
pub mod trial;
