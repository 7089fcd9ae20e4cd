//! Files of other programs that are not read, by their endings and first lines, and how to export their data.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::coded::coded;
use crate::io::error::IoError;

/// Bytes at the start of a file that contain its first line.
const START_BYTES: u64 = 1024;

/// Returns true if a file with this ending and this first line is the program's: others can have the same ending.
type Begins = fn(&str, &str) -> bool;

/// Endings of the files of a program, their first lines, the name of the files, and the remedy.
const FOREIGN: [(&[&str], Begins, &str, &str); 6] = [
    (
        &["pkl", "pickle"],
        |_, _| true,
        "a Python pickle, which is a program rather than data",
        "export its arrays as a NumPy set (NAME-proj.npy; docs/formats.md has the commands)",
    ),
    (
        &["mat"],
        |_, _| true,
        "a MATLAB file, whose fields differ from program to program",
        "export its arrays as a NumPy set (NAME-proj.npy; docs/formats.md has the commands)",
    ),
    (
        &["d01", "exp"],
        // The text has sections, the data are binary.
        |ending, first| ending == "d01" || first.starts_with('['),
        "a file of SpecMan4EPR, whose gradients and delays depend on the pulse program",
        "export its projections as a NumPy set (NAME-proj.npy; docs/formats.md has the commands)",
    ),
    (
        &["spc", "par"],
        |ending, first| ending == "spc" || is_of_winepr(first),
        "a file of WinEPR or the ESP",
        "save it as BES3T (.DSC with .DTA)",
    ),
    (
        &["par"],
        |_, first| first.contains(":="),
        "a file of STIR with parameters, not data",
        "open the data or the image that it names",
    ),
    (
        &["h5", "hdf5"],
        |_, _| true,
        "an HDF5 file, whose datasets differ from program to program",
        "export the arrays of images as .npy files; convert list-mode data to PETSIRD (github.com/ETSInitiative) or CASToR \
         (castor-project.org)",
    ),
];

/// Returns true if the first line of a parameter file is that of WinEPR ("DOS  Format") or the ESP (a key of three capital letters).
fn is_of_winepr(first: &str) -> bool {
    let key = first.split_whitespace().next().unwrap_or_default();
    key.len() == 3 && key.chars().all(|c| c.is_ascii_uppercase())
}

/// Returns the first line of a file that is not blank; an empty text if the file does not read.
fn first_line(path: &Path) -> String {
    let mut start = Vec::new();
    let is_read = path.is_file() && File::open(path).is_ok_and(|file| file.take(START_BYTES).read_to_end(&mut start).is_ok());
    let text = String::from_utf8_lossy(if is_read { &start } else { &[] }).into_owned();
    // The ESP ends lines with a carriage return alone.
    text.split(['\n', '\r']).map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Returns the refusal of a file that another program's ending and first line name; `None` of other files.
pub fn foreign(path: &Path) -> Option<IoError> {
    let ending = path.extension()?.to_str()?.to_lowercase();
    let mut programs = FOREIGN.iter().filter(|(endings, ..)| endings.contains(&ending.as_str())).peekable();
    programs.peek()?;
    let first = first_line(path);
    let (.., what, remedy) = programs.find(|(_, begins, ..)| begins(&ending, &first))?;
    Some(IoError::unsupported(path, Foreign(what, remedy)))
}

/// A file of another program, and how to export its data.
#[derive(Debug, thiserror::Error)]
#[error("it is {0}, and is not read; {1}")]
struct Foreign(&'static str, &'static str);

coded!(Foreign = "io.unsupported.foreign");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_decides_between_programs_with_one_ending() {
        let folder = tempfile::tempdir().unwrap();
        let found = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            foreign(&path).map_or_else(String::new, |error| error.to_string())
        };
        for content in
            [&b"OSMAPOSLParameters :=\nobjective function type := x\n"[..], b"\r\n  Forward Projector parameters :=\r\n"]
        {
            let text = found("a.par", content);
            assert!(text.contains("STIR with parameters") && !text.contains("WinEPR"), "{text}");
        }
        for content in [&b"DOS  Format\r\nANZ 1024\r\n"[..], b"JSS 0\rGST 3.4e+03\r"] {
            assert!(found("a.PAR", content).contains("WinEPR"));
        }
        assert_eq!(["name = value\n", "", "\0\0"].map(|content| found("a.par", content.as_bytes())), ["", "", ""]);
        assert!(found("a.exp", b"[general]\nname = a\n").contains("SpecMan4EPR"));
        assert_eq!(found("a.exp", b"1 2 3\n"), "");
        assert!(found("a.d01", b"\0\x01").contains("SpecMan4EPR") && found("a.spc", b"\0").contains("WinEPR"));
        assert!(foreign(&folder.path().join("none.par")).is_none() && foreign(folder.path()).is_none());
    }
}
