//! Patient, study and space of a written series.

use super::elements::LONG_STRING;
use crate::data::{Placement, SeriesNames};

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

/// Patient, study and space of a written series; unknown fields stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesContext {
    /// The patient.
    pub patient: Patient,
    /// Date of the study, YYYYMMDD; empty = that of the scan.
    pub study_date: String,
    /// UID of the frame of reference; `None` = a new one.
    pub frame_of_reference: Option<String>,
    /// Position of an oblique image.
    pub placement: Option<Placement>,
    /// True for a series without the patient's identity.
    pub is_anonymous: bool,
}

impl From<Patient> for SeriesContext {
    fn from(patient: Patient) -> Self {
        Self { patient, ..Self::default() }
    }
}

impl SeriesContext {
    /// Returns the context of an image of a series with these names, as far as they are valid.
    pub fn of_series(names: &SeriesNames, placement: Option<Placement>) -> Self {
        let text = |text: &str| Some(text.to_owned()).filter(|text| Patient::check_text(text).is_ok()).unwrap_or_default();
        let uid = |uid: &str| Some(uid.to_owned()).filter(|uid| Patient::check_uid(uid).is_ok());
        let is_date = names.study_date.len() == 8 && names.study_date.bytes().all(|byte| byte.is_ascii_digit());
        Self {
            patient: Patient { name: text(&names.patient_name), id: text(&names.patient_id), study_uid: uid(&names.study_uid) },
            study_date: if is_date { names.study_date.clone() } else { String::new() },
            frame_of_reference: uid(&names.frame_of_reference),
            placement,
            is_anonymous: false,
        }
    }
}
