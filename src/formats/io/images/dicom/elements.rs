//! Data elements to write: texts, sequences, concepts.

use dicom_core::value::DataSetSequence;
use dicom_core::{DataElement, PrimitiveValue, Tag, VR};
use dicom_dictionary_std::tags;
use dicom_object::InMemDicomObject;

/// Characters of a long string (value representation LO).
pub const LONG_STRING: usize = 64;

/// An attribute whose value is text.
pub type Text = (Tag, VR, String);

/// Returns a sequence of these items.
pub fn sequence(tag: Tag, items: Vec<InMemDicomObject>) -> dicom_object::mem::InMemElement {
    DataElement::new(tag, VR::SQ, DataSetSequence::from(items))
}

/// Returns a concept of a coding scheme.
pub fn code(value: &str, scheme: &str, meaning: &str) -> InMemDicomObject {
    let texts = [
        (tags::CODE_VALUE, VR::SH, value),
        (tags::CODING_SCHEME_DESIGNATOR, VR::SH, scheme),
        (tags::CODE_MEANING, VR::LO, meaning),
    ];
    InMemDicomObject::from_element_iter(texts.map(|(tag, vr, text)| DataElement::new(tag, vr, PrimitiveValue::from(text))))
}

/// Returns a text without the characters that DICOM texts do not allow.
pub fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '\\', " ")
}
