//! Check of a file before it is opened, by its kind and its name.

use std::cmp::Reverse;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::io::formats::{Access, Content, Format, described};
use crate::io::{FileKind, foreign};
use crate::text::either;

/// Contents of files that are studies.
pub const STUDIES: [Content; 6] =
    [Content::Projections, Content::ListMode, Content::Sweep, Content::Oximetry, Content::Pairs, Content::Image];

/// Describes the files that are studies.
pub fn studies() -> String {
    either(&STUDIES.map(|content| described(content, Access::Read)))
}

/// Returns the reason why a file is no study; `None` if it may be one.
pub fn refusal(path: &Path) -> Option<String> {
    let shown = path.display();
    let what = match Format::of_file(path).map(|format| format.kind) {
        Some(FileKind::Measurements) => "a table of numbers",
        Some(_) => return None,
        None => match header_of_data(path) {
            Some(header) => return Some(format!("{shown} is the data of {}: open that header instead", header.display())),
            None if path.is_file() && foreign(path).is_some() => return foreign(path).map(|refusal| refusal.to_string()),
            None if path.is_file() => "of no kind that is known by the ending of its name",
            None => return None,
        },
    };
    Some(format!("{shown} is {what}: open {}", studies()))
}

/// Returns the file to open of several dropped ones: preferably a study, and the header of a scan rather than those of its
/// corrections, which have longer names.
pub fn main_file(paths: Vec<PathBuf>) -> Option<PathBuf> {
    let is_study = |path: &Path| Format::of(path).is_some_and(|format| STUDIES.contains(&format.content));
    let preference = |path: &PathBuf| (is_study(path), Reverse(path.as_os_str().len()));
    paths.into_iter().rev().max_by_key(preference)
}

/// Maximum number of bytes of a header that are searched for the name of its data file.
const MAX_HEADER: u64 = 1 << 16;

/// Returns the header of a data file in the same folder: it has the same name, and its text contains the name of the data file
/// or the data file has an ending of tomoscope's formats.
fn header_of_data(data: &Path) -> Option<PathBuf> {
    let is_own = data.extension().is_some_and(|ending| ending == "f32" || ending == "u32");
    let headers = ["hs", "sweep", ""].map(|ending| data.with_extension(ending));
    headers
        .into_iter()
        .find(|header| FileKind::of(header).is_some() && header != data && header.is_file() && (is_own || names(header, data)))
}

/// Returns true if the text of a header contains the name of a file.
fn names(header: &Path, data: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(header).and_then(|file| std::io::Read::read_to_end(&mut file.take(MAX_HEADER), &mut bytes));
    let name = data.file_name().unwrap_or_default().to_string_lossy();
    read.is_ok() && String::from_utf8_lossy(&bytes).contains(&*name)
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
        assert!(refusal(&data).unwrap().contains("is the data of"));
        assert!(refusal(&other).unwrap().contains("of no kind that is known"));
        assert!(refusal(&write("a.mat", "1")).unwrap().contains("is a MATLAB file"));
        write("a.pairs", "");
        assert!(refusal(&write("a.pairs.f32", "1")).unwrap().contains("is the data of"));
    }

    #[test]
    fn every_study_and_companion_of_the_program_opens_by_its_ending() {
        let opens = ["a.hs", "a.s.hdr", "a.petsird", "a.Cdh", "a.lmDat", "a.l.hdr", "a.pairs", "a.DSC", "a.sweep", "a.session"];
        let goes_with_a_study = ["a.tubes", "a.matrix", "rois.toml", "rois.json"];
        for name in opens.iter().chain(&goes_with_a_study) {
            assert!(FileKind::of(Path::new(name)).is_some() && refusal(Path::new(name)).is_none(), "{name}");
        }
    }
}
