//! What is open: one state per kind of data, with the form that belongs to it.

pub mod open_list;
pub mod open_pairs;
pub mod open_study;
pub mod open_sweep;
pub mod open_tubes;
