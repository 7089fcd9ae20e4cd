//! What can go wrong with a file, as sentences.

mod events;
mod form;
mod petsird;
mod rois;
mod unsupported;

use std::io;
use std::path::{Path, PathBuf};

use crate::coded::Coded;
use crate::data::CountsError;
use crate::geometry::GridError;
use crate::scanner::{DetectorsError, ScanGeometryError};

pub use events::EventProblem;
pub use form::FormProblem;
pub use petsird::PetsirdProblem;
pub use rois::{RegionProblem, RoiProblem};
pub use unsupported::Unsupported;

/// Why a file could not be read or written.
///
/// ```
/// use std::path::Path;
/// use tomoscope::coded::Coded as _;
/// use tomoscope::io::{IoError, read_study};
///
/// let error = read_study(Path::new("missing.hs"), None, None, false).unwrap_err();
/// assert!(matches!(error, IoError::Open { .. }));
/// assert_eq!(error.code(), "io.not-found");
/// ```
#[derive(Debug, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case", prefix = "io.")]
pub enum IoError {
    /// The file is not there or may not be opened.
    #[error("{path}: opening the file failed: {source}", path = .path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading stopped half-way.
    #[error("{path}: reading the file failed: {source}", path = .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing failed.
    #[error("{path}: writing the file failed: {source}", path = .path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder, a device or a pipe.
    #[error("{path} is not a regular file", path = .path.display())]
    NotAFile {
        /// Which file.
        path: PathBuf,
    },
    /// The place of a record of what made a file is taken by something else.
    #[error(
        "{path} exists and is not a provenance record, so no provenance was written; rename one of the files",
        path = .path.display()
    )]
    NotOurs {
        /// Which file.
        path: PathBuf,
    },
    /// The name's ending says nothing that is understood.
    #[error("{path}: unsupported format for {what} (expected {understood})", path = .path.display())]
    #[strum(serialize = "unknown-ending")]
    Extension {
        /// Which file.
        path: PathBuf,
        /// What was wanted.
        what: &'static str,
        /// The endings that are understood.
        understood: String,
    },
    /// A text file without Interfile's first line.
    #[error("{path} is not an Interfile header: its first line is '{found}' where '!INTERFILE :=' is expected", path = .path.display())]
    NotInterfile {
        /// Which file.
        path: PathBuf,
        /// Its first line.
        found: String,
    },
    /// A text file that is far too long for what it should be.
    #[error("{path} has {found} bytes, more than the {limit} that such a text file can have; is it the data file rather than its header?", path = .path.display())]
    TextTooLong {
        /// Which file.
        path: PathBuf,
        /// Largest size that is read.
        limit: u64,
        /// Its size.
        found: u64,
    },
    /// A key that is needed is not in the header, and nothing else tells its value.
    #[error("{path}: the key '{key}' is missing; {hint}", path = .path.display())]
    MissingKey {
        /// Which file.
        path: PathBuf,
        /// Which key.
        key: String,
        /// What to do.
        hint: String,
    },
    /// A key's value cannot be.
    #[error("{path}: the key '{key}' is '{found}' where {expected} is expected", path = .path.display())]
    #[strum(serialize = "invalid-value")]
    Value {
        /// Which file.
        path: PathBuf,
        /// Which key.
        key: String,
        /// Its value.
        found: String,
        /// What would be understood.
        expected: String,
    },
    /// A well-formed file of a kind that is not read.
    #[error("{path}: {problem}", path = .path.display())]
    Unsupported {
        /// Which file.
        path: PathBuf,
        /// What it holds and what to do.
        problem: Unsupported,
    },
    /// The header's data file is not there.
    #[error("{header} names '{named}' as its data file ('name of data file'), but {data}: opening the file failed: {source}; copy it to the folder of the header",
        header = .header.display(), data = .data.display())]
    DataFileMissing {
        /// The header.
        header: PathBuf,
        /// The name as the header gives it.
        named: String,
        /// The path that was tried.
        data: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A sweep's file has fewer projections than its header describes: it was cut short, or is still being written.
    #[error(
        "{path} is too short: its header describes {expected} bytes ({num_planned} projections of {num_points} samples), the file has {found}; if it is still being written, follow it (--follow, or Follow… in the window)",
        path = .path.display()
    )]
    Unfinished {
        /// Which file.
        path: PathBuf,
        /// Projections that the header describes.
        num_planned: usize,
        /// Samples of each.
        num_points: usize,
        /// Bytes that these take.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// The file has fewer bytes than its header describes.
    #[error("{path} is too short: its header describes {expected} bytes ({what}), the file has {found}; copy it again, for the copy may have been cut short", path = .path.display())]
    #[strum(serialize = "truncated")]
    TooShort {
        /// Which file.
        path: PathBuf,
        /// What the header describes.
        what: String,
        /// Bytes that the header describes.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// A data file that is not the one that its header was written with.
    #[error(
        "{header} and {data} do not belong together: the header's checksum of its data is '{recorded}', the data's is '{found}'; one of them was replaced without the other, or writing them was cut short: write them again, or, where the data was changed on purpose, take the checksum out of the header",
        header = .header.display(), data = .data.display()
    )]
    #[strum(serialize = "mismatched-pair")]
    NotAPair {
        /// The header.
        header: PathBuf,
        /// The data file.
        data: PathBuf,
        /// The checksum that the header tells.
        recorded: String,
        /// The data file's.
        found: String,
    },
    /// There is not enough memory for the values.
    #[error("{path} holds {num_values} values, for which there is not enough memory", path = .path.display())]
    Memory {
        /// Which file.
        path: PathBuf,
        /// Number of values.
        num_values: usize,
    },
    /// The projection header's figures do not make a scanner.
    #[error("{path}: {source}", path = .path.display())]
    Geometry {
        /// Which file.
        path: PathBuf,
        /// Which figure.
        source: ScanGeometryError,
    },
    /// The image header's figures do not make a grid.
    #[error("{path}: {source}", path = .path.display())]
    Grid {
        /// Which file.
        path: PathBuf,
        /// Which figure.
        source: GridError,
    },
    /// A list of events holds what cannot be.
    #[error("{path}, byte {place}: {problem}", path = .path.display())]
    Events {
        /// Which file.
        path: PathBuf,
        /// Where.
        place: u64,
        /// What was found there, what was expected, and what to do.
        problem: EventProblem,
    },
    /// The crystals do not make a scanner.
    #[error("{path}: {source}", path = .path.display())]
    Detectors {
        /// Which file.
        path: PathBuf,
        /// Which crystal.
        source: DetectorsError,
    },
    /// A ROI file is not one.
    #[error("{path} is not a ROI file: {problem}", path = .path.display())]
    #[strum(serialize = "roi-file")]
    Rois {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        problem: RoiProblem,
    },
    /// A table of numbers is not one, or could not be written.
    #[error("{path}: {source}", path = .path.display())]
    Csv {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        source: csv::Error,
    },
    /// The parts do not make a study.
    #[error(transparent)]
    Counts(#[from] CountsError),
}

impl Coded for IoError {
    fn code(&self) -> &'static str {
        match self {
            IoError::Counts(error) => error.code(),
            IoError::Unsupported { problem, .. } => problem.code(),
            IoError::Events { problem, .. } => problem.code(),
            IoError::Open { source, .. } if source.kind() == io::ErrorKind::NotFound => "io.not-found",
            other => other.into(),
        }
    }
}

impl IoError {
    /// For `map_err` on opening a file.
    pub(crate) fn open(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| IoError::Open { path: path.to_owned(), source }
    }

    /// For `map_err` on reading a file.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| IoError::Read { path: path.to_owned(), source }
    }

    /// For `map_err` on writing a file.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| IoError::Write { path: path.to_owned(), source }
    }

    /// A file of a kind that is not read.
    pub(super) fn unsupported(path: &Path, problem: Unsupported) -> Self {
        IoError::Unsupported { path: path.to_owned(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::form::FormProblem;
    use super::*;

    #[test]
    fn codes_are_stable() {
        let path = PathBuf::from("a.hs");
        let open = |kind: io::ErrorKind| IoError::Open { path: path.clone(), source: kind.into() };
        let cut = IoError::TooShort { path: path.clone(), what: "bins".into(), expected: 2, found: 1 };
        let of_counts =
            IoError::Counts(CountsError::Sampling { which: "additive", expected: String::new(), found: String::new() });
        let empty = IoError::unsupported(&path, Unsupported::EmptyHeader);
        let codes = [open(io::ErrorKind::NotFound), open(io::ErrorKind::PermissionDenied), cut, empty];
        assert_eq!(codes.map(|error| error.code()), ["io.not-found", "io.open", "io.truncated", "io.unsupported.empty-header"]);
        let problem = FormProblem::CalibrationFactor(-1.0);
        let own = IoError::unsupported(&path, Unsupported::OwnForm { what: "this is not a session", problem: problem.clone() });
        let calibration = IoError::unsupported(&path, Unsupported::Calibration(problem));
        assert_eq!([own, calibration].map(|error| error.code()), ["io.unsupported.calibration-factor"; 2]);
        assert_eq!(of_counts.code(), "corrections.sampling");
    }
}
