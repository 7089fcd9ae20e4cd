//! Facts of a PET scan for uptake values.
//!
//! The scan begins at the time of the series. Where that is later than the acquisition, the series was processed afterwards: then at
//! GE's own time, else at the earliest acquisition.
//!
//! Sources: DICOM PS3.3, C.8.9 (PET modules); QIBA profile FDG-PET/CT, appendix on uptake values (GE's (0009,100d), Philips' (7053,1000)
//! and (7053,1009)).

use dicom_dictionary_std::tags;
use dicom_object::Tag;
use jiff::Span;
use jiff::civil::DateTime;

use super::attributes::{Attributes, name};
use super::time::{date, date_time, time};
use crate::data::{DecayReference, PetScan, PetValues, Sex, Sourced};
use crate::io::images::dicom::problem::DicomProblem;

/// Time that GE's decay correction refers to.
const GE_SCAN_START: Tag = Tag(0x0009, 0x100d);

/// Philips' uptake value of one count.
const PHILIPS_SUV: Tag = Tag(0x7053, 0x1000);

/// Philips' activity concentration of one count, Bq/mL.
const PHILIPS_BQ_PER_ML: Tag = Tag(0x7053, 0x1009);

/// Returns the facts of a PET scan with this earliest acquisition.
///
/// # Errors
/// A number that is none.
pub fn pet_scan(attributes: &Attributes, earliest: Option<DateTime>) -> Result<PetScan, DicomProblem> {
    let tracer = attributes.first_of(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE);
    let of_tracer = |tag| tracer.as_ref().map_or(Ok(None), |tracer| tracer.number(tag));
    let sourced = |value: Option<f64>, tag| value.map(|value| Sourced::new(value, name(tag)));
    let scan_start = scan_start(attributes, earliest);
    let injection = tracer.as_ref().and_then(|tracer| injection(attributes, tracer, scan_start.as_ref()));
    let sex = match attributes.text(tags::PATIENT_SEX).as_deref() {
        Some("F") => Some(Sex::Female),
        Some("M") => Some(Sex::Male),
        _ => None,
    };
    let of_code = |code: Attributes| code.text(tags::CODE_MEANING);
    let nuclide = tracer.as_ref().and_then(|tracer| tracer.first_of(tags::RADIONUCLIDE_CODE_SEQUENCE)).and_then(of_code);
    let name_of_tracer = tracer.as_ref().and_then(|tracer| tracer.text(tags::RADIOPHARMACEUTICAL));
    // Some writers have the height in cm.
    let height = attributes.number(tags::PATIENT_SIZE)?.filter(|height| *height > 0.0);
    Ok(PetScan {
        values: values(attributes),
        corrections: attributes.texts(tags::CORRECTED_IMAGE),
        decay_reference: match attributes.text(tags::DECAY_CORRECTION).as_deref() {
            Some("START") => DecayReference::Start,
            Some("ADMIN") => DecayReference::Administration,
            _ => DecayReference::None,
        },
        scan_start,
        injection,
        dose_bq: sourced(of_tracer(tags::RADIONUCLIDE_TOTAL_DOSE)?, tags::RADIONUCLIDE_TOTAL_DOSE),
        half_life_secs: sourced(of_tracer(tags::RADIONUCLIDE_HALF_LIFE)?, tags::RADIONUCLIDE_HALF_LIFE),
        tracer: name_of_tracer.or_else(|| nuclide.clone()),
        nuclide,
        weight_kg: sourced(attributes.number(tags::PATIENT_WEIGHT)?.filter(|kg| *kg > 0.0), tags::PATIENT_WEIGHT),
        height_m: sourced(height, tags::PATIENT_SIZE),
        sex: sex.map(|sex| Sourced::new(sex, name(tags::PATIENT_SEX))),
        philips_suv: attributes.number(PHILIPS_SUV)?,
        philips_bq_per_ml: attributes.number(PHILIPS_BQ_PER_ML)?,
    })
}

/// Returns the meaning of the values.
fn values(attributes: &Attributes) -> PetValues {
    let uptake = attributes.text(tags::SUV_TYPE);
    match attributes.text(tags::UNITS).unwrap_or_default().as_str() {
        "BQML" => PetValues::BqPerMl,
        "CNTS" => PetValues::Counts,
        "GML" => PetValues::UptakeByMass(uptake.unwrap_or_else(|| "BW".to_owned())),
        "CM2ML" => PetValues::UptakeBySurface,
        other => PetValues::Other(other.to_owned()),
    }
}

/// Returns the time that values with the decay correction START refer to.
fn scan_start(attributes: &Attributes, earliest: Option<DateTime>) -> Option<Sourced<DateTime>> {
    let zone = attributes.text(tags::TIMEZONE_OFFSET_FROM_UTC);
    let at = |day: &str, hour: &str| Some(date(day)?.to_datetime(time(hour)?));
    let series = attributes.text(tags::SERIES_DATE).zip(attributes.text(tags::SERIES_TIME));
    let series = series.and_then(|(day, hour)| at(&day, &hour));
    let of_ge = || date_time(&attributes.text(GE_SCAN_START)?, zone.as_deref());
    let by = |moment: Option<DateTime>, tag| moment.map(|moment| Sourced::new(moment, name(tag)));
    match (series, earliest) {
        (Some(series), Some(earliest)) if series > earliest => {
            by(of_ge(), GE_SCAN_START).or_else(|| by(Some(earliest), tags::ACQUISITION_TIME))
        }
        (None, earliest) => by(of_ge(), GE_SCAN_START).or_else(|| by(earliest, tags::ACQUISITION_TIME)),
        (series, _) => by(series, tags::SERIES_TIME),
    }
}

/// Returns the time of the injection: with its date, or on the day of the scan, or on the day before if that would be after the scan.
fn injection(attributes: &Attributes, tracer: &Attributes, scan: Option<&Sourced<DateTime>>) -> Option<Sourced<DateTime>> {
    let zone = attributes.text(tags::TIMEZONE_OFFSET_FROM_UTC);
    let with_date = tracer.text(tags::RADIOPHARMACEUTICAL_START_DATE_TIME);
    if let Some(moment) = with_date.and_then(|text| date_time(&text, zone.as_deref())) {
        return Some(Sourced::new(moment, name(tags::RADIOPHARMACEUTICAL_START_DATE_TIME)));
    }
    let scan = scan?.value;
    let hour = time(&tracer.text(tags::RADIOPHARMACEUTICAL_START_TIME)?)?;
    let same_day = scan.date().to_datetime(hour);
    let moment = if same_day > scan { same_day.checked_sub(Span::new().days(1)).ok()? } else { same_day };
    Some(Sourced::new(moment, name(tags::RADIOPHARMACEUTICAL_START_TIME)))
}

#[cfg(test)]
mod tests {
    use dicom_core::value::DataSetSequence;
    use dicom_core::{DataElement, PrimitiveValue, VR};
    use dicom_object::InMemDicomObject;
    use jiff::civil;

    use super::*;

    /// A whole-body series of FDG in Bq/mL.
    fn object(texts: &[(Tag, &str)], of_tracer: &[(Tag, &str)]) -> InMemDicomObject {
        let put = |object: &mut InMemDicomObject, texts: &[(Tag, &str)]| {
            texts.iter().for_each(|(tag, text)| _ = object.put(DataElement::new(*tag, VR::LO, PrimitiveValue::from(*text))));
        };
        let mut tracer = InMemDicomObject::new_empty();
        let common = [(tags::RADIONUCLIDE_TOTAL_DOSE, "370000000"), (tags::RADIONUCLIDE_HALF_LIFE, "6586.2")];
        put(&mut tracer, &common);
        put(&mut tracer, of_tracer);
        let mut object = InMemDicomObject::new_empty();
        let common = [
            (tags::UNITS, "BQML"),
            (tags::DECAY_CORRECTION, "START"),
            (tags::CORRECTED_IMAGE, "DECY\\ATTN\\SCAT"),
            (tags::PATIENT_WEIGHT, "70"),
            (tags::SERIES_DATE, "20260301"),
            (tags::SERIES_TIME, "120000"),
        ];
        put(&mut object, &common);
        put(&mut object, texts);
        let tracers = DataSetSequence::from(vec![tracer]);
        object.put(DataElement::new(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE, VR::SQ, tracers));
        object
    }

    /// Seconds from the injection to the scan.
    fn elapsed(object: &InMemDicomObject, earliest: DateTime) -> f64 {
        let scan = pet_scan(&Attributes::of(object), Some(earliest)).unwrap();
        scan.scan_start.unwrap().value.duration_since(scan.injection.unwrap().value).as_secs_f64()
    }

    #[test]
    fn the_scan_begins_with_its_series_unless_that_was_processed_later() {
        let noon = civil::date(2026, 3, 1).at(12, 0, 0, 0);
        let later = civil::date(2026, 3, 1).at(12, 0, 20, 0);
        let injected = [(tags::RADIOPHARMACEUTICAL_START_TIME, "110000")];
        assert_eq!(elapsed(&object(&[], &injected), later), 3600.0);
        let processed = [(tags::SERIES_TIME, "150000")];
        assert_eq!(elapsed(&object(&processed, &injected), later), 3620.0);
        // GE's own time has priority over the acquisition, also without a time of the series.
        let of_ge = [(tags::SERIES_TIME, "150000"), (GE_SCAN_START, "20260301115900.00")];
        assert_eq!(elapsed(&object(&of_ge, &injected), noon), 3540.0);
        let without = [(tags::SERIES_TIME, ""), (GE_SCAN_START, "20260301115900.00")];
        assert_eq!(elapsed(&object(&without, &injected), noon), 3540.0);
    }

    #[test]
    fn an_injection_with_a_date_beats_one_without_and_midnight_is_crossed() {
        let night = civil::date(2026, 3, 1).at(0, 30, 0, 0);
        let early = [(tags::SERIES_TIME, "003000")];
        assert_eq!(elapsed(&object(&early, &[(tags::RADIOPHARMACEUTICAL_START_TIME, "233000")]), night), 3600.0);
        let both =
            [(tags::RADIOPHARMACEUTICAL_START_TIME, "220000"), (tags::RADIOPHARMACEUTICAL_START_DATE_TIME, "20260228234500")];
        assert_eq!(elapsed(&object(&early, &both), night), 2700.0);
        let scan = pet_scan(&Attributes::of(&object(&early, &[])), Some(night)).unwrap();
        assert_eq!(scan.injection, None);
        assert_eq!(scan.scan_start.unwrap().source, "SeriesTime (0008,0031)");
    }

    #[test]
    fn corrections_and_units_are_read() {
        let found = |texts: &[(Tag, &str)]| pet_scan(&Attributes::of(&object(texts, &[])), None).unwrap();
        assert_eq!(found(&[(tags::DECAY_CORRECTION, "ADMIN")]).decay_reference, DecayReference::Administration);
        assert_eq!(found(&[(tags::DECAY_CORRECTION, "NONE")]).decay_reference, DecayReference::None);
        assert_eq!(found(&[(tags::UNITS, "GML")]).values, PetValues::UptakeByMass("BW".into()));
        assert_eq!(found(&[(tags::UNITS, "PROPCNTS")]).values, PetValues::Other("PROPCNTS".into()));
        let philips = [(tags::UNITS, "CNTS"), (PHILIPS_SUV, "0.000551 "), (PHILIPS_BQ_PER_ML, "1.602563")];
        let philips = found(&philips);
        assert_eq!(
            (philips.values, philips.philips_suv, philips.philips_bq_per_ml),
            (PetValues::Counts, Some(0.000551), Some(1.602563))
        );
        assert_eq!(found(&[]).corrections, ["DECY", "ATTN", "SCAT"]);
        assert_eq!(found(&[(tags::PATIENT_WEIGHT, "0")]).weight_kg, None);
    }
}
