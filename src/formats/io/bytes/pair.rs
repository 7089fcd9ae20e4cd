//! A header and its data file, written together: both are complete before either replaces an old file, and the header comes
//! first. If the program is killed in between, the checksum of the new header does not match the old data. If the data file fails
//! to replace the old one, the old header is restored.

use std::io::{self, Write};
use std::path::Path;

use flate2::CrcWriter;

use super::checksum::Checksum;
use super::output_lock::OutputLock;
use super::pending::{PendingFile, write_whole};
use crate::io::error::IoError;

/// Both files of a pair, complete, not yet in their places.
pub struct PendingPair {
    pub header: PendingFile,
    pub data: PendingFile,
    /// No other process puts its files in these places meanwhile.
    _lock: OutputLock,
}

impl PendingPair {
    /// Writes the data, then the header with their checksum.
    pub fn write(
        [header_path, data_path]: [&Path; 2],
        write_data: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        write_header: impl FnOnce(&mut dyn Write, Checksum) -> io::Result<()>,
    ) -> Result<Self, IoError> {
        let lock = OutputLock::wait(header_path)?;
        let data = PendingFile::create(data_path)?;
        let checksum = data.write(|writer| {
            let mut writer = CrcWriter::new(writer);
            write_data(&mut writer)?;
            Ok(Checksum(writer.crc().sum()))
        })?;
        let header = PendingFile::create(header_path)?;
        header.write(|writer| write_header(writer, checksum))?;
        Ok(Self { header, data, _lock: lock })
    }

    /// Puts both in their places.
    pub fn commit(self) -> Result<(), IoError> {
        let target = self.header.target().to_owned();
        // A header is small; an unreadable one is no fallback for the old data either.
        let old_header = std::fs::read(&target).ok();
        let Self { header, data, _lock } = self;
        header.commit()?;
        data.commit().inspect_err(|_| {
            // If this fails too, the checksum of the remaining pair is wrong and the pair is refused.
            let _ = match old_header {
                Some(text) => write_whole(&target, &text),
                None => std::fs::remove_file(&target).map_err(IoError::write(&target)),
            };
        })
    }
}
