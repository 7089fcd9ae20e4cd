//! The parts of a row in the table of formats: reader, writer, folder.

use std::path::{Path, PathBuf};

use crate::data::{ImageChoice, ImageSeries, Michelogram, Notice, PetImage, ScanFacts, Study, Sweep, Unit, Volume};
use crate::io::epri::problem::SweepProblem;
use crate::io::epri::records::ReadHeader;
use crate::io::epri::reference_reader::ReferenceReader;
use crate::io::error::IoError;
use crate::io::image_problem::ImageProblem;
use crate::io::images::description::ImageDescription;
use crate::io::images::dicom::SeriesContext;
use crate::io::images::nifti::FourthAxis;
use crate::io::list_mode::{EventReader, ListOptions};
use crate::scanner::ScanGeometry;

/// Projection data, the randoms of the same file, the facts of the scan, and notices.
pub struct Measured {
    /// Measured counts.
    pub prompts: Michelogram,
    /// Counts of the delayed window.
    pub randoms: Option<Michelogram>,
    /// Facts of the scan.
    pub facts: ScanFacts,
    pub notices: Vec<Notice>,
}

/// A result and its notices.
pub type Noticed<T> = Result<(T, Vec<Notice>), IoError>;

/// Opens list-mode data.
pub type OpenList = fn(&Path, &ListOptions) -> Result<Box<dyn EventReader>, IoError>;

/// Reader of a format, by content: its callers need no list of formats.
pub enum Reader {
    /// It is not read.
    None,
    /// By those that use its content: it is the only format of that.
    Own,
    Projections(ProjectionReader),
    ListMode(ListReader),
    Sweep(SweepReader),
    Image(fn(&Path, ImageChoice) -> Noticed<ImageSeries>),
}

/// Reader of projection data.
pub struct ProjectionReader {
    pub counts: fn(&Path) -> Result<Measured, IoError>,
    /// The sampling alone, by the header.
    pub geometry: fn(&Path) -> Noticed<ScanGeometry>,
}

/// Reader of list-mode data.
pub struct ListReader {
    pub open: OpenList,
    /// True if a file that is still being written can be followed.
    pub can_follow: bool,
    /// Facts that its files lack.
    pub lacks: ListLack,
}

/// Facts that the files of a list-mode format lack, or that further files have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListLack {
    /// None.
    Nothing,
    /// The detection efficiencies of the pairs, in a file of normalisation.
    Efficiencies,
    /// The scanner and the fields of the events.
    Scanner,
}

/// Reader of EPRI acquisitions.
pub struct SweepReader {
    /// Projections, turned back by a phase in degrees if one is given.
    pub projections: fn(&Path, Option<f64>) -> Result<Study<Sweep>, IoError>,
    /// A reference spectrum, if the format has any, and where it is looked for.
    pub reference: Option<ReferenceReader>,
    /// The header of an acquisition that is still being written, if the format can be followed.
    pub header: Option<ReadHeader>,
}

/// Writer of a format.
pub enum Writer {
    /// It is not written.
    None,
    /// By those that make its content.
    Own,
    Image(fn(&Path, &Volume, &ImageDescription, &SeriesContext) -> Result<(), IoError>),
}

/// A format with a folder of files under one name.
pub struct Folder {
    /// Refuses an existing path that would not be replaced.
    pub check_place: fn(&Path) -> Result<(), IoError>,
    /// Returns the files that are read with one of them.
    pub files: fn(&Path) -> Result<Vec<PathBuf>, IoError>,
}

/// Writes several images into one file, with their fourth axis and a description.
pub type WriteSeries = fn(&Path, &[Volume], FourthAxis, &str) -> Result<(), IoError>;

/// Refuses an image with a unit or facts that the format does not hold.
pub type CheckFacts = fn(&Path, Unit, Option<&PetImage>) -> Result<(), IoError>;

/// Reads an image of a format with one image per file.
pub fn one_image(path: &Path, choice: ImageChoice, read: fn(&Path) -> Noticed<Volume>) -> Noticed<ImageSeries> {
    match choice {
        ImageChoice::Number(number) if number != 1 => Err(IoError::unsupported(path, ImageProblem::NoSuchImage(number, 1))),
        _ => read(path).map(|(volume, notices)| (ImageSeries::single(volume), notices)),
    }
}

/// Refuses a phase for an acquisition of real values.
pub fn without_phase(path: &Path, study: Study<Sweep>, phase: Option<f64>) -> Result<Study<Sweep>, IoError> {
    match phase {
        Some(degrees) => Err(IoError::unsupported(path, SweepProblem::NotComplex(degrees))),
        None => Ok(study),
    }
}
