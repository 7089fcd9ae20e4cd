//! Names of files to write, whose endings are checked before the work, and those of a series of images.

use std::path::{Path, PathBuf};

use crate::io::formats::{self, Access, Content, Format};
use crate::io::{FileKind, IoError, before_ending, files_written, identity};
use crate::text::either;

/// Refuses a file to read that does not exist, or is a folder.
///
/// # Errors
/// The file does not open, or is a folder.
pub fn check_file(path: &Path) -> Result<(), IoError> {
    match path.metadata() {
        Err(source) => Err(IoError::Open(path.to_owned(), source)),
        Ok(found) if found.is_dir() => Err(IoError::NotAFile(path.to_owned())),
        Ok(_) => Ok(()),
    }
}

/// Returns the path if it has the ending of a written file of one of these contents; `hint` completes the error.
fn path_with_ending(text: &str, contents: &[Content], hint: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let fits = |format: &Format| contents.contains(&format.content) && format.allows(Access::Write);
    if Format::of(&path).is_some_and(fits) {
        return Ok(path);
    }
    let endings: Vec<String> =
        formats::FORMATS.iter().filter(|format| fits(format)).flat_map(|format| format.shown).map(ToString::to_string).collect();
    Err(format!("the name must end in {}{hint}", either(&endings)))
}

/// Returns a parser of the path of a file to write.
pub fn file_of(content: Content) -> impl Fn(&str) -> Result<PathBuf, String> + Clone {
    let hint = if content == Content::Image { " (but not in -proj.npy)" } else { "" };
    move |text| path_with_ending(text, &[content], hint)
}

pub fn simulated_file(text: &str) -> Result<PathBuf, String> {
    let contents = [Content::Projections, Content::ListMode, Content::Sweep, Content::Pairs];
    path_with_ending(text, &contents, " (--list-mode, --epri and rings of crystals have their own)")
}

pub fn report_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_pdf = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pdf"));
    is_pdf.then_some(path).ok_or_else(|| "the name must end in .pdf".into())
}

/// Part of the name of an output that is replaced by the name of the input without its ending.
pub const INPUT_NAME: &str = "{}";

/// Returns the output of an input: out/{}.ext → out/scan.ext for folder/scan.hs.
pub fn of_input(path: &Path, input: &Path) -> PathBuf {
    // A name that is no text has no such part, or is not the user's pattern.
    path.to_str().map_or_else(|| path.to_owned(), |text| text.replace(INPUT_NAME, &FileKind::stem(input)).into())
}

/// Returns the output of an iteration: OUT.ext → OUT_itNNN.ext, also for the double ending .nii.gz. All numbers up to `last` have
/// the same number of digits, so that names sort as numbers.
pub fn numbered(path: &Path, iteration: usize, last: usize) -> PathBuf {
    before_ending(path, &format!("_it{iteration:0width$}", width = num_digits(last)))
}

/// Returns the output of a frame: OUT.ext → OUT_fNNN.ext, also for the double ending .nii.gz. All numbers up to `last` have the
/// same number of digits.
pub fn of_frame(path: &Path, number: usize, last: usize) -> PathBuf {
    before_ending(path, &format!("_f{number:0width$}", width = num_digits(last)))
}

/// Returns the number of digits of a number, three or more.
fn num_digits(number: usize) -> usize {
    number.to_string().len().max(3)
}

/// Returns true if a file is the image of an iteration that is a multiple of `every`.
pub fn is_numbered(path: &Path, output: &Path, every: usize) -> bool {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let digits = stem.rsplit_once("_it").map_or("", |(_, rest)| rest).split('.').next().unwrap_or_default();
    let Ok(iteration) = digits.parse::<usize>() else { return false };
    let written = || files_written(&before_ending(output, &format!("_it{digits}")));
    iteration > 0 && iteration.is_multiple_of(every) && written().iter().any(|file| identity(file) == identity(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_numbered_before_the_ending() {
        let name = |path: &str, n| numbered(Path::new(path), n, 40).to_string_lossy().into_owned();
        assert_eq!(name("a.b/out.hv", 5), "a.b/out_it005.hv");
        assert_eq!(name("brain.2.nii.gz", 12), "brain.2_it012.nii.gz");
        assert_eq!(name("x.NII", 1234), "x_it1234.NII");
        assert_eq!(numbered(Path::new("x.nii"), 7, 1200), Path::new("x_it0007.nii"));
        let frames = [99, 100, 101, 999, 1000].map(|number| of_frame(Path::new("x.nii"), number, 1000));
        assert!(frames.is_sorted() && frames[0] == Path::new("x_f0099.nii"), "{frames:?}");
        let frame = |path: &str| of_frame(Path::new(path), 2, 999);
        assert_eq!([frame("a/scan.hs"), frame("b.c.nii.gz")], ["a/scan_f002.hs", "b.c_f002.nii.gz"].map(PathBuf::from));
        let others = ["t.jsonl", "r.json", "a.sweep", "list.petsird", "s.l.hdr", "report.pdf", "plain"];
        let expected =
            ["t_f002.jsonl", "r_f002.json", "a_f002.sweep", "list_f002.petsird", "s_f002.l.hdr", "report_f002.pdf", "plain_f002"];
        assert_eq!(others.map(frame), expected.map(PathBuf::from));
    }

    #[test]
    fn outputs_have_the_names_of_their_inputs() {
        let name = |path: &str, input: &str| of_input(Path::new(path), Path::new(input)).to_string_lossy().into_owned();
        for (input, out) in [
            ("in/a.b.hs", "out/a.b.nii.gz"),
            ("x.L.HDR", "out/x.nii.gz"),
            ("x.s.hdr", "out/x.nii.gz"),
            ("x-proj.npy", "out/x-proj.nii.gz"),
            ("x.unknown", "out/x.nii.gz"),
        ] {
            assert_eq!(name("out/{}.nii.gz", input), out);
        }
        assert_eq!(name("{}/{}.hv", "s.petsird"), "s/s.hv");
        assert_eq!(name("one.hv", "s.petsird"), "one.hv");
    }

    #[test]
    fn numbered_files_are_known_by_their_names() {
        let is_one = |path: &str| is_numbered(Path::new(path), Path::new("no/such/out.hv"), 5);
        assert!(is_one("no/such/out_it005.hv") && is_one("no/such/out_it1010.v") && is_one("no/such/out_it0005.hv"));
        assert!(!is_one("no/such/out_it004.hv") && !is_one("out_it005.hv") && !is_one("no/such/other_it005.hv"));
        assert!(!is_one("no/such/out.hv") && !is_one("no/such/out_it000.hv"));
    }
}
