//! What cannot be a study, told by what it is and by its name, before anything of it is read.

use std::cmp::Reverse;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::io::FileKind;
use crate::io::formats::{Access, Content, Format, described};
use crate::text::either;

/// What can be opened.
pub const STUDIES: [Content; 4] = [Content::Projections, Content::ListMode, Content::Sweep, Content::Pairs];

/// What can be opened, for a person.
pub fn studies() -> String {
    either(&STUDIES.map(|content| described(content, Access::Read)))
}

/// Why a file is no study that can be opened; `None` where it may be one.
pub fn why_no_study(path: &Path) -> Option<String> {
    let shown = path.display();
    if path.is_dir() {
        return Some(format!("{shown} is a folder: open the header of a scan in it – {}", studies()));
    }
    let what = match FileKind::of(path) {
        Some(kind) if kind.is_image() => "an image; open measured data here",
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
    Some(format!("{shown} is {what}: open {}", studies()))
}

/// The one to open of files that were dropped together: a study rather than another, and a scan's own header rather than
/// those of its corrections, whose names are longer.
pub fn chosen_of(paths: Vec<PathBuf>) -> Option<PathBuf> {
    let is_study = |path: &Path| Format::of(path).is_some_and(|format| STUDIES.contains(&format.content));
    let preference = |path: &PathBuf| (is_study(path), Reverse(path.as_os_str().len()));
    paths.into_iter().rev().max_by_key(preference)
}

/// Most bytes of a header that are looked through for the name of its data file.
const MAX_HEADER: u64 = 1 << 16;

/// The header beside a data file that this is the data of: of the same name, and of a text that names the file or, in the program's own
/// formats, with the ending of their data.
fn header_beside(data: &Path) -> Option<PathBuf> {
    let is_own = data.extension().is_some_and(|ending| ending == "f32" || ending == "u32");
    let headers = ["hs", "sweep", ""].map(|ending| data.with_extension(ending));
    headers
        .into_iter()
        .find(|header| FileKind::of(header).is_some() && header != data && header.is_file() && (is_own || names(header, data)))
}

/// Whether the text of a header has the name of this file in it.
fn names(header: &Path, data: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(header).and_then(|file| std::io::Read::read_to_end(&mut file.take(MAX_HEADER), &mut bytes));
    let name = data.file_name().unwrap_or_default().to_string_lossy();
    read.is_ok() && String::from_utf8_lossy(&bytes).contains(&*name)
}

/// Whether a file begins as DICOM's do.
fn is_dicom(path: &Path) -> bool {
    let mut start = [0; 132];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start.ends_with(b"DICM")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_data_of_a_header_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        write("bad.hs", "!INTERFILE :=\nname of data file := bad.s\n");
        let (data, other) = (write("bad.s", "1"), write("bad.txt", "1"));
        assert!(why_no_study(&data).unwrap().contains("is the data of"));
        assert!(why_no_study(&other).unwrap().contains("of no kind that is known"));
        write("a.pairs", "");
        assert!(why_no_study(&write("a.pairs.f32", "1")).unwrap().contains("is the data of"));
    }

    #[test]
    fn every_study_and_companion_of_the_program_opens_by_its_ending() {
        let opens = ["a.hs", "a.s.hdr", "a.petsird", "a.Cdh", "a.lmDat", "a.l.hdr", "a.pairs", "a.DSC", "a.sweep", "a.session"];
        let goes_with_a_study = ["a.tubes", "a.matrix", "rois.toml", "rois.json"];
        for name in opens.iter().chain(&goes_with_a_study) {
            assert!(FileKind::of(Path::new(name)).is_some() && why_no_study(Path::new(name)).is_none(), "{name}");
        }
    }
}
