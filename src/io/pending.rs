//! A file on its way: complete under another name first, so that a failed write never destroys what was there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::IoError;

/// A temporary file beside its target. It is removed when dropped before [`PendingFile::commit`].
pub(super) struct PendingFile {
    target: PathBuf,
    temporary: PathBuf,
}

impl PendingFile {
    /// Claims a temporary name in the target's folder. It ends in `extension`.
    pub(super) fn create(target: &Path, extension: &str) -> Result<Self, IoError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        // A link stays a link: what it points to is replaced.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(IoError::NotAFile { path: target });
        }
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = target.with_file_name(format!("tomoscope-{}-{number}-unfinished.{extension}", std::process::id()));
        OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(IoError::write(&target))?;
        Ok(Self { target, temporary })
    }

    /// Where the content goes for now.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Writes the content through a buffer.
    pub(super) fn write(&self, content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), IoError> {
        let write = || {
            let mut writer = BufWriter::new(File::create(&self.temporary)?);
            content(&mut writer)?;
            writer.flush()
        };
        write().map_err(IoError::write(&self.target))
    }

    /// Puts the file in its place.
    pub(super) fn commit(self) -> Result<(), IoError> {
        fs::rename(&self.temporary, &self.target).map_err(IoError::write(&self.target))
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a commit there is nothing under this name; before it, what is there is incomplete and nobody's.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Writes values as little-endian 32-bit floats.
pub(super) fn write_f32_le(writer: &mut impl Write, values: &[f32]) -> io::Result<()> {
    let mut bits = Vec::new();
    for block in values.chunks(1 << 16) {
        bits.clear();
        bits.extend(block.iter().map(|value| value.to_bits().to_le()));
        writer.write_all(bytemuck::cast_slice(&bits))?;
    }
    Ok(())
}
