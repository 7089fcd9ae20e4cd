//! Identity of a series and its slices, for objects that are derived from it.

use std::path::Path;

use dicom_core::{Tag, VR};
use dicom_dictionary_std::tags;

use super::attributes::Attributes;
use super::instance::Instance;
use super::series::Opened;
use crate::io::error::IoError;
use crate::io::images::dicom::anonymous::is_anonymous;
use crate::io::images::dicom::problem::DicomProblem;

/// Attributes of patient and study that a derived object shares with its source.
const SHARED: [(Tag, VR); 12] = [
    (tags::TIMEZONE_OFFSET_FROM_UTC, VR::SH),
    (tags::PATIENT_NAME, VR::PN),
    (tags::PATIENT_ID, VR::LO),
    (tags::PATIENT_BIRTH_DATE, VR::DA),
    (tags::PATIENT_SEX, VR::CS),
    (tags::STUDY_INSTANCE_UID, VR::UI),
    (tags::STUDY_DATE, VR::DA),
    (tags::STUDY_TIME, VR::TM),
    (tags::STUDY_DESCRIPTION, VR::LO),
    (tags::REFERRING_PHYSICIAN_NAME, VR::PN),
    (tags::STUDY_ID, VR::SH),
    (tags::ACCESSION_NUMBER, VR::SH),
];

/// Series from which an object is derived.
pub struct SourceSeries {
    /// Attributes of patient and study.
    pub shared: Vec<(Tag, VR, String)>,
    /// True if this program removed the patient's identity.
    pub is_anonymous: bool,
    /// UID of the series.
    pub series_uid: String,
    /// UID of the frame of reference.
    pub frame_of_reference: String,
    /// Slices of the image.
    pub slices: Vec<SourceSlice>,
}

/// Slice of an image.
pub struct SourceSlice {
    /// UIDs of the class and of the object.
    pub uids: [String; 2],
    /// Frame of an object of several, from 1.
    pub frame: Option<usize>,
    /// Direction of a row and of a column, LPS.
    pub orientation: [f64; 6],
    /// Middle of the first pixel, LPS, mm.
    pub position_mm: [f64; 3],
}

/// Returns the identity of a series, and of the slices of its image with this number, from 1.
///
/// # Errors
/// As reading the image.
pub fn source_series(path: &Path, number: usize) -> Result<SourceSeries, IoError> {
    let opened = Opened::new(path)?;
    let stack = opened.stack(path)?;
    let no_image = || IoError::unsupported(path, DicomProblem::NoSuchImage(number, stack.images.len()));
    let planes = number.checked_sub(1).and_then(|index| stack.images.get(index)).ok_or_else(no_image)?;
    let (_, object, _) = Instance::read(&opened.instances[0].path, 0)?;
    let attributes = Attributes::of(&object);
    let slices = planes.iter().map(|plane| {
        let instance = &opened.instances[plane.file];
        SourceSlice {
            uids: [instance.class_uid.clone(), instance.uid.clone()],
            frame: (instance.layout.num_frames > 1).then_some(plane.frame + 1),
            orientation: plane.orientation,
            position_mm: plane.position_mm,
        }
    });
    Ok(SourceSeries {
        shared: SHARED.into_iter().filter_map(|(tag, vr)| Some((tag, vr, attributes.text(tag)?))).collect(),
        is_anonymous: is_anonymous(&opened.instances[0].path),
        series_uid: opened.instances[0].names.series_uid.clone(),
        frame_of_reference: opened.instances[0].names.frame_of_reference.clone(),
        slices: slices.collect(),
    })
}
