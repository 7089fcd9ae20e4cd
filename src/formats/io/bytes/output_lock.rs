//! Locks of outputs: two processes that write one output at once would mix its files, a header, its data and its record.
//!
//! The lock is an operating system's lock of a file in the folder of the output, `tomoscope-<name>-unfinished.lock`. It ends with the
//! process that holds it, however that ends: a file left behind locks nothing. A process locks an output as often as it likes.
//! File systems without locks, and folders in which no file can be made, have none.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::pending::{folder_of, lock_name, resolve_links, unfinished};
use crate::io::error::IoError;

/// Time for which a short write waits for another process.
const WAIT: Duration = Duration::from_secs(10);

/// Interval between two attempts.
const INTERVAL: Duration = Duration::from_millis(20);

/// Longest text of a holder.
const MAX_HOLDER: u64 = 100;

/// Locks of this process by their files.
static HELD: Mutex<BTreeMap<PathBuf, Held>> = Mutex::new(BTreeMap::new());

struct Held {
    count: usize,
    /// Locked until it is closed.
    _file: File,
}

fn held() -> MutexGuard<'static, BTreeMap<PathBuf, Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lock of an output until it is dropped.
#[must_use = "the output is locked as long as this value lives"]
#[derive(Debug)]
pub struct OutputLock {
    /// The locked file; `None` where locks are not possible.
    path: Option<PathBuf>,
}

/// Outcome of an attempt.
enum Attempt {
    Locked(File),
    /// Another process has it.
    Busy(String),
    /// The file was removed meanwhile by its holder.
    Removed,
    Impossible,
}

impl OutputLock {
    /// Locks an output.
    ///
    /// # Errors
    /// Another process has locked it.
    pub fn acquire(output: &Path) -> Result<Self, IoError> {
        Self::within(output, Duration::ZERO)
    }

    /// Locks an output for a short write; waits for another process that does the same.
    ///
    /// # Errors
    /// Another process has locked it for longer.
    pub fn wait(output: &Path) -> Result<Self, IoError> {
        Self::within(output, WAIT)
    }

    fn within(output: &Path, wait: Duration) -> Result<Self, IoError> {
        let path = lock_path(output);
        let begin = Instant::now();
        loop {
            let mut locks = held();
            if let Some(lock) = locks.get_mut(&path) {
                lock.count += 1;
                return Ok(Self { path: Some(path) });
            }
            match attempt(&path) {
                Attempt::Locked(file) => {
                    unfinished().push(path.clone());
                    locks.insert(path.clone(), Held { count: 1, _file: file });
                    return Ok(Self { path: Some(path) });
                }
                Attempt::Impossible => return Ok(Self { path: None }),
                Attempt::Busy(holder) if begin.elapsed() >= wait => {
                    return Err(IoError::OutputInUse { path: output.to_owned(), holder });
                }
                Attempt::Busy(_) => {
                    drop(locks);
                    thread::sleep(INTERVAL);
                }
                Attempt::Removed => {}
            }
        }
    }
}

impl Drop for OutputLock {
    fn drop(&mut self) {
        let Some(path) = &self.path else { return };
        let mut locks = held();
        let Some(lock) = locks.get_mut(path) else { return };
        lock.count -= 1;
        if lock.count == 0 {
            // Removed before it is unlocked: a process that opened it finds another file of this name, or none.
            let _ = fs::remove_file(path);
            locks.remove(path);
            unfinished().retain(|other| other != path);
        }
    }
}

/// Returns the file of an output's lock, the same for all names of the output.
fn lock_path(output: &Path) -> PathBuf {
    let target = resolve_links(output);
    let folder = folder_of(&target);
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    folder.join(lock_name(&target))
}

fn attempt(path: &Path) -> Attempt {
    let Ok(mut file) = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path) else {
        return Attempt::Impossible;
    };
    match file.try_lock() {
        Ok(()) if !is_still(&file, path) => Attempt::Removed,
        Ok(()) => {
            // (The text is for messages only.)
            let _ = file.set_len(0).and_then(|()| write!(file, "process {}", std::process::id()));
            Attempt::Locked(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.rewind();
            let _ = file.take(MAX_HOLDER).read_to_string(&mut holder);
            Attempt::Busy(if holder.is_empty() { "another process".to_owned() } else { holder })
        }
        Err(TryLockError::Error(_)) => {
            let _ = fs::remove_file(path);
            Attempt::Impossible
        }
    }
}

/// Returns true if the file still has this name.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata().map(identity), fs::metadata(path).map(identity)), (Ok(a), Ok(b)) if a == b)
}

/// Returns true: a file that is open is not removed.
#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_locks_an_output_repeatedly_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("o.hv");
        let num_files = || fs::read_dir(folder.path()).unwrap().count();
        let first = OutputLock::acquire(&output).unwrap();
        let second = OutputLock::acquire(&folder.path().join("./o.hv")).unwrap();
        assert_eq!(first.path, second.path);
        assert_eq!(num_files(), 1);
        drop(first);
        assert_eq!(num_files(), 1);
        // Another handle of the file acts as another process.
        let path = second.path.clone().unwrap();
        assert!(matches!(attempt(&path), Attempt::Busy(holder) if holder == format!("process {}", std::process::id())));
        drop(second);
        assert_eq!(num_files(), 0);
        // A file that a process left behind locks nothing.
        fs::write(&path, "process 1").unwrap();
        let again = OutputLock::acquire(&output).unwrap();
        assert_eq!(again.path, Some(path));
        drop(again);
        assert_eq!(num_files(), 0);
    }

    #[test]
    fn an_output_that_another_has_is_refused_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("o.hv");
        let path = lock_path(&output);
        let Attempt::Locked(other) = attempt(&path) else { panic!("not locked") };
        let error = OutputLock::acquire(&output).unwrap_err();
        assert!(
            matches!(&error, IoError::OutputInUse { path, holder } if *path == output && holder.starts_with("process")),
            "{error}"
        );
        // It waits for one that is written meanwhile.
        let waiting = thread::spawn(move || OutputLock::wait(&output).map(drop));
        thread::sleep(Duration::from_millis(100));
        drop(other);
        assert!(waiting.join().unwrap().is_ok());
    }

    #[test]
    fn a_folder_without_room_for_a_lock_has_none() {
        let lock = OutputLock::acquire(Path::new("/no such folder/o.hv")).unwrap();
        assert!(lock.path.is_none());
    }
}
