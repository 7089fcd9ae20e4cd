//! A header and its data file, written together: both are complete before either takes its place, and the header comes first.
//! If the program is killed between the two, the new header stands beside the old data, and the checksums differ. Where the data
//! cannot take its place, the old header comes back.

use std::io::{self, Write};
use std::path::Path;

use super::checksum::{Checksum, ChecksumWriter};
use super::pending::{PendingFile, write_whole};
use crate::io::error::IoError;

/// Both files of a pair, complete, not yet in their places.
pub(in crate::io) struct PendingPair {
    header: PendingFile,
    data: PendingFile,
}

impl PendingPair {
    /// Writes the data, then the header that tells their checksum.
    pub(in crate::io) fn write(
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
    pub(in crate::io) fn commit(self) -> Result<(), IoError> {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::io::by_content::read_volume;

    const OLD: &str = "!INTERFILE :=\nname of data file := a.v\n!number format := float\n!number of bytes per pixel := 4\n\
                       imagedata byte order := LITTLEENDIAN\n!matrix size [1] := 1\n!matrix size [2] := 1\n!matrix size [3] := 1\n\
                       !END OF INTERFILE :=\n";

    #[test]
    fn the_old_pair_stays_where_the_data_cannot_take_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let [header, data] = ["a.hv", "a.v"].map(|name| folder.path().join(name));
        for is_there in [true, false] {
            if is_there {
                fs::write(&header, OLD).unwrap();
                fs::write(&data, [0; 4]).unwrap();
            }
            let pair =
                PendingPair::write([&header, &data], |writer| writer.write_all(b"new!"), |writer, _| write!(writer, "new"));
            let pair = pair.unwrap();
            // A folder takes the place of the data in the meantime.
            let _ = fs::remove_file(&data);
            fs::create_dir(&data).unwrap();
            assert!(pair.commit().is_err());
            assert_eq!(fs::read_to_string(&header).ok(), is_there.then(|| OLD.to_owned()));
            fs::remove_dir(&data).unwrap();
            let _ = fs::remove_file(&header);
        }
    }

    #[test]
    fn a_pair_that_was_half_replaced_is_refused_also_over_another_programs() {
        let folder = tempfile::tempdir().unwrap();
        let [header, data] = ["a.hv", "a.v"].map(|name| folder.path().join(name));
        fs::write(&header, OLD).unwrap();
        fs::write(&data, [0; 4]).unwrap();
        read_volume(&header).unwrap();
        let pair = PendingPair::write(
            [&header, &data],
            |writer| writer.write_all(&1f32.to_le_bytes()),
            |writer, checksum| {
                write!(writer, "{}", OLD.replacen('\n', &format!("\n; tomoscope data checksum := {checksum}\n"), 1))
            },
        );
        // Killed between the two.
        let PendingPair { header: new, data: unborn } = pair.unwrap();
        new.commit().unwrap();
        drop(unborn);
        let error = read_volume(&header).unwrap_err();
        assert!(
            matches!(&error, IoError::NotAPair { header: found, data: of, .. } if *found == header && *of == data),
            "{error}"
        );
    }
}
