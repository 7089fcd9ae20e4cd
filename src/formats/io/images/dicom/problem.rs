//! Problems of DICOM files, of reading and writing.

use crate::coded::coded;
use crate::data::FoundSeries;
use crate::io::error::{Excess, Mismatch};

/// Name and number of an attribute: "RescaleSlope (0028,1053)".
pub type Attribute = String;

/// A problem of a DICOM file or series.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DicomProblem {
    /// A file without DICOM's mark.
    #[error("the file is not a DICOM file: expected 'DICM' at byte 128")]
    NotDicom,
    /// An element that is longer than the rest of the file, or of its sequence.
    #[error("the element ({:04x},{:04x}) at byte {position} has {} bytes, but {} are left (truncated?)", .tag.0, .tag.1, .length.expected, .length.found)]
    Cut {
        /// Group and element.
        tag: (u16, u16),
        /// Its position in the data set.
        position: usize,
        /// Bytes that it has, and that are left.
        length: Mismatch,
    },
    /// Bytes that are no data element.
    #[error("no valid data element at byte {0}")]
    Structure(usize),
    /// Sequences that are nested too deep.
    #[error("its sequences are nested more than {0} deep")]
    Deep(usize),
    /// A message of the library that parses the data elements.
    #[error("invalid data elements: {0}")]
    Elements(String),
    /// A transfer syntax that is not read, and the remedy.
    #[error("its transfer syntax is {name}, which is not read; convert the file: {remedy}")]
    TransferSyntax {
        /// Name of the transfer syntax.
        name: String,
        /// The command that converts it.
        remedy: &'static str,
    },
    /// Deflated data that unpack to too many bytes.
    #[error("its deflated data set has more than {0} bytes")]
    Deflated(usize),
    /// A missing attribute.
    #[error("{0} is missing")]
    Missing(Attribute),
    /// An attribute with an invalid value.
    #[error("{attribute} is '{found}'; expected {expected}")]
    Value {
        /// Which attribute.
        attribute: Attribute,
        /// Its value.
        found: String,
        /// The supported values.
        expected: &'static str,
    },
    /// An object that is no image with pixels.
    #[error("it is no image: {0}")]
    NoImage(String),
    /// A segmentation, where an image is expected, or without its image.
    #[error("it is a segmentation: open its image first, then load it as regions (Load…, --rois)")]
    Segmentation,
    /// An object of another class, where a segmentation is expected.
    #[error("it is no segmentation: {0}")]
    NoSegmentation(String),
    /// Pixels that are not one number each.
    #[error("its pixels are '{0}'; images of one number per pixel are read (no colours)")]
    Colours(String),
    /// A table in place of slope and intercept.
    #[error("it has a modality lookup table; a slope and an intercept are supported")]
    LookupTable,
    /// Pixel data of another size.
    #[error("its pixel data have {} bytes; expected {}", .0.found, .0.expected)]
    PixelBytes(Mismatch),
    /// A number of encoded frames that is not that of the images.
    #[error("its pixel data have {} encoded frames; expected {}", .0.found, .0.expected)]
    EncodedFrames(Mismatch),
    /// A message of the library that decodes pixels.
    #[error("its pixels could not be decoded: {0}; convert the file: gdcmconv --raw IN OUT")]
    Pixels(String),
    /// A folder without images.
    #[error("the folder contains no DICOM image")]
    EmptyFolder,
    /// A folder with refused images only, by the error of the first.
    #[error("the folder contains no DICOM image that is read; the first is refused: {0}")]
    RefusedFolder(String),
    /// A folder with several series.
    #[error("the folder contains {} series; name a file of one of them:{}", .0.len(), lines(.0))]
    SeveralSeries(Vec<FoundSeries>),
    /// Too many files.
    #[error("the folder contains {} files or more; at most {} are read", .0.found, .0.max)]
    ManyFiles(Excess),
    /// Images of one series that differ in an attribute.
    #[error("the images of the series differ in {0}")]
    Mixed(Attribute),
    /// Images at some positions that are more than at others.
    #[error("the series has {} images at {at_mm:.2} mm and {} at other positions (duplicate or missing slices)", .num.found, .num.expected)]
    Duplicates {
        /// Position along the normal of the slices, mm.
        at_mm: f64,
        /// Images at this position, and at other positions.
        num: Mismatch,
    },
    /// Slices at unequal distances.
    #[error(
        "the slices at {:.2} mm and {:.2} mm are {:.3} mm apart, but the others {pitch_mm:.3} mm (missing slices?)",
        .between_mm[0], .between_mm[1], (.between_mm[1] - .between_mm[0]).abs()
    )]
    Gap {
        /// Positions of the two slices along the normal, mm.
        between_mm: [f64; 2],
        /// Distance of the others, mm.
        pitch_mm: f64,
    },
    /// Slices that are shifted along their plane.
    #[error("its slices are shifted by {0:.3} mm from one to the next (tilted gantry); resample the series first")]
    Sheared(f64),
    /// An orientation that is no pair of perpendicular unit vectors.
    #[error("{0} is no pair of perpendicular unit vectors")]
    Orientation(Attribute),
    /// Segments without voxels.
    #[error("none of its segments has a voxel in the image")]
    EmptySegmentation,
    /// Frames whose distance is no multiple of that of the slices.
    #[error(
        "its frames at {:.2} mm and {:.2} mm are {:.3} mm apart, which is no multiple of the slice distance of {pitch_mm:.3} mm",
        .between_mm[0], .between_mm[1], (.between_mm[1] - .between_mm[0]).abs()
    )]
    FrameGap {
        /// Positions of the two frames along the normal, mm.
        between_mm: [f64; 2],
        /// Distance of the slices, mm.
        pitch_mm: f64,
    },
    /// Frames that are shifted in their plane, mm.
    #[error("its frames are shifted by {0:.3} mm in their plane; frames above each other are read")]
    FrameShift(f64),
    /// Segments that span too many voxels.
    #[error("its segments span {} voxels; at most {} are read", .0.found, .0.max)]
    ManyVoxels(Excess),
    /// Several images over time, where one is expected.
    #[error("it has {0} images over time; choose one: --frame 1 to {0}")]
    SeveralImages(usize),
    /// An image that the series does not have: its number, and the number of images.
    #[error("it has no image {0}; its images are 1 to {1}")]
    NoSuchImage(usize, usize),
    /// A quantity that a PET series cannot hold, and the formats that can hold it.
    #[error("a DICOM PET series holds activity, and the image {0}; write {1}")]
    Unit(&'static str, &'static str),
    /// An image without a unit.
    #[error(
        "a DICOM PET series needs a unit, and the image has none; set it (tomoscope convert … --unit), or write \
         NIfTI (.nii.gz), Interfile (.hv) or .npy"
    )]
    NoUnit,
    /// A correction for decay without a fact that a series must contain.
    #[error("the image is corrected for decay, and {0} is unknown, which a DICOM series must contain; write NIfTI (.nii.gz)")]
    Decay(String),
    /// A segmentation without voxels.
    #[error("no lesion has a voxel, so that there is nothing to write")]
    NoLesion,
    /// A file in the place of the folder of a series.
    #[error("a file of this name exists, and a DICOM series is a folder; choose another name")]
    NotAFolder,
    /// A folder with another file.
    #[error("the folder holds {0}, which is no slice that this program wrote; choose another name")]
    OtherFile(String),
}

impl DicomProblem {
    /// Returns true for a file that is none of the images of a folder.
    pub fn is_of_another_object(&self) -> bool {
        matches!(self, Self::NoImage(_) | Self::Segmentation)
    }
}

/// Returns a line for each, with one of its files.
fn lines(series: &[FoundSeries]) -> String {
    series.iter().map(|series| format!("\n  {}: {}", series.file.display(), series.line())).collect()
}

coded!(DicomProblem = "io.unsupported.dicom", "io.truncated": Cut, "io.missing-key": Missing, "io.invalid-value": Value);
