//! The attributes of a PET scan: unit, corrections, times, tracer, patient's size (PS3.3 C.8.9).
//!
//! The series begins at the moment to which decay is corrected, so that other programs compute the same uptake values. Without a
//! known start it begins when it is written.

use std::f64::consts::LN_2;

use dicom_core::value::DataSetSequence;
use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::tags;
use dicom_object::InMemDicomObject;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::anonymous::ANONYMOUS_START;
use super::elements::{LONG_STRING, Text, code, plain};
use super::pixels::decimal;
use crate::data::{DecayReference, Nuclide, PetImage, PetScan, PetValues, Sex, Sourced, Unit, mean_decay};
use crate::io::images::description::{ImageDescription, whole_words};

/// Characters of a code string (value representation CS).
const CODE_STRING: usize = 16;

/// Facts of the scan of an image.
pub struct Scan<'a> {
    unit: Unit,
    pet: Option<&'a PetImage>,
    start_secs: Option<f64>,
    duration_secs: Option<f64>,
    now: DateTime,
}

impl<'a> Scan<'a> {
    /// Returns the scan of an image in this unit; an anonymous series without a known start begins at a fixed moment.
    pub fn new(unit: Unit, description: &'a ImageDescription, is_anonymous: bool) -> Self {
        let pet = description.pet.as_ref();
        let [start, duration] = description.frame_secs.map_or([None; 2], |secs| secs.map(Some));
        let start_secs = pet.and_then(|pet| pet.start_secs).or(start);
        let duration_secs = pet.and_then(|pet| pet.duration_secs).or(duration).filter(|secs| *secs > 0.0);
        let now = if is_anonymous { ANONYMOUS_START } else { Timestamp::now().to_zoned(TimeZone::UTC).datetime() };
        Self { unit, pet, start_secs, duration_secs, now }
    }

    fn facts(&self) -> Option<&'a PetScan> {
        self.pet.map(|pet| &pet.scan)
    }

    /// Returns the known start of the scan.
    pub fn start(&self) -> Option<DateTime> {
        self.facts()?.scan_start.as_ref().map(|start| start.value)
    }

    /// Returns the start of the acquisition.
    fn acquisition(&self) -> Option<DateTime> {
        let secs = self.start_secs.filter(|secs| *secs >= 0.0)?;
        self.start()?.checked_add(SignedDuration::from_micros((1e6 * secs).round() as i64)).ok()
    }

    /// Returns the attributes that all slices share, without sequences.
    pub fn texts(&self) -> Vec<Text> {
        let (begin, now) = (self.start().unwrap_or(self.now), self.now);
        let values = PetValues::of_unit(self.unit).unwrap_or(PetValues::Counts);
        let [units, suv_type] = match &values {
            PetValues::BqPerMl => ["BQML", ""],
            PetValues::Counts => ["CNTS", ""],
            PetValues::UptakeByMass(mass) => ["GML", mass.as_str()],
            PetValues::UptakeBySurface => ["CM2ML", "BSA"],
            PetValues::Other(code) => [code.as_str(), ""],
        };
        let decay = match self.facts().map_or(DecayReference::None, |scan| scan.decay_reference) {
            DecayReference::Start => "START",
            DecayReference::Administration => "ADMIN",
            DecayReference::None => "NONE",
        };
        let is_code = |code: &&String| code.len() <= CODE_STRING && code.bytes().all(|c| c.is_ascii_uppercase() || c == b'_');
        let corrections = self.facts().map_or(&[][..], |scan| &scan.corrections[..]);
        let corrections: Vec<&str> = corrections.iter().filter(is_code).map(String::as_str).collect();
        let sex = self.facts().and_then(|scan| scan.sex.as_ref()).map_or("", |sex| match sex.value {
            Sex::Female => "F",
            Sex::Male => "M",
            Sex::Other => "O",
        });
        let acquired = self.acquisition();
        let duration_ms = self.duration_secs.map(|secs| format!("{:.0}", 1e3 * secs));
        let mut texts = vec![
            (tags::UNITS, VR::CS, units.to_owned()),
            (tags::DECAY_CORRECTION, VR::CS, decay.to_owned()),
            (tags::CORRECTED_IMAGE, VR::CS, corrections.join("\\")),
            (tags::PATIENT_SEX, VR::CS, sex.to_owned()),
            (tags::SERIES_DATE, VR::DA, date(begin)),
            (tags::SERIES_TIME, VR::TM, time(begin)),
            (tags::ACQUISITION_DATE, VR::DA, acquired.map_or_else(String::new, date)),
            (tags::ACQUISITION_TIME, VR::TM, acquired.map_or_else(String::new, time)),
            (tags::ACTUAL_FRAME_DURATION, VR::IS, duration_ms.unwrap_or_default()),
        ];
        if self.start().is_none() {
            // (The time zone of a scanner's times is not known.)
            texts.push((tags::TIMEZONE_OFFSET_FROM_UTC, VR::SH, "+0000".to_owned()));
            texts.push((tags::CONTENT_DATE, VR::DA, date(now)));
            texts.push((tags::CONTENT_TIME, VR::TM, time(now)));
        }
        if !suv_type.is_empty() {
            texts.push((tags::SUV_TYPE, VR::CS, suv_type.to_owned()));
        }
        let sizes = self.facts().map(|scan| [(tags::PATIENT_WEIGHT, &scan.weight_kg), (tags::PATIENT_SIZE, &scan.height_m)]);
        for (tag, fact) in sizes.into_iter().flatten() {
            texts.extend(fact.as_ref().map(|fact| (tag, VR::DS, decimal(fact.value))));
        }
        texts
    }

    /// Returns the sequence of the tracer; without facts it has no item.
    pub fn tracer(&self) -> DataSetSequence<InMemDicomObject> {
        let items: Vec<InMemDicomObject> = self.facts().and_then(tracer).into_iter().collect();
        DataSetSequence::from(items)
    }

    /// Returns the attributes of a slice: the factor of its correction for decay, and the moment whose activity is the mean of the
    /// frame, ms from the start of the scan (PS3.3 C.8.9.4.1.4: (1/λ) ln(factor)).
    pub fn of_slice(&self, index: usize) -> Vec<Text> {
        let corrected = self.pet.filter(|pet| pet.scan.decay_reference != DecayReference::None);
        let factor = corrected.and_then(|pet| pet.decay_factor(index));
        let reference_ms = 1e3 * self.reference_secs(factor).unwrap_or(0.0);
        let factor = factor.map(|factor| (tags::DECAY_FACTOR, VR::DS, decimal(factor)));
        [(tags::FRAME_REFERENCE_TIME, VR::DS, decimal(reference_ms))].into_iter().chain(factor).collect()
    }

    fn reference_secs(&self, factor: Option<f64>) -> Option<f64> {
        let half_life =
            self.facts().and_then(|scan| scan.half_life_secs.as_ref()).map(|fact| fact.value).filter(|secs| *secs > 0.0);
        if self.facts().is_some_and(|scan| scan.decay_reference == DecayReference::Start)
            && let Some((half_life, factor)) = half_life.zip(factor)
        {
            return Some(half_life * factor.log2());
        }
        let (start, duration) = (self.start_secs?, self.duration_secs.unwrap_or(0.0));
        Some(match half_life {
            Some(half_life) => start - mean_decay(half_life, [0.0, duration]).ln() * half_life / LN_2,
            None => start + 0.5 * duration,
        })
    }
}

/// Returns the item of a tracer; `None` without facts.
fn tracer(scan: &PetScan) -> Option<InMemDicomObject> {
    let injection = scan.injection.as_ref().map(|injection| injection.value);
    let number = |fact: &Option<Sourced<f64>>| fact.as_ref().map(|fact| decimal(fact.value));
    let texts = [
        (tags::RADIOPHARMACEUTICAL, VR::LO, scan.tracer.as_deref().map(|name| whole_words(&plain(name), LONG_STRING))),
        (tags::RADIOPHARMACEUTICAL_START_TIME, VR::TM, injection.map(time)),
        (tags::RADIOPHARMACEUTICAL_START_DATE_TIME, VR::DT, injection.map(|moment| date(moment) + &time(moment))),
        (tags::RADIONUCLIDE_TOTAL_DOSE, VR::DS, number(&scan.dose_bq)),
        (tags::RADIONUCLIDE_HALF_LIFE, VR::DS, number(&scan.half_life_secs)),
    ];
    let known: Vec<_> =
        texts.into_iter().filter_map(|(tag, vr, text)| Some(DataElement::new(tag, vr, PrimitiveValue::from(text?)))).collect();
    let nuclide = scan.nuclide.as_deref().and_then(Nuclide::find);
    if known.is_empty() && nuclide.is_none() {
        return None;
    }
    let mut item = InMemDicomObject::from_element_iter(known);
    let concept = nuclide.map(|nuclide| code(nuclide.code, "SCT", nuclide.meaning));
    let concept: Vec<InMemDicomObject> = concept.into_iter().collect();
    item.put(DataElement::new(tags::RADIONUCLIDE_CODE_SEQUENCE, VR::SQ, DataSetSequence::from(concept)));
    Some(item)
}

/// Returns the date of a moment (DA).
pub fn date(moment: DateTime) -> String {
    moment.strftime("%Y%m%d").to_string()
}

/// Returns the time of a moment (TM), with the fraction of a second if it has one.
pub fn time(moment: DateTime) -> String {
    let whole = moment.strftime("%H%M%S").to_string();
    match moment.subsec_nanosecond() / 1000 {
        0 => whole,
        micros => format!("{whole}.{micros:06}"),
    }
}
