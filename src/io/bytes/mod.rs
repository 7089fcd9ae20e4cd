//! TODO: purpose.

pub mod blocks;
pub mod checksum;
pub mod gzip;
pub mod npy;
pub mod numbers;
pub mod pair;
pub mod pending;

