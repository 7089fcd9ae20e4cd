//! A file on its way: complete under another name first, so that a failed write never destroys what was there.
//!
//! The other name, `tomoscope-<random>-unfinished.<ending>`, stands in the target's folder. It vanishes when the write fails
//! and when [`discard_unfinished`] is called before the process ends; what a killed process left there is removed a day later,
//! when the next file is written into that folder.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::io::error::IoError;

const PREFIX: &str = "tomoscope-";
const SUFFIX: &str = "-unfinished.";

/// Random characters of a name.
const NUM_RANDOM: usize = 12;

/// Age from which an unfinished file is taken to be left over from a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Links that are followed, one to the next.
const MAX_LINKS: usize = 40;

/// What this process has under way.
static UNDER_WAY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn under_way() -> MutexGuard<'static, Vec<PathBuf>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every unfinished file and folder of this process. For the way out on which nothing is dropped (`std::process::exit` in a signal's
/// handler): a write that goes on after this fails, and what was there before it stays.
pub fn discard_unfinished() {
    for path in under_way().drain(..) {
        remove(&path);
    }
}

/// Removes a file, or a folder with what it holds.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// Writes a file that is complete before it takes its place.
///
/// # Errors
/// It cannot be written; what was there before stays.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), IoError> {
    let pending = PendingFile::create(path)?;
    pending.write(|writer| writer.write_all(content))?;
    pending.commit()
}

/// A temporary file beside its target. It is removed when dropped before [`PendingFile::commit`].
pub struct PendingFile {
    target: PathBuf,
    /// The permissions of the file that is replaced.
    permissions: Option<Permissions>,
    file: NamedTempFile,
    /// Dropped after the file.
    _name: Name,
}

/// A name that stands in [`UNDER_WAY`].
struct Name(PathBuf);

impl Drop for Name {
    fn drop(&mut self) {
        under_way().retain(|path| *path != self.0);
    }
}

impl PendingFile {
    /// Claims a temporary name in the target's folder, with the target's ending. A link stays a link: what it points to is
    /// replaced.
    pub fn create(target: &Path) -> Result<Self, IoError> {
        let target = behind_links(target);
        let replaced = fs::metadata(&target).ok();
        if replaced.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return Err(IoError::NotAFile { path: target });
        }
        let folder = folder_of(&target);
        remove_abandoned(folder);
        let suffix = format!("{SUFFIX}{}", ending(&target));
        let mut builder = Builder::new();
        builder.prefix(PREFIX).rand_bytes(NUM_RANDOM).suffix(&suffix);
        #[cfg(unix)]
        // As any new file: the process's mask takes its part from this.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut names = under_way();
        let file = builder.tempfile_in(folder).map_err(IoError::write(&target))?;
        let name = Name(file.path().to_owned());
        names.push(name.0.clone());
        drop(names);
        Ok(Self { target, permissions: replaced.map(|metadata| metadata.permissions()), file, _name: name })
    }

    /// Where the content goes for now.
    pub fn temporary(&self) -> &Path {
        self.file.path()
    }

    /// Where the content goes in the end.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Writes the content through a buffer.
    pub fn write(&self, content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<(), IoError> {
        let write = || {
            let mut writer = BufWriter::new(self.file.as_file());
            content(&mut writer)?;
            writer.flush()
        };
        write().map_err(IoError::write(&self.target))
    }

    /// Puts the file in its place.
    pub fn commit(self) -> Result<(), IoError> {
        self.commit_by(|from, to| fs::rename(from, to))
    }

    /// The same; where a file may be written to but not replaced (another's in a folder like /tmp, a mount of its own), its
    /// content is.
    fn commit_by(self, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> Result<(), IoError> {
        use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
        if let Some(permissions) = self.permissions.clone() {
            // Where they cannot be kept, those of a new file do.
            let _ = self.file.as_file().set_permissions(permissions);
        }
        let placed = match rename(self.file.path(), &self.target) {
            Err(error) if matches!(error.kind(), PermissionDenied | ResourceBusy | CrossesDevices) && self.target.is_file() => {
                (|| io::copy(&mut File::open(self.file.path())?, &mut File::create(&self.target)?).map(|_| ()))()
            }
            placed => placed,
        };
        placed.map_err(IoError::write(&self.target))
    }
}

/// A folder on its way. It is removed when dropped before [`PendingFolder::commit`].
pub struct PendingFolder {
    target: PathBuf,
    folder: TempDir,
    /// Dropped after the folder.
    _name: Name,
}

impl PendingFolder {
    /// Makes a folder of another name beside the target.
    pub fn create(target: &Path) -> Result<Self, IoError> {
        let target = behind_links(target);
        remove_abandoned(folder_of(&target));
        let mut names = under_way();
        let folder = temporary_folder(&target)?;
        let name = Name(folder.path().to_owned());
        names.push(name.0.clone());
        drop(names);
        Ok(Self { target, folder, _name: name })
    }

    /// Where the files go for now.
    pub fn temporary(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the folder in its place; one that was there is put aside first and then removed, with all that it holds.
    pub fn commit(self) -> Result<(), IoError> {
        let aside = temporary_folder(&self.target)?;
        let before = aside.path().join("before");
        let is_there = self.target.exists();
        let place = || {
            if is_there {
                fs::rename(&self.target, &before)?;
            }
            fs::rename(self.folder.path(), &self.target)
        };
        let placed = place();
        if placed.is_err() && before.exists() {
            fs::rename(&before, &self.target).map_err(IoError::write(&self.target))?;
        }
        placed.map_err(IoError::write(&self.target))
    }
}

fn temporary_folder(target: &Path) -> Result<TempDir, IoError> {
    let suffix = format!("{SUFFIX}{}", ending(target));
    let mut builder = Builder::new();
    builder.prefix(PREFIX).rand_bytes(NUM_RANDOM).suffix(&suffix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    builder.tempdir_in(folder_of(target)).map_err(IoError::write(target))
}

/// The folder that a file lies in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The ending of a name, whole where another follows it (`nii.gz`).
fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if name.ends_with(".nii.gz") {
        "nii.gz".into()
    } else {
        path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
    }
}

/// What a path stands for once its links are followed, also where nothing is there yet.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => break,
        }
    }
    path
}

/// Removes what killed processes left in a folder.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_old = || {
            let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file() || metadata.is_dir())?;
            metadata.modified().ok()?.elapsed().ok().map(|age| age > ABANDONED)
        };
        if entry.file_name().to_str().is_some_and(is_unfinished_name) && is_old() == Some(true) {
            remove(&entry.path());
        }
    }
}

/// Whether a name is one of ours: random letters and digits between its beginning and its end, or two numbers as earlier
/// versions had.
fn is_unfinished_name(name: &str) -> bool {
    let Some((middle, _)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once(SUFFIX)) else { return false };
    let is_random = middle.len() == NUM_RANDOM && middle.chars().all(|c| c.is_ascii_alphanumeric());
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    is_random || middle.split_once('-').is_some_and(|(process, count)| is_number(process) && is_number(count))
}

/// Writes values as little-endian 32-bit floats.
pub fn write_f32_le(writer: &mut (impl Write + ?Sized), values: &[f32]) -> io::Result<()> {
    let mut bits = Vec::new();
    for block in values.chunks(1 << 16) {
        bits.clear();
        bits.extend(block.iter().map(|value| value.to_bits().to_le()));
        writer.write_all(bytemuck::cast_slice(&bits))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn names_are_ours_only_with_random_letters_or_two_numbers() {
        for name in ["tomoscope-a1B2c3D4e5F6-unfinished.nii.gz", "tomoscope-1-0-unfinished.hv"] {
            assert!(is_unfinished_name(name), "{name}");
        }
        for name in ["tomoscope-report-unfinished.csv", "tomoscope--unfinished.hv", "x-1-0-unfinished.hv", "tomoscope-1-0.hv"] {
            assert!(!is_unfinished_name(name), "{name}");
        }
    }

    #[test]
    fn what_is_dropped_or_discarded_leaves_nothing_and_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.toml");
        fs::write(&target, "old").unwrap();
        let pending = PendingFile::create(&target).unwrap();
        pending.write(|writer| writer.write_all(b"new")).unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        drop(pending);
        let pending = PendingFolder::create(&folder.path().join("b.dcm")).unwrap();
        fs::write(pending.temporary().join("slice"), "new").unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        drop(pending);
        assert_eq!(names(folder.path()), ["a.toml"]);
        let pending = PendingFile::create(&target).unwrap();
        // As discarding does, but not to what the other tests of this process have under way.
        under_way().retain(|path| path != pending.temporary());
        fs::remove_file(pending.temporary()).unwrap();
        assert!(pending.commit().is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    }

    #[test]
    fn a_file_that_may_not_be_replaced_is_written_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.toml");
        let refuse = |_: &Path, _: &Path| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        let pending = PendingFile::create(&target).unwrap();
        assert!(pending.commit_by(refuse).is_err());
        assert!(names(folder.path()).is_empty());
        fs::write(&target, "old and longer").unwrap();
        let pending = PendingFile::create(&target).unwrap();
        pending.write(|writer| writer.write_all(b"new")).unwrap();
        pending.commit_by(refuse).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(folder.path()), ["a.toml"]);
    }
}
