//! The checksum (CRC-32, as in gzip) that ties a data file to its header: new data under an old header would be read as if they
//! belonged together.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use rayon::prelude::*;

use crate::data::Fingerprint;
use crate::io::error::IoError;

/// Bytes that one task hashes.
const BLOCK_BYTES: u64 = 4 << 20;

/// Name of the checksum in headers.
const NAME: &str = "crc32";

/// Checksum of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(pub(super) u32);

impl Checksum {
    /// Returns the checksum of the first `len` bytes of a file.
    pub fn of_file(path: &Path, len: u64) -> Result<Self, IoError> {
        let hash = |block: u64| {
            let start = block * BLOCK_BYTES;
            let mut bytes = vec![0; BLOCK_BYTES.min(len - start) as usize];
            let mut file = File::open(path).map_err(IoError::open(path))?;
            file.seek(SeekFrom::Start(start)).map_err(IoError::read(path))?;
            file.read_exact(&mut bytes).map_err(IoError::read(path))?;
            let mut hasher = Hasher::new();
            hasher.update(&bytes);
            Ok(hasher)
        };
        let blocks: Vec<Hasher> = (0..len.div_ceil(BLOCK_BYTES)).into_par_iter().map(hash).collect::<Result<_, IoError>>()?;
        let mut whole = Hasher::new();
        blocks.iter().for_each(|block| whole.combine(block));
        Ok(Self(whole.finalize()))
    }

    /// Reads a checksum from the text of a header.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().strip_prefix(NAME)?.trim_start();
        u32::from_str_radix(digits, 16).ok().map(Self)
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME} {:08x}", self.0)
    }
}

/// Returns a fingerprint of the content of files; a folder counts with its files, a missing file as missing.
///
/// # Errors
/// A file does not read.
pub fn content_of<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Fingerprint, IoError> {
    let mut content = Fingerprint::default();
    paths.into_iter().try_for_each(|path| take_in(&mut content, path))?;
    Ok(content)
}

fn take_in(content: &mut Fingerprint, path: &Path) -> Result<(), IoError> {
    let Ok(metadata) = fs::metadata(path) else {
        content.text("missing");
        return Ok(());
    };
    if metadata.is_dir() {
        let entries = fs::read_dir(path).map_err(IoError::read(path))?.flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        content.whole(files.len() as u64);
        return files.iter().try_for_each(|file| take_in(content, file));
    }
    content.whole(metadata.len());
    content.whole(Checksum::of_file(path, metadata.len())?.0.into());
    Ok(())
}

/// Refuses a data file whose first `len` bytes do not have the checksum of its header.
pub fn check_pair(header: &Path, data: &Path, len: u64, recorded: &str) -> Result<(), IoError> {
    let found = Checksum::of_file(data, len)?;
    if Checksum::parse(recorded) == Some(found) {
        return Ok(());
    }
    let recorded = recorded.chars().filter(|c| !c.is_control()).take(40).collect();
    Err(IoError::NotAPair { header: header.to_owned(), data: data.to_owned(), recorded, found: found.to_string() })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::CrcWriter;

    use super::*;

    #[test]
    fn a_file_has_the_checksum_that_it_was_written_with_in_one_block_or_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        for len in [0, 9, 3 * BLOCK_BYTES as usize + 7] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * i % 251) as u8).collect();
            let mut writer = CrcWriter::new(File::create(&path).unwrap());
            bytes.chunks(1000).for_each(|part| writer.write_all(part).unwrap());
            let checksum = Checksum(writer.crc().sum());
            assert_eq!(Checksum::of_file(&path, len as u64).unwrap(), checksum);
            assert_eq!(Checksum::parse(&checksum.to_string()), Some(checksum));
        }
        // The check value of CRC-32 (ISO 3309).
        std::fs::write(&path, "123456789").unwrap();
        assert_eq!(Checksum::of_file(&path, 9).unwrap().to_string(), "crc32 cbf43926");
    }
}
