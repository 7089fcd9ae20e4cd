//! Bytes and numbers of files: reading in blocks, number formats, checksums, and writing through a temporary file.

pub mod blocks;
pub mod checksum;
pub mod gzip;
pub mod npy;
pub mod numbers;
pub mod pair;
pub mod pending;
