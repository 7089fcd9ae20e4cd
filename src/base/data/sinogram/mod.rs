//! Sinograms of a scanner: counts of bins, also by time of flight, and their corrections.

pub mod contents;
pub mod counts;
pub mod michelogram;
pub mod row;
pub mod tof;
