//! Projectors: the registry, the settings, and the operator on its device. Also the programs that backproject EPRI planes.

pub mod inputs;
pub mod programs;
pub mod psf;
pub mod registry;
pub mod ring_functions;
pub mod settings;
pub mod system;
