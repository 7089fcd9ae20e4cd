//! What is simulated for a reconstruction and kept for the next: tubes of response, system matrices, photons in a scanner.

pub mod cache;
pub mod histories;
pub mod matrix;
pub mod matrix_times;
pub mod photon_scan;
pub mod quick_matrix;
pub mod tubes;
