//! TODO: purpose.

pub mod choose;
pub mod programs;
pub mod registry;
pub mod settings;
pub mod system;
