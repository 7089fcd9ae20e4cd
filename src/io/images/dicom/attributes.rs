//! The attributes of a PET series, module by module (PS3.3 A.21.3), and those of each slice.

use dicom_core::value::DataSetSequence;
use dicom_core::{DataElement, PrimitiveValue, Tag, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use uuid::Uuid;

use super::pixels::{Stored, decimal, stored};
use crate::data::Unit;
use crate::geometry::Grid;
use crate::io::images::description::{ImageDescription, filter_width, whole_words};

/// Characters of a long string (value representation LO).
const LONG_STRING: usize = 64;

/// Characters of a short string (value representation SH).
const SHORT_STRING: usize = 16;

/// The patient, as far as it is known; unknown fields stay empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patient {
    /// The name, in DICOM's order: family name, given name, … with `^` between them.
    pub name: String,
    /// The number in the hospital.
    pub id: String,
    /// UID of the study that the series belongs to; `None` = a new one.
    pub study_uid: Option<String>,
}

impl Patient {
    /// Refuses a text that is no valid name or number in a DICOM file.
    ///
    /// # Errors
    /// More than 64 characters, control characters, a backslash.
    pub fn check_text(text: &str) -> Result<(), String> {
        match text.chars().find(|&c| c.is_control() || c == '\\') {
            Some(c) => Err(format!("the character {c:?} is not allowed in a DICOM file")),
            None if text.chars().count() > LONG_STRING => Err(format!("it is longer than {LONG_STRING} characters")),
            None => Ok(()),
        }
    }

    /// Refuses a text that is no UID (PS3.5 9.1).
    ///
    /// # Errors
    /// Anything else than numbers without leading zeros and points between them, 64 characters in all.
    pub fn check_uid(text: &str) -> Result<(), String> {
        let is_number = |part: &str| part == "0" || (!part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit()));
        let is_uid =
            text.len() <= LONG_STRING && text.contains('.') && text.split('.').all(|part| !part.is_empty() && is_number(part));
        if is_uid {
            Ok(())
        } else {
            Err("it is no DICOM UID: numbers and points such as 1.2.840.113619.2, at most 64 characters".into())
        }
    }
}

/// Facts that all slices share.
pub struct Series<'a> {
    pub grid: &'a Grid,
    pub unit: Unit,
    pub description: &'a ImageDescription,
    pub patient: &'a Patient,
}

/// Returns the attributes that all slices share.
pub fn series(series: &Series<'_>) -> InMemDicomObject {
    let mut object = InMemDicomObject::new_empty();
    for (tag, vr, text) in
        patient_and_study(series).into_iter().chain(acquisition(series)).chain(reconstruction(series.description))
    {
        object.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
    }
    // PET Isotope: nothing is known of it.
    object.put(sequence(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE, Vec::new()));
    // NM/PET Patient Orientation: what our world means by its axes (PS3.16, context groups 19 to 21).
    let mut recumbent = code("102538003", "recumbent");
    recumbent.put(sequence(tags::PATIENT_ORIENTATION_MODIFIER_CODE_SEQUENCE, vec![code("40199007", "supine")]));
    object.put(sequence(tags::PATIENT_ORIENTATION_CODE_SEQUENCE, vec![recumbent]));
    object.put(sequence(tags::PATIENT_GANTRY_RELATIONSHIP_CODE_SEQUENCE, vec![code("102540008", "headfirst")]));
    let [nx, ny, nz] = series.grid.size.map(|n| n as u16);
    for (tag, number) in [
        (tags::NUMBER_OF_SLICES, nz),
        (tags::SAMPLES_PER_PIXEL, 1),
        (tags::ROWS, ny),
        (tags::COLUMNS, nx),
        (tags::BITS_ALLOCATED, 16),
        (tags::BITS_STORED, 16),
        (tags::HIGH_BIT, 15),
        // Two's complement.
        (tags::PIXEL_REPRESENTATION, 1),
    ] {
        object.put(DataElement::new(tag, VR::US, PrimitiveValue::from(number)));
    }
    object
}

/// An attribute whose value is text.
type Text = (Tag, VR, String);

/// Returns the modules about patient, study, series and equipment.
fn patient_and_study(series: &Series<'_>) -> Vec<Text> {
    let Patient { name, id, study_uid } = series.patient;
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let (date, time) = (now.strftime("%Y%m%d").to_string(), now.strftime("%H%M%S").to_string());
    let empty = String::new;
    vec![
        // SOP Common. UTF-8; times are UTC.
        (tags::SPECIFIC_CHARACTER_SET, VR::CS, "ISO_IR 192".into()),
        (tags::SOP_CLASS_UID, VR::UI, uids::POSITRON_EMISSION_TOMOGRAPHY_IMAGE_STORAGE.into()),
        (tags::TIMEZONE_OFFSET_FROM_UTC, VR::SH, "+0000".into()),
        // Patient.
        (tags::PATIENT_NAME, VR::PN, name.clone()),
        (tags::PATIENT_ID, VR::LO, id.clone()),
        (tags::PATIENT_BIRTH_DATE, VR::DA, empty()),
        (tags::PATIENT_SEX, VR::CS, empty()),
        // General Study.
        (tags::STUDY_INSTANCE_UID, VR::UI, study_uid.clone().unwrap_or_else(new_uid)),
        (tags::STUDY_DATE, VR::DA, empty()),
        (tags::STUDY_TIME, VR::TM, empty()),
        (tags::REFERRING_PHYSICIAN_NAME, VR::PN, empty()),
        (tags::STUDY_ID, VR::SH, empty()),
        (tags::ACCESSION_NUMBER, VR::SH, empty()),
        // General Series and PET Series. The time of the scan is not known; the series begins when it is written.
        (tags::MODALITY, VR::CS, "PT".into()),
        (tags::SERIES_INSTANCE_UID, VR::UI, new_uid()),
        (tags::SERIES_NUMBER, VR::IS, "1".into()),
        (tags::LATERALITY, VR::CS, empty()),
        (tags::SERIES_DESCRIPTION, VR::LO, whole_words(&plain(&series.description.text), LONG_STRING)),
        (tags::SERIES_DATE, VR::DA, date.clone()),
        (tags::SERIES_TIME, VR::TM, time.clone()),
        // General Equipment.
        (tags::MANUFACTURER, VR::LO, "tomoscope".into()),
        (tags::SOFTWARE_VERSIONS, VR::LO, env!("CARGO_PKG_VERSION").into()),
        // General Image.
        (tags::CONTENT_DATE, VR::DA, date),
        (tags::CONTENT_TIME, VR::TM, time),
        (tags::IMAGE_COMMENTS, VR::LT, plain(&series.description.text)),
    ]
}

/// Returns the modules about the acquisition and the position of the image.
fn acquisition(series: &Series<'_>) -> Vec<Text> {
    let [dx, dy, dz] = series.grid.voxel_mm;
    let units = match series.unit {
        Unit::BqPerMl => "BQML",
        Unit::DecaysPerMm3 => "PROPCNTS",
        _ => "CNTS",
    };
    let empty = String::new;
    vec![
        // PET Series.
        (tags::UNITS, VR::CS, units.into()),
        (tags::COUNTS_SOURCE, VR::CS, "EMISSION".into()),
        (tags::SERIES_TYPE, VR::CS, "STATIC\\IMAGE".into()),
        (tags::DECAY_CORRECTION, VR::CS, "NONE".into()),
        (tags::CORRECTED_IMAGE, VR::CS, empty()),
        (tags::COLLIMATOR_TYPE, VR::CS, "NONE".into()),
        // Frame of Reference.
        (tags::FRAME_OF_REFERENCE_UID, VR::UI, new_uid()),
        (tags::POSITION_REFERENCE_INDICATOR, VR::LO, empty()),
        // Image Plane. The distance of rows comes before that of columns.
        (tags::PIXEL_SPACING, VR::DS, format!("{}\\{}", decimal(dy), decimal(dx))),
        (tags::SLICE_THICKNESS, VR::DS, decimal(dz)),
        (tags::IMAGE_ORIENTATION_PATIENT, VR::DS, "1\\0\\0\\0\\1\\0".into()),
        // PET Image.
        (tags::IMAGE_TYPE, VR::CS, "ORIGINAL\\PRIMARY".into()),
        (tags::PHOTOMETRIC_INTERPRETATION, VR::CS, "MONOCHROME2".into()),
        (tags::RESCALE_INTERCEPT, VR::DS, "0".into()),
        (tags::FRAME_REFERENCE_TIME, VR::DS, "0".into()),
        (tags::ACQUISITION_DATE, VR::DA, empty()),
        (tags::ACQUISITION_TIME, VR::TM, empty()),
        (tags::ACTUAL_FRAME_DURATION, VR::IS, empty()),
    ]
}

/// Returns the attributes of the image's origin, as far as they are known.
fn reconstruction(description: &ImageDescription) -> Vec<Text> {
    let method = description.method.as_deref().map(|method| whole_words(&plain(method), LONG_STRING));
    // A short string has 16 characters, which hold all widths that the program filters with.
    let kernel = description.filter_fwhm_mm.map(|fwhm_mm| whole_words(&format!("Gauss {}", filter_width(fwhm_mm)), SHORT_STRING));
    let method = method.map(|method| (tags::RECONSTRUCTION_METHOD, VR::LO, method));
    method.into_iter().chain(kernel.map(|kernel| (tags::CONVOLUTION_KERNEL, VR::SH, kernel))).collect()
}

/// Adds the attributes of one slice: its number, its position and its values, in the order y, x.
pub fn add_slice(object: &mut InMemDicomObject, grid: &Grid, index: usize, values: &[f32]) {
    let Stored { step, integers } = stored(values);
    let [x, y, z] = grid.mm_from_voxel([0.0, 0.0, index as f64]);
    for (tag, vr, text) in [
        (tags::SOP_INSTANCE_UID, VR::UI, new_uid()),
        (tags::INSTANCE_NUMBER, VR::IS, (index + 1).to_string()),
        (tags::IMAGE_POSITION_PATIENT, VR::DS, [x, y, -z].map(decimal).join("\\")),
        (tags::RESCALE_SLOPE, VR::DS, step),
    ] {
        object.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
    }
    object.put(DataElement::new(tags::IMAGE_INDEX, VR::US, PrimitiveValue::from(index as u16 + 1)));
    object.put(DataElement::new(tags::PIXEL_DATA, VR::OW, PrimitiveValue::U16(integers.into())));
}

/// Returns a sequence of these items.
fn sequence(tag: Tag, items: Vec<InMemDicomObject>) -> dicom_object::mem::InMemElement {
    DataElement::new(tag, VR::SQ, DataSetSequence::from(items))
}

/// Returns a concept of SNOMED CT.
fn code(value: &str, meaning: &str) -> InMemDicomObject {
    let texts = [
        (tags::CODE_VALUE, VR::SH, value),
        (tags::CODING_SCHEME_DESIGNATOR, VR::SH, "SCT"),
        (tags::CODE_MEANING, VR::LO, meaning),
    ];
    InMemDicomObject::from_element_iter(texts.map(|(tag, vr, text)| DataElement::new(tag, vr, PrimitiveValue::from(text))))
}

/// Returns a unique UID.
fn new_uid() -> String {
    format!("2.25.{}", Uuid::new_v4().as_u128())
}

/// Returns a text without the characters that DICOM texts do not allow.
fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '\\', " ")
}
