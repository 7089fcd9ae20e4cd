//! What cannot be a study, told by what it is and by its name, before anything of it is read.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use crate::io::FileKind;

/// What can be opened.
const STUDIES: &str =
    "Interfile projections (.hs), an EPRI sweep (.DSC, NAME-proj.npy, .sweep) or counts of pairs of crystals (.pairs)";

/// Why a file is no study that can be opened; `None` where it may be one.
pub fn why_no_study(path: &Path) -> Option<String> {
    let shown = path.display();
    if path.is_dir() {
        return Some(format!("{shown} is a folder: open the header of a scan in it – {STUDIES}"));
    }
    let what = match FileKind::of(path) {
        Some(kind) if kind.is_image() => "an image, and what is opened here is what a scanner measured",
        Some(FileKind::Castor | FileKind::YrtList | FileKind::SiemensList) => "a list of events, which is not opened here yet",
        Some(FileKind::DicomSeries) => "DICOM, which is written but not read",
        Some(FileKind::Measurements) => "a table of numbers",
        Some(_) => return None,
        None => match header_beside(path) {
            Some(header) => return Some(format!("{shown} is the data of {}: open that header instead", header.display())),
            None if is_dicom(path) => "DICOM, which is written but not read",
            None if path.is_file() => "of no kind that is known by the ending of its name",
            None => return None,
        },
    };
    Some(format!("{shown} is {what}: open {STUDIES}"))
}

/// The one to open of files that were dropped together: a study rather than another, and a scan's own header rather than
/// those of its corrections, whose names are longer.
pub fn chosen_of(paths: Vec<PathBuf>) -> Option<PathBuf> {
    let is_study = |kind: FileKind| {
        kind.is_sweep() || matches!(kind, FileKind::InterfileProjections | FileKind::SiemensSinograms | FileKind::Pairs)
    };
    let preference = |path: &PathBuf| (FileKind::of(path).is_some_and(is_study), Reverse(path.as_os_str().len()));
    paths.into_iter().rev().max_by_key(preference)
}

/// The header of the same name beside a data file.
fn header_beside(data: &Path) -> Option<PathBuf> {
    let headers = ["hs", "sweep", ""].map(|ending| data.with_extension(ending));
    headers.into_iter().find(|header| FileKind::of(header).is_some() && header != data && header.is_file())
}

/// Whether a file begins as DICOM's do.
fn is_dicom(path: &Path) -> bool {
    let mut start = [0; 132];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start.ends_with(b"DICM")
}
