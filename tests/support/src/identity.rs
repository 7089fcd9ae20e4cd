//! A series with identifiers of a patient, and the search for them.

use std::path::{Path, PathBuf};

use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::tags;
use dicom_object::open_file;

/// Identifiers of the series.
pub const IDENTIFIERS: [&str; 10] = [
    "Mustermann",
    "Erika",
    "PID-4711",
    "1.2.276.0.7230010.3.1.2.4711",
    "1.2.276.0.7230010.3.1.4.4712",
    "ACC-0815",
    "St. Elsewhere",
    "19640812",
    "20260301",
    "2026-03-01",
];

/// Writes a series with identifiers, into a folder with the patient's name.
pub fn put_series(folder: &Path) -> PathBuf {
    let source = super::in_repository("tests/data/dicom/pet");
    let target = folder.join("Mustermann_Erika_20260301");
    std::fs::create_dir(&target).unwrap();
    for entry in std::fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let mut slice = open_file(&path).unwrap();
        for (tag, vr, text) in [
            (tags::PATIENT_NAME, VR::PN, "Mustermann^Erika"),
            (tags::PATIENT_ID, VR::LO, "PID-4711"),
            (tags::PATIENT_BIRTH_DATE, VR::DA, "19640812"),
            (tags::STUDY_INSTANCE_UID, VR::UI, "1.2.276.0.7230010.3.1.2.4711"),
            (tags::FRAME_OF_REFERENCE_UID, VR::UI, "1.2.276.0.7230010.3.1.4.4712"),
            (tags::ACCESSION_NUMBER, VR::SH, "ACC-0815"),
            (tags::INSTITUTION_NAME, VR::LO, "St. Elsewhere"),
            (tags::STUDY_DESCRIPTION, VR::LO, "PET of Erika Mustermann"),
            (tags::SERIES_DESCRIPTION, VR::LO, "Mustermann WB"),
            (tags::IMAGE_COMMENTS, VR::LT, "Erika, St. Elsewhere"),
            (tags::DECAY_FACTOR, VR::DS, "1.003162"),
        ] {
            slice.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
        }
        slice.write_to_file(target.join(path.file_name().unwrap())).unwrap();
    }
    target
}

/// Returns all files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the identifiers in some bytes.
pub fn identifiers(bytes: &[u8]) -> Vec<&'static str> {
    let is_found = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    IDENTIFIERS.into_iter().filter(|text| is_found(text)).collect()
}
