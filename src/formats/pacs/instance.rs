//! DICOM files to send.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use dicom_dictionary_std::uids;
use dicom_object::FileMetaTable;

use super::error::PacsError;

/// Bytes before the mark of a DICOM file.
const PREAMBLE: usize = 128;

/// Bytes of the mark and of the element with the length of the file meta information (PS3.10, 7.1).
const MARK_AND_LENGTH: usize = 4 + 12;

/// Largest file meta information that is read.
const MAX_META_BYTES: usize = 1 << 20;

/// Largest file that is sent.
const MAX_BYTES: u64 = 1 << 32;

/// A DICOM file, with the facts of its association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The file.
    pub path: PathBuf,
    /// UID of its SOP class.
    pub class: String,
    /// UID of the object.
    pub uid: String,
    /// UID of its transfer syntax.
    pub syntax: String,
    /// Position of its data set in the file.
    start: u64,
}

impl Instance {
    /// Returns the DICOM files of paths, sorted by name, and the number of other files. A path is a file or a folder, whose folders
    /// are not searched.
    ///
    /// # Errors
    /// A path that does not read or contains no DICOM file.
    pub fn find(paths: &[PathBuf]) -> Result<(Vec<Self>, usize), PacsError> {
        let (mut all, mut num_others) = (Vec::<Self>::new(), 0);
        for path in paths {
            let failed = |source| PacsError::Read { path: path.clone(), source };
            let mut files = vec![path.clone()];
            if fs::metadata(path).map_err(failed)?.is_dir() {
                let entries = fs::read_dir(path).map_err(failed)?.flatten();
                files = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
                files.sort();
            }
            let num_files = files.len();
            let found: Vec<Self> =
                files.iter().filter_map(|file| Self::read(file).transpose()).collect::<Result<_, PacsError>>()?;
            if found.is_empty() {
                return Err(PacsError::NoFile(path.clone()));
            }
            num_others += num_files - found.len();
            all.extend(found);
        }
        let mut known = HashSet::new();
        all.retain(|instance| known.insert(instance.path.clone()));
        Ok((all, num_others))
    }

    /// Reads the file meta information; `None` of a file that is no object to store.
    fn read(path: &Path) -> Result<Option<Self>, PacsError> {
        let failed = |source| PacsError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let mut head = [0; PREAMBLE + MARK_AND_LENGTH];
        if file.read_exact(&mut head).is_err() {
            return Ok(None);
        }
        let [.., a, b, c, d] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if !head[PREAMBLE..].starts_with(b"DICM\x02\x00\x00\x00UL") || length > MAX_META_BYTES {
            return Ok(None);
        }
        let mut meta = head[PREAMBLE..].to_vec();
        meta.resize(MARK_AND_LENGTH + length, 0);
        if file.read_exact(&mut meta[MARK_AND_LENGTH..]).is_err() {
            return Ok(None);
        }
        let Ok(table) = FileMetaTable::from_reader(&meta[..]) else { return Ok(None) };
        let class = table.media_storage_sop_class_uid().to_owned();
        if class == uids::MEDIA_STORAGE_DIRECTORY_STORAGE {
            return Ok(None);
        }
        Ok(Some(Self {
            path: path.to_owned(),
            class,
            uid: table.media_storage_sop_instance_uid().to_owned(),
            syntax: table.transfer_syntax().to_owned(),
            start: (PREAMBLE + meta.len()) as u64,
        }))
    }

    /// Returns the bytes of the data set.
    ///
    /// # Errors
    /// A file that does not read, or is too large.
    pub fn data_set(&self) -> std::io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        if file.metadata()?.len() > MAX_BYTES {
            return Err(std::io::Error::other("more than 4 GiB"));
        }
        file.seek(SeekFrom::Start(self.start))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
