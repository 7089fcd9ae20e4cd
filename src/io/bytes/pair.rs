//! A header and its data file, written together: both are complete before either takes its place, and the header comes first.
//! If the program is killed between the two, the new header stands beside the old data, and the checksums differ. Where the data
//! cannot take its place, the old header comes back.

use std::io::{self, Write};
use std::path::Path;

use super::checksum::{Checksum, ChecksumWriter};
use super::pending::{PendingFile, write_whole};
use crate::io::error::IoError;

/// Both files of a pair, complete, not yet in their places.
pub struct PendingPair {
    pub header: PendingFile,
    pub data: PendingFile,
}

impl PendingPair {
    /// Writes the data, then the header that tells their checksum.
    pub fn write(
        [header_path, data_path]: [&Path; 2],
        write_data: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        write_header: impl FnOnce(&mut dyn Write, Checksum) -> io::Result<()>,
    ) -> Result<Self, IoError> {
        let data = PendingFile::create(data_path)?;
        let mut checksum = None;
        data.write(|writer| {
            let mut writer = ChecksumWriter::new(writer);
            write_data(&mut writer)?;
            checksum = Some(writer.checksum());
            Ok(())
        })?;
        let header = PendingFile::create(header_path)?;
        header.write(|writer| checksum.map_or(Ok(()), |checksum| write_header(writer, checksum)))?;
        Ok(Self { header, data })
    }

    /// Puts both in their places.
    pub fn commit(self) -> Result<(), IoError> {
        let place = self.header.target().to_owned();
        // A header is small; one that cannot be read cannot be the way back to old data either.
        let old_header = std::fs::read(&place).ok();
        self.header.commit()?;
        self.data.commit().inspect_err(|_| {
            // What fails here too leaves a pair that is refused by its checksum.
            let _ = match old_header {
                Some(text) => write_whole(&place, &text),
                None => std::fs::remove_file(&place).map_err(IoError::write(&place)),
            };
        })
    }
}
