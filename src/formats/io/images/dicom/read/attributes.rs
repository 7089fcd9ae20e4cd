//! Attributes of an object, of one of its frames, or of an item of a sequence.

use dicom_core::dictionary::{DataDictionary as _, DataDictionaryEntry as _};
use dicom_dictionary_std::{StandardDataDictionary, tags};
use dicom_object::mem::InMemElement;
use dicom_object::{InMemDicomObject, Tag};

use crate::io::images::dicom::problem::DicomProblem;
use crate::text::shortened;

/// Objects that are searched for an attribute, one after the other.
#[derive(Clone)]
pub struct Attributes<'a>(Vec<&'a InMemDicomObject>);

impl<'a> Attributes<'a> {
    /// Returns the attributes of an object.
    pub fn of(object: &'a InMemDicomObject) -> Self {
        Self(vec![object])
    }

    /// Returns the attributes of a frame of a multi-frame object: its own functional groups, the shared ones, the object's
    /// (PS3.3, C.7.6.16).
    pub fn of_frame(object: &'a InMemDicomObject, frame: usize) -> Self {
        let own = items(object, tags::PER_FRAME_FUNCTIONAL_GROUPS_SEQUENCE).get(frame);
        let shared = items(object, tags::SHARED_FUNCTIONAL_GROUPS_SEQUENCE).first();
        let groups =
            own.into_iter().chain(shared).flat_map(|groups| groups.into_iter().filter_map(|group| group.items()?.first()));
        Self(groups.chain([object]).collect())
    }

    /// Returns the attributes of the first item of a sequence.
    pub fn first_of(&self, sequence: Tag) -> Option<Self> {
        self.0.iter().find_map(|object| items(object, sequence).first()).map(Self::of)
    }

    /// Returns the attributes of each item of a sequence; none without it.
    pub fn all_of(&self, sequence: Tag) -> Vec<Self> {
        let of_first = self.0.iter().map(|object| items(object, sequence)).find(|items| !items.is_empty());
        of_first.unwrap_or_default().iter().map(Self::of).collect()
    }

    fn element(&self, tag: Tag) -> Option<&'a InMemElement> {
        self.0.iter().find_map(|object| object.get(tag))
    }

    /// Returns the number of an element of a private block, by the block's creator (PS3.5, 7.8.1). In groups whose creators are
    /// removed the block is the first one.
    pub fn private(&self, group: u16, creator: &str, element: u8) -> Tag {
        let creator_of = |block: &u16| self.text(Tag(group, *block));
        let is_own = |block: &u16| creator_of(block).is_some_and(|found| found.eq_ignore_ascii_case(creator));
        let has_creators = || (0x10..=0xff).any(|block| creator_of(&block).is_some());
        let block = (0x10..=0xff).find(is_own).or_else(|| (!has_creators()).then_some(0x10));
        // (Block 0 has no elements.)
        Tag(group, (block.unwrap_or(0) << 8) | u16::from(element))
    }

    /// Returns a text without spaces at its ends; `None` if it is missing or empty.
    pub fn text(&self, tag: Tag) -> Option<String> {
        let text = self.element(tag)?.to_str().ok()?;
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns the values of a text of several.
    pub fn texts(&self, tag: Tag) -> Vec<String> {
        let Some(values) = self.element(tag).and_then(|element| element.to_multi_str().ok()) else { return Vec::new() };
        values
            .iter()
            .flat_map(|text| text.split('\\'))
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// Returns the first number of an attribute; `None` if it is missing or empty.
    ///
    /// # Errors
    /// No finite number.
    pub fn number(&self, tag: Tag) -> Result<Option<f64>, DicomProblem> {
        let Some(text) = self.text(tag) else { return Ok(None) };
        let first = text.split('\\').next().unwrap_or_default().trim();
        match first.parse::<f64>().ok().filter(|number| number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => Err(invalid(tag, text, "a number")),
        }
    }

    /// Returns the numbers of an attribute.
    ///
    /// # Errors
    /// A missing attribute, another number of values, no finite numbers.
    pub fn numbers<const N: usize>(&self, tag: Tag) -> Result<[f64; N], DicomProblem> {
        let element = self.element(tag).ok_or_else(|| missing(tag))?;
        let numbers = element.to_multi_float64().ok().filter(|numbers| numbers.iter().all(|number| number.is_finite()));
        let found = || element.to_str().map(|text| text.into_owned()).unwrap_or_default();
        numbers
            .and_then(|numbers| numbers.try_into().ok())
            .ok_or_else(|| invalid(tag, found(), "as many numbers as DICOM requires"))
    }

    /// Returns a whole number from 0 to `max`.
    ///
    /// # Errors
    /// A missing attribute, another value.
    pub fn whole(&self, tag: Tag, max: usize) -> Result<usize, DicomProblem> {
        let number = self.number(tag)?.ok_or_else(|| missing(tag))?;
        let is_whole = number.fract() == 0.0 && (0.0..=max as f64).contains(&number);
        if is_whole { Ok(number as usize) } else { Err(invalid(tag, number.to_string(), "a whole number")) }
    }

    /// Returns true if an attribute exists.
    pub fn has(&self, tag: Tag) -> bool {
        self.element(tag).is_some()
    }
}

/// Returns the items of a sequence; none without it.
fn items(object: &InMemDicomObject, sequence: Tag) -> &[InMemDicomObject] {
    object.get(sequence).and_then(|element| element.items()).unwrap_or_default()
}

/// Returns name and number of an attribute: "RescaleSlope (0028,1053)".
pub fn name(tag: Tag) -> String {
    let number = format!("({:04x},{:04x})", tag.group(), tag.element());
    StandardDataDictionary.by_tag(tag).map_or_else(|| number.clone(), |entry| format!("{} {number}", entry.alias()))
}

/// Returns the error of a missing attribute.
pub fn missing(tag: Tag) -> DicomProblem {
    DicomProblem::Missing(name(tag))
}

/// Returns the error of an attribute with another value.
pub fn invalid(tag: Tag, found: impl Into<String>, expected: &'static str) -> DicomProblem {
    DicomProblem::Value { attribute: name(tag), found: shortened(&found.into()), expected }
}
