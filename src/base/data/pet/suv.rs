//! Standardised uptake values.
//!
//! SUV = c · size / (A · 2^(−Δt/T½)): c the activity concentration in Bq/mL, A the injected activity in Bq, Δt the time from the
//! injection to the moment that the image's decay correction refers to, T½ the half-life. The size of the patient is
//!
//! - the weight in g (SUVbw);
//! - the lean body mass in g: 9270 w / (6680 + 216 b) kg of men, 9270 w / (8780 + 244 b) kg of women, w the weight in kg and b = w/h²
//!   the body mass index (Janmahasatian et al. 2005, Clin Pharmacokinet 44:1051); or 1.10 w − 128 (w/h)² of men, 1.07 w − 148 (w/h)² of
//!   women, h in cm (James 1976);
//! - the body surface in cm²: 0.007184 w^0.425 h^0.725 m², h in cm (Du Bois & Du Bois 1916).
//!
//! Sources: QIBA profile FDG-PET/CT (vendor-neutral pseudo-code), DICOM PS3.3 C.8.9.1.

use jiff::civil::DateTime;

use crate::coded::coded;
use crate::data::{DecayReference, PetScan, PetValues, Sex, Sourced, Unit};

/// Smallest injected activity that is plausible, Bq. Smaller numbers are in MBq by mistake.
const MIN_DOSE_BQ: f64 = 1e5;

/// Longest plausible time from injection to scan, s.
const MAX_UPTAKE_SECS: f64 = 14.0 * 86400.0;

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
    /// An injected activity that is too small.
    #[error("the injected activity of {0} Bq is implausible (in MBq by mistake?)")]
    Dose(f64),
    /// A weight, height or half-life that no patient or tracer has.
    #[error("the {0} of {1} is implausible")]
    Implausible(&'static str, String),
    /// An injection after the scan.
    #[error("the injection at {0} is after the scan at {1}")]
    InjectionAfterScan(DateTime, DateTime),
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
    // Ratio of the sizes, where the values relate to one of them already.
    let relative_to_weight = || match definition {
        SuvDefinition::BodyWeight => Ok(1.0),
        _ => Ok(size(scan, definition)? / size(scan, SuvDefinition::BodyWeight)?),
    };
    match &scan.values {
        PetValues::BqPerMl => from_activity(scan, definition),
        PetValues::Counts => match (positive(scan.philips_suv), positive(scan.philips_bq_per_ml)) {
            (Some(factor), _) => Ok(factor * relative_to_weight()?),
            (None, Some(bq_per_ml)) => Ok(bq_per_ml * from_activity(scan, definition)?),
            (None, None) => Err(NoSuv::NoFactor),
        },
        PetValues::UptakeByMass(mass) => match (mass.as_str(), definition) {
            ("BW", _) => relative_to_weight(),
            ("LBMJANMA", SuvDefinition::LeanJanmahasatian) | ("LBM" | "LBMJAMES128", SuvDefinition::LeanJames) => Ok(1.0),
            _ => Err(NoSuv::OtherDefinition(mass.clone())),
        },
        PetValues::UptakeBySurface if definition == SuvDefinition::BodySurface => Ok(1.0),
        PetValues::UptakeBySurface => Err(NoSuv::OtherDefinition("BSA".to_owned())),
        PetValues::Other(unit) => Err(NoSuv::Values(unit.clone())),
    }
}

fn positive(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0)
}

/// Returns the uptake value of 1 Bq/mL.
fn from_activity(scan: &PetScan, definition: SuvDefinition) -> Result<f64, NoSuv> {
    Ok(size(scan, definition)? / activity_bq(scan)?)
}

/// Returns the injected activity at the moment of the decay correction, Bq.
pub fn activity_bq(scan: &PetScan) -> Result<f64, NoSuv> {
    let dose = given(&scan.dose_bq, "the injected activity", "RadionuclideTotalDose (0018,1074)")?;
    if !(dose >= MIN_DOSE_BQ && dose.is_finite()) {
        return Err(NoSuv::Dose(dose));
    }
    if scan.decay_reference == DecayReference::Administration {
        return Ok(dose);
    }
    let half_life = given(&scan.half_life_secs, "the half-life", "RadionuclideHalfLife (0018,1075)")?;
    if !(half_life.is_finite() && half_life > 0.0) {
        return Err(NoSuv::Implausible("half-life", format!("{half_life} s")));
    }
    let injection = given(&scan.injection, "the time of the injection", "RadiopharmaceuticalStartDateTime (0018,1078)")?;
    let start = given(&scan.scan_start, "the time of the scan", "SeriesTime (0008,0031)")?;
    let elapsed = start.duration_since(injection).as_secs_f64();
    match elapsed {
        ..0.0 => Err(NoSuv::InjectionAfterScan(injection, start)),
        MAX_UPTAKE_SECS.. => Err(NoSuv::LongUptake(injection, start)),
        _ => Ok(dose * (-elapsed / half_life).exp2()),
    }
}

fn given<T: Copy>(fact: &Option<Sourced<T>>, name: &'static str, attribute: &'static str) -> Result<T, NoSuv> {
    fact.as_ref().map(|fact| fact.value).ok_or(NoSuv::Missing(name, attribute))
}

/// Returns the size of the patient: g, or cm² of the surface.
fn size(scan: &PetScan, definition: SuvDefinition) -> Result<f64, NoSuv> {
    let weight_kg = given(&scan.weight_kg, "the patient's weight", "PatientWeight (0010,1030)")?;
    if !(0.1..=1000.0).contains(&weight_kg) {
        return Err(NoSuv::Implausible("weight", format!("{weight_kg} kg")));
    }
    let height_m = || {
        let height_m = given(&scan.height_m, "the patient's height", "PatientSize (0010,1020)")?;
        let is_plausible = (0.2..=2.8).contains(&height_m);
        is_plausible.then_some(height_m).ok_or_else(|| NoSuv::Implausible("height", format!("{height_m} m")))
    };
    let sex = || given(&scan.sex, "the patient's sex", "PatientSex (0010,0040)");
    match definition {
        SuvDefinition::BodyWeight => Ok(1e3 * weight_kg),
        SuvDefinition::LeanJanmahasatian => {
            let mass_index = weight_kg / height_m()?.powi(2);
            let [constant, slope] = match sex()? {
                Sex::Male => [6680.0, 216.0],
                Sex::Female => [8780.0, 244.0],
            };
            Ok(1e3 * 9270.0 * weight_kg / (constant + slope * mass_index))
        }
        SuvDefinition::LeanJames => {
            let squared = (weight_kg / (100.0 * height_m()?)).powi(2);
            let lean_kg = match sex()? {
                Sex::Male => 1.10 * weight_kg - 128.0 * squared,
                Sex::Female => 1.07 * weight_kg - 148.0 * squared,
            };
            if lean_kg > 0.0 { Ok(1e3 * lean_kg) } else { Err(NoSuv::LeanMass(lean_kg)) }
        }
        SuvDefinition::BodySurface => Ok(1e4 * 0.007184 * weight_kg.powf(0.425) * (100.0 * height_m()?).powf(0.725)),
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
        assert_eq!(suv_factor(&by_mass("BW"), SuvDefinition::BodyWeight), Ok(1.0));
        assert_is(suv_factor(&by_mass("BW"), SuvDefinition::LeanJames).unwrap(), 56.52 / 70.0);
        assert_eq!(suv_factor(&by_mass("LBM"), SuvDefinition::LeanJames), Ok(1.0));
        assert_eq!(suv_factor(&by_mass("LBM"), SuvDefinition::BodyWeight), Err(NoSuv::OtherDefinition("LBM".into())));
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
