//! Bytes and numbers of files: reading in blocks, number formats, checksums, and writing through a temporary file.

mod blocks;
mod checksum;
mod gzip;
pub mod npy;
mod numbers;
mod output_lock;
mod pair;
mod pending;

pub use blocks::{BlockReader, read_contiguous, read_text, regular_file_len, zeroed};
pub use checksum::{Checksum, check_pair, content_of};
pub use gzip::GzipReader;
pub use numbers::{ByteOrder, NumberFormat, NumberType};
pub use output_lock::OutputLock;
pub use pair::PendingPair;
pub use pending::{PendingFile, PendingFolder, discard_unfinished, write_f32_le, write_whole};
