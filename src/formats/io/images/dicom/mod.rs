//! A DICOM PET series: an image as a folder with one file a slice, for archives and viewers of hospitals; lesions as a segmentation
//! (`segmentation`); and the reading of series of other programs (`read`).
//!
//! Source: DICOM PS3.3, Positron Emission Tomography Image IOD (A.21), and PS3.10 for the files (explicit VR little endian).
//! Unknown attributes stay empty where the standard allows that. Slices go from superior to inferior, as our z does.
//!
//! *Space.* DICOM's patient has +x to the left, +y to posterior and +z to superior; our world for a patient head first and supine
//! has the first two and +z to inferior. So rows follow +x, columns +y, and slice k lies at −z_k.
//!
//! *Values* are 16-bit integers with a step for each slice, its largest absolute value over 32767; the error is at most half a
//! step. A voxel that holds no finite number becomes 0.
//!
//! *Units*: `CNTS` for counts per mm, `PROPCNTS` for decays per mm³, `BQML` for a calibrated image, `GML` and `CM2ML` for uptake
//! values. Corrections, times, tracer and patient's size are those of the image's scan, as far as they are known.

mod anonymous;
mod attributes;
mod context;
mod elements;
mod pixels;
mod problem;
mod read;
mod scan;
mod segmentation;

use std::fs;
use std::path::Path;

use dicom_dictionary_std::{tags, uids};
use dicom_object::{FileMetaTableBuilder, InMemDicomObject, OpenFileOptions};
use rayon::prelude::*;

use self::attributes::{Series, add_slice, series};
use self::scan::Scan;
use super::description::ImageDescription;
use crate::data::{DecayReference, PetImage, Unit, Volume};
use crate::io::bytes::PendingFolder;
use crate::io::error::IoError;
use crate::io::image_problem::ImageProblem;

pub use anonymous::{ANONYMOUS_START, is_anonymous};
pub use context::{Patient, SeriesContext};
pub use problem::DicomProblem;
pub use read::{
    SegmentFigures, Segmentation, SegmentationKind, SeriesSlice, SourceSeries, files_of_series, find_series, is_dicom,
    is_segmentation, read_images, read_middle_slice, read_segmentation, source_series,
};
pub use segmentation::{Segment, write_segmentation};

/// UID of the program among those that write DICOM files (a UUID, made once for it).
const IMPLEMENTATION_UID: &str = "2.25.134225476167997843353148339473963152248";

/// Its name there, 16 characters at most.
const IMPLEMENTATION: &str = concat!("TOMOSCOPE ", env!("CARGO_PKG_VERSION"));

/// Largest number of rows, columns and slices: 16-bit unsigned integers.
const MAX_SIDE: usize = u16::MAX as usize;

/// Refuses an image that a PET series cannot contain.
///
/// # Errors
/// An image of free radicals, of lengths, or of values whose meaning is not known; uptake values without facts of their scan; a
/// correction for decay whose start or factors are unknown.
pub fn check_image(path: &Path, unit: Unit, pet: Option<&PetImage>) -> Result<(), IoError> {
    let other = |holds: &'static str| Err(DicomProblem::Unit(holds, "NIfTI (.nii.gz), Interfile (.hv) or .npy"));
    let refused = |problem| IoError::unsupported(path, problem);
    let has_decay = pet.is_some_and(|pet| pet.scan.decay_reference != DecayReference::None);
    match unit {
        Unit::CountsPerMm | Unit::BqPerMl | Unit::DecaysPerMm3 => Ok(()),
        Unit::SuvBodyWeight | Unit::SuvLeanJanmahasatian | Unit::SuvLeanJames | Unit::SuvBodySurface if has_decay => Ok(()),
        Unit::SuvBodyWeight | Unit::SuvLeanJanmahasatian | Unit::SuvLeanJames | Unit::SuvBodySurface => {
            other("uptake values without the facts of their scan")
        }
        Unit::Arbitrary => Err(DicomProblem::Unit("free radicals (EPRI)", "NIfTI (.nii.gz) or .npy")),
        Unit::Millimolar => Err(DicomProblem::Unit("concentrations of free radicals (EPRI)", "NIfTI (.nii.gz) or .npy")),
        Unit::Torr => Err(DicomProblem::Unit("oxygen pressures (EPRI)", "NIfTI (.nii.gz) or .npy")),
        Unit::Millitesla => Err(DicomProblem::Unit("line widths and positions (EPRI)", "NIfTI (.nii.gz) or .npy")),
        Unit::PerMicrosecond => Err(DicomProblem::Unit("relaxation rates (EPRI)", "NIfTI (.nii.gz) or .npy")),
        Unit::Mm => other("lengths in mm"),
        Unit::PerCm => other("attenuation coefficients"),
        Unit::Hounsfield => other("Hounsfield units"),
        Unit::Unknown => Err(DicomProblem::NoUnit),
    }
    .map_err(refused)?;
    match pet.filter(|_| has_decay) {
        Some(pet) if pet.scan.scan_start.is_none() => Err(refused(DicomProblem::Decay("the start of the scan".to_owned()))),
        Some(pet) if pet.decay_factors.is_empty() => Err(refused(DicomProblem::Decay(unknown_factor(pet)))),
        _ => Ok(()),
    }
}

/// Names the unknown factor of a correction for decay, with the facts that are missing for it.
fn unknown_factor(pet: &PetImage) -> String {
    let missing = pet.missing_for_decay();
    match pet.scan.decay_reference {
        DecayReference::Start if !missing.is_empty() => {
            format!("the factor of the correction (missing for it: {})", missing.join(", "))
        }
        DecayReference::Administration => "the factor of the correction to the injection".to_owned(),
        _ => "the factor of the correction".to_owned(),
    }
}

/// Refuses a place that is taken by anything else than a series of this program.
///
/// # Errors
/// A file, or a folder with other files than such slices.
pub fn check_place(path: &Path) -> Result<(), IoError> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    if !metadata.is_dir() {
        return Err(IoError::unsupported(path, DicomProblem::NotAFolder));
    }
    let mut entries = fs::read_dir(path).map_err(IoError::open(path))?.flatten();
    match entries.find(|entry| !is_our_slice(&entry.path())) {
        None => Ok(()),
        Some(entry) => {
            let name = entry.file_name().display().to_string();
            Err(IoError::unsupported(path, DicomProblem::OtherFile(name)))
        }
    }
}

/// Returns true if a file is a slice that this program wrote.
fn is_our_slice(path: &Path) -> bool {
    let options = OpenFileOptions::new().read_until(tags::SOP_CLASS_UID);
    let is_ours = |name: &str| IMPLEMENTATION.split(' ').next().is_some_and(|program| name.starts_with(program));
    path.is_file() && options.open_file(path).is_ok_and(|slice| slice.meta().implementation_version_name().is_some_and(is_ours))
}

/// Writes an image as a series, each time a new one: its UIDs are random (`2.25.` and a UUID, PS3.5 B.2). SeriesDescription
/// (whole words), ImageComments, ReconstructionMethod and, for a filtered image, ConvolutionKernel describe its origin.
///
/// # Errors
/// An image that no PET series contains ([`check_image`]), more than 65535 rows, columns or slices, a target that is something else, or a failed write:
/// existing files then remain.
pub fn write_series(
    path: &Path,
    volume: &Volume,
    description: &ImageDescription,
    context: &SeriesContext,
) -> Result<(), IoError> {
    let pet = description.pet.as_ref();
    check_image(path, volume.unit, pet)?;
    if let Some(&side) = volume.grid.size.iter().find(|&&n| n > MAX_SIDE) {
        let problem = ImageProblem::LongSide(side, "a DICOM series", MAX_SIDE);
        return Err(IoError::unsupported(path, problem));
    }
    check_place(path)?;
    let folder = PendingFolder::create(path)?;
    let facts =
        Series { grid: &volume.grid, scan: Scan::new(volume.unit, description, context.is_anonymous), description, context };
    let common = series(&facts);
    let [nx, ny, nz] = volume.grid.size;
    let width = nz.to_string().len().max(3);
    volume.as_slice().par_chunks_exact(nx * ny).enumerate().try_for_each(|(index, values)| {
        let mut slice = common.clone();
        add_slice(&mut slice, &facts, index, values);
        let file = folder.temporary().join(format!("slice_{:0width$}.dcm", index + 1));
        fs::write(file, encoded(path, slice)?).map_err(IoError::write(path))
    })?;
    folder.commit()
}

/// Returns the bytes of a file.
fn encoded(path: &Path, slice: InMemDicomObject) -> Result<Vec<u8>, IoError> {
    let meta = FileMetaTableBuilder::new()
        .transfer_syntax(uids::EXPLICIT_VR_LITTLE_ENDIAN)
        .implementation_class_uid(IMPLEMENTATION_UID)
        .implementation_version_name(IMPLEMENTATION);
    let not_encoded = |reason: String| IoError::write(path)(std::io::Error::other(reason));
    let file = slice.with_meta(meta).map_err(|error| not_encoded(error.to_string()))?;
    let mut bytes = Vec::new();
    file.write_all(&mut bytes).map_err(|error| not_encoded(error.to_string()))?;
    Ok(bytes)
}
