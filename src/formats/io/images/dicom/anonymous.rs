//! Removal of the patient's identity: DICOM PS3.15 annex E, Basic Application Confidentiality Profile, with the options Retain Patient
//! Characteristics (sex, weight and height, which uptake values need) and Retain Longitudinal Temporal Information with Modified Dates.
//!
//! A written series has only the attributes of this program (a whitelist), so that private attributes, comments and all others of its
//! source are absent. Of those in table E.1-1:
//!
//! - names, numbers, birth date, descriptions and comments are empty or absent;
//! - UIDs are new; study and frame of reference have the same replacement for the same UID, a hash (SHA-256) as a UUID;
//! - the scan begins at noon of 2000-01-01, and its other times keep their distance from that.

use std::path::Path;

use dicom_core::VR;
use dicom_dictionary_std::tags;
use dicom_object::{InMemDicomObject, OpenFileOptions};
use jiff::civil::DateTime;
use sha2::{Digest as _, Sha256};

use super::context::{Patient, SeriesContext};
use super::elements::{Text, code};

/// Moment at which an anonymous scan begins.
pub const ANONYMOUS_START: DateTime = DateTime::constant(2000, 1, 1, 12, 0, 0, 0);

/// Text of the method.
pub const METHOD: &str = "DICOM PS3.15 Basic Profile, by tomoscope";

/// Codes of the profile and its options (PS3.16, context group 7050).
const METHODS: [(&str, &str); 3] = [
    ("113100", "Basic Application Confidentiality Profile"),
    ("113107", "Retain Longitudinal Temporal Information Modified Dates Option"),
    ("113108", "Retain Patient Characteristics Option"),
];

impl SeriesContext {
    /// Returns the context without the patient's identity. Only a pseudonym is left.
    pub fn anonymised(self, pseudonym: Patient) -> Self {
        Self {
            patient: Patient {
                study_uid: pseudonym.study_uid.or_else(|| self.patient.study_uid.as_deref().map(replacement)),
                ..pseudonym
            },
            study_date: String::new(),
            frame_of_reference: self.frame_of_reference.as_deref().map(replacement),
            placement: self.placement,
            is_anonymous: true,
        }
    }
}

/// Returns true for a file from which this program removed the patient's identity.
pub fn is_anonymous(file: &Path) -> bool {
    let options = OpenFileOptions::new().read_until(tags::DEIDENTIFICATION_METHOD_CODE_SEQUENCE);
    let method = options
        .open_file(file)
        .ok()
        .and_then(|object| Some(object.get(tags::DEIDENTIFICATION_METHOD)?.to_str().ok()?.into_owned()));
    method.is_some_and(|method| method.trim() == METHOD)
}

/// Returns the UID in place of another: always the same, which does not reveal the other.
fn replacement(uid: &str) -> String {
    let hash = Sha256::digest(format!("tomoscope {uid}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    // A UUID of version 8, variant 1 (RFC 9562).
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    format!("2.25.{}", u128::from_be_bytes(bytes))
}

/// Returns the attributes of a series without the patient's identity, without the sequence of the methods.
pub fn texts() -> [Text; 3] {
    [
        (tags::PATIENT_IDENTITY_REMOVED, VR::CS, "YES".to_owned()),
        (tags::DEIDENTIFICATION_METHOD, VR::LO, METHOD.to_owned()),
        (tags::LONGITUDINAL_TEMPORAL_INFORMATION_MODIFIED, VR::CS, "MODIFIED".to_owned()),
    ]
}

/// Returns the codes of profile and options.
pub fn methods() -> Vec<InMemDicomObject> {
    METHODS.map(|(value, meaning)| code(value, "DCM", meaning)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_uid_is_valid_and_always_the_same() {
        let uid = "1.2.840.113619.2.55.3.604688119";
        let new = replacement(uid);
        assert_eq!(Patient::check_uid(&new), Ok(()));
        assert_eq!(new, replacement(uid));
        assert_ne!(new, replacement("1.2.840.113619.2.55.3.604688118"));
        assert!(!new.contains(uid));
    }
}
