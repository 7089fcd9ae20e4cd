//! Tab of the recovery of the NEMA spheres: bands of a standard, verdict, and a map of iterations and post-filters.

pub mod action;
mod map;
pub mod recovery_panel;
pub mod state;
