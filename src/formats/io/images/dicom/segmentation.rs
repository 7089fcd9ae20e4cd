//! A DICOM segmentation: voxels of lesions as binary frames, a segment for each lesion.
//!
//! Source: DICOM PS3.3, Segmentation IOD (A.51), Segmentation Image (C.8.20.2), functional groups (C.7.6.16), dimensions
//! (C.7.6.17). A segment has a frame for each slice of the image in which it has voxels. The bits of all frames follow each other
//! without gaps, the first pixel in the lowest bit (PS3.5, 8.1.1).
//!
//! The patient, the study and the frame of reference are those of the source series. Each frame refers to the slice in its plane,
//! or to all slices of a coronal or sagittal series. A segmentation of another image has its own patient and study.

use std::path::Path;

use dicom_core::{DataElement, PrimitiveValue, Tag, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::attributes::new_uid;
use super::elements::{LONG_STRING, Text, code, plain, sequence};
use super::pixels::decimal;
use super::read::{SourceSeries, SourceSlice};
use super::{MAX_SIDE, encoded};
use crate::data::{Notice, Placement};
use crate::geometry::{Grid, Point, cross, dot};
use crate::io::bytes::write_whole;
use crate::io::error::IoError;
use crate::io::image_problem::ImageProblem;
use crate::io::images::description::whole_words;
use crate::io::images::dicom::problem::DicomProblem;
use crate::io::notice;

/// Largest distance of a frame from the slice of the source that it refers to, parts of a slice.
const SLICE_TOLERANCE: f64 = 0.05;

/// A segment: the voxels of a lesion.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Its name.
    pub label: String,
    /// True if a person drew it, false if a threshold selected its voxels.
    pub is_manual: bool,
    /// Indices of its voxels in a `[z, y, x]` volume.
    pub voxels: Vec<u32>,
}

/// One frame: a slice of a segment.
struct Frame<'a> {
    /// Number of the segment, from 1.
    segment: usize,
    slice: usize,
    /// Voxels in it.
    voxels: &'a [u32],
}

/// Writes segments on a grid; `placement` is that of an oblique image. Segments without voxels are left out, with a notice.
///
/// # Errors
/// No segment with voxels, more than 65535 rows, columns or segments, or a failed write.
pub fn write_segmentation(
    path: &Path,
    (grid, placement): (&Grid, Option<&Placement>),
    segments: &[Segment],
    source: Option<&SourceSeries>,
) -> Result<Vec<Notice>, IoError> {
    let (mut segments, empty): (Vec<Segment>, Vec<Segment>) =
        segments.iter().cloned().partition(|segment| !segment.voxels.is_empty());
    segments.iter_mut().for_each(|segment| segment.voxels.sort_unstable());
    if segments.is_empty() {
        return Err(IoError::unsupported(path, DicomProblem::NoLesion));
    }
    if let Some(&side) = grid.size[..2].iter().chain([&segments.len()]).find(|&&n| n > MAX_SIDE) {
        return Err(IoError::unsupported(path, ImageProblem::LongSide(side, "a DICOM segmentation", MAX_SIDE)));
    }
    let in_slice = (grid.size[0] * grid.size[1]) as u32;
    let frames = (1..).zip(&segments).flat_map(|(number, segment)| {
        let slices = segment.voxels.chunk_by(move |a, b| a / in_slice == b / in_slice);
        slices.map(move |voxels| Frame { segment: number, slice: (voxels[0] / in_slice) as usize, voxels })
    });
    let frames: Vec<Frame> = frames.collect();
    let space = Space { grid, placement };
    let mut object = InMemDicomObject::new_empty();
    put(&mut object, texts(&space, source, frames.len()));
    for (tag, number) in [
        (tags::SAMPLES_PER_PIXEL, 1),
        (tags::ROWS, grid.size[1] as u16),
        (tags::COLUMNS, grid.size[0] as u16),
        (tags::BITS_ALLOCATED, 1),
        (tags::BITS_STORED, 1),
        (tags::HIGH_BIT, 0),
        (tags::PIXEL_REPRESENTATION, 0),
    ] {
        object.put(DataElement::new(tag, VR::US, PrimitiveValue::from(number)));
    }
    object
        .put(sequence(tags::SEGMENT_SEQUENCE, (1..).zip(&segments).map(|(number, segment)| item_of(number, segment)).collect()));
    put_dimensions(&mut object);
    if let Some(source) = source {
        object.put(sequence(tags::REFERENCED_SERIES_SEQUENCE, vec![series_item(source)]));
    }
    object.put(sequence(tags::SHARED_FUNCTIONAL_GROUPS_SEQUENCE, vec![space.shared_groups()]));
    let mut positions: Vec<usize> = frames.iter().map(|frame| frame.slice).collect();
    positions.sort_unstable();
    positions.dedup();
    let groups = frames.iter().map(|frame| {
        let position = positions.binary_search(&frame.slice).unwrap_or_default() + 1;
        space.groups(frame, position, source)
    });
    object.put(sequence(tags::PER_FRAME_FUNCTIONAL_GROUPS_SEQUENCE, groups.collect()));
    let bytes = packed(&frames, in_slice as usize);
    object.put(DataElement::new(tags::PIXEL_DATA, VR::OB, PrimitiveValue::U8(bytes.into())));
    write_whole(path, &encoded(path, object)?)?;
    let names: Vec<String> = empty.iter().map(|segment| format!("'{}'", segment.label)).collect();
    let left_out =
        (!names.is_empty()).then(|| notice::warning(path, format!("without voxels, so not in the file: {}", names.join(", "))));
    Ok(left_out.into_iter().collect())
}

/// Returns the bits of all frames, with an even number of bytes.
fn packed(frames: &[Frame], in_slice: usize) -> Vec<u8> {
    let num_bytes = (frames.len() * in_slice).div_ceil(8);
    let mut bytes = vec![0u8; num_bytes.next_multiple_of(2)];
    for (index, frame) in frames.iter().enumerate() {
        for voxel in frame.voxels {
            let bit = index * in_slice + *voxel as usize % in_slice;
            bytes[bit / 8] |= 1 << (bit % 8);
        }
    }
    bytes
}

/// Adds attributes with texts.
fn put(object: &mut InMemDicomObject, texts: impl IntoIterator<Item = Text>) {
    for (tag, vr, text) in texts {
        object.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
    }
}

/// Returns an item with texts.
fn item(texts: impl IntoIterator<Item = Text>) -> InMemDicomObject {
    let mut object = InMemDicomObject::new_empty();
    put(&mut object, texts);
    object
}

/// Returns an item with one sequence, or with one more.
fn with(mut object: InMemDicomObject, tag: Tag, items: Vec<InMemDicomObject>) -> InMemDicomObject {
    object.put(sequence(tag, items));
    object
}

/// Returns the texts of the modules on patient, study, series, equipment and segmentation.
fn texts(space: &Space, source: Option<&SourceSeries>, num_frames: usize) -> Vec<Text> {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let (date, time) = (now.strftime("%Y%m%d").to_string(), now.strftime("%H%M%S").to_string());
    let shared =
        |tag: Tag| source.and_then(|source| source.shared.iter().find(|(of, ..)| *of == tag)).map(|(.., text)| text.clone());
    let empty_if_missing = |tag: Tag, vr: VR| (tag, vr, shared(tag).unwrap_or_default());
    let frame_of_reference = source.map(|source| source.frame_of_reference.clone()).filter(|uid| !uid.is_empty());
    let program = || "tomoscope".to_owned();
    let mut texts = vec![
        // SOP Common. UTF-8.
        (tags::SPECIFIC_CHARACTER_SET, VR::CS, "ISO_IR 192".into()),
        (tags::SOP_CLASS_UID, VR::UI, uids::SEGMENTATION_STORAGE.into()),
        (tags::SOP_INSTANCE_UID, VR::UI, new_uid()),
        (tags::TIMEZONE_OFFSET_FROM_UTC, VR::SH, "+0000".into()),
        // Patient and General Study.
        empty_if_missing(tags::PATIENT_NAME, VR::PN),
        empty_if_missing(tags::PATIENT_ID, VR::LO),
        empty_if_missing(tags::PATIENT_BIRTH_DATE, VR::DA),
        empty_if_missing(tags::PATIENT_SEX, VR::CS),
        (tags::STUDY_INSTANCE_UID, VR::UI, shared(tags::STUDY_INSTANCE_UID).unwrap_or_else(new_uid)),
        empty_if_missing(tags::STUDY_DATE, VR::DA),
        empty_if_missing(tags::STUDY_TIME, VR::TM),
        empty_if_missing(tags::REFERRING_PHYSICIAN_NAME, VR::PN),
        empty_if_missing(tags::STUDY_ID, VR::SH),
        empty_if_missing(tags::ACCESSION_NUMBER, VR::SH),
        // Segmentation Series and equipment.
        (tags::MODALITY, VR::CS, "SEG".into()),
        (tags::SERIES_INSTANCE_UID, VR::UI, new_uid()),
        (tags::SERIES_NUMBER, VR::IS, "1".into()),
        (tags::SERIES_DATE, VR::DA, date.clone()),
        (tags::SERIES_TIME, VR::TM, time.clone()),
        (tags::SERIES_DESCRIPTION, VR::LO, "Lesions".into()),
        (tags::MANUFACTURER, VR::LO, program()),
        (tags::MANUFACTURER_MODEL_NAME, VR::LO, program()),
        (tags::DEVICE_SERIAL_NUMBER, VR::LO, "none".into()),
        (tags::SOFTWARE_VERSIONS, VR::LO, env!("CARGO_PKG_VERSION").into()),
        (tags::FRAME_OF_REFERENCE_UID, VR::UI, frame_of_reference.unwrap_or_else(new_uid)),
        (tags::POSITION_REFERENCE_INDICATOR, VR::LO, String::new()),
        // General Image and Segmentation Image.
        (tags::IMAGE_TYPE, VR::CS, "DERIVED\\PRIMARY".into()),
        (tags::INSTANCE_NUMBER, VR::IS, "1".into()),
        (tags::CONTENT_DATE, VR::DA, date),
        (tags::CONTENT_TIME, VR::TM, time),
        (tags::CONTENT_LABEL, VR::CS, "LESIONS".into()),
        (tags::CONTENT_DESCRIPTION, VR::LO, space.description()),
        (tags::CONTENT_CREATOR_NAME, VR::PN, String::new()),
        (tags::SEGMENTATION_TYPE, VR::CS, "BINARY".into()),
        (tags::PHOTOMETRIC_INTERPRETATION, VR::CS, "MONOCHROME2".into()),
        (tags::LOSSY_IMAGE_COMPRESSION, VR::CS, "00".into()),
        (tags::NUMBER_OF_FRAMES, VR::IS, num_frames.to_string()),
    ];
    texts.extend(shared(tags::STUDY_DESCRIPTION).map(|text| (tags::STUDY_DESCRIPTION, VR::LO, text)));
    texts
}

/// Returns the item of a segment (C.8.20.4).
fn item_of(number: u16, segment: &Segment) -> InMemDicomObject {
    let method = if segment.is_manual { "MANUAL" } else { "SEMIAUTOMATIC" };
    let mut object = item([
        (tags::SEGMENT_LABEL, VR::LO, whole_words(&plain(&segment.label), LONG_STRING)),
        (tags::SEGMENT_ALGORITHM_TYPE, VR::CS, method.into()),
    ]);
    if !segment.is_manual {
        put(&mut object, [(tags::SEGMENT_ALGORITHM_NAME, VR::LO, "tomoscope isocontour".into())]);
    }
    object.put(DataElement::new(tags::SEGMENT_NUMBER, VR::US, PrimitiveValue::from(number)));
    let category = code("49755003", "SCT", "Morphologically Abnormal Structure");
    let object = with(object, tags::SEGMENTED_PROPERTY_CATEGORY_CODE_SEQUENCE, vec![category]);
    with(object, tags::SEGMENTED_PROPERTY_TYPE_CODE_SEQUENCE, vec![code("52988006", "SCT", "Lesion")])
}

/// Adds the dimensions: segment, position.
fn put_dimensions(object: &mut InMemDicomObject) {
    let uid = new_uid();
    let organization = || (tags::DIMENSION_ORGANIZATION_UID, VR::UI, uid.clone());
    let dimension = |index: Tag, group: Tag, label: &str| {
        let mut object = item([organization(), (tags::DIMENSION_DESCRIPTION_LABEL, VR::LO, label.into())]);
        for (tag, value) in [(tags::DIMENSION_INDEX_POINTER, index), (tags::FUNCTIONAL_GROUP_POINTER, group)] {
            object.put(DataElement::new(tag, VR::AT, PrimitiveValue::from(value)));
        }
        object
    };
    object.put(sequence(tags::DIMENSION_ORGANIZATION_SEQUENCE, vec![item([organization()])]));
    let dimensions = vec![
        dimension(tags::REFERENCED_SEGMENT_NUMBER, tags::SEGMENT_IDENTIFICATION_SEQUENCE, "Segment"),
        dimension(tags::IMAGE_POSITION_PATIENT, tags::PLANE_POSITION_SEQUENCE, "Position"),
    ];
    object.put(sequence(tags::DIMENSION_INDEX_SEQUENCE, dimensions));
}

/// Returns the references to the objects of the source (C.12.2).
fn series_item(source: &SourceSeries) -> InMemDicomObject {
    let mut known = std::collections::HashSet::new();
    let objects = source.slices.iter().filter(|slice| known.insert(&slice.uids[1])).map(|slice| item(reference(slice)));
    let instances = objects.collect();
    with(item([(tags::SERIES_INSTANCE_UID, VR::UI, source.series_uid.clone())]), tags::REFERENCED_INSTANCE_SEQUENCE, instances)
}

/// Returns the reference to an object.
fn reference(slice: &SourceSlice) -> [Text; 2] {
    let [class, uid] = slice.uids.clone();
    [(tags::REFERENCED_SOP_CLASS_UID, VR::UI, class), (tags::REFERENCED_SOP_INSTANCE_UID, VR::UI, uid)]
}

/// Space of the frames: slices of a grid, with the position of an oblique image.
struct Space<'a> {
    grid: &'a Grid,
    placement: Option<&'a Placement>,
}

impl Space<'_> {
    /// Describes the frames.
    fn description(&self) -> String {
        let [nx, ny, nz] = self.grid.size;
        format!("Lesions on {nx} x {ny} x {nz} voxels")
    }

    /// Returns the position of a voxel in the patient, LPS, mm.
    fn position_mm(&self, voxel: [f64; 3]) -> Point {
        let point = self.grid.mm_from_voxel(voxel);
        let [x, y, z] = self.placement.map_or(point, |placement| placement.world_mm(point));
        [x, y, -z]
    }

    /// Returns the direction of an axis of the grid in the patient, LPS.
    fn direction(&self, axis: usize) -> Point {
        let [x, y, z] = std::array::from_fn(|row| match self.placement {
            Some(placement) => placement.rotation[row][axis],
            None => f64::from(u8::from(row == axis)),
        });
        [x, y, -z]
    }

    /// Returns the groups of all frames: voxel size and orientation.
    fn shared_groups(&self) -> InMemDicomObject {
        let [dx, dy, dz] = self.grid.voxel_mm.map(decimal);
        let measures = item([
            (tags::PIXEL_SPACING, VR::DS, format!("{dy}\\{dx}")),
            (tags::SLICE_THICKNESS, VR::DS, dz.clone()),
            (tags::SPACING_BETWEEN_SLICES, VR::DS, dz),
        ]);
        let directions = [self.direction(0), self.direction(1)].concat().into_iter().map(decimal).collect::<Vec<_>>().join("\\");
        let object = with(InMemDicomObject::new_empty(), tags::PIXEL_MEASURES_SEQUENCE, vec![measures]);
        let orientation = item([(tags::IMAGE_ORIENTATION_PATIENT, VR::DS, directions)]);
        with(object, tags::PLANE_ORIENTATION_SEQUENCE, vec![orientation])
    }

    /// Returns the groups of a frame: number, position, segment, source.
    fn groups(&self, frame: &Frame, position: usize, source: Option<&SourceSeries>) -> InMemDicomObject {
        let mut content = InMemDicomObject::new_empty();
        let values: Vec<u32> = vec![frame.segment as u32, position as u32];
        content.put(DataElement::new(tags::DIMENSION_INDEX_VALUES, VR::UL, PrimitiveValue::U32(values.into())));
        let first_mm = self.position_mm([0.0, 0.0, frame.slice as f64]);
        let plane = item([(tags::IMAGE_POSITION_PATIENT, VR::DS, first_mm.map(decimal).join("\\"))]);
        let mut segment = InMemDicomObject::new_empty();
        segment.put(DataElement::new(tags::REFERENCED_SEGMENT_NUMBER, VR::US, PrimitiveValue::from(frame.segment as u16)));
        let object = with(InMemDicomObject::new_empty(), tags::FRAME_CONTENT_SEQUENCE, vec![content]);
        let object = with(object, tags::PLANE_POSITION_SEQUENCE, vec![plane]);
        let object = with(object, tags::SEGMENT_IDENTIFICATION_SEQUENCE, vec![segment]);
        let Some(source) = source else { return object };
        let images = self.sources(source, first_mm).into_iter().map(|(slice, is_in_plane)| {
            let purpose = code("121322", "DCM", "Source image for image processing operation");
            let mut image = item(reference(slice));
            put(&mut image, slice.frame.map(|frame| (tags::REFERENCED_FRAME_NUMBER, VR::IS, frame.to_string())));
            let preserved = if is_in_plane { "YES" } else { "NO" };
            put(&mut image, [(tags::SPATIAL_LOCATIONS_PRESERVED, VR::CS, preserved.into())]);
            with(image, tags::PURPOSE_OF_REFERENCE_CODE_SEQUENCE, vec![purpose])
        });
        let derivation = code("113076", "DCM", "Segmentation");
        let derivation = with(InMemDicomObject::new_empty(), tags::DERIVATION_CODE_SEQUENCE, vec![derivation]);
        let derivation = with(derivation, tags::SOURCE_IMAGE_SEQUENCE, images.collect());
        with(object, tags::DERIVATION_IMAGE_SEQUENCE, vec![derivation])
    }

    /// Returns the slice in the plane of a frame; all slices, if they are in other planes.
    fn sources<'a>(&self, source: &'a SourceSeries, first_mm: Point) -> Vec<(&'a SourceSlice, bool)> {
        match source.slices.iter().find(|slice| self.is_at(slice, first_mm)) {
            Some(slice) => vec![(slice, true)],
            None => source.slices.iter().map(|slice| (slice, false)).collect(),
        }
    }

    /// Returns true if a slice of the source lies in the plane of a frame.
    fn is_at(&self, slice: &SourceSlice, first_mm: Point) -> bool {
        let [a, b, c, d, e, f] = slice.orientation;
        let [normal, of_source] = [cross(self.direction(0), self.direction(1)), cross([a, b, c], [d, e, f])];
        let offset: Point = std::array::from_fn(|k| slice.position_mm[k] - first_mm[k]);
        dot(normal, of_source).abs() > 1.0 - 1e-4 && dot(normal, offset).abs() < SLICE_TOLERANCE * self.grid.voxel_mm[2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_frames_follow_each_other_without_gaps() {
        // Slices of 5 pixels: pixel 0 of the first frame, pixels 1 and 4 of the second.
        let frames = [Frame { segment: 1, slice: 2, voxels: &[10] }, Frame { segment: 1, slice: 3, voxels: &[16, 19] }];
        assert_eq!(packed(&frames, 5), [0b0100_0001, 0b0000_0010]);
        assert_eq!(packed(&frames[..1], 5), [1, 0], "an even number of bytes");
    }
}
