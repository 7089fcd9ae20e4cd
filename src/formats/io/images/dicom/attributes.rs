//! The attributes of a PET series, module by module (PS3.3 A.21.3), and those of each slice.

use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use uuid::Uuid;

use super::anonymous;
use super::context::{Patient, SeriesContext};
use super::elements::{LONG_STRING, Text, code, plain, sequence};
use super::pixels::{Stored, decimal, stored};
use super::scan::{Scan, date, time};
use crate::geometry::Grid;
use crate::io::images::description::{ImageDescription, filter_width, whole_words};

/// Characters of a short string (value representation SH).
const SHORT_STRING: usize = 16;

/// Facts that all slices share.
pub struct Series<'a> {
    pub grid: &'a Grid,
    pub scan: Scan<'a>,
    pub description: &'a ImageDescription,
    pub context: &'a SeriesContext,
}

/// Returns the attributes that all slices share.
pub fn series(series: &Series<'_>) -> InMemDicomObject {
    let mut object = InMemDicomObject::new_empty();
    for (tag, vr, text) in
        patient_and_study(series).into_iter().chain(acquisition(series)).chain(series.scan.texts()).chain(descriptions(series))
    {
        object.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
    }
    if series.context.is_anonymous {
        for (tag, vr, text) in anonymous::texts() {
            object.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
        }
        object.put(sequence(tags::DEIDENTIFICATION_METHOD_CODE_SEQUENCE, anonymous::methods()));
    }
    // PET Isotope.
    object.put(DataElement::new(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE, VR::SQ, series.scan.tracer()));
    // NM/PET Patient Orientation: what our world means by its axes (PS3.16, context groups 19 to 21).
    let mut recumbent = code("102538003", "SCT", "recumbent");
    recumbent.put(sequence(tags::PATIENT_ORIENTATION_MODIFIER_CODE_SEQUENCE, vec![code("40199007", "SCT", "supine")]));
    object.put(sequence(tags::PATIENT_ORIENTATION_CODE_SEQUENCE, vec![recumbent]));
    object.put(sequence(tags::PATIENT_GANTRY_RELATIONSHIP_CODE_SEQUENCE, vec![code("102540008", "SCT", "headfirst")]));
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

/// Returns the modules about patient, study, series and equipment.
fn patient_and_study(series: &Series<'_>) -> Vec<Text> {
    let SeriesContext { patient: Patient { name, id, study_uid }, study_date, .. } = series.context;
    let start = series.scan.start().filter(|_| study_date.is_empty());
    let study_date = start.map_or_else(|| study_date.clone(), date);
    let empty = String::new;
    vec![
        // SOP Common. UTF-8.
        (tags::SPECIFIC_CHARACTER_SET, VR::CS, "ISO_IR 192".into()),
        (tags::SOP_CLASS_UID, VR::UI, uids::POSITRON_EMISSION_TOMOGRAPHY_IMAGE_STORAGE.into()),
        // Patient.
        (tags::PATIENT_NAME, VR::PN, name.clone()),
        (tags::PATIENT_ID, VR::LO, id.clone()),
        (tags::PATIENT_BIRTH_DATE, VR::DA, empty()),
        // General Study.
        (tags::STUDY_INSTANCE_UID, VR::UI, study_uid.clone().unwrap_or_else(new_uid)),
        (tags::STUDY_DATE, VR::DA, study_date),
        (tags::STUDY_TIME, VR::TM, start.map_or_else(empty, time)),
        (tags::REFERRING_PHYSICIAN_NAME, VR::PN, empty()),
        (tags::STUDY_ID, VR::SH, empty()),
        (tags::ACCESSION_NUMBER, VR::SH, empty()),
        // General Series and PET Series.
        (tags::MODALITY, VR::CS, "PT".into()),
        (tags::SERIES_INSTANCE_UID, VR::UI, new_uid()),
        (tags::SERIES_NUMBER, VR::IS, "1".into()),
        (tags::LATERALITY, VR::CS, empty()),
        // General Equipment.
        (tags::MANUFACTURER, VR::LO, "tomoscope".into()),
        (tags::SOFTWARE_VERSIONS, VR::LO, env!("CARGO_PKG_VERSION").into()),
    ]
}

/// Returns the modules about the acquisition and the position of the image.
fn acquisition(series: &Series<'_>) -> Vec<Text> {
    let [dx, dy, dz] = series.grid.voxel_mm;
    let SeriesContext { frame_of_reference, placement, .. } = series.context;
    // Directions of rows and columns, whose z is reversed.
    let direction =
        |axis: usize| placement.map_or([0, 1, 2].map(|a| f64::from(u8::from(a == axis))), |p| p.rotation.map(|row| row[axis]));
    let orientation = [direction(0), direction(1)].map(|[x, y, z]| [x, y, -z]).concat();
    let orientation: Vec<String> = orientation.into_iter().map(decimal).collect();
    vec![
        // PET Series.
        (tags::COUNTS_SOURCE, VR::CS, "EMISSION".into()),
        (tags::SERIES_TYPE, VR::CS, "STATIC\\IMAGE".into()),
        (tags::COLLIMATOR_TYPE, VR::CS, "NONE".into()),
        // Frame of Reference.
        (tags::FRAME_OF_REFERENCE_UID, VR::UI, frame_of_reference.clone().unwrap_or_else(new_uid)),
        (tags::POSITION_REFERENCE_INDICATOR, VR::LO, String::new()),
        // Image Plane. The distance of rows comes before that of columns.
        (tags::PIXEL_SPACING, VR::DS, format!("{}\\{}", decimal(dy), decimal(dx))),
        (tags::SLICE_THICKNESS, VR::DS, decimal(dz)),
        (tags::IMAGE_ORIENTATION_PATIENT, VR::DS, orientation.join("\\")),
        // PET Image.
        (tags::IMAGE_TYPE, VR::CS, "ORIGINAL\\PRIMARY".into()),
        (tags::PHOTOMETRIC_INTERPRETATION, VR::CS, "MONOCHROME2".into()),
        (tags::RESCALE_INTERCEPT, VR::DS, "0".into()),
    ]
}

/// Returns the attributes of the image's origin, as far as they are known; a series without the patient's identity has no free text.
fn descriptions(series: &Series<'_>) -> Vec<Text> {
    let ImageDescription { text, method, filter_fwhm_mm, .. } = series.description;
    let text = Some(plain(text)).filter(|_| !series.context.is_anonymous);
    let short = text.as_deref().map(|text| whole_words(text, LONG_STRING));
    let method = method.as_deref().map(|method| whole_words(&plain(method), LONG_STRING));
    // A short string has 16 characters, which hold all widths that the program filters with.
    let kernel = filter_fwhm_mm.map(|fwhm_mm| whole_words(&format!("Gauss {}", filter_width(fwhm_mm)), SHORT_STRING));
    let all = [
        (tags::SERIES_DESCRIPTION, VR::LO, short),
        (tags::IMAGE_COMMENTS, VR::LT, text),
        (tags::RECONSTRUCTION_METHOD, VR::LO, method),
        (tags::CONVOLUTION_KERNEL, VR::SH, kernel),
    ];
    all.into_iter().filter_map(|(tag, vr, text)| Some((tag, vr, text?))).collect()
}

/// Adds the attributes of one slice: its number, its position, its time and its values, in the order y, x.
pub fn add_slice(object: &mut InMemDicomObject, series: &Series<'_>, index: usize, values: &[f32]) {
    let Stored { step, integers } = stored(values);
    let first = series.grid.mm_from_voxel([0.0, 0.0, index as f64]);
    let [x, y, z] = series.context.placement.map_or(first, |placement| placement.world_mm(first));
    let place = [
        (tags::SOP_INSTANCE_UID, VR::UI, new_uid()),
        (tags::INSTANCE_NUMBER, VR::IS, (index + 1).to_string()),
        (tags::IMAGE_POSITION_PATIENT, VR::DS, [x, y, -z].map(decimal).join("\\")),
        (tags::RESCALE_SLOPE, VR::DS, step),
    ];
    for (tag, vr, text) in place.into_iter().chain(series.scan.of_slice(index)) {
        object.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
    }
    object.put(DataElement::new(tags::IMAGE_INDEX, VR::US, PrimitiveValue::from(index as u16 + 1)));
    object.put(DataElement::new(tags::PIXEL_DATA, VR::OW, PrimitiveValue::U16(integers.into())));
}

/// Returns a unique UID.
pub(super) fn new_uid() -> String {
    format!("2.25.{}", Uuid::new_v4().as_u128())
}
