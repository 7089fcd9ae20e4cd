//! Blocks of numbers from large files: no reader holds a whole file in addition to its values.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::numbers::NumberFormat;
use crate::io::error::IoError;

/// Values that one task reads at a time.
const BLOCK_VALUES: usize = 1 << 18;

/// A file that one thread reads blocks from.
pub struct BlockReader<'a> {
    path: &'a Path,
    format: NumberFormat,
    file: Option<File>,
    bytes: Vec<u8>,
}

impl<'a> BlockReader<'a> {
    /// Returns a reader, which opens the file at the first block.
    pub fn new(path: &'a Path, format: NumberFormat) -> Self {
        Self { path, format, file: None, bytes: Vec::new() }
    }

    /// Fills `values` with the numbers from byte `offset` on.
    pub fn read(&mut self, offset: u64, values: &mut [f32]) -> Result<(), IoError> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => File::open(self.path).map_err(IoError::open(self.path))?,
        };
        self.bytes.resize(values.len() * self.format.number_type.num_bytes(), 0);
        file.seek(SeekFrom::Start(offset)).map_err(IoError::read(self.path))?;
        file.read_exact(&mut self.bytes).map_err(IoError::read(self.path))?;
        self.format.decode(&self.bytes, values);
        self.file = Some(file);
        Ok(())
    }
}

/// Reads values that lie one after the other from byte `offset` on. The caller has checked that the file holds them.
pub fn read_contiguous(path: &Path, format: NumberFormat, offset: u64, num_values: usize) -> Result<Vec<f32>, IoError> {
    let mut values = zeroed(path, num_values)?;
    let block_bytes = (BLOCK_VALUES * format.number_type.num_bytes()) as u64;
    values.par_chunks_mut(BLOCK_VALUES).enumerate().try_for_each_init(
        || BlockReader::new(path, format),
        |reader, (i, block)| reader.read(offset + i as u64 * block_bytes, block),
    )?;
    Ok(values)
}

/// Returns zeros whose memory is not touched yet, or an error if the system has no room for them.
pub fn zeroed(path: &Path, num_values: usize) -> Result<Vec<f32>, IoError> {
    let no_memory = |_| IoError::Memory(path.to_owned(), num_values);
    // `vec!` takes its zeros from the system without writing them, but aborts where there are none: ask first.
    Vec::<f32>::new().try_reserve_exact(num_values).map_err(no_memory)?;
    Ok(vec![0.0; num_values])
}

/// Returns size of a regular file.
pub fn regular_file_len(path: &Path) -> Result<u64, IoError> {
    let metadata = std::fs::metadata(path).map_err(IoError::open(path))?;
    if metadata.is_file() { Ok(metadata.len()) } else { Err(IoError::NotAFile(path.to_owned())) }
}

/// Reads a text file of at most `limit` bytes; bytes that are not UTF-8 are replaced.
pub fn read_text(path: &Path, limit: u64) -> Result<String, IoError> {
    let found = regular_file_len(path)?;
    if found > limit {
        return Err(IoError::TextTooLong { path: PathBuf::from(path), limit, found });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(IoError::open(path))?;
    file.take(limit).read_to_end(&mut bytes).map_err(IoError::read(path))?;
    Ok(decoded(&bytes))
}

/// Returns the text of bytes in UTF-8 or, after its byte order mark, UTF-16, without the mark.
fn decoded(bytes: &[u8]) -> String {
    let utf_16 = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        String::from_utf16_lossy(&rest.as_chunks::<2>().0.iter().map(|&pair| unit(pair)).collect::<Vec<u16>>())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}
