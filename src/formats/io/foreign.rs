//! Files of other programs that are not read, by their endings, and how to export their data.

use std::path::Path;

use crate::coded::coded;
use crate::io::error::IoError;

/// Endings of the files of a program, the name of the files, and the remedy.
const FOREIGN: [(&[&str], &str, &str); 5] = [
    (
        &["pkl", "pickle"],
        "a Python pickle, which is a program rather than data",
        "export its arrays as a NumPy set (NAME-proj.npy; docs/formats.md has the commands)",
    ),
    (
        &["mat"],
        "a MATLAB file, whose fields differ from program to program",
        "export its arrays as a NumPy set (NAME-proj.npy; docs/formats.md has the commands)",
    ),
    (
        &["d01", "exp"],
        "a file of SpecMan4EPR, whose gradients and delays depend on the pulse program",
        "export its projections as a NumPy set (NAME-proj.npy; docs/formats.md has the commands)",
    ),
    (&["spc", "par"], "a file of WinEPR or the ESP", "save it as BES3T (.DSC with .DTA)"),
    (&["h5", "hdf5"], "an HDF5 file, whose datasets differ from program to program", "export its arrays as .npy files"),
];

/// Returns the refusal of a file that another program's ending names; `None` of other endings.
pub fn foreign(path: &Path) -> Option<IoError> {
    let ending = path.extension()?.to_str()?.to_lowercase();
    let (_, what, remedy) = FOREIGN.iter().find(|(endings, ..)| endings.contains(&ending.as_str()))?;
    Some(IoError::unsupported(path, Foreign(what, remedy)))
}

/// A file of another program, and how to export its data.
#[derive(Debug, thiserror::Error)]
#[error("it is {0}, and is not read; {1}")]
struct Foreign(&'static str, &'static str);

coded!(Foreign = "io.unsupported.foreign");
