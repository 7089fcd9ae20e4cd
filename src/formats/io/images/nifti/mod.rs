//! NIfTI images: one file (`.nii`, `.nii.gz`), or a pair (`.hdr`, `.img`), which is only read.
//!
//! Source: the NIfTI-1 header (Cox et al. 2004, nifti1.h). NIfTI's world is patient coordinates with +x right, +y anterior, +z
//! superior: ours with every axis reversed. Voxels stay in the order x, y, z; orientation lives only in the affine, diag(−dx,
//! −dy, −dz) with −origin as translation. Reading accepts any affine without shear, and turns the voxels into our order; an
//! oblique image keeps its own axes and has a [`Placement`].
//!
//! EPRI has no patient: its world is the gradients' axes, diag(dx, dy, dz) with the origin as it is. `intent_name` marks such an
//! image ([`GRADIENT_AXES`]), and the beginning of `descrip` ([`ON_GRADIENT_AXES`]), which ITK's programs keep; an image in a.u. without
//! them was written with the patient's axes and is read so.

mod header;
mod problem;
mod sidecar;

use std::borrow::Cow;
use std::io::{BufRead, Read as _};
use std::path::Path;
use std::sync::Arc;

use ::nifti::writer::WriterOptions;
use ::nifti::{Endianness, NiftiError, NiftiHeader};
use nalgebra::Vector3;
use ndarray::{ArrayView, Axis, Dimension, RemoveAxis};
use strum::VariantArray as _;

pub use self::header::{ENDINGS, is_nifti, other_files};

use self::header::{Opened, is_gzip, open, pair};
use self::sidecar::Sidecar;
use super::description::whole_words;
use super::orientation::{Orientation, oblique_notice, placed, reorder};
use crate::data::{FieldAxis, ImageChoice, ImageSeries, Notice, Placement, SeriesImage, Unit, Volume};
use crate::geometry::Grid;
use crate::io::bytes::{ByteOrder, GzipReader, NumberFormat, NumberType, PendingFile, read_contiguous, regular_file_len, zeroed};
use crate::io::error::IoError;
use crate::io::image_problem::ImageProblem;
use crate::io::images::nifti::problem::NiftiProblem;
use crate::io::notice;

/// Bytes of the header's description.
const DESCRIP_BYTES: usize = 80;

/// No gzip stream unpacks to more than this many times its size (deflate's limit is 1032).
const MAX_GZIP_RATIO: u64 = 1032;

/// Largest size along an axis: the header holds 16-bit signed integers.
const MAX_SIDE: usize = i16::MAX as usize;

/// Largest cosine of the angle between two voxel axes.
const SHEAR_TOLERANCE: f64 = 1e-3;

/// Largest number of bytes that are unpacked after the voxels of a small image.
const MIN_REST_BYTES: u64 = 1 << 24;

/// Values decoded at a time from a compressed file.
const BLOCK_VALUES: usize = 1 << 16;

/// Beginning of the `intent_name` of an image on the gradients' axes, before its unit.
const GRADIENT_AXES: &str = "tomoscope ";

/// Beginning of the description of an image on the gradients' axes.
const ON_GRADIENT_AXES: &str = "gradient axes; ";

/// Reads images and their notices; the fourth dimension is time.
///
/// # Errors
/// Not a NIfTI-1 file with its data inside; an image that it does not have, or several where one is expected; colours or complex
/// numbers; a sheared affine; fewer bytes than the header describes.
pub fn read_images(path: &Path, choice: ImageChoice) -> Result<(ImageSeries, Vec<Notice>), IoError> {
    let Opened { header, data, header_bytes, packed } = open(path)?;
    let file_len = regular_file_len(&data)?;
    let mut notices = Vec::new();
    let (sides, num_images) = sides(path, &header)?;
    let range = match choice {
        ImageChoice::Only if num_images > 1 => {
            return Err(IoError::unsupported(path, NiftiProblem::SeveralImages(num_images)));
        }
        ImageChoice::Number(number) if number == 0 || number > num_images => {
            return Err(IoError::unsupported(path, ImageProblem::NoSuchImage(number, num_images)));
        }
        ImageChoice::Number(number) => number - 1..number,
        ImageChoice::Only | ImageChoice::All => 0..num_images,
    };
    let (orientation, placement) = orientation(path, &header, sides, &mut notices)?;
    notices.extend(placement.as_ref().map(|placement| oblique_notice(path, placement)));
    let format = number_format(path, &header, &mut notices)?;
    let num_values: usize = sides.iter().product();
    let offset = check_length(&data, header.vox_offset, header_bytes, sides, num_images, format, file_len)?;
    let image_bytes = (num_values * format.number_type.num_bytes()) as u64;
    let start = offset + range.start as u64 * image_bytes;
    let all_values = match packed {
        Some(mut unpacked) => {
            let after = (num_images - range.end) as u64 * image_bytes;
            let before = start - header_bytes;
            read_stream(&data, &mut unpacked, [before, after], format, [range.len(), num_values], &mut notices)?
        }
        None => {
            let end = offset + num_images as u64 * image_bytes;
            if file_len > end {
                notices.push(left_unread(&data, &format!("{} more bytes", file_len - end)));
            }
            let read = |index| read_contiguous(&data, format, start + index as u64 * image_bytes, num_values);
            (0..range.len()).map(read).collect::<Result<_, _>>()?
        }
    };
    let [first_secs, step_secs] = times(&header);
    let Sidecar { times, unit: of_sidecar } = sidecar::read(path, num_images, step_secs, &mut notices);
    if num_images > 1 && step_secs == 0.0 && times.is_none() && !header.intent_name.starts_with(FIELD) {
        notices.push(notice::warning(path, "the times of its images are unknown (pixdim[4] is 0)"));
    }
    let unit = Some(unit(&header)).filter(|unit| *unit != Unit::Unknown).or(of_sidecar).unwrap_or(Unit::Unknown);
    let images = range.zip(all_values).map(|(index, values)| {
        let (grid, values) = reorder(path, &orientation, sides, values)?;
        let volume = Volume::from_vec(grid, values, unit);
        let volume = volume.ok_or_else(|| IoError::unsupported(path, ImageProblem::Voxels))?;
        notices.extend(volume.not_finite().map(|text| notice::warning(path, text)));
        let of_header = [first_secs + index as f64 * step_secs, step_secs];
        let [start_secs, duration_secs] = times.as_ref().and_then(|times| times.get(index).copied()).unwrap_or(of_header);
        Ok(SeriesImage::new(volume, start_secs, duration_secs))
    });
    let images = images.collect::<Result<Vec<_>, IoError>>()?;
    Ok((ImageSeries { placement, ..ImageSeries::unnamed(images, num_images) }, notices))
}

/// Returns the start of the first image and the time from one to the next, s.
fn times(header: &NiftiHeader) -> [f64; 2] {
    if header.intent_name.starts_with(FIELD) {
        return [0.0; 2];
    }
    // The time unit's code counts in eights: seconds, milliseconds, microseconds.
    let secs = match header.xyzt_units & 56 {
        16 => 1e-3,
        24 => 1e-6,
        _ => 1.0,
    };
    [header.toffset, header.pixdim[4]].map(|time| secs * decimal(time))
}

/// Voxels along the file's three axes, and the number of images.
fn sides(path: &Path, header: &NiftiHeader) -> Result<([usize; 3], usize), IoError> {
    let dim = header.dim().map_err(|error| IoError::unsupported(path, NiftiProblem::ImageSize(error.to_string())))?;
    let side = |axis: usize| usize::from(dim.get(axis).copied().unwrap_or(1));
    if let Some(axis) = (4..dim.len()).find(|&axis| side(axis) > 1) {
        let problem = NiftiProblem::Dimension(side(axis), axis + 1);
        return Err(IoError::unsupported(path, problem));
    }
    let (sides, num_images) = ([side(0), side(1), side(2)], side(3).max(1));
    match sides.iter().chain([&num_images]).find(|&&n| n == 0 || n > MAX_SIDE) {
        Some(&side) => Err(IoError::unsupported(path, NiftiProblem::Side(side))),
        None => Ok((sides, num_images)),
    }
}

fn number_format(path: &Path, header: &NiftiHeader, notices: &mut Vec<Notice>) -> Result<NumberFormat, IoError> {
    let number_type = match header.datatype {
        2 => NumberType::Uint8,
        4 => NumberType::Int16,
        8 => NumberType::Int32,
        16 => NumberType::Float32,
        64 => NumberType::Float64,
        256 => NumberType::Int8,
        512 => NumberType::Uint16,
        768 => NumberType::Uint32,
        1024 => NumberType::Int64,
        1280 => NumberType::Uint64,
        other => return Err(IoError::unsupported(path, NiftiProblem::DataType(other))),
    };
    let byte_order = if header.endianness == Endianness::Little { ByteOrder::Little } else { ByteOrder::Big };
    // A slope of 0 means: not scaled.
    let (scale, intercept) = match header.scl_slope {
        0.0 => (1.0, 0.0),
        slope if slope.is_nan() => {
            notices.push(notice::warning(path, "its slope (scl_slope) is not a number; the stored values are not scaled"));
            (1.0, 0.0)
        }
        slope => (f64::from(slope), f64::from(header.scl_inter)),
    };
    if !(scale.is_finite() && intercept.is_finite()) {
        return Err(IoError::unsupported(path, NiftiProblem::Scale([scale, intercept])));
    }
    Ok(NumberFormat { number_type, byte_order, scale, intercept })
}

/// Checks that the file can hold the content that its header describes; returns the first byte of the values.
fn check_length(
    path: &Path,
    start: f32,
    header_bytes: u64,
    sides: [usize; 3],
    num_frames: usize,
    format: NumberFormat,
    file_len: u64,
) -> Result<u64, IoError> {
    if !(start >= header_bytes as f32 && start <= 1e15) {
        return Err(IoError::unsupported(path, NiftiProblem::DataStart(start)));
    }
    let offset = start as u64;
    let [nx, ny, nz] = sides;
    let num_bytes = format.number_type.num_bytes();
    let expected = offset + num_frames as u64 * (nx * ny * nz * num_bytes) as u64;
    let found = if is_gzip(path) { file_len.saturating_mul(MAX_GZIP_RATIO) } else { file_len };
    if found < expected {
        let unpacked = if is_gzip(path) { ", and can unpack to no more than that" } else { "" };
        let images = if num_frames > 1 { format!("{num_frames} images of ") } else { String::new() };
        let what = format!("{images}{nx} × {ny} × {nz} voxels of {num_bytes} bytes{unpacked}");
        return Err(IoError::TooShort { path: path.to_owned(), what, expected, found });
    }
    Ok(offset)
}

/// Reads values from a stream with `before` bytes before and `after` bytes after them. The stream is read to its end: a
/// compressed file is complete only if its end is.
fn read_stream(
    path: &Path,
    reader: &mut GzipReader<impl BufRead>,
    [before, after]: [u64; 2],
    format: NumberFormat,
    [num_images, num_values]: [usize; 2],
    notices: &mut Vec<Notice>,
) -> Result<Vec<Vec<f32>>, IoError> {
    let num_bytes = format.number_type.num_bytes();
    std::io::copy(&mut reader.by_ref().take(before), &mut std::io::sink()).map_err(IoError::read(path))?;
    let mut bytes = vec![0; BLOCK_VALUES.min(num_values) * num_bytes];
    let read_one = |_| {
        let mut values = zeroed(path, num_values)?;
        for block in values.chunks_mut(BLOCK_VALUES) {
            let bytes = &mut bytes[..block.len() * num_bytes];
            reader.read_exact(bytes).map_err(IoError::read(path))?;
            format.decode(bytes, block);
        }
        Ok(values)
    };
    let images = (0..num_images).map(read_one).collect::<Result<_, IoError>>()?;
    let other_images = std::io::copy(&mut reader.by_ref().take(after), &mut std::io::sink()).map_err(IoError::read(path))?;
    if other_images < after {
        return Err(IoError::read(path)(std::io::ErrorKind::UnexpectedEof.into()));
    }
    // A few bytes can unpack to very many: of those that are not wanted no more are looked at than of the others.
    let limit = MIN_REST_BYTES.max((num_values * num_bytes) as u64);
    let rest = std::io::copy(&mut reader.by_ref().take(limit), &mut std::io::sink()).map_err(IoError::read(path))?;
    if rest == limit {
        notices.push(left_unread(path, "far more bytes (whether the file is whole was not looked at)"));
    } else if rest > 0 {
        notices.push(left_unread(path, &format!("{rest} more bytes")));
    }
    if reader.has_tail() {
        notices.push(left_unread(path, "bytes that are no gzip"));
    }
    Ok(images)
}

/// Returns the notice on a file that is longer than its header describes.
fn left_unread(path: &Path, what: &str) -> Notice {
    notice::warning(path, format!("after the voxels that its header describes it has {what}; they are left unread"))
}

/// Returns the orientation from the affine of the header in our world, and the position of an oblique image.
fn orientation(
    path: &Path,
    header: &NiftiHeader,
    sides: [usize; 3],
    notices: &mut Vec<Notice>,
) -> Result<(Orientation, Option<Placement>), IoError> {
    let scale = match header.xyzt_units & 7 {
        1 => 1000.0,
        3 => 1e-3,
        _ => 1.0,
    };
    // Of our axes in the file's world.
    let sign = if names_gradient_axes(header) { 1.0 } else { -1.0 };
    let pitch: [f64; 3] = std::array::from_fn(|axis| decimal(header.pixdim[axis + 1]).abs());
    // Rows of the world's axes right, anterior, superior; columns of the voxel axes and the translation.
    let of_quaternion = quaternion_affine(header, pitch);
    let affine = if header.sform_code > 0 {
        let rows = [header.srow_x, header.srow_y, header.srow_z].map(|row| row.map(decimal));
        notices.extend(other_position(header, sides, &rows, &of_quaternion).map(|text| notice::warning(path, text)));
        rows
    } else if header.qform_code > 0 {
        of_quaternion
    } else {
        let text =
            "no position of the patient; the image centre is the scanner centre and directions are those of head-first supine";
        notices.push(notice::info(path, text));
        centred_affine(pitch, sides, sign)
    };
    let affine = affine.map(|row| row.map(|value| value * scale));
    if affine.iter().flatten().any(|value| !value.is_finite()) {
        return Err(IoError::unsupported(path, NiftiProblem::Affine));
    }
    let columns: [Vector3<f64>; 3] = std::array::from_fn(|axis| sign * Vector3::from(affine.map(|row| row[axis])));
    let steps_mm = columns.map(|column| column.norm());
    let axes = columns.map(|column| column.normalize());
    let is_sheared = [(0, 1), (1, 2), (2, 0)].iter().any(|(a, b)| axes[*a].dot(&axes[*b]).abs() > SHEAR_TOLERANCE);
    if is_sheared {
        return Err(IoError::unsupported(path, ImageProblem::Oblique));
    }
    Ok(placed(axes, steps_mm, sides, affine.map(|row| sign * row[3])))
}

/// Returns a warning where the two affines of a header place a corner of the image at positions farther apart than a voxel.
fn other_position(
    header: &NiftiHeader,
    sides: [usize; 3],
    rows: &[[f64; 4]; 3],
    of_quaternion: &[[f64; 4]; 3],
) -> Option<String> {
    let place = |affine: &[[f64; 4]; 3], corner: usize| {
        let voxel: [f64; 3] = std::array::from_fn(|axis| if corner >> axis & 1 == 1 { sides[axis] as f64 - 1.0 } else { 0.0 });
        Vector3::from(affine.map(|[x, y, z, shift]| x * voxel[0] + y * voxel[1] + z * voxel[2] + shift))
    };
    let farthest = (0..8).map(|corner| (place(rows, corner) - place(of_quaternion, corner)).norm()).fold(0.0, f64::max);
    let voxel = (0..3).map(|axis| decimal(header.pixdim[axis + 1]).abs()).fold(f64::INFINITY, f64::min);
    (header.qform_code > 0 && farthest > voxel).then(|| {
        let unit = if header.xyzt_units & 7 == 2 { " mm" } else { "" };
        format!("its sform and its qform place it differently, by up to {farthest:.1}{unit}; the sform is used")
    })
}

/// Returns the affine for a header without one: the middle of the image at the origin, in our orientation.
fn centred_affine(pitch: [f64; 3], sides: [usize; 3], sign: f64) -> [[f64; 4]; 3] {
    std::array::from_fn(|row| {
        let mut affine = [0.0, 0.0, 0.0, -0.5 * sign * (sides[row] as f64 - 1.0) * pitch[row]];
        affine[row] = sign * pitch[row];
        affine
    })
}

/// Returns the affine of the header's unit quaternion (a, b, c, d) and pitches (method 2 of nifti1.h).
fn quaternion_affine(header: &NiftiHeader, pitch: [f64; 3]) -> [[f64; 4]; 3] {
    let [b, c, d] = [header.quatern_b, header.quatern_c, header.quatern_d].map(f64::from);
    let a = (1.0 - b * b - c * c - d * d).max(0.0).sqrt();
    let rotation = [
        [a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
        [2.0 * (b * c + a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b)],
        [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a + d * d - c * c - b * b],
    ];
    let flip = if header.pixdim[0] < 0.0 { -1.0 } else { 1.0 };
    let shift = [header.quatern_x, header.quatern_y, header.quatern_z].map(decimal);
    std::array::from_fn(|row| {
        let r = rotation[row];
        [r[0] * pitch[0], r[1] * pitch[1], r[2] * pitch[2] * flip, shift[row]]
    })
}

/// Returns the shortest decimal number of an f32, so that 2.734 mm is 2.734 mm again.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// Returns true of an image on the axes of the gradients by its header.
///
/// # Errors
/// The header does not read.
pub fn is_on_gradient_axes(path: &Path) -> Result<bool, IoError> {
    Ok(names_gradient_axes(&open(path)?.header))
}

fn names_gradient_axes(header: &NiftiHeader) -> bool {
    intent_name(header).starts_with(GRADIENT_AXES) || header.descrip.starts_with(ON_GRADIENT_AXES.as_bytes())
}

fn intent_name(header: &NiftiHeader) -> Cow<'_, str> {
    let name = header.intent_name.split(|&byte| byte == 0).next();
    String::from_utf8_lossy(name.unwrap_or_default())
}

fn unit(header: &NiftiHeader) -> Unit {
    let name = intent_name(header);
    if name.as_bytes().starts_with(FIELD) {
        return Unit::Arbitrary;
    }
    let written = Unit::VARIANTS.iter().copied().find(|unit| name == name_of(*unit));
    // Earlier versions wrote the label.
    written.or_else(|| Unit::of_label(&name)).unwrap_or(Unit::Unknown)
}

/// Returns the `intent_name` of an image in this unit.
fn name_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Arbitrary => "tomoscope a.u.",
        Unit::Millimolar => "tomoscope mM",
        Unit::Torr => "tomoscope torr",
        Unit::Millitesla => "tomoscope mT",
        Unit::PerMicrosecond => "tomoscope 1/µs",
        // The field has 16 bytes.
        Unit::SuvLeanJanmahasatian => "SUL (Janmahas.)",
        Unit::Unknown => "",
        known => known.label(),
    }
}

/// Writes an image; a name that ends in `.gz` is compressed. `description` is a short text on its origin, which is cut to the
/// header's field.
///
/// # Errors
/// A side of more than 32767 voxels; a failed write: an existing file then remains.
pub fn write_image(path: &Path, volume: &Volume, description: &str, placement: Option<&Placement>) -> Result<(), IoError> {
    check_sides(path, &volume.grid)?;
    let mut of_space = header(volume);
    if let Some(placement) = placement {
        of_space = oblique(of_space, &volume.grid, placement);
    }
    let header = NiftiHeader { descrip: descrip(description, &of_space), ..of_space };
    write_values(path, &header, volume.values.view())
}

/// Fourth dimension of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FourthAxis {
    /// Start of the first image and duration of each, s.
    Time([f64; 2]),
    /// Magnetic field of each image. NIfTI has no unit for it: the intent has the name "tomoscope field", and fields are in mT.
    Field(FieldAxis),
}

/// Name of the intent of an image with a spectrum in each voxel.
const FIELD: &[u8] = b"tomoscope field";

/// An image with a spectrum in each voxel.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectra {
    /// Images of the samples, `[z, y, x]` each.
    pub samples: Vec<Arc<Volume>>,
    /// Their fields.
    pub axis: FieldAxis,
}

/// Reads an image with a spectrum in each voxel.
///
/// # Errors
/// As [`read_images`], and an image without an axis of the field.
pub fn read_spectra(path: &Path) -> Result<(Spectra, Vec<Notice>), IoError> {
    let header = open(path)?.header;
    let (series, notices) = read_images(path, ImageChoice::All)?;
    let samples: Vec<Arc<Volume>> = series.images.into_iter().map(|image| image.volume).collect();
    let axis = FieldAxis { first_mt: decimal(header.toffset), step_mt: decimal(header.pixdim[4]), num_samples: samples.len() };
    match header.intent_name.starts_with(FIELD) && axis.step_mt > 0.0 && axis.first_mt.is_finite() && samples.len() > 1 {
        true => Ok((Spectra { samples, axis }, notices)),
        false => Err(IoError::unsupported(path, NiftiProblem::NoFieldAxis)),
    }
}

/// Writes images on one grid as one image of four dimensions.
///
/// # Errors
/// As [`write_image`]; no image, or more than a side can have.
pub fn write_series(path: &Path, volumes: &[Volume], axis: FourthAxis, description: &str) -> Result<(), IoError> {
    let views: Vec<_> = volumes.iter().map(|volume| volume.values.view()).collect();
    let values = ndarray::stack(Axis(0), &views).map_err(|error| IoError::unsupported(path, NiftiProblem::SeriesGrids(error)))?;
    let Some(first) = volumes.first().filter(|_| volumes.len() <= MAX_SIDE) else {
        return Err(IoError::unsupported(path, NiftiProblem::SeriesLength(volumes.len())));
    };
    check_sides(path, &first.grid)?;
    let of_space = header(first);
    let mut pixdim = of_space.pixdim;
    // 8 = seconds, in addition to the unit of space.
    let ([start, step], unit) = match axis {
        FourthAxis::Time(times) => (times, 8),
        FourthAxis::Field(axis) => ([axis.first_mt, axis.step_mt], 0),
    };
    pixdim[4] = step as f32;
    let xyzt_units = of_space.xyzt_units | unit;
    let mut intent_name = of_space.intent_name;
    if matches!(axis, FourthAxis::Field(_)) {
        intent_name = [0; 16];
        intent_name[..FIELD.len()].copy_from_slice(FIELD);
    }
    let (descrip, toffset) = (descrip(description, &of_space), start as f32);
    let header = NiftiHeader { descrip, pixdim, toffset, xyzt_units, intent_name, ..of_space };
    write_values(path, &header, values.view())
}

/// Refuses sides that are too long for the format, and pairs of files.
fn check_sides(path: &Path, grid: &Grid) -> Result<(), IoError> {
    if pair(path).is_some() {
        return Err(IoError::unsupported(path, NiftiProblem::WrittenPair));
    }
    match grid.size.iter().find(|&&n| n > MAX_SIDE) {
        None => Ok(()),
        Some(&side) => Err(IoError::unsupported(path, ImageProblem::LongSide(side, "NIfTI-1", MAX_SIDE))),
    }
}

fn write_values<D: Dimension + RemoveAxis>(
    path: &Path,
    header: &NiftiHeader,
    values: ArrayView<'_, f32, D>,
) -> Result<(), IoError> {
    let file = PendingFile::create(path)?;
    let written = WriterOptions::new(file.temporary()).reference_header(header).write_nifti(&values.t());
    written.map_err(|error| IoError::write(path)(cause(error)))?;
    // The last bytes of an uncompressed file leave through a buffer whose failure is not reported.
    let expected = 352 + 4 * values.len() as u64;
    if !is_gzip(path) && regular_file_len(file.temporary())? != expected {
        return Err(IoError::write(path)(std::io::Error::other("it could not be written completely; is the disk full?")));
    }
    file.commit()
}

/// Returns the header's field of 80 bytes, ended by a zero: whole words in ASCII; other characters become question marks.
fn descrip(description: &str, header: &NiftiHeader) -> Vec<u8> {
    let axes = if names_gradient_axes(header) { ON_GRADIENT_AXES } else { "" };
    let description = &format!("{axes}{description}");
    let plain = |c: char| if matches!(c, ' '..='~') { c as u8 } else { b'?' };
    let mut field: Vec<u8> = whole_words(description, DESCRIP_BYTES - 1).chars().map(plain).collect();
    field.resize(DESCRIP_BYTES, 0);
    field
}

/// Returns the system's error, if it was one.
fn cause(error: NiftiError) -> std::io::Error {
    match error {
        NiftiError::Io(error) => error,
        other => std::io::Error::other(other),
    }
}

/// Returns the header of an oblique image: the affine has its axes, and no quaternion contradicts it.
fn oblique(header: NiftiHeader, grid: &Grid, placement: &Placement) -> NiftiHeader {
    let first = placement.world_mm(grid.origin_mm);
    let row = |world: usize| {
        let [x, y, z] = [0, 1, 2].map(|axis| (0.0 - placement.rotation[world][axis] * grid.voxel_mm[axis]) as f32);
        [x, y, z, (0.0 - first[world]) as f32]
    };
    NiftiHeader { qform_code: 0, srow_x: row(0), srow_y: row(1), srow_z: row(2), ..header }
}

fn header(volume: &Volume) -> NiftiHeader {
    let grid = &volume.grid;
    let name = name_of(volume.unit);
    let sign = if name.starts_with(GRADIENT_AXES) { 1.0 } else { -1.0 };
    let pitch = grid.voxel_mm.map(|d| d as f32);
    // Added to 0 so that no −0 is written.
    let shift = grid.origin_mm.map(|o| 0.0 + sign * o as f32);
    let step = pitch.map(|d| sign * d);
    let mut intent_name = [0; 16];
    intent_name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    NiftiHeader {
        // diag(−, −, −) = the half turn about z (quaternion 0, 0, 0, 1) with the third axis reversed (pixdim[0] = −1);
        // diag(+, +, +) = no turn (1, 0, 0, 0).
        pixdim: [sign, pitch[0], pitch[1], pitch[2], 1.0, 1.0, 1.0, 1.0],
        qform_code: 1,
        sform_code: 1,
        quatern_b: 0.0,
        quatern_c: 0.0,
        quatern_d: if sign < 0.0 { 1.0 } else { 0.0 },
        quatern_x: shift[0],
        quatern_y: shift[1],
        quatern_z: shift[2],
        srow_x: [step[0], 0.0, 0.0, shift[0]],
        srow_y: [0.0, step[1], 0.0, shift[1]],
        srow_z: [0.0, 0.0, step[2], shift[2]],
        // 2 = millimetres.
        xyzt_units: 2,
        intent_name,
        endianness: Endianness::Little,
        ..NiftiHeader::default()
    }
}
