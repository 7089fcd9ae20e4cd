//! Projectors: the registry, the settings, the choice, and the operator on its device. Also the programs that backproject EPRI
//! planes.

pub mod choose;
pub mod programs;
pub mod registry;
pub mod settings;
pub mod system;
