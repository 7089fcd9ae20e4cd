//! The format of a file by its ending.

use std::path::Path;

use super::dicom::{self, Patient};
use super::{ImageDescription, IoError, interfile, nifti, numpy_image, numpy_sweep};
use crate::data::{Michelogram, Notice, Unit, Volume};

const PROJECTIONS: &str = "an Interfile projection header (.hs, with its data file .s, or Siemens' .s.hdr)";
const PROJECTIONS_OUT: &str = "an Interfile projection header (.hs, with its data file .s)";
const IMAGES: &str = "an Interfile image header (.hv, with its data file .v), NIfTI (.nii, .nii.gz) or a NumPy array (.npy, with \
                      its provenance record)";
const IMAGES_OUT: &str = "an Interfile image header (.hv, with its data file .v), NIfTI (.nii, .nii.gz), a NumPy array (.npy, but not \
                          -proj.npy) or a DICOM series (.dcm, a folder)";

/// What a file holds, by the ending of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Projection data, Interfile (`.hs`).
    InterfileProjections,
    /// An image, Interfile (`.hv`).
    InterfileImage,
    /// An image, NIfTI (`.nii`, `.nii.gz`).
    NiftiImage,
    /// An image, NumPy array of three dimensions (`.npy`, where it is none of a sweep's).
    NumpyImage,
    /// An image as a DICOM PET series, which is written but not read (`.dcm`, a folder).
    DicomSeries,
    /// An EPRI sweep, or its reference spectrum, Bruker BES3T (`.DSC` beside `.DTA`).
    Bes3t,
    /// An EPRI sweep as a set of NumPy arrays (`NAME-proj.npy` and others), or its reference spectrum (`NAME-h.npy`).
    NumpySweep,
    /// An EPRI sweep in the program's own form (`.sweep` beside `.f32`).
    SavedSweep,
    /// Tubes of response (`.tubes` beside `.tubes.f32`).
    Tubes,
    /// Counts of pairs of crystals (`.pairs` beside `.pairs.f32`).
    Pairs,
    /// A stored matrix (`.matrix` beside `.matrix.u32`).
    Matrix,
    /// A list of events, CASToR (`.Cdh` beside `.Cdf`).
    Castor,
    /// A list of events, YRT-PET (`.lmDat`).
    YrtList,
    /// A list of events, Siemens (`.l.hdr` beside `.l`).
    SiemensList,
    /// Projection data, Siemens' Interfile (`.s.hdr` beside `.s`).
    SiemensSinograms,
    /// A session of the window (`.session`).
    Session,
    /// The crystals of a scanner (`.crystals.toml`).
    Crystals,
    /// Regions of interest (`.toml`, `.json`).
    Rois,
    /// Measured numbers (`.csv`).
    Measurements,
    /// What made a file (`image.nii.gz.json`).
    Provenance,
    /// The calibration of a scan (`.calibration.toml`).
    Calibration,
    /// A list of events, PETSIRD (`.petsird`).
    Petsird,
}

impl FileKind {
    /// Whether a file of this kind can be read as an image.
    pub fn is_image(self) -> bool {
        matches!(self, FileKind::InterfileImage | FileKind::NiftiImage | FileKind::NumpyImage)
    }

    /// Whether a file of this kind holds counts along lines.
    pub fn is_scan(self) -> bool {
        matches!(self, FileKind::InterfileProjections | FileKind::SiemensSinograms)
    }

    /// Whether a file of this kind is a list of events.
    pub fn is_list(self) -> bool {
        matches!(self, FileKind::Petsird | FileKind::Castor | FileKind::YrtList | FileKind::SiemensList)
    }

    /// Whether a file of this kind can be an EPRI sweep.
    pub fn is_sweep(self) -> bool {
        matches!(self, FileKind::Bes3t | FileKind::NumpySweep | FileKind::SavedSweep)
    }

    /// The kind of a file of this name, if its ending is known.
    pub fn of(path: &Path) -> Option<Self> {
        Self::with_ending(path).map(|(_, kind)| kind)
    }

    /// The name of a file without its ending: "scan" of `folder/scan.l.hdr`. (Of an unknown ending what stands before the last point.)
    pub fn stem(path: &Path) -> String {
        let known = Self::with_ending(path).zip(path.file_name());
        let without = known.and_then(|((ending, _), name)| {
            let name = name.to_string_lossy();
            Some(name.get(..name.len().checked_sub(ending.len())?)?.to_owned())
        });
        without.unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
    }

    /// The ending of a name, in small letters, and what it stands for.
    fn with_ending(path: &Path) -> Option<(&'static str, Self)> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let endings = [
            (".hs", FileKind::InterfileProjections),
            (".hv", FileKind::InterfileImage),
            (".nii", FileKind::NiftiImage),
            (".nii.gz", FileKind::NiftiImage),
            (".dsc", FileKind::Bes3t),
            (".dta", FileKind::Bes3t),
            (".npy", if numpy_sweep::is_of_a_set(path) { FileKind::NumpySweep } else { FileKind::NumpyImage }),
            (".dcm", FileKind::DicomSeries),
            (".sweep", FileKind::SavedSweep),
            (".tubes", FileKind::Tubes),
            (".pairs", FileKind::Pairs),
            (".matrix", FileKind::Matrix),
            (".cdh", FileKind::Castor),
            (".lmdat", FileKind::YrtList),
            (".l.hdr", FileKind::SiemensList),
            (".l.hdr.stir", FileKind::SiemensList),
            (".s.hdr", FileKind::SiemensSinograms),
            (".session", FileKind::Session),
            (".crystals.toml", FileKind::Crystals),
            (".calibration.toml", FileKind::Calibration),
            (".toml", FileKind::Rois),
            // A record has the name of its file.
            (".json", if is_of_a_file(&name) { FileKind::Provenance } else { FileKind::Rois }),
            (".csv", FileKind::Measurements),
            (".petsird", FileKind::Petsird),
        ];
        endings.into_iter().find(|(ending, _)| name.ends_with(ending))
    }
}

/// Whether the name of a record is that of an image, or of a table, with `.json` behind it.
fn is_of_a_file(name: &str) -> bool {
    let of = name.strip_suffix(".json").and_then(|of| FileKind::of(Path::new(of)));
    of.is_some_and(|kind| kind.is_image() || matches!(kind, FileKind::DicomSeries | FileKind::Measurements))
}

/// Reads projection data, and says what a user should know about it. (Of Siemens' sinograms the prompts.)
///
/// # Errors
/// An ending that is not understood, or what [`interfile::read_projections`] says.
pub fn read_projections(path: &Path) -> Result<(Michelogram, Vec<Notice>), IoError> {
    match FileKind::of(path) {
        Some(FileKind::InterfileProjections) => interfile::read_projections(path),
        Some(FileKind::SiemensSinograms) => {
            interfile::read_siemens_sinograms(path).map(|(sinograms, notices)| (sinograms.prompts, notices))
        }
        _ => Err(not_understood(path, "projection data", PROJECTIONS)),
    }
}

/// Writes projection data.
///
/// # Errors
/// An ending that is not understood, or what [`interfile::write_projections`] says.
pub fn write_projections(path: &Path, data: &Michelogram) -> Result<(), IoError> {
    match FileKind::of(path) {
        Some(FileKind::InterfileProjections) => interfile::write_projections(path, data),
        _ => Err(not_understood(path, "projection data", PROJECTIONS_OUT)),
    }
}

/// Reads an image, and says what a user should know about it.
///
/// # Errors
/// An ending that is not understood, or what [`interfile::read_image`], [`nifti::read_image`] or [`numpy_image::read_image`] says.
pub fn read_volume(path: &Path) -> Result<(Volume, Vec<Notice>), IoError> {
    match FileKind::of(path) {
        Some(FileKind::InterfileImage) => interfile::read_image(path),
        Some(FileKind::NiftiImage) => nifti::read_image(path),
        Some(FileKind::NumpyImage) => numpy_image::read_image(path),
        _ => Err(not_understood(path, "an image", IMAGES)),
    }
}

/// Refuses a name whose format cannot hold an image in this unit, for those who write one after long work.
///
/// # Errors
/// What [`dicom::check_unit`] says.
pub fn check_image_unit(path: &Path, unit: Unit) -> Result<(), IoError> {
    if FileKind::of(path) == Some(FileKind::DicomSeries) { dicom::check_unit(path, unit) } else { Ok(()) }
}

/// Writes an image.
///
/// # Errors
/// An ending that is not understood, or what [`interfile::write_image`], [`nifti::write_image`], [`numpy_image::write_image`] or
/// [`dicom::write_series`] says.
pub fn write_volume(path: &Path, volume: &Volume) -> Result<(), IoError> {
    write_described_volume(path, volume, &concat!("tomoscope ", env!("CARGO_PKG_VERSION")).into(), &Patient::default())
}

/// Writes an image with what made it and whose it is, where the format has a place for that.
///
/// # Errors
/// As [`write_volume`].
pub fn write_described_volume(
    path: &Path,
    volume: &Volume,
    description: &ImageDescription,
    patient: &Patient,
) -> Result<(), IoError> {
    match FileKind::of(path) {
        Some(FileKind::InterfileImage) => interfile::write_image(path, volume),
        Some(FileKind::NiftiImage) => nifti::write_image(path, volume, &description.text),
        Some(FileKind::NumpyImage) => numpy_image::write_image(path, volume),
        Some(FileKind::DicomSeries) => dicom::write_series(path, volume, description, patient),
        _ => Err(not_understood(path, "an image to write", IMAGES_OUT)),
    }
}

fn not_understood(path: &Path, what: &'static str, understood: &'static str) -> IoError {
    IoError::Extension { path: path.to_owned(), what, understood }
}
