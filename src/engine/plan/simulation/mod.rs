//! Simulations for a reconstruction, stored for the next one: tubes of response, system matrices, photons in a scanner.

pub mod cache;
pub mod default_matrix;
pub mod device_result;
pub mod matrix;
pub mod matrix_times;
pub mod photon_scan;
pub mod tubes;
