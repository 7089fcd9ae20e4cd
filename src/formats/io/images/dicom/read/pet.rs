//! Facts of a PET scan for uptake values.
//!
//! [`scan_start`] has the order of the attributes that give the moment to which decay is corrected.
//!
//! Sources: DICOM PS3.3, C.8.9 (PET modules); QIBA profile FDG-PET/CT, appendix on uptake values (GE's (0009,100d), Philips' (7053,1000)
//! and (7053,1009)).

use dicom_dictionary_std::tags;
use dicom_object::Tag;
use jiff::civil::{DateTime, Time};
use jiff::{SignedDuration, Span};

use super::attributes::{Attributes, name};
use super::instance::{Plane, acquisition};
use super::time::{date, date_time, time};
use crate::data::{DecayReference, PetScan, PetValues, Sex, Sourced, mean_decay, plausible};
use crate::io::images::dicom::problem::DicomProblem;

/// Creator of GE's private block in the group 0009, and the element with the time that its decay correction refers to.
const GE: &str = "GEMS_PETD_01";
const GE_SCAN_START: u8 = 0x0d;

/// Creator of Philips' private block in the group 7053, and the elements with the uptake value and the activity concentration (Bq/mL)
/// of one count.
const PHILIPS: &str = "Philips PET Private Group";
const PHILIPS_SUV: u8 = 0x00;
const PHILIPS_BQ_PER_ML: u8 = 0x09;

/// Moments that are nearer to each other are the same, s.
const SAME_MOMENT_SECS: f64 = 2.0;

/// Hour before which a scan may belong to an injection of the day before.
const NIGHT_ENDS: i8 = 4;

/// Longest time from an injection of the day before to the scan, s.
const MAX_OVERNIGHT_SECS: f64 = 12.0 * 3600.0;

/// Returns the facts of a PET scan with these planes; warnings name unknown facts, and a difference from SeriesTime.
///
/// # Errors
/// A number that is none.
pub fn pet_scan(attributes: &Attributes, planes: &[Plane], warn: &mut dyn FnMut(String)) -> Result<PetScan, DicomProblem> {
    let tracer = attributes.first_of(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE);
    let of_tracer = |tag| tracer.as_ref().map_or(Ok(None), |tracer| tracer.number(tag));
    let sourced = |value: Option<f64>, tag| value.map(|value| Sourced::new(value, name(tag)));
    let half_life = of_tracer(tags::RADIONUCLIDE_HALF_LIFE)?;
    let known_half_life = half_life.filter(|secs| *secs > 0.0);
    let scan_start = scan_start(attributes, planes, known_half_life, warn);
    let end = |plane: &Plane| plane.acquisition?.checked_add(SignedDuration::try_from_secs_f64(plane.duration_secs?).ok()?).ok();
    let scan_end = planes.iter().filter_map(end).max();
    let scan = [scan_start.as_ref().map(|start| start.value), scan_end];
    let injection = tracer.as_ref().and_then(|tracer| injection(attributes, tracer, scan, known_half_life, warn));
    if let Some(moment) = injection.as_ref().map(|injection| injection.value).filter(|moment| moment.time() == Time::midnight()) {
        warn(format!("its injection is at {moment} exactly, as of a time that was not entered: check uptake values"));
    }
    let tracers = attributes.all_of(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE);
    let facts = [tags::RADIONUCLIDE_TOTAL_DOSE, tags::RADIONUCLIDE_HALF_LIFE, tags::RADIOPHARMACEUTICAL_START_TIME];
    if tracers.iter().any(|other| facts.iter().any(|tag| other.text(*tag) != tracers[0].text(*tag))) {
        let attribute = name(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE);
        warn(format!("{attribute} has {} tracers with other facts; the first one counts", tracers.len()));
    }
    let sex = match attributes.text(tags::PATIENT_SEX).as_deref() {
        Some("F") => Some(Sex::Female),
        Some("M") => Some(Sex::Male),
        Some("O") => Some(Sex::Other),
        _ => None,
    };
    let of_code = |code: Attributes| code.text(tags::CODE_MEANING);
    let nuclide = tracer.as_ref().and_then(|tracer| tracer.first_of(tags::RADIONUCLIDE_CODE_SEQUENCE)).and_then(of_code);
    let name_of_tracer = tracer.as_ref().and_then(|tracer| tracer.text(tags::RADIOPHARMACEUTICAL));
    // Some writers have the height in cm.
    let height = attributes.number(tags::PATIENT_SIZE)?.filter(|height| *height > 0.0);
    Ok(PetScan {
        values: values(attributes),
        corrections: corrections(attributes),
        decay_reference: match attributes.text(tags::DECAY_CORRECTION).as_deref() {
            Some("START") => DecayReference::Start,
            Some("ADMIN") => DecayReference::Administration,
            None if is_yes(attributes, tags::DECAY_CORRECTED) && attributes.has(tags::DECAY_CORRECTION_DATE_TIME) => {
                DecayReference::Start
            }
            _ => DecayReference::None,
        },
        scan_start,
        scan_end,
        injection,
        dose_bq: sourced(of_tracer(tags::RADIONUCLIDE_TOTAL_DOSE)?, tags::RADIONUCLIDE_TOTAL_DOSE),
        half_life_secs: sourced(half_life, tags::RADIONUCLIDE_HALF_LIFE),
        tracer: name_of_tracer.or_else(|| nuclide.clone()),
        nuclide,
        weight_kg: sourced(attributes.number(tags::PATIENT_WEIGHT)?.filter(|kg| *kg > 0.0), tags::PATIENT_WEIGHT),
        height_m: sourced(height, tags::PATIENT_SIZE),
        sex: sex.map(|sex| Sourced::new(sex, name(tags::PATIENT_SEX))),
        philips_suv: attributes.number(attributes.private(0x7053, PHILIPS, PHILIPS_SUV))?,
        philips_bq_per_ml: attributes.number(attributes.private(0x7053, PHILIPS, PHILIPS_BQ_PER_ML))?,
    })
}

/// Returns the codes of the corrections: those of CorrectedImage, or of the attributes of the enhanced class.
fn corrections(attributes: &Attributes) -> Vec<String> {
    let of_enhanced = [
        (tags::DECAY_CORRECTED, "DECY"),
        (tags::ATTENUATION_CORRECTED, "ATTN"),
        (tags::SCATTER_CORRECTED, "SCAT"),
        (tags::DEAD_TIME_CORRECTED, "DTIM"),
        (tags::RANDOMS_CORRECTED, "RAN"),
        (tags::DETECTOR_NORMALIZATION_CORRECTION, "NORM"),
    ];
    let codes = attributes.texts(tags::CORRECTED_IMAGE);
    if !codes.is_empty() {
        return codes;
    }
    of_enhanced.into_iter().filter(|(tag, _)| is_yes(attributes, *tag)).map(|(_, code)| code.to_owned()).collect()
}

fn is_yes(attributes: &Attributes, tag: Tag) -> bool {
    attributes.text(tag).is_some_and(|text| text == "YES")
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

/// Moments to which values with the decay correction START may refer.
struct References {
    /// DecayCorrectionDateTime of the enhanced class.
    enhanced: Option<DateTime>,
    /// GE's own.
    of_ge: Option<DateTime>,
    series: Option<DateTime>,
    earliest: Option<DateTime>,
}

/// Returns the moment that values with the decay correction START refer to: the first that is known of
///
/// 1. DecayCorrectionDateTime of the enhanced class, and GE's own time;
/// 2. SeriesTime, if it is not after the acquisition;
/// 3. AcquisitionTime + time of the mean activity in the frame − FrameReferenceTime, on which all slices agree;
/// 4. the earliest acquisition.
///
/// Some writers count FrameReferenceTime to the begin or the middle of the frame: SeriesTime is confirmed by any of the three.
fn scan_start(
    attributes: &Attributes,
    planes: &[Plane],
    half_life: Option<f64>,
    warn: &mut dyn FnMut(String),
) -> Option<Sourced<DateTime>> {
    let zone = attributes.text(tags::TIMEZONE_OFFSET_FROM_UTC);
    let moment = |tag| date_time(&attributes.text(tag)?, zone.as_deref());
    let of_series = || {
        let day = date(&attributes.text(tags::SERIES_DATE)?)?;
        Some(day.to_datetime(time(&attributes.text(tags::SERIES_TIME)?)?))
    };
    let found = References {
        enhanced: moment(tags::DECAY_CORRECTION_DATE_TIME),
        of_ge: moment(attributes.private(0x0009, GE, GE_SCAN_START)),
        series: of_series(),
        earliest: earliest(attributes, planes),
    };
    let (moment, source) = found.best(planes, half_life, warn)?;
    if let Some(series) = found.series.filter(|series| distance_secs(*series, moment) > SAME_MOMENT_SECS) {
        warn(format!("its decay is corrected to {moment}, by {source}, and not to {} ({series})", name(tags::SERIES_TIME)));
    }
    Some(Sourced::new(moment, source))
}

/// Returns the first acquisition of the planes, or that of the file.
pub fn earliest(attributes: &Attributes, planes: &[Plane]) -> Option<DateTime> {
    planes.iter().filter_map(|plane| plane.acquisition).min().or_else(|| acquisition(attributes))
}

fn distance_secs(a: DateTime, b: DateTime) -> f64 {
    a.duration_since(b).as_secs_f64().abs()
}

impl References {
    fn best(&self, planes: &[Plane], half_life: Option<f64>, warn: &mut dyn FnMut(String)) -> Option<(DateTime, String)> {
        let by = |moment: Option<DateTime>, tag| moment.map(|moment| (moment, name(tag)));
        let own = by(self.enhanced, tags::DECAY_CORRECTION_DATE_TIME);
        if let Some(own) = own.or_else(|| self.of_ge.map(|moment| (moment, format!("the scan start of {GE}")))) {
            return Some(own);
        }
        let [acquisition, reference] = [tags::ACQUISITION_TIME, tags::FRAME_REFERENCE_TIME].map(name);
        let [mean, middle, begin] =
            [Within::Mean, Within::Middle, Within::Begin].map(|within| agreed(planes, &within, half_life));
        let has_references = half_life.is_some() && planes.iter().any(|plane| plane.reference_secs.is_some());
        let disagree = has_references
            && mean.is_none()
            && planes.iter().all(|plane| plane.acquisition.is_some() && plane.duration_secs.is_some());
        let in_time = self.series.filter(|series| self.earliest.is_none_or(|earliest| *series <= earliest));
        if let Some(series) = in_time {
            let is_series = |moment: DateTime| distance_secs(series, moment) <= SAME_MOMENT_SECS;
            let is_confirmed = [mean, middle, begin].into_iter().flatten().any(is_series);
            match mean.filter(|_| !is_confirmed) {
                Some(mean) => {
                    let secs = series.duration_since(mean).as_secs_f64();
                    let percent = half_life.map_or(0.0, |half_life| 100.0 * ((-secs / half_life).exp2() - 1.0));
                    warn(format!(
                        "its decay is taken to be corrected to {}, {series}; by {reference} it is {mean}, and the uptake values {percent:+.1} %",
                        name(tags::SERIES_TIME)
                    ));
                }
                None if disagree => warn(format!(
                    "its slices disagree on the moment to which decay is corrected ({reference}); it is taken to be {}, {series}",
                    name(tags::SERIES_TIME)
                )),
                None => {}
            }
            return by(Some(series), tags::SERIES_TIME);
        }
        if disagree {
            warn(format!("its slices disagree on the moment to which decay is corrected ({reference}); it is unknown"));
            return None;
        }
        let of_frames = mean.map(|moment| (moment, format!("{acquisition} + time of the mean activity − {reference}")));
        of_frames.or_else(|| by(self.earliest, tags::ACQUISITION_TIME))
    }
}

/// A moment within a frame.
enum Within {
    Begin,
    Middle,
    /// That of the mean activity.
    Mean,
}

/// Returns the moment from which the reference times of all slices count, if they end at this moment of each frame; `None` where a
/// slice lacks one, and where they disagree.
fn agreed(planes: &[Plane], within: &Within, half_life: Option<f64>) -> Option<DateTime> {
    let moment = |plane: &Plane| {
        let duration = plane.duration_secs?;
        let offset = match within {
            Within::Begin => 0.0,
            Within::Middle => 0.5 * duration,
            Within::Mean => mean_activity_secs(half_life?, duration),
        };
        let before = SignedDuration::try_from_secs_f64(plane.reference_secs? - offset).ok()?;
        plane.acquisition?.checked_sub(before).ok()
    };
    let moments: Vec<DateTime> = planes.iter().map(moment).collect::<Option<_>>()?;
    let [first, last] = [*moments.iter().min()?, *moments.iter().max()?];
    (distance_secs(first, last) <= SAME_MOMENT_SECS).then_some(first)
}

/// Returns the time in a frame at which the activity is its mean over the frame: ln(λd / (1 − exp(−λd))) / λ, λ = ln 2 / half-life.
fn mean_activity_secs(half_life: f64, duration: f64) -> f64 {
    -half_life * mean_decay(half_life, [0.0, duration]).log2()
}

/// Returns the time of the injection: with its date, or on the day of the scan, or on the day before if the scan begins soon after
/// midnight. Without a date the day of a nuclide of days is unknown.
fn injection(
    attributes: &Attributes,
    tracer: &Attributes,
    scan: [Option<DateTime>; 2],
    half_life: Option<f64>,
    warn: &mut dyn FnMut(String),
) -> Option<Sourced<DateTime>> {
    let zone = attributes.text(tags::TIMEZONE_OFFSET_FROM_UTC);
    let with_date = tracer.text(tags::RADIOPHARMACEUTICAL_START_DATE_TIME);
    if let Some(moment) = with_date.and_then(|text| date_time(&text, zone.as_deref())) {
        let without = tracer.text(tags::RADIOPHARMACEUTICAL_START_TIME).and_then(|text| time(&text));
        let hour = without.filter(|hour| distance_secs(moment.date().to_datetime(*hour), moment) > SAME_MOMENT_SECS);
        if let Some(hour) = hour {
            let [dated, other] = [tags::RADIOPHARMACEUTICAL_START_DATE_TIME, tags::RADIOPHARMACEUTICAL_START_TIME].map(name);
            warn(format!("its injection is at {moment} by {dated}, which counts, but at {hour} by {other}"));
        }
        return Some(Sourced::new(moment, name(tags::RADIOPHARMACEUTICAL_START_DATE_TIME)));
    }
    let hour = time(&tracer.text(tags::RADIOPHARMACEUTICAL_START_TIME)?)?;
    let attribute = name(tags::RADIOPHARMACEUTICAL_START_TIME);
    if half_life.is_some_and(|secs| secs > plausible::SAME_DAY_SECS) {
        warn(format!("the day of its injection is unknown: {attribute} has no date, and the half-life is above a day"));
        return None;
    }
    let [start, end] = scan;
    let start = start?;
    let same_day = start.date().to_datetime(hour);
    let day_before = same_day.checked_sub(Span::new().days(1)).ok()?;
    let is_night = start.time().hour() < NIGHT_ENDS && distance_secs(start, day_before) < MAX_OVERNIGHT_SECS;
    let moment = if same_day > end.unwrap_or(start).max(start) && is_night { day_before } else { same_day };
    Some(Sourced::new(moment, attribute))
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
        let (scan, _) = scan_of(object, &[acquired(earliest)]);
        scan.scan_start.unwrap().value.duration_since(scan.injection.unwrap().value).as_secs_f64()
    }

    fn scan_of(object: &InMemDicomObject, planes: &[Plane]) -> (PetScan, Vec<String>) {
        let mut warnings = Vec::new();
        let scan = pet_scan(&Attributes::of(object), planes, &mut |text| warnings.push(text)).unwrap();
        (scan, warnings)
    }

    /// A plane with this acquisition.
    fn acquired(moment: DateTime) -> Plane {
        Plane {
            file: 0,
            frame: 0,
            orientation: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            position_mm: [0.0; 3],
            spacing_mm: [1.0; 2],
            thickness_mm: None,
            scale: [1.0, 0.0],
            order: [0.0; 5],
            acquisition: Some(moment),
            duration_secs: None,
            decay_factor: None,
            padding: None,
            reference_secs: None,
        }
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
        let own = Tag(0x0009, 0x100d);
        let creator = (Tag(0x0009, 0x0010), GE);
        let of_ge = [(tags::SERIES_TIME, "150000"), creator, (own, "20260301115900.00")];
        assert_eq!(elapsed(&object(&of_ge, &injected), noon), 3540.0);
        let without = [(tags::SERIES_TIME, ""), creator, (own, "20260301115900.00")];
        assert_eq!(elapsed(&object(&without, &injected), noon), 3540.0);
        // Also over the time of a series that was not processed later.
        let early = [(tags::SERIES_TIME, "115000"), creator, (own, "20260301120000.00")];
        assert_eq!(elapsed(&object(&early, &injected), noon), 3600.0);
        // Its creator decides about a private element: without any it is that of the first block.
        let removed = [(tags::SERIES_TIME, "115000"), (own, "20260301120000.00")];
        assert_eq!(elapsed(&object(&removed, &injected), noon), 3600.0);
        let foreign = [(tags::SERIES_TIME, "115000"), (Tag(0x0009, 0x0010), "ANOTHER"), (own, "20260301120000.00")];
        assert_eq!(elapsed(&object(&foreign, &injected), noon), 3000.0);
        let second = [creator.1, "20260301120000.00"];
        let second = [(Tag(0x0009, 0x0010), "ANOTHER"), (Tag(0x0009, 0x0011), second[0]), (Tag(0x0009, 0x110d), second[1])];
        assert_eq!(elapsed(&object(&second, &injected), noon), 3600.0);
    }

    /// A plane of a frame of 603 s with this reference time, s.
    fn frame(acquisition: DateTime, reference_secs: f64) -> Plane {
        Plane { duration_secs: Some(603.0), reference_secs: Some(reference_secs), ..acquired(acquisition) }
    }

    #[test]
    fn the_reference_of_decay_is_calculated_back_from_the_frames() {
        let at = |minute, second| civil::date(2026, 3, 1).at(11, minute, second, 0);
        // λd²/24 = 1.6 s before the middle of a frame of 603 s.
        let mean = mean_activity_secs(6586.2, 603.0);
        assert!((mean - 299.9).abs() < 0.1, "{mean}");
        let beds = [frame(at(2, 30), 150.0 + mean), frame(at(5, 0), 300.0 + mean)];
        let processed = object(&[(tags::SERIES_TIME, "113000")], &[]);
        let (scan, warnings) = scan_of(&processed, &beds);
        assert!(distance_secs(scan.scan_start.unwrap().value, at(0, 0)) < 0.01);
        assert!(warnings.len() == 1 && warnings[0].contains("FrameReferenceTime"), "{warnings:?}");
        assert_eq!(scan.scan_end, at(5, 0).checked_add(SignedDuration::from_secs(603)).ok());
        // Writers that count to the middle or the begin agree with the time of the series.
        for to in [mean, 301.5, 0.0] {
            let beds = [frame(at(2, 30), 150.0 + to), frame(at(5, 0), 300.0 + to)];
            let (scan, warnings) = scan_of(&object(&[(tags::SERIES_TIME, "110000")], &[]), &beds);
            assert_eq!(scan.scan_start.unwrap().source, name(tags::SERIES_TIME));
            assert!(warnings.is_empty(), "{warnings:?}");
        }
        // A time of the series that can be right stays, and the other one is reported with its effect: 2^(−900/6586.2) = 0.9096.
        let other = frame(at(15, 0), mean);
        let (scan, warnings) = scan_of(&object(&[(tags::SERIES_TIME, "110000")], &[]), std::slice::from_ref(&other));
        assert_eq!(scan.scan_start.unwrap().value, at(0, 0));
        assert!(warnings.len() == 1 && warnings[0].contains("+9.9 %"), "{warnings:?}");
        let (scan, warnings) = scan_of(&processed, &[frame(at(2, 30), 150.0), frame(at(5, 0), 900.0)]);
        assert!(scan.scan_start.is_none() && warnings[0].contains("disagree"), "{warnings:?}");
        // Without reference times the series was processed later: then the first acquisition counts, and a warning says it.
        let (scan, warnings) = scan_of(&processed, &[acquired(at(2, 30))]);
        assert_eq!(scan.scan_start.unwrap().value, at(2, 30));
        assert!(warnings.len() == 1 && warnings[0].contains("AcquisitionTime"), "{warnings:?}");
    }

    #[test]
    fn an_injection_without_a_date_is_of_the_day_of_the_scan() {
        let noon = civil::date(2026, 3, 1).at(12, 0, 0, 0);
        let plane = Plane { duration_secs: Some(3600.0), ..acquired(noon) };
        let start = |of_tracer: &[(Tag, &str)]| scan_of(&object(&[], of_tracer), std::slice::from_ref(&plane));
        let injected = |hour: &'static str| start(&[(tags::RADIOPHARMACEUTICAL_START_TIME, hour)]).0.injection.unwrap().value;
        // Of a dynamic scan, and after its end: that has no uptake values, but not those of the day before.
        assert_eq!(injected("120010"), noon.checked_add(SignedDuration::from_secs(10)).unwrap());
        assert_eq!(injected("150000"), civil::date(2026, 3, 1).at(15, 0, 0, 0));
        // Two times of the injection that differ, and two that agree.
        for (hour, num) in [("101500", 1), ("111500", 0)] {
            let both =
                [(tags::RADIOPHARMACEUTICAL_START_DATE_TIME, "20260301111500"), (tags::RADIOPHARMACEUTICAL_START_TIME, hour)];
            let (scan, warnings) = start(&both);
            assert_eq!(scan.injection.unwrap().value, civil::date(2026, 3, 1).at(11, 15, 0, 0));
            assert_eq!(warnings.len(), num, "{warnings:?}");
        }
        // Midnight exactly, and a second tracer with another half-life.
        let (_, warnings) = start(&[(tags::RADIOPHARMACEUTICAL_START_TIME, "000000")]);
        assert!(warnings.len() == 1 && warnings[0].contains("not entered"), "{warnings:?}");
        let mut two = object(&[], &[]);
        let tracer = |of_tracer: &[(Tag, &str)]| {
            let object = object(&[], of_tracer);
            let sequence = object.element(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE).unwrap();
            sequence.items().unwrap()[0].clone()
        };
        let tracers = vec![tracer(&[]), tracer(&[(tags::RADIONUCLIDE_HALF_LIFE, "4062.6")])];
        let sequence = DataSetSequence::from(tracers);
        two.put(DataElement::new(tags::RADIOPHARMACEUTICAL_INFORMATION_SEQUENCE, VR::SQ, sequence));
        let (scan, warnings) = scan_of(&two, std::slice::from_ref(&plane));
        assert_eq!(scan.half_life_secs.unwrap().value, 6586.2);
        assert!(warnings.iter().any(|warning| warning.contains("2 tracers")), "{warnings:?}");
        let zirconium = [(tags::RADIOPHARMACEUTICAL_START_TIME, "110000"), (tags::RADIONUCLIDE_HALF_LIFE, "282276")];
        let (scan, warnings) = start(&zirconium);
        assert!(scan.injection.is_none() && warnings[0].contains("no date"), "{warnings:?}");
    }

    #[test]
    fn the_enhanced_class_has_attributes_of_its_own() {
        let texts = [
            (tags::DECAY_CORRECTION, ""),
            (tags::CORRECTED_IMAGE, ""),
            (tags::DECAY_CORRECTED, "YES"),
            (tags::ATTENUATION_CORRECTED, "YES"),
            (tags::SCATTER_CORRECTED, "NO"),
            (tags::DECAY_CORRECTION_DATE_TIME, "20260301115500"),
        ];
        let (scan, _) = scan_of(&object(&texts, &[]), &[]);
        assert_eq!((scan.decay_reference, scan.corrections), (DecayReference::Start, vec!["DECY".into(), "ATTN".into()]));
        assert_eq!(scan.scan_start.unwrap().value, civil::date(2026, 3, 1).at(11, 55, 0, 0));
    }

    #[test]
    fn an_injection_with_a_date_beats_one_without_and_midnight_is_crossed() {
        let night = civil::date(2026, 3, 1).at(0, 30, 0, 0);
        let early = [(tags::SERIES_TIME, "003000")];
        assert_eq!(elapsed(&object(&early, &[(tags::RADIOPHARMACEUTICAL_START_TIME, "233000")]), night), 3600.0);
        let both =
            [(tags::RADIOPHARMACEUTICAL_START_TIME, "220000"), (tags::RADIOPHARMACEUTICAL_START_DATE_TIME, "20260228234500")];
        assert_eq!(elapsed(&object(&early, &both), night), 2700.0);
        let (scan, _) = scan_of(&object(&early, &[]), &[acquired(night)]);
        assert_eq!(scan.injection, None);
        assert_eq!(scan.scan_start.unwrap().source, "SeriesTime (0008,0031)");
    }

    #[test]
    fn corrections_and_units_are_read() {
        let found = |texts: &[(Tag, &str)]| scan_of(&object(texts, &[]), &[]).0;
        assert_eq!(found(&[(tags::DECAY_CORRECTION, "ADMIN")]).decay_reference, DecayReference::Administration);
        assert_eq!(found(&[(tags::DECAY_CORRECTION, "NONE")]).decay_reference, DecayReference::None);
        assert_eq!(found(&[(tags::UNITS, "GML")]).values, PetValues::UptakeByMass("BW".into()));
        assert_eq!(found(&[(tags::UNITS, "PROPCNTS")]).values, PetValues::Other("PROPCNTS".into()));
        let [suv, bq_per_ml] = [Tag(0x7053, 0x1100), Tag(0x7053, 0x1109)];
        let creators = [(Tag(0x7053, 0x0010), "ANOTHER"), (Tag(0x7053, 0x0011), PHILIPS)];
        let philips = [(tags::UNITS, "CNTS"), creators[0], creators[1], (suv, "0.000551 "), (bq_per_ml, "1.602563")];
        let philips = found(&philips);
        assert_eq!(
            (philips.values, philips.philips_suv, philips.philips_bq_per_ml),
            (PetValues::Counts, Some(0.000551), Some(1.602563))
        );
        assert_eq!(found(&[]).corrections, ["DECY", "ATTN", "SCAT"]);
        assert_eq!(found(&[(tags::PATIENT_WEIGHT, "0")]).weight_kg, None);
    }
}
