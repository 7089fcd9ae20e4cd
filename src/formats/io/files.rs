//! Files that belong together: a header and its data file, an acquisition and its reference spectrum, the arrays of a set.
//! Writers ask here if another file needs the target.

use std::fs;
use std::path::{Path, PathBuf};

use crate::io::formats::{FileKind, Format};

/// Returns the files of a write to `path`: the file and the data file of a header.
pub fn files_written(path: &Path) -> Vec<PathBuf> {
    let data = Format::of(path).and_then(|format| format.data_written(path));
    [path.to_owned()].into_iter().chain(data).collect()
}

/// Returns the files of a read of `path`: the file, its data and its companions, even if they do not exist.
pub fn files_read(path: &Path) -> Vec<PathBuf> {
    let others = Format::of(path).map(|format| format.files_read(path));
    [path.to_owned()].into_iter().chain(others.unwrap_or_default()).collect()
}

/// Returns a header in the folder of `file` whose data file is `file`, unless it `is_excepted`.
pub fn header_of(file: &Path, is_excepted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wanted = identity(file);
    let has_data = |header: &PathBuf| {
        Format::of(header).is_some_and(|format| format.data_read(header).iter().any(|data| identity(data) == wanted))
    };
    let headers = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    headers.filter(|header| identity(header) != wanted && !is_excepted(header)).find(has_data)
}

/// Returns the same path for all names of one file: without links, `.` and `..`. The file need not exist.
pub fn identity(path: &Path) -> PathBuf {
    let of_parent = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(of_parent).unwrap_or_else(|| path.to_owned())
}

/// Returns the path with a text before its ending, also for the double ending .nii.gz.
pub fn before_ending(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let of_a_kind = name.strip_prefix(FileKind::stem(path).as_str()).filter(|_| FileKind::of(path).is_some());
    // Names of other files (a table of lines, a report) have one ending.
    let other = path.extension().map(|ending| format!(".{}", ending.to_string_lossy()));
    let ending = of_a_kind.map_or(other.unwrap_or_default(), str::to_owned);
    let (stem, ending) = name.split_at(name.len() - ending.len());
    path.with_file_name(format!("{stem}{what}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_know_their_data_and_data_their_header() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.hs"), "!INTERFILE :=\nname of data file := shared.s\n").unwrap();
        assert_eq!(files_read(&at("a.hs")), [at("a.hs"), at("shared.s")]);
        assert_eq!(files_written(&at("b.hs")), [at("b.hs"), at("b.s")]);
        assert_eq!(files_written(&at("b.nii.gz")), [at("b.nii.gz")]);
        assert_eq!(files_written(&at("b.pairs")), [at("b.pairs"), at("b.pairs.f32")]);
        assert_eq!(header_of(&at("shared.s"), |_| false), Some(at("a.hs")));
        assert_eq!(header_of(&folder.path().join("./shared.s"), |_| false), Some(at("a.hs")));
        assert_eq!(header_of(&at("shared.s"), |header| header == at("a.hs")), None);
        assert_eq!(header_of(&at("b.s"), |_| false), None);
        fs::write(at("scan-proj.DSC"), "").unwrap();
        assert_eq!(header_of(&at("scan-proj.DTA"), |_| false), Some(at("scan-proj.DSC")));
        assert!(files_read(&at("scan-proj.DSC")).contains(&at("scan-h.DTA")));
        assert!(files_read(&at("scan-proj.npy")).contains(&at("scan-fgrad.npy")));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_the_file_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert_eq!(identity(&at("link")), identity(&at("file")));
        assert_ne!(identity(&at("link")), identity(&at("new")));
    }
}
