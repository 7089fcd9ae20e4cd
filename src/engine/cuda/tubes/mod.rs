//! Tubes of response: the fast kernels, those of the paper, and the simulation of the tubes.

pub mod montecarlo;
pub mod paper;
pub mod plan;
pub mod projector;
