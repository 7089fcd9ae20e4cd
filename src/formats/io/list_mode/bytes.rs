//! A file as a stream of bytes with a window in memory.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::io::error::{IoError, Refusal};

/// Bytes that are read at a time.
const AT_ONCE: usize = 1 << 20;

/// A file from its beginning on, in pieces; one that grows meanwhile is read on.
#[derive(Debug)]
pub struct ByteStream {
    path: PathBuf,
    file: File,
    /// Bytes that were read and not yet used: `buffer[used..]`.
    buffer: Vec<u8>,
    used: usize,
    /// Place in the file of the buffer's first byte.
    at: u64,
}

impl ByteStream {
    /// Opens a regular file.
    ///
    /// # Errors
    /// The file does not open.
    pub fn open(path: &Path) -> Result<Self, IoError> {
        let file = File::open(path).map_err(IoError::open(path))?;
        if !file.metadata().map_err(IoError::open(path))?.is_file() {
            return Err(IoError::NotAFile(path.to_owned()));
        }
        Ok(Self { path: path.to_owned(), file, buffer: Vec::new(), used: 0, at: 0 })
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the position of the next byte in the file.
    pub fn position(&self) -> u64 {
        self.at + self.used as u64
    }

    /// Returns the bytes that the file has now.
    ///
    /// # Errors
    /// The system does not report its length.
    #[allow(clippy::len_without_is_empty)] // it asks the system, and may fail
    pub fn len(&self) -> Result<u64, IoError> {
        Ok(self.file.metadata().map_err(IoError::read(&self.path))?.len())
    }

    /// Returns the next bytes: `min` of them, or more; fewer where the file has no more now. They stay until
    /// [`ByteStream::advance`].
    ///
    /// # Errors
    /// The file does not read.
    pub fn peek(&mut self, min: usize) -> Result<&[u8], IoError> {
        if self.buffer.len() - self.used < min {
            self.buffer.drain(..self.used);
            self.at += self.used as u64;
            self.used = 0;
            while self.buffer.len() < min {
                let wanted = (min - self.buffer.len()).max(AT_ONCE) as u64;
                let read = (&mut self.file).take(wanted).read_to_end(&mut self.buffer).map_err(IoError::read(&self.path))?;
                if read == 0 {
                    break;
                }
            }
        }
        Ok(&self.buffer[self.used..])
    }

    /// Advances by `num_bytes` of the bytes that were peeked.
    pub fn advance(&mut self, num_bytes: usize) {
        self.used = (self.used + num_bytes).min(self.buffer.len());
    }

    /// Opens the file that has its name now, and continues at the same position.
    ///
    /// # Errors
    /// The file does not open.
    pub fn reopen(&mut self) -> Result<(), IoError> {
        let mut file = File::open(&self.path).map_err(IoError::open(&self.path))?;
        let position = self.position();
        file.seek(SeekFrom::Start(position)).map_err(IoError::read(&self.path))?;
        (self.file, self.at, self.used) = (file, position, 0);
        self.buffer.clear();
        Ok(())
    }

    /// Returns the error of a problem at a position in the file.
    pub fn refuse(&self, position: u64, problem: impl Into<Refusal>) -> IoError {
        IoError::Events { path: self.path.clone(), position, problem: problem.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::io::list_mode::problem::EventProblem;

    #[test]
    fn bytes_come_in_order_and_go_on_when_the_file_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        let bytes: Vec<u8> = (0..3 * AT_ONCE + 17).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &bytes[..2 * AT_ONCE + 5]).unwrap();
        let mut stream = ByteStream::open(&path).unwrap();
        let mut found = Vec::new();
        for round in 0..2 {
            loop {
                let piece = stream.peek(1000).unwrap();
                let num = piece.len().min(1000);
                found.extend_from_slice(&piece[..num]);
                stream.advance(num);
                if num < 1000 {
                    break;
                }
            }
            assert_eq!(stream.position(), found.len() as u64);
            if round == 0 {
                std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&bytes[2 * AT_ONCE + 5..]).unwrap();
            }
        }
        assert_eq!(found, bytes);
        assert!(matches!(stream.refuse(7, EventProblem::SameCrystal(0)), IoError::Events { position: 7, .. }));
        assert!(ByteStream::open(folder.path()).is_err());
    }
}
