//! Unfinished files: a file is complete under another name first, so a failed write never destroys an existing file.
//!
//! The temporary name, `tomoscope-<random>-unfinished.<ending>`, is in the target's folder. It disappears if the write fails and
//! if [`discard_unfinished`] is called before the process ends. Files of a killed process are removed a day later, when the next
//! file is written to that folder.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::data::Fingerprint;
use crate::io::error::IoError;

const PREFIX: &str = "tomoscope-";
const SUFFIX: &str = "-unfinished.";

/// Ending of a lock.
const LOCK: &str = "lock";

/// Random characters of a name.
const NUM_RANDOM: usize = 12;

/// Age from which an unfinished file is taken to be left over from a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Links that are followed, one to the next.
const MAX_LINKS: usize = 40;

/// Unfinished files and folders of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

pub(super) fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every unfinished file and folder of this process. For an exit that drops nothing (`std::process::exit` in a signal
/// handler): a write that is still running then fails, and an existing file remains.
pub fn discard_unfinished() {
    for path in unfinished().drain(..) {
        remove(&path);
    }
}

/// Removes a file, or a folder with its content.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// Writes a file that is complete before it replaces an existing one.
///
/// # Errors
/// The write fails; an existing file remains.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), IoError> {
    let pending = PendingFile::create(path)?;
    pending.write(|writer| writer.write_all(content))?;
    pending.commit()
}

/// A temporary file in the folder of its target. It is removed when dropped before [`PendingFile::commit`].
pub struct PendingFile {
    target: PathBuf,
    /// The permissions of the file that is replaced.
    permissions: Option<Permissions>,
    file: NamedTempFile,
    /// Dropped after the file.
    _name: Name,
}

/// A name that is registered in [`UNFINISHED`].
struct Name(PathBuf);

impl Drop for Name {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

impl PendingFile {
    /// Claims a temporary name in the target's folder, with the target's ending. A link remains a link: the file behind it is
    /// replaced.
    pub fn create(target: &Path) -> Result<Self, IoError> {
        let target = resolve_links(target);
        let replaced = fs::metadata(&target).ok();
        if replaced.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return Err(IoError::NotAFile(target));
        }
        let (file, name) = named(
            &target,
            |target| temporary(target, 0o666, |builder, folder| builder.tempfile_in(folder)),
            NamedTempFile::path,
        )?;
        Ok(Self { target, permissions: replaced.map(|metadata| metadata.permissions()), file, _name: name })
    }

    /// Returns the temporary path of the content.
    pub fn temporary(&self) -> &Path {
        self.file.path()
    }

    /// Returns the final path of the content.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Writes the content through a buffer.
    pub fn write<T>(&self, content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>) -> Result<T, IoError> {
        let write = || {
            let mut writer = BufWriter::new(self.file.as_file());
            let written = content(&mut writer)?;
            writer.flush()?;
            Ok(written)
        };
        write().map_err(IoError::write(&self.target))
    }

    /// Puts the file in its place.
    pub fn commit(self) -> Result<(), IoError> {
        self.commit_by(|from, to| fs::rename(from, to))
    }

    /// Commits by a rename. Where a file is writable but not replaceable (another user's file in a folder like /tmp, a mount
    /// point), its content is replaced.
    fn commit_by(self, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> Result<(), IoError> {
        use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
        if let Some(permissions) = self.permissions.clone() {
            // If this fails, the file has the permissions of a new file.
            let _ = self.file.as_file().set_permissions(permissions);
        }
        let outcome = match rename(self.file.path(), &self.target) {
            Err(error) if matches!(error.kind(), PermissionDenied | ResourceBusy | CrossesDevices) && self.target.is_file() => {
                (|| io::copy(&mut File::open(self.file.path())?, &mut File::create(&self.target)?).map(|_| ()))()
            }
            outcome => outcome,
        };
        outcome.map_err(IoError::write(&self.target))
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
    /// Makes a folder of another name in the folder of the target.
    pub fn create(target: &Path) -> Result<Self, IoError> {
        let target = resolve_links(target);
        let (folder, name) = named(&target, temporary_folder, TempDir::path)?;
        Ok(Self { target, folder, _name: name })
    }

    /// Returns the temporary path of the files.
    pub fn temporary(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the folder in its place; one that was there is put aside first and then removed, with all that it holds.
    pub fn commit(self) -> Result<(), IoError> {
        let aside = temporary_folder(&self.target)?;
        let before = aside.path().join("before");
        let is_replaced = self.target.exists();
        let replace = || {
            if is_replaced {
                fs::rename(&self.target, &before)?;
            }
            fs::rename(self.folder.path(), &self.target)
        };
        let outcome = replace();
        if outcome.is_err() && before.exists() {
            fs::rename(&before, &self.target).map_err(IoError::write(&self.target))?;
        }
        outcome.map_err(IoError::write(&self.target))
    }
}

/// Makes a temporary file or folder in the target's folder and registers its name in [`UNFINISHED`].
fn named<T>(
    target: &Path,
    make: impl FnOnce(&Path) -> Result<T, IoError>,
    path: impl FnOnce(&T) -> &Path,
) -> Result<(T, Name), IoError> {
    remove_abandoned(folder_of(target));
    let mut names = unfinished();
    let made = make(target)?;
    let name = Name(path(&made).to_owned());
    names.push(name.0.clone());
    Ok((made, name))
}

fn temporary_folder(target: &Path) -> Result<TempDir, IoError> {
    temporary(target, 0o777, |builder, folder| builder.tempdir_in(folder))
}

/// Makes a file or folder under a temporary name. `mode` holds the permissions of any new file or folder; the process's mask reduces
/// them.
fn temporary<T>(
    target: &Path,
    #[cfg_attr(not(unix), expect(unused_variables))] mode: u32,
    make: impl FnOnce(&Builder<'_, '_>, &Path) -> io::Result<T>,
) -> Result<T, IoError> {
    let suffix = format!("{SUFFIX}{}", ending(target));
    let mut builder = Builder::new();
    builder.prefix(PREFIX).rand_bytes(NUM_RANDOM).suffix(&suffix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    make(&builder, folder_of(target)).map_err(IoError::write(target))
}

/// Returns the folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the ending of a name, both parts of `nii.gz`.
fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if name.ends_with(".nii.gz") {
        "nii.gz".into()
    } else {
        path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
    }
}

/// Returns the name of the lock of a file: always the same for a name, and as long as that of a temporary file.
pub(super) fn lock_name(path: &Path) -> String {
    let mut name = Fingerprint::default();
    name.text(&path.file_name().unwrap_or_default().to_string_lossy());
    let digits: String =
        name.digits().chars().filter(char::is_ascii_alphanumeric).chain(std::iter::repeat('0')).take(NUM_RANDOM).collect();
    format!("{PREFIX}{digits}{SUFFIX}{LOCK}")
}

/// Returns the target of a path after all its links, even if it does not exist yet.
pub(super) fn resolve_links(path: &Path) -> PathBuf {
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
        let is_locked = || {
            let is_lock = entry.path().extension().is_some_and(|ending| ending == LOCK);
            is_lock && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_err())
        };
        if entry.file_name().to_str().is_some_and(is_unfinished_name) && is_old() == Some(true) && !is_locked() {
            remove(&entry.path());
        }
    }
}

/// Returns true for the names of unfinished files: random letters and digits between prefix and suffix, or two numbers as in
/// earlier versions.
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
        let lock = lock_name(Path::new("a/o.hv"));
        assert!(lock == lock_name(Path::new("b/o.hv")) && lock != lock_name(Path::new("a/o.v")), "{lock}");
        for name in ["tomoscope-a1B2c3D4e5F6-unfinished.nii.gz", "tomoscope-1-0-unfinished.hv", &lock] {
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
        unfinished().retain(|path| path != pending.temporary());
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
