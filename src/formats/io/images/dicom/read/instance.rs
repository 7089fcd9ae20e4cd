//! One DICOM file of an image: its layout, its planes, and the names of its series.

use std::path::{Path, PathBuf};

use dicom_core::dictionary::UidDictionary as _;
use dicom_dictionary_std::{StandardSopClassDictionary, tags, uids};
use dicom_object::{InMemDicomObject, Tag};
use jiff::civil::DateTime;

use super::attributes::{Attributes, invalid, missing, name};
use super::elements::Checked;
use super::layout::{Layout, check_size, layout};
use super::time::{date, date_time, time};
use crate::data::{Modality, SeriesNames};
use crate::io::error::IoError;
use crate::io::images::dicom::problem::DicomProblem;
use crate::text::shortened;

/// One plane of pixels.
#[derive(Clone, Debug)]
pub struct Plane {
    /// File, by its index in the series.
    pub file: usize,
    /// Frame of the file.
    pub frame: usize,
    /// Direction of a row and of a column in the patient, LPS.
    pub orientation: [f64; 6],
    /// Middle of the first pixel in the patient, LPS, mm.
    pub position_mm: [f64; 3],
    /// Distance of rows and of columns, mm.
    pub spacing_mm: [f64; 2],
    /// Distance to the next slice by the file, mm.
    pub thickness_mm: Option<f64>,
    /// Slope and intercept of its numbers.
    pub scale: [f64; 2],
    /// Order in time among planes at one position.
    pub order: [f64; 5],
    /// Start of the acquisition.
    pub acquisition: Option<DateTime>,
    /// Duration of the frame, s.
    pub duration_secs: Option<f64>,
    /// Factor of the correction for decay.
    pub decay_factor: Option<f64>,
    /// Smallest and largest value of pixels beyond the image, of PET.
    pub padding: Option<[f32; 2]>,
    /// Time of the mean activity of the frame after the moment to which decay is corrected, s.
    pub reference_secs: Option<f64>,
}

/// Attributes that all files of a series have the same: the patient and the study.
const ALIKE: [Tag; 3] = [tags::PATIENT_NAME, tags::PATIENT_ID, tags::STUDY_INSTANCE_UID];

/// The same of CT: what gives its values their meaning.
const ALIKE_OF_CT: [Tag; 2] = [tags::KVP, tags::RESCALE_TYPE];

/// The same of PET.
const ALIKE_OF_PET: [Tag; 8] = [
    tags::UNITS,
    tags::SUV_TYPE,
    tags::DECAY_CORRECTION,
    tags::PATIENT_WEIGHT,
    tags::PATIENT_SIZE,
    tags::PATIENT_SEX,
    tags::SERIES_TIME,
    tags::CORRECTED_IMAGE,
];

/// The same of the tracer.
const ALIKE_OF_TRACER: [Tag; 4] = [
    tags::RADIONUCLIDE_TOTAL_DOSE,
    tags::RADIONUCLIDE_HALF_LIFE,
    tags::RADIOPHARMACEUTICAL_START_TIME,
    tags::RADIOPHARMACEUTICAL_START_DATE_TIME,
];

/// A DICOM file of an image.
pub struct Instance {
    /// Its path.
    pub path: PathBuf,
    /// UID of the object.
    pub uid: String,
    /// UID of its class.
    pub class_uid: String,
    /// Layout of its pixels.
    pub layout: Layout,
    /// Kind of the image.
    pub modality: Modality,
    /// Names of its series.
    pub names: SeriesNames,
    /// False for a data set that begins the file.
    pub has_preamble: bool,
    /// Values of the attributes [`ALIKE`] and [`ALIKE_OF_TRACER`], of PET.
    alike: Vec<(Tag, Option<String>)>,
    /// Its planes, one for each frame.
    pub planes: Vec<Plane>,
}

impl Instance {
    /// Reads a file with its attributes, as the file with this index in its series.
    ///
    /// # Errors
    /// No DICOM file, no image, missing attributes.
    pub fn read(path: &Path, file: usize) -> Result<(Self, InMemDicomObject, Checked), IoError> {
        let refused = |problem: DicomProblem| IoError::unsupported(path, problem);
        let bytes = std::fs::read(path).map_err(IoError::open(path))?;
        let checked = Checked::new(bytes).map_err(refused)?;
        let object = checked.attributes().map_err(refused)?;
        let instance = Self::of(path, &object, &checked, file).map_err(refused)?;
        Ok((instance, object, checked))
    }

    fn of(path: &Path, object: &InMemDicomObject, checked: &Checked, file: usize) -> Result<Self, DicomProblem> {
        let attributes = Attributes::of(object);
        let modality = Modality::of_code(&attributes.text(tags::MODALITY).ok_or_else(|| missing(tags::MODALITY))?);
        let uid = attributes.text(tags::SOP_CLASS_UID).unwrap_or_default();
        if is_segmentation_class(&uid) {
            return Err(DicomProblem::Segmentation);
        }
        let pixels = checked.pixels.as_ref().ok_or_else(|| DicomProblem::NoImage(class_name(&uid)))?;
        let layout = layout(&attributes, pixels)?;
        check_size(pixels, &layout)?;
        let tracer = attributes.first_of(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE);
        let of_tracer = |tag| (tag, tracer.as_ref().and_then(|tracer| tracer.text(tag)));
        let of_kind: &[Tag] = match modality {
            Modality::Pet => &ALIKE_OF_PET,
            Modality::Ct => &ALIKE_OF_CT,
            _ => &[],
        };
        let of_series = ALIKE.iter().chain(of_kind).map(|tag| (*tag, Some(attributes.texts(*tag).join("\\"))));
        let alike = of_series.chain(ALIKE_OF_TRACER.map(of_tracer)).collect();
        let planes = (0..layout.num_frames).map(|frame| plane(object, file, frame)).collect::<Result<_, _>>()?;
        Ok(Self {
            path: path.to_owned(),
            uid: attributes.text(tags::SOP_INSTANCE_UID).unwrap_or_default(),
            class_uid: uid,
            layout,
            modality,
            names: names(&attributes),
            has_preamble: checked.has_preamble,
            alike,
            planes,
        })
    }
}

/// Returns true for the class of segmentations by frames of voxels.
pub fn is_segmentation_class(uid: &str) -> bool {
    matches!(uid, uids::SEGMENTATION_STORAGE | uids::LABEL_MAP_SEGMENTATION_STORAGE)
}

/// Returns the name of a class, or its UID if it is not known.
pub fn class_name(uid: &str) -> String {
    StandardSopClassDictionary.by_uid(uid).map_or_else(|| shortened(uid), |class| class.name.to_owned())
}

/// Returns the names of a series.
pub fn names(attributes: &Attributes) -> SeriesNames {
    let text = |tag| attributes.text(tag).unwrap_or_default();
    SeriesNames {
        patient_name: text(tags::PATIENT_NAME),
        patient_id: text(tags::PATIENT_ID),
        study_uid: text(tags::STUDY_INSTANCE_UID),
        study_date: text(tags::STUDY_DATE),
        study: text(tags::STUDY_DESCRIPTION),
        number: text(tags::SERIES_NUMBER),
        description: text(tags::SERIES_DESCRIPTION),
        scanner: format!("{} {}", text(tags::MANUFACTURER), text(tags::MANUFACTURER_MODEL_NAME)).trim().to_owned(),
        series_uid: text(tags::SERIES_INSTANCE_UID),
        frame_of_reference: text(tags::FRAME_OF_REFERENCE_UID),
    }
}

/// Returns a plane of a file.
fn plane(object: &InMemDicomObject, file: usize, frame: usize) -> Result<Plane, DicomProblem> {
    let attributes = Attributes::of_frame(object, frame);
    let order = |tag| Ok(attributes.number(tag)?.unwrap_or(f64::NEG_INFINITY));
    let acquisition = acquisition(&attributes);
    let scale = scale(&attributes)?;
    let seconds = |moment: DateTime| moment.duration_since(DateTime::ZERO).as_secs_f64();
    let duration_ms = match attributes.number(tags::ACTUAL_FRAME_DURATION)? {
        None => attributes.number(tags::FRAME_ACQUISITION_DURATION)?,
        duration => duration,
    };
    let thickness_mm = match attributes.number(tags::SPACING_BETWEEN_SLICES)? {
        None => attributes.number(tags::SLICE_THICKNESS)?,
        spacing => spacing,
    };
    Ok(Plane {
        file,
        frame,
        orientation: attributes.numbers(tags::IMAGE_ORIENTATION_PATIENT)?,
        position_mm: attributes.numbers(tags::IMAGE_POSITION_PATIENT)?,
        spacing_mm: attributes.numbers(tags::PIXEL_SPACING)?,
        thickness_mm: thickness_mm.map(f64::abs).filter(|mm| *mm > 0.0),
        scale,
        order: [
            order(tags::TEMPORAL_POSITION_INDEX)?,
            acquisition.map_or(f64::NEG_INFINITY, seconds),
            order(tags::TRIGGER_TIME)?,
            order(tags::FRAME_REFERENCE_TIME)?,
            order(tags::INSTANCE_NUMBER)?,
        ],
        acquisition,
        duration_secs: duration_ms.map(|ms| 1e-3 * ms).filter(|secs| *secs > 0.0),
        decay_factor: attributes.number(tags::DECAY_FACTOR)?.filter(|factor| *factor > 0.0),
        padding: padding(&attributes, scale)?,
        // (0 is unknown.)
        reference_secs: attributes.number(tags::FRAME_REFERENCE_TIME)?.map(|ms| 1e-3 * ms).filter(|secs| *secs != 0.0),
    })
}

/// Returns the smallest and the largest value of padding. CT has air there by its own numbers.
fn padding(attributes: &Attributes, [slope, intercept]: [f64; 2]) -> Result<Option<[f32; 2]>, DicomProblem> {
    let is_pet = attributes.text(tags::MODALITY).as_deref() == Some("PT");
    let Some(first) = attributes.number(tags::PIXEL_PADDING_VALUE)?.filter(|_| is_pet) else { return Ok(None) };
    let last = attributes.number(tags::PIXEL_PADDING_RANGE_LIMIT)?.unwrap_or(first);
    let [a, b] = [first, last].map(|stored| (stored * slope + intercept) as f32);
    Ok(Some([a.min(b), a.max(b)]))
}

/// Returns slope and intercept. PET images have their own slope for each slice, so that a missing one is an error.
fn scale(attributes: &Attributes) -> Result<[f64; 2], DicomProblem> {
    let is_pet = attributes.text(tags::MODALITY).as_deref() == Some("PT");
    let slope = attributes.number(tags::RESCALE_SLOPE)?;
    let intercept = attributes.number(tags::RESCALE_INTERCEPT)?;
    match (slope, intercept) {
        (None, _) if is_pet => Err(missing(tags::RESCALE_SLOPE)),
        (Some(0.0), _) => Err(invalid(tags::RESCALE_SLOPE, "0", "another number")),
        (slope, intercept) => Ok([slope.unwrap_or(1.0), intercept.unwrap_or(0.0)]),
    }
}

/// Returns the start of the acquisition of a plane.
pub fn acquisition(attributes: &Attributes) -> Option<DateTime> {
    let zone = attributes.text(tags::TIMEZONE_OFFSET_FROM_UTC);
    let of_tag = |tag| date_time(&attributes.text(tag)?, zone.as_deref());
    let of_parts = || {
        let day = attributes.text(tags::ACQUISITION_DATE).or_else(|| attributes.text(tags::SERIES_DATE))?;
        Some(date(&day)?.to_datetime(time(&attributes.text(tags::ACQUISITION_TIME)?)?))
    };
    of_tag(tags::FRAME_ACQUISITION_DATE_TIME).or_else(of_parts).or_else(|| of_tag(tags::ACQUISITION_DATE_TIME))
}

/// Returns the first attribute in which two files of a series differ; none if they are alike.
pub fn difference(a: &Instance, b: &Instance) -> Option<DicomProblem> {
    let differs = [
        (a.layout.rows != b.layout.rows, tags::ROWS),
        (a.layout.columns != b.layout.columns, tags::COLUMNS),
        (a.names.frame_of_reference != b.names.frame_of_reference, tags::FRAME_OF_REFERENCE_UID),
        (a.modality != b.modality, tags::MODALITY),
    ];
    let values = a.alike.iter().zip(&b.alike).map(|(a, b)| (a != b, a.0));
    differs.into_iter().chain(values).find(|(differ, _)| *differ).map(|(_, tag)| DicomProblem::Mixed(name(tag)))
}
