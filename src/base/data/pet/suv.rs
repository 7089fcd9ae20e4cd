//! Standardised uptake values.
//!
//! SUV = c · size / (A · 2^(−Δt/T½)): c the activity concentration in Bq/mL, A the injected activity in Bq, Δt the time from the
//! injection to the moment that the image's decay correction refers to, T½ the half-life. The size of the patient is
//!
//! - the weight in g (SUVbw);
//! - the lean body mass in g: 9270 w / (6680 + 216 b) kg of men, 9270 w / (8780 + 244 b) kg of women, w the weight in kg and b = w/h²
//!   the body mass index (Janmahasatian et al. 2005, Clin Pharmacokinet 44:1051); or 1.10 w − 128 (w/h)² of men, 1.07 w − 148 (w/h)² of
//!   women, h in cm (James 1976; DICOM's LBMJAMES128, its LBM has 120 in place of 128);
//! - the body surface in cm²: 0.007184 w^0.425 h^0.725 m², h in cm (Du Bois & Du Bois 1916);
//! - the ideal weight (in files alone): 48.0 + 1.06 (h − 152) kg of men, 45.5 + 0.91 (h − 152) kg of women, h in cm, their mean of
//!   others (Sugawara et al. 1999, Radiology 213:521).
//!
//! The time Δt is negative where the injection is during the scan: activity and image then are those at the start, by calculation.
//!
//! Sources: QIBA profile FDG-PET/CT (vendor-neutral pseudo-code), DICOM PS3.3 C.8.9.1.

use jiff::civil::DateTime;

use super::nuclide::Nuclide;
use super::plausible;
use crate::coded::coded;
use crate::data::{DecayReference, PetScan, PetValues, Sex, Sourced, Unit};

/// Reason why an image has no uptake values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoSuv {
    /// An image without attenuation correction.
    #[error("the image is not corrected for attenuation (CorrectedImage lacks ATTN)")]
    NotAttenuationCorrected,
    /// An image without decay correction.
    #[error("the image is not corrected for decay (CorrectedImage lacks DECY, or DecayCorrection is NONE)")]
    NotDecayCorrected,
    /// A missing fact: its name, and the attribute that contains it.
    #[error("{0} is missing ({1})")]
    Missing(&'static str, &'static str),
    /// An injected activity that is not that of a patient of this weight, kg.
    #[error("the injected activity of {0} Bq in {1} kg is implausible: {text}", text = dose_text(*.0, *.1))]
    Dose(f64, f64),
    /// A weight, height or half-life that no patient or tracer has.
    #[error("the {0} of {1} is implausible")]
    Implausible(&'static str, String),
    /// A half-life in s that is not that of the nuclide.
    #[error("the half-life of {0} s is not that of {name}, {secs} s", name = .1.name, secs = .1.half_life_secs)]
    HalfLife(f64, &'static Nuclide),
    /// An injection after the scan; its end, if it is known.
    #[error("the injection at {injection} is after the {} at {scan}", if *is_end { "end of the scan" } else { "scan" })]
    InjectionAfterScan {
        /// Moment of the injection.
        injection: DateTime,
        /// End of the scan, or its start if the end is unknown.
        scan: DateTime,
        /// True if it is the end.
        is_end: bool,
    },
    /// An injection too many half-lives before the scan: nothing is left.
    #[error("the injection at {injection} is {elapsed:.0} half-lives of {secs} s before the scan at {scan}{hint}", hint = unit_text(*secs))]
    ManyHalfLives {
        /// Moment of the injection.
        injection: DateTime,
        /// Start of the scan.
        scan: DateTime,
        /// Time between them in half-lives.
        elapsed: f64,
        /// Half-life, s.
        secs: f64,
    },
    /// A long time between injection and scan.
    #[error("the injection at {0} is more than 14 days before the scan at {1}")]
    LongUptake(DateTime, DateTime),
    /// Values in another unit.
    #[error("the values are in '{0}', neither Bq/mL nor an uptake value")]
    Values(String),
    /// Counts of Philips without a factor.
    #[error("the values are counts, and the factors of Philips (7053,1000) and (7053,1009) are 0 or missing")]
    NoFactor,
    /// Uptake values by another size of the patient.
    #[error("the values are already uptake values by another size of the patient ({0})")]
    OtherDefinition(String),
    /// A lean body mass that is not positive.
    #[error("the lean body mass by James is {0:.1} kg; use that by Janmahasatian")]
    LeanMass(f64),
}

coded!(NoSuv = "suv");

/// Size of the patient that an uptake value relates to.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::VariantArray,
    serde::Serialize,
    serde::Deserialize,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum SuvDefinition {
    /// Body weight.
    #[default]
    #[strum(serialize = "suvbw")]
    BodyWeight,
    /// Lean body mass by Janmahasatian.
    #[strum(serialize = "sul")]
    LeanJanmahasatian,
    /// Lean body mass by James.
    #[strum(serialize = "sul-james")]
    LeanJames,
    /// Body surface by Du Bois.
    #[strum(serialize = "suvbsa")]
    BodySurface,
}

impl SuvDefinition {
    fn size(self) -> Size {
        match self {
            SuvDefinition::BodyWeight => Size::Weight,
            SuvDefinition::LeanJanmahasatian => Size::LeanJanmahasatian,
            SuvDefinition::LeanJames => Size::LeanJames,
            SuvDefinition::BodySurface => Size::Surface,
        }
    }

    /// Returns the unit of such values.
    pub fn unit(self) -> Unit {
        match self {
            SuvDefinition::BodyWeight => Unit::SuvBodyWeight,
            SuvDefinition::LeanJanmahasatian => Unit::SuvLeanJanmahasatian,
            SuvDefinition::LeanJames => Unit::SuvLeanJames,
            SuvDefinition::BodySurface => Unit::SuvBodySurface,
        }
    }
}

/// Returns the uptake value of 1 of the image's own values.
///
/// # Errors
/// Missing or implausible facts; an image without the necessary corrections.
pub fn suv_factor(scan: &PetScan, definition: SuvDefinition) -> Result<f64, NoSuv> {
    let has = |code: &str| scan.corrections.iter().any(|correction| correction == code);
    if !has("ATTN") {
        return Err(NoSuv::NotAttenuationCorrected);
    }
    if scan.decay_reference == DecayReference::None || !has("DECY") {
        return Err(NoSuv::NotDecayCorrected);
    }
    let wanted = definition.size();
    // Ratio of the sizes, where the values relate to one of them already.
    let relative_to = |own: Size| if own == wanted { Ok(1.0) } else { Ok(size(scan, wanted)? / size(scan, own)?) };
    match &scan.values {
        PetValues::BqPerMl => from_activity(scan, wanted),
        PetValues::Counts => match (positive(scan.philips_suv), positive(scan.philips_bq_per_ml)) {
            (Some(factor), _) => Ok(factor * relative_to(Size::Weight)?),
            (None, Some(bq_per_ml)) => Ok(bq_per_ml * from_activity(scan, wanted)?),
            (None, None) => Err(NoSuv::NoFactor),
        },
        PetValues::UptakeByMass(mass) => relative_to(Size::of_mass(mass).ok_or_else(|| NoSuv::OtherDefinition(mass.clone()))?),
        PetValues::UptakeBySurface => relative_to(Size::Surface),
        PetValues::Other(unit) => Err(NoSuv::Values(unit.clone())),
    }
}

/// Size of a patient, also those of files alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Weight,
    LeanJanmahasatian,
    /// By James, with the factor 128 of men.
    LeanJames,
    /// By James, with the factor 120 of men.
    LeanJames120,
    IdealWeight,
    Surface,
}

impl Size {
    /// Returns the mass of a value of DICOM's SUVType (0054,1006).
    fn of_mass(code: &str) -> Option<Self> {
        match code {
            "BW" => Some(Size::Weight),
            "LBMJANMA" => Some(Size::LeanJanmahasatian),
            "LBMJAMES128" => Some(Size::LeanJames),
            "LBM" => Some(Size::LeanJames120),
            "IBW" => Some(Size::IdealWeight),
            _ => None,
        }
    }
}

/// Returns the range of an activity, and the unit that it may be in.
fn dose_text(bq: f64, weight_kg: f64) -> String {
    let range = plausible::dose_mbq_per_kg(weight_kg);
    let per_kg = bq / weight_kg * 1e-6;
    let units = [("in MBq", 1e6), ("in kBq", 1e3), ("in Bq in place of MBq", 1e-6)];
    let unit = units.into_iter().find(|(_, factor)| range.contains(&(factor * per_kg)));
    let hint = unit.map(|(unit, _)| format!(" ({unit} by mistake?)")).unwrap_or_default();
    format!("{per_kg:.3e} MBq/kg, expected {} to {}{hint}", range.start(), range.end())
}

/// Returns the unit that a half-life may be in.
fn unit_text(half_life: f64) -> String {
    let unit = plausible::wrong_unit(half_life);
    unit.map(|(nuclide, unit)| format!(" (is it {half_life} {unit} of {}?)", nuclide.name)).unwrap_or_default()
}

fn positive(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0)
}

/// Returns the uptake value of 1 Bq/mL.
fn from_activity(scan: &PetScan, wanted: Size) -> Result<f64, NoSuv> {
    Ok(size(scan, wanted)? / activity_bq(scan)?)
}

/// Returns the injected activity at the moment of the decay correction, Bq.
pub fn activity_bq(scan: &PetScan) -> Result<f64, NoSuv> {
    let dose = given(&scan.dose_bq, "the injected activity", "RadionuclideTotalDose (0018,1074)")?;
    let weight = weight_kg(scan)?;
    if !plausible::dose_mbq_per_kg(weight).contains(&(1e-6 * dose / weight)) {
        return Err(NoSuv::Dose(dose, weight));
    }
    if scan.decay_reference == DecayReference::Administration {
        return Ok(dose);
    }
    let half_life = given(&scan.half_life_secs, "the half-life", "RadionuclideHalfLife (0018,1075)")?;
    check_half_life(half_life, scan.nuclide.as_deref())?;
    let injection = given(&scan.injection, "the time of the injection", "RadiopharmaceuticalStartDateTime (0018,1078)")?;
    let start = given(&scan.scan_start, "the time of the scan", "SeriesTime (0008,0031)")?;
    let end = scan.scan_end.unwrap_or(start);
    if injection > end {
        return Err(NoSuv::InjectionAfterScan { injection, scan: end, is_end: scan.scan_end.is_some() });
    }
    let secs = start.duration_since(injection).as_secs_f64();
    let elapsed = secs / half_life;
    if secs > plausible::MAX_UPTAKE_SECS {
        return Err(NoSuv::LongUptake(injection, start));
    }
    if elapsed.abs() > plausible::MAX_HALF_LIVES {
        return Err(NoSuv::ManyHalfLives { injection, scan: start, elapsed, secs: half_life });
    }
    Ok(dose * (-elapsed).exp2())
}

/// Refuses a half-life in s that no tracer has, or not the one of this nuclide.
///
/// # Errors
/// [`NoSuv::HalfLife`], [`NoSuv::Implausible`].
pub fn check_half_life(secs: f64, nuclide: Option<&str>) -> Result<(), NoSuv> {
    match nuclide.and_then(Nuclide::find) {
        Some(nuclide) if plausible::has_half_life(nuclide, secs) => Ok(()),
        Some(nuclide) => Err(NoSuv::HalfLife(secs, nuclide)),
        None if plausible::HALF_LIFE_SECS.contains(&secs) && plausible::wrong_unit(secs).is_none() => Ok(()),
        None => Err(NoSuv::Implausible("half-life", format!("{secs} s{}", unit_text(secs)))),
    }
}

fn weight_kg(scan: &PetScan) -> Result<f64, NoSuv> {
    let weight = given(&scan.weight_kg, "the patient's weight", "PatientWeight (0010,1030)")?;
    let is_plausible = plausible::WEIGHT_KG.contains(&weight);
    is_plausible.then_some(weight).ok_or_else(|| NoSuv::Implausible("weight", format!("{weight} kg")))
}

fn given<T: Copy>(fact: &Option<Sourced<T>>, name: &'static str, attribute: &'static str) -> Result<T, NoSuv> {
    fact.as_ref().map(|fact| fact.value).ok_or(NoSuv::Missing(name, attribute))
}

/// Returns the size of the patient: g, or cm² of the surface.
fn size(scan: &PetScan, size: Size) -> Result<f64, NoSuv> {
    let weight_kg = weight_kg(scan)?;
    let height_m = || {
        let height_m = given(&scan.height_m, "the patient's height", "PatientSize (0010,1020)")?;
        let is_plausible = plausible::HEIGHT_M.contains(&height_m);
        is_plausible.then_some(height_m).ok_or_else(|| NoSuv::Implausible("height", format!("{height_m} m")))
    };
    // Lean mass has no definition for others than men and women.
    let sex = || match given(&scan.sex, "the patient's sex", "PatientSex (0010,0040)")? {
        Sex::Other => Err(NoSuv::Missing("the patient's sex, male or female,", "PatientSex (0010,0040)")),
        sex => Ok(sex),
    };
    match size {
        Size::Weight => Ok(1e3 * weight_kg),
        Size::LeanJanmahasatian => {
            let mass_index = weight_kg / height_m()?.powi(2);
            let [constant, slope] = if sex()? == Sex::Male { [6680.0, 216.0] } else { [8780.0, 244.0] };
            Ok(1e3 * 9270.0 * weight_kg / (constant + slope * mass_index))
        }
        Size::LeanJames | Size::LeanJames120 => {
            let squared = (weight_kg / (100.0 * height_m()?)).powi(2);
            let of_men = if size == Size::LeanJames { 128.0 } else { 120.0 };
            let lean_kg = match sex()? {
                Sex::Male => 1.10 * weight_kg - of_men * squared,
                _ => 1.07 * weight_kg - 148.0 * squared,
            };
            if lean_kg > 0.0 { Ok(1e3 * lean_kg) } else { Err(NoSuv::LeanMass(lean_kg)) }
        }
        Size::IdealWeight => {
            let above = 100.0 * height_m()? - 152.0;
            let [man, woman] = [48.0 + 1.06 * above, 45.5 + 0.91 * above];
            Ok(1e3
                * match given(&scan.sex, "the patient's sex", "PatientSex (0010,0040)")? {
                    Sex::Male => man,
                    Sex::Female => woman,
                    Sex::Other => 0.5 * (man + woman),
                })
        }
        Size::Surface => Ok(1e4 * 0.007184 * weight_kg.powf(0.425) * (100.0 * height_m()?).powf(0.725)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    /// 370 MBq of F-18 an hour before the scan of a man of 70 kg.
    fn scan() -> PetScan {
        let from = |value: f64| Some(Sourced::new(value, "test"));
        PetScan {
            values: PetValues::BqPerMl,
            corrections: ["DECY", "ATTN"].map(str::to_owned).into(),
            decay_reference: DecayReference::Start,
            scan_start: Some(Sourced::new(date(2026, 3, 1).at(0, 20, 0, 0), "test")),
            scan_end: None,
            injection: Some(Sourced::new(date(2026, 2, 28).at(23, 20, 0, 0), "test")),
            dose_bq: from(370e6),
            half_life_secs: from(6586.2),
            tracer: None,
            nuclide: None,
            weight_kg: from(70.0),
            height_m: from(1.75),
            sex: Some(Sourced::new(Sex::Male, "test")),
            philips_suv: None,
            philips_bq_per_ml: None,
        }
    }

    fn value(scan: &PetScan, definition: SuvDefinition) -> f64 {
        suv_factor(scan, definition).unwrap() * 5000.0
    }

    fn assert_is(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-8, "{found} is not {expected}");
    }

    #[test]
    fn the_formula_gives_the_published_value_across_midnight() {
        // 5000 · 70000 / (370e6 · 2^(−3600/6586.2)).
        assert_is(value(&scan(), SuvDefinition::BodyWeight), 1.38168341);
        let longer = PetScan { half_life_secs: Some(Sourced::new(6588.0, "test")), ..scan() };
        assert_is(value(&longer, SuvDefinition::BodyWeight), 1.38154039);
        // Corrected to the administration: 5000 · 70000 / 370e6.
        let administered = PetScan { decay_reference: DecayReference::Administration, ..scan() };
        assert_is(value(&administered, SuvDefinition::BodyWeight), 0.945_945_945_945_9);
    }

    #[test]
    fn other_sizes_replace_the_weight() {
        let by_weight = value(&scan(), SuvDefinition::BodyWeight);
        // Body mass index 22.857142857: 9270 · 70 / (6680 + 4937.142857) = 55.85693 kg of a man, 648900 / 14357.142857 of a woman.
        assert_is(value(&scan(), SuvDefinition::LeanJanmahasatian), by_weight * 648_900.0 / 11_617.142_857_142_857 / 70.0);
        let woman = PetScan { sex: Some(Sourced::new(Sex::Female, "test")), ..scan() };
        assert_is(value(&woman, SuvDefinition::LeanJanmahasatian), by_weight * 648_900.0 / 14_357.142_857_142_857 / 70.0);
        // (70/175)² = 0.16: 77 − 20.48 and 74.9 − 23.68 kg.
        assert_is(value(&scan(), SuvDefinition::LeanJames), by_weight * 56.52 / 70.0);
        assert_is(value(&woman, SuvDefinition::LeanJames), by_weight * 51.22 / 70.0);
        // 0.007184 · 70^0.425 · 175^0.725 = 1.848064 m².
        let surface = 0.007184 * (0.425 * 70f64.ln() + 0.725 * 175f64.ln()).exp();
        assert!((surface - 1.848).abs() < 1e-3, "{surface}");
        assert_is(value(&scan(), SuvDefinition::BodySurface), by_weight * surface * 1e4 / 70e3);
    }

    #[test]
    fn philips_counts_have_the_factor_or_the_activity() {
        let counts = PetScan { values: PetValues::Counts, philips_bq_per_ml: Some(2.0), ..scan() };
        assert_is(value(&counts, SuvDefinition::BodyWeight), 2.0 * 1.38168341);
        let with_factor = PetScan { philips_suv: Some(0.000551), ..counts.clone() };
        assert_is(value(&with_factor, SuvDefinition::BodyWeight), 5000.0 * 0.000551);
        assert_is(value(&with_factor, SuvDefinition::LeanJames), 5000.0 * 0.000551 * 56.52 / 70.0);
        for nothing in [None, Some(0.0), Some(f64::NAN)] {
            let none = PetScan { philips_suv: nothing, philips_bq_per_ml: nothing, ..counts.clone() };
            assert_eq!(suv_factor(&none, SuvDefinition::BodyWeight), Err(NoSuv::NoFactor));
        }
    }

    #[test]
    fn uptake_values_stay_as_they_are() {
        let by_mass = |mass: &str| PetScan { values: PetValues::UptakeByMass(mass.into()), ..scan() };
        let factor = |mass: &str, definition| suv_factor(&by_mass(mass), definition).unwrap();
        assert_eq!(factor("BW", SuvDefinition::BodyWeight), 1.0);
        assert_is(factor("BW", SuvDefinition::LeanJames), 56.52 / 70.0);
        assert_eq!(factor("LBMJAMES128", SuvDefinition::LeanJames), 1.0);
        assert_is(factor("LBMJAMES128", SuvDefinition::BodyWeight), 70.0 / 56.52);
        // James with 120: 77 − 19.2 kg.
        assert_is(factor("LBM", SuvDefinition::BodyWeight), 70.0 / 57.8);
        // Ideal weights at 1.75 m: 72.38 kg of a man, 66.43 kg of a woman, 69.405 kg of others.
        for (sex, kg) in [(Sex::Male, 72.38), (Sex::Female, 66.43), (Sex::Other, 69.405)] {
            let scan = PetScan { sex: Some(Sourced::new(sex, "test")), ..by_mass("IBW") };
            assert_is(suv_factor(&scan, SuvDefinition::BodyWeight).unwrap(), 70.0 / kg);
        }
        let by_surface = PetScan { values: PetValues::UptakeBySurface, ..scan() };
        let surface = 0.007184 * (0.425 * 70f64.ln() + 0.725 * 175f64.ln()).exp();
        assert_is(suv_factor(&by_surface, SuvDefinition::BodyWeight).unwrap(), 70e3 / (1e4 * surface));
        assert_eq!(suv_factor(&by_mass("X"), SuvDefinition::BodyWeight), Err(NoSuv::OtherDefinition("X".into())));
    }

    #[test]
    fn the_tracer_may_be_injected_during_the_scan() {
        // A dynamic scan from 00:20, injected 10 s later: 5000 · 70000 / (370e6 · 2^(10/6586.2)).
        let at = |second| date(2026, 3, 1).at(0, 20, second, 0);
        let dynamic = PetScan { scan_end: Some(at(50)), injection: Some(Sourced::new(at(10), "test")), ..scan() };
        assert_is(value(&dynamic, SuvDefinition::BodyWeight), 0.944_950_933_86);
        let late = PetScan { injection: Some(Sourced::new(at(51), "test")), ..dynamic.clone() };
        assert!(suv_factor(&late, SuvDefinition::BodyWeight).unwrap_err().to_string().contains("after the end of the scan"));
        let unknown_end = PetScan { scan_end: None, ..dynamic };
        assert!(suv_factor(&unknown_end, SuvDefinition::BodyWeight).is_err());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_range() {
        let text = |scan: &PetScan| suv_factor(scan, SuvDefinition::BodyWeight).unwrap_err().to_string();
        let dose = |bq: f64| PetScan { dose_bq: Some(Sourced::new(bq, "test")), ..scan() };
        assert!(text(&dose(370e3)).contains("expected 0.1 to 50 (in kBq by mistake?)"), "{}", text(&dose(370e3)));
        assert!(text(&dose(370.0)).contains("in MBq by mistake?"));
        assert!(text(&dose(370e12)).contains("in Bq in place of MBq"));
        let half_life = |secs: f64| PetScan { half_life_secs: Some(Sourced::new(secs, "test")), ..scan() };
        assert!(text(&half_life(109.77)).contains("is it 109.77 minutes of F-18?"), "{}", text(&half_life(109.77)));
        let carbon = PetScan { nuclide: Some("^18^Fluorine".into()), ..half_life(1223.4) };
        assert!(text(&carbon).contains("is not that of F-18"));
        let oxygen = half_life(122.24);
        assert!(text(&oxygen).contains("29 half-lives"), "{}", text(&oxygen));
        // A mouse.
        let mouse = PetScan { weight_kg: Some(Sourced::new(0.02, "test")), ..dose(10e6) };
        assert!(suv_factor(&mouse, SuvDefinition::BodyWeight).is_ok());
    }

    #[test]
    fn missing_and_implausible_facts_are_named() {
        let cases: [(PetScan, &str); 11] = [
            (PetScan { corrections: vec!["DECY".into()], ..scan() }, "NotAttenuationCorrected"),
            (PetScan { corrections: vec!["ATTN".into()], ..scan() }, "NotDecayCorrected"),
            (PetScan { decay_reference: DecayReference::None, ..scan() }, "NotDecayCorrected"),
            (PetScan { dose_bq: None, ..scan() }, "Missing"),
            (PetScan { dose_bq: Some(Sourced::new(370.0, "test")), ..scan() }, "Dose"),
            (PetScan { weight_kg: None, ..scan() }, "Missing"),
            (PetScan { weight_kg: Some(Sourced::new(0.0, "test")), ..scan() }, "Implausible"),
            (PetScan { half_life_secs: None, ..scan() }, "Missing"),
            (PetScan { injection: scan().scan_start, scan_start: scan().injection, ..scan() }, "InjectionAfterScan"),
            (PetScan { injection: None, ..scan() }, "Missing"),
            (PetScan { values: PetValues::Other("PROPCNTS".into()), ..scan() }, "Values"),
        ];
        for (scan, expected) in cases {
            let problem = suv_factor(&scan, SuvDefinition::BodyWeight).unwrap_err();
            assert!(format!("{problem:?}").starts_with(expected), "{problem:?}");
        }
        let no_height = PetScan { height_m: None, ..scan() };
        let problem = suv_factor(&no_height, SuvDefinition::LeanJanmahasatian).unwrap_err();
        assert!(problem.to_string().contains("PatientSize"), "{problem}");
        assert!(suv_factor(&no_height, SuvDefinition::BodyWeight).is_ok());
    }
}
