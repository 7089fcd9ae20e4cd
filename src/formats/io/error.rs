//! Errors of files.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

use crate::coded::Coded;
use crate::data::CountsError;
use crate::geometry::GridError;
use crate::scanner::{DetectorsError, ScanGeometryError};
use crate::text::bytes;

/// Any error, as the cause of another one.
pub type Cause = Box<dyn Error + Send + Sync>;

/// A number or name of a file, where another is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch<T = usize> {
    /// Value of the file.
    pub found: T,
    /// Value that its other content requires.
    pub expected: T,
}

/// A number above its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess<T = usize> {
    /// Number of the file.
    pub found: T,
    /// Largest number that is supported.
    pub max: T,
}

/// The reason why the reader or writer of a format refuses a file: an error of that format, and its code. Every coded error becomes
/// one. A format has its own errors next to its reader, and gives them the code `io.unsupported.FORMAT` by [`coded!`](crate::coded::coded).
#[derive(Debug)]
pub struct Refusal {
    code: &'static str,
    error: Cause,
}

impl<E: Coded + Error + Send + Sync + 'static> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self { code: error.code(), error: Box::new(error) }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Refusal {
    /// Returns the problem itself: the innermost error.
    pub fn problem(&self) -> &(dyn Error + 'static) {
        let mut problem: &(dyn Error + 'static) = self.error.as_ref();
        while let Some(source) = problem.source() {
            problem = source;
        }
        problem
    }
}

/// Reason why a file could not be read or written.
///
/// ```
/// use std::path::Path;
/// use tomoscope_formats::coded::Coded as _;
/// use tomoscope_formats::io::{CorrectionFiles, IoError, read_study};
///
/// let error = read_study(Path::new("missing.hs"), CorrectionFiles::default()).unwrap_err();
/// assert!(matches!(error, IoError::Open(..)));
/// assert_eq!(error.code(), "io.not-found");
/// ```
#[derive(Debug, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case", prefix = "io.")]
pub enum IoError {
    /// The file does not exist or does not open.
    #[error("{}: opening the file failed: {}", .0.display(), .1)]
    Open(PathBuf, #[source] io::Error),
    /// Reading stopped half-way.
    #[error("{}: reading the file failed: {}", .0.display(), .1)]
    Read(PathBuf, #[source] io::Error),
    /// Writing failed.
    #[error("{}: writing the file failed: {}", .0.display(), .1)]
    Write(PathBuf, #[source] io::Error),
    /// A folder, a device or a pipe.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// Another file has the name of a provenance record.
    #[error("{} exists and is not a provenance record, so no provenance was written; rename one of the files", .0.display())]
    NotOurs(PathBuf),
    /// The ending of the name is not supported.
    #[error("{path}: unsupported format for {what} (expected {understood})", path = .path.display())]
    #[strum(serialize = "unknown-ending")]
    Extension {
        /// Which file.
        path: PathBuf,
        /// The required content.
        what: &'static str,
        /// The endings that are understood.
        understood: String,
    },
    /// A text file without Interfile's first line.
    #[error("{} is not an Interfile header: its first line is '{}' where '!INTERFILE :=' is expected", .0.display(), .1)]
    NotInterfile(PathBuf, String),
    /// A text file that is too long for its kind.
    #[error("{path} has {found} bytes, more than the {limit} that such a text file can have; is it the data file rather than its header?", path = .path.display())]
    TextTooLong {
        /// Which file.
        path: PathBuf,
        /// Largest size that is read.
        limit: u64,
        /// Its size.
        found: u64,
    },
    /// A required key is missing in the header.
    #[error("{path}: the key '{key}' is missing; {hint}", path = .path.display())]
    MissingKey {
        /// Which file.
        path: PathBuf,
        /// Which key.
        key: String,
        /// The remedy.
        hint: String,
    },
    /// A key with an invalid value.
    #[error("{path}: the key '{key}' is '{found}' where {expected} is expected", path = .path.display())]
    #[strum(serialize = "invalid-value")]
    Value {
        /// Which file.
        path: PathBuf,
        /// Which key.
        key: String,
        /// Its value.
        found: String,
        /// The supported values.
        expected: String,
    },
    /// A file that its format's reader or writer refuses; the code is that of the refusal.
    #[error("{}: {}", .0.display(), .1)]
    Unsupported(PathBuf, Refusal),
    /// The header's data file does not open.
    #[error("{header} names '{named}' as its data file ('name of data file'), but {data}: opening the file failed: {source}; copy it to the folder of the header",
        header = .header.display(), data = .data.display())]
    DataFileMissing {
        /// The header.
        header: PathBuf,
        /// The name as the header gives it.
        named: String,
        /// The path that was tried.
        data: PathBuf,
        /// The system's error.
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
        /// Content of the file according to its header.
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
        /// The checksum in the header.
        recorded: String,
        /// The data file's.
        found: String,
    },
    /// Another process writes the same output.
    #[error("{path} is being written by another process ({holder}); wait for its end, or choose another name", path = .path.display())]
    OutputInUse {
        /// The output.
        path: PathBuf,
        /// The other process.
        holder: String,
    },
    /// A correction or calibration that was written for another scan.
    #[error(
        "{companion} belongs to another scan: the data of its scan have the checksum '{found}', those of {scan} '{expected}'; name the right file, or set --corrections-of-another-scan",
        companion = .companion.display(), scan = .scan.display()
    )]
    #[strum(serialize = "companion-of-another-scan")]
    OtherScan {
        /// The correction or calibration.
        companion: PathBuf,
        /// The scan.
        scan: PathBuf,
        /// Checksum of the scan's data.
        expected: String,
        /// The checksum that the companion names.
        found: String,
    },
    /// A companion of another or of an unknown scan under the name of one to write.
    #[error(
        "{companion} exists and would be taken along with the new {scan}, which it does not belong to; remove or rename it, or choose another name",
        companion = .companion.display(), scan = .scan.display()
    )]
    StaleCompanion {
        /// The correction, calibration or map.
        companion: PathBuf,
        /// The scan to write.
        scan: PathBuf,
    },
    /// There is not enough memory for the values.
    #[error("{}: its {} values need {} of memory, more than is free", .0.display(), .1, bytes(4 * *.1 as u64))]
    Memory(PathBuf, usize),
    /// The projection header's figures do not make a scanner.
    #[error("{}: {}", .0.display(), .1)]
    Geometry(PathBuf, #[source] ScanGeometryError),
    /// The image header's figures do not make a grid.
    #[error("{}: {}", .0.display(), .1)]
    Grid(PathBuf, #[source] GridError),
    /// Invalid list-mode data.
    #[error("{path}, byte {position}: {problem}", path = .path.display())]
    Events {
        /// Which file.
        path: PathBuf,
        /// Where.
        position: u64,
        /// The problem, the expected content, and the remedy.
        problem: Refusal,
    },
    /// The crystals do not make a scanner.
    #[error("{}: {}", .0.display(), .1)]
    Detectors(PathBuf, #[source] DetectorsError),
    /// A ROI file is not one.
    #[error("{} is not a ROI file: {}", .0.display(), .1)]
    #[strum(serialize = "roi-file")]
    Rois(PathBuf, Refusal),
    /// A table of numbers is not one, or could not be written.
    #[error("{}: {}", .0.display(), .1)]
    Csv(PathBuf, #[source] csv::Error),
    /// The parts do not make a study.
    #[error(transparent)]
    Counts(#[from] CountsError),
}

impl Coded for IoError {
    fn code(&self) -> &'static str {
        match self {
            IoError::Counts(error) => error.code(),
            IoError::Unsupported(_, refusal) | IoError::Events { problem: refusal, .. } => refusal.code,
            IoError::Open(_, source) if source.kind() == io::ErrorKind::NotFound => "io.not-found",
            other => other.into(),
        }
    }
}

impl IoError {
    /// Returns the error of a failed opening, for `map_err`.
    pub fn open(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| IoError::Open(path.to_owned(), source)
    }

    /// Returns the error of a failed read, for `map_err`.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| IoError::Read(path.to_owned(), source)
    }

    /// Returns the error of a failed write, for `map_err`.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| IoError::Write(path.to_owned(), source)
    }

    /// Returns the error of a file that its format refuses.
    pub(super) fn unsupported(path: &Path, problem: impl Into<Refusal>) -> Self {
        IoError::Unsupported(path.to_owned(), problem.into())
    }

    /// Returns the problem of a refused file, if it is one of this type: `error.problem::<DicomProblem>()`.
    pub fn problem<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            IoError::Unsupported(_, refusal) | IoError::Events { problem: refusal, .. } | IoError::Rois(_, refusal) => {
                refusal.problem().downcast_ref()
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coded::coded;

    #[derive(Debug, PartialEq, thiserror::Error)]
    enum Problem {
        #[error("the file ends")]
        Cut,
        #[error("its version is {0}")]
        Version(u32),
    }

    coded!(Problem = "io.unsupported.form", "io.truncated": Cut);

    #[derive(Debug, thiserror::Error)]
    #[error("no form: {0}")]
    struct NoForm(#[source] Cause);

    coded!(NoForm = "io.unsupported.form");

    #[test]
    fn codes_are_stable() {
        let path = PathBuf::from("a.hs");
        let open = |kind: io::ErrorKind| IoError::Open(path.clone(), kind.into());
        let cut = IoError::TooShort { path: path.clone(), what: "bins".into(), expected: 2, found: 1 };
        let of_counts =
            IoError::Counts(CountsError::Sampling { which: "additive", expected: String::new(), found: String::new() });
        let codes = [open(io::ErrorKind::NotFound), open(io::ErrorKind::PermissionDenied), cut, of_counts];
        assert_eq!(codes.map(|error| error.code()), ["io.not-found", "io.open", "io.truncated", "corrections"]);
    }

    #[test]
    fn a_refusal_has_the_code_and_the_text_of_its_problem() {
        let path = Path::new("a");
        let [cut, version] = [Problem::Cut, Problem::Version(3)].map(|problem| IoError::unsupported(path, problem));
        assert_eq!((cut.code(), cut.to_string().as_str()), ("io.truncated", "a: the file ends"));
        assert_eq!(version.problem::<Problem>(), Some(&Problem::Version(3)));
        let wrapped = IoError::unsupported(path, NoForm(Problem::Version(2).into()));
        assert_eq!((wrapped.code(), wrapped.to_string().as_str()), ("io.unsupported.form", "a: no form: its version is 2"));
        assert_eq!(wrapped.problem::<Problem>(), Some(&Problem::Version(2)));
        assert!(wrapped.problem::<NoForm>().is_none());
    }
}
