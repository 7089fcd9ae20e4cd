//! gzip files, member by member to their end, where each member's checksum is: some programs write several.

use std::io::{BufRead, Read, Result};

use flate2::bufread::GzDecoder;

/// The first bytes of a member.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reader of the content of a gzip file.
pub struct GzipReader<R> {
    /// None at the end, after the last member.
    member: Option<GzDecoder<R>>,
    /// The bytes after the last member, which are no member.
    has_tail: bool,
}

impl<R: BufRead> GzipReader<R> {
    /// Returns a reader at the file's beginning.
    pub fn new(file: R) -> Self {
        Self { member: Some(GzDecoder::new(file)), has_tail: false }
    }

    /// Returns true if bytes that are no gzip follow the last member. Valid once everything was read.
    pub fn has_tail(&self) -> bool {
        self.has_tail
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while let Some(mut member) = self.member.take() {
            // A member ends without an error only if its checksum is right.
            let num = member.read(buffer)?;
            if num > 0 || buffer.is_empty() {
                self.member = Some(member);
                return Ok(num);
            }
            let mut file = member.into_inner();
            let next = file.fill_buf()?;
            if next.starts_with(&MAGIC) {
                self.member = Some(GzDecoder::new(file));
            } else {
                self.has_tail = !next.is_empty();
            }
        }
        Ok(0)
    }
}
