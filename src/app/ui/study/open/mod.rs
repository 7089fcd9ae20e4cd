//! State of the open study, for each kind of data.

pub mod filter_curve;
pub mod open_counts;
pub mod open_images;
pub mod open_kind;
pub mod open_list;
pub mod open_oximetry;
pub mod open_pairs;
pub mod open_study;
pub mod open_sweep;
pub mod open_tubes;
