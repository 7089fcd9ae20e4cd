//! TODO: purpose.

pub mod cache;
pub mod histories;
pub mod matrix;
pub mod matrix_times;
pub mod photon_scan;
pub mod quick_matrix;
pub mod tubes;
