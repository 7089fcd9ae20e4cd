//! Reading and writing by content: the format follows from the ending of the name.

use std::path::Path;
use std::sync::Arc;

use crate::data::{ImageChoice, ImageSeries, ImageSpace, Michelogram, Notice, PetImage, Roi, Unit, Volume};
use crate::io::error::IoError;
use crate::io::formats::{Access, Content, FileKind, Format, unsupported_format};
use crate::io::image_problem::ImageProblem;
use crate::io::images::description::ImageDescription;
use crate::io::images::dicom::{self, DicomProblem, SeriesContext, SourceSeries};
use crate::io::images::nifti::FourthAxis;
use crate::io::list_mode::{EventReader, ListOptions};
use crate::io::notice;
use crate::io::own::rois;
use crate::io::readers::{Measured, Reader, Writer};
use crate::io::sinograms::interfile::{self, OwnFacts};
use crate::scanner::ScanGeometry;

/// Reads projection data and their notices; from Siemens' sinograms the prompts.
///
/// # Errors
/// Another ending; the format's reader fails.
pub fn read_projections(path: &Path) -> Result<(Michelogram, Vec<Notice>), IoError> {
    read_measured(path).map(|measured| (measured.prompts, measured.notices))
}

/// Reads the sampling of projection data from their header alone, with notices; the data file may be missing.
///
/// # Errors
/// Another ending; the format's reader of headers fails.
pub fn read_geometry(path: &Path) -> Result<(ScanGeometry, Vec<Notice>), IoError> {
    match Format::of(path).map(|format| &format.reader) {
        Some(Reader::Projections(reader)) => (reader.geometry)(path),
        _ => Err(unsupported_format(path, Content::Projections, Access::Read)),
    }
}

/// Reads projection data, the randoms of the same file, and the facts of the scan, if it has any.
pub(super) fn read_measured(path: &Path) -> Result<Measured, IoError> {
    match Format::of(path).map(|format| &format.reader) {
        Some(Reader::Projections(reader)) => (reader.counts)(path),
        _ => Err(unsupported_format(path, Content::Projections, Access::Read)),
    }
}

/// Writes projection data.
///
/// # Errors
/// Another ending; [`interfile::write_projections`] fails.
pub fn write_projections(path: &Path, data: &Michelogram) -> Result<(), IoError> {
    write_projections_with(path, data, &OwnFacts::default())
}

/// Writes projection data with facts of the program's own.
///
/// # Errors
/// As [`write_projections`].
pub fn write_projections_with(path: &Path, data: &Michelogram, own: &OwnFacts) -> Result<(), IoError> {
    match FileKind::of(path) {
        Some(FileKind::InterfileProjections) => interfile::write_projections(path, data, own),
        _ => Err(unsupported_format(path, Content::Projections, Access::Write)),
    }
}

/// Opens list-mode data.
///
/// # Errors
/// Another ending; the format's reader fails.
pub fn open_list_mode(path: &Path, options: &ListOptions) -> Result<Box<dyn EventReader>, IoError> {
    match Format::of(path).map(|format| &format.reader) {
        Some(Reader::ListMode(reader)) => (reader.open)(path, options),
        _ => Err(unsupported_format(path, Content::ListMode, Access::Read)),
    }
}

/// Reads images and their notices.
///
/// # Errors
/// Another ending; the format's reader fails.
pub fn read_images(path: &Path, choice: ImageChoice) -> Result<(ImageSeries, Vec<Notice>), IoError> {
    match Format::of_file(path).map(|format| &format.reader) {
        Some(Reader::Image(read)) => {
            let (series, mut notices) = read(path, choice)?;
            notices.extend(series.high_uptake().map(|text| notice::warning(path, text)));
            Ok((series, notices))
        }
        _ if dicom::is_segmentation(path) => Err(IoError::unsupported(path, DicomProblem::Segmentation)),
        _ => Err(unsupported_format(path, Content::Image, Access::Read)),
    }
}

/// Reads regions of interest and their notices: a ROI file, or the segments of a DICOM segmentation as regions of an image.
///
/// # Errors
/// The reader of the format fails; a segmentation without an image.
pub fn read_regions(path: &Path, image: Option<&ImageSpace>) -> Result<(Vec<Roi>, Vec<Notice>), IoError> {
    let format = Format::of_file(path);
    let is_segmentation = format.is_some_and(|format| format.content == Content::Segmentation);
    match image {
        Some(image) if is_segmentation || format.is_some_and(Format::is_folder) => dicom::read_segmentation(path)?.regions(image),
        None if is_segmentation => Err(IoError::unsupported(path, DicomProblem::Segmentation)),
        _ => Ok((rois::read_rois(path)?, Vec::new())),
    }
}

/// Reads the image of a file along the axes of the world, and its notices.
///
/// # Errors
/// As [`read_images`]; several images, an oblique image.
pub fn read_volume(path: &Path) -> Result<(Volume, Vec<Notice>), IoError> {
    single(path, read_images(path, ImageChoice::Only)?)
}

fn single(path: &Path, (series, notices): (ImageSeries, Vec<Notice>)) -> Result<(Volume, Vec<Notice>), IoError> {
    if series.placement.is_some() {
        return Err(IoError::unsupported(path, ImageProblem::Oblique));
    }
    let image = series.images.into_iter().next();
    let image = image.ok_or_else(|| unsupported_format(path, Content::Image, Access::Read))?;
    Ok((Arc::unwrap_or_clone(image.volume), notices))
}

/// Reads images of an EPRI acquisition, or for one, along the axes of the gradients, and their notices. A NIfTI file whose header does not
/// name these axes, as other programs write them, is taken to be on them.
///
/// # Errors
/// As [`read_images`].
pub fn read_epri_images(path: &Path, choice: ImageChoice) -> Result<(ImageSeries, Vec<Notice>), IoError> {
    let (mut series, mut notices) = read_images(path, choice)?;
    if is_on_gradient_axes(path)? == Some(false) {
        notices.push(notice::info(path, "its affine is taken to be on the axes of the gradients, not on those of a patient"));
        series.images.iter_mut().for_each(|image| image.volume = Arc::new(image.volume.inverted()));
        series.placement = series.placement.map(|placement| placement.inverted());
    }
    Ok((series, notices))
}

/// Returns whether the header of an image names the axes of the gradients; `None` of a format whose images have no world.
///
/// # Errors
/// The header does not read.
pub fn is_on_gradient_axes(path: &Path) -> Result<Option<bool>, IoError> {
    Format::of(path).and_then(|format| format.on_gradient_axes).map(|is_on| is_on(path)).transpose()
}

/// Reads the image of a file along the axes of the gradients, and its notices.
///
/// # Errors
/// As [`read_volume`].
pub fn read_epri_volume(path: &Path) -> Result<(Volume, Vec<Notice>), IoError> {
    single(path, read_epri_images(path, ImageChoice::Only)?)
}

/// Refuses a name whose format cannot hold an image in this unit and of this scan, for those who write one after long work.
///
/// # Errors
/// [`dicom::check_image`] fails.
pub fn check_image_unit(path: &Path, unit: Unit, pet: Option<&PetImage>) -> Result<(), IoError> {
    Format::of(path).and_then(|format| format.facts).map_or(Ok(()), |check| check(path, unit, pet))
}

/// Writes several images on one grid into a file with a fourth axis.
///
/// # Errors
/// A format without one; its writer fails.
pub fn write_series(path: &Path, volumes: &[Volume], axis: FourthAxis, description: &str) -> Result<(), IoError> {
    match Format::of(path).and_then(|format| format.series) {
        Some(write) => write(path, volumes, axis, description),
        None => Err(unsupported_format(path, Content::Image, Access::Write)),
    }
}

/// Returns the series of an image of it, which a segmentation names as its source; `None` of images of other formats.
///
/// # Errors
/// The series does not read.
pub fn source_series(path: &Path, number: usize) -> Result<Option<SourceSeries>, IoError> {
    Format::of_file(path).filter(|format| format.is_folder()).map(|_| dicom::source_series(path, number)).transpose()
}

/// Writes an image.
///
/// # Errors
/// Another ending; the format's writer fails.
pub fn write_volume(path: &Path, volume: &Volume) -> Result<(), IoError> {
    write_described_volume(path, volume, &concat!("tomoscope ", env!("CARGO_PKG_VERSION")).into(), &SeriesContext::default())
}

/// Writes an image with its description and its context, where the format has fields for them.
///
/// # Errors
/// As [`write_volume`].
pub fn write_described_volume(
    path: &Path,
    volume: &Volume,
    description: &ImageDescription,
    context: &SeriesContext,
) -> Result<(), IoError> {
    if context.placement.is_some() && !Format::of(path).is_some_and(|format| format.has_directions) {
        return Err(IoError::unsupported(path, ImageProblem::ObliqueFormat));
    }
    match Format::of(path).map(|format| &format.writer) {
        Some(Writer::Image(write)) => write(path, volume, description, context),
        _ => Err(unsupported_format(path, Content::Image, Access::Write)),
    }
}
