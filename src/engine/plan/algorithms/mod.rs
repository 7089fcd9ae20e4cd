//! Algorithms that can be chosen, with their parameters. The form of the window, the options of the command line, session files, provenance
//! records and the remote protocol follow from the entries of [`registry`].

pub mod parameters;
pub mod penalised;
pub mod registry;
pub mod research;
pub mod total_variation;
pub mod traits;
