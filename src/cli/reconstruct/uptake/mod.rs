//! Uptake values and activity concentrations of reconstructed images.

pub mod options;
pub mod quantity;
