//! Folders of the program: where they are, whether they are writable, and the size of the cache.

use std::io;
use std::path::Path;

use super::private::Private;
use super::problem::{Findings, Problem};
use super::section::{Field, Section};
use crate::plan::Cache;
#[cfg(feature = "window")]
use crate::ui::settings_folder;

/// Deepest folder whose files count towards the size of the cache.
const MAX_DEPTH: usize = 8;

/// Probes the folders of cache and settings.
pub fn folders(_: &Private, findings: &mut Findings) -> Section {
    let cache = Cache::of_the_user();
    let (num_files, size) = cache.folder().map_or((0, 0), |folder| contents(folder, MAX_DEPTH));
    let mut fields = Vec::new();
    fields.extend(folder(["Cache folder", "Cache writable"], "cache folder", cache.folder(), findings));
    fields.extend([Field::number("Cache files", Some(num_files)), Field::bytes("Cache size", Some(size))]);
    #[cfg(feature = "window")]
    fields.extend(folder(["Settings folder", "Settings writable"], "settings folder", settings_folder().as_deref(), findings));
    Section::new("Folders", fields)
}

/// Returns the path of a folder, and whether it is writable.
fn folder([label, writable]: [&'static str; 2], name: &'static str, path: Option<&Path>, findings: &mut Findings) -> [Field; 2] {
    let Some(path) = path else {
        findings.problems.push(Problem::NoFolder(name));
        return [Field::maybe(label, None), Field::flag(writable, false)];
    };
    let outcome = check_writable(path);
    let is_writable = outcome.is_ok();
    if let Err(error) = outcome {
        findings.problems.push(Problem::ReadOnlyFolder(name, error.to_string()));
    }
    [Field::text(label, path.to_string_lossy()), Field::flag(writable, is_writable)]
}

/// Makes a nameless file in a folder, or in the nearest existing parent of a missing folder.
fn check_writable(path: &Path) -> io::Result<()> {
    let existing = path.ancestors().find(|folder| folder.exists());
    tempfile::tempfile_in(existing.unwrap_or(path)).map(|_| ())
}

/// Returns number and bytes of the files in a folder. Links are not followed.
fn contents(folder: &Path, depth: usize) -> (usize, u64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return (0, 0) };
    let mut sum = (0, 0);
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        let (num, size) = match metadata.is_dir() {
            true if depth > 0 => contents(&entry.path(), depth - 1),
            true => (0, 0),
            false => (1, metadata.len()),
        };
        sum = (sum.0 + num, sum.1 + size);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_files_add_up_and_missing_folders_are_empty() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("a"), [0; 10]).unwrap();
        std::fs::write(folder.path().join("sub/b"), [0; 5]).unwrap();
        assert_eq!(contents(folder.path(), MAX_DEPTH), (2, 15));
        assert_eq!(contents(folder.path(), 0), (1, 10));
        assert_eq!(contents(&folder.path().join("missing"), MAX_DEPTH), (0, 0));
        assert!(check_writable(&folder.path().join("missing/deeper")).is_ok());
        assert!(check_writable(&folder.path().join("a/in-a-file")).is_err());
    }
}
