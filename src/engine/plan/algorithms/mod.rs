//! Algorithms that can be chosen, with their settings. The form of the window, the options of the command line, session files, provenance
//! records and the remote protocol follow from the entries of [`registry`].

pub mod common;
pub mod penalised;
pub mod registry;
pub mod setting;
pub mod total_variation;
pub mod traits;
pub mod value;
pub mod values;
