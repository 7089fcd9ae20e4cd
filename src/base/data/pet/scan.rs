//! Facts of a PET scan that standardised uptake values need, each with its source.

use jiff::civil::DateTime;

use super::decay::mean_decay;
use super::nuclide::Nuclide;
use crate::data::volume::Unit;

/// A fact and its source.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its source: an attribute of the file, or the user.
    pub source: String,
}

impl<T> Sourced<T> {
    /// Returns a fact with its source.
    pub fn new(value: T, source: impl Into<String>) -> Self {
        Self { value, source: source.into() }
    }
}

/// Sex of a patient, for the lean mass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, serde::Serialize, serde::Deserialize)]
pub enum Sex {
    /// Female.
    Female,
    /// Male.
    Male,
    /// Another one.
    Other,
}

/// Moment to which the values of a PET image are corrected for decay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum DecayReference {
    /// The start of the scan.
    Start,
    /// The administration of the tracer.
    Administration,
    /// None: the values are not corrected for decay.
    #[default]
    None,
}

/// Values of the pixels of a PET image, after slope and intercept (DICOM's Units).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum PetValues {
    /// Activity concentration, Bq/mL.
    BqPerMl,
    /// Counts, to which factors of Philips may apply.
    Counts,
    /// Uptake values by a mass, g/mL, by DICOM's name of it (BW, LBM, LBMJAMES128, LBMJANMA, IBW); BW without one.
    UptakeByMass(String),
    /// Uptake values by the surface of the body, cm²/mL.
    UptakeBySurface,
    /// Another unit, by its code.
    Other(String),
}

impl PetValues {
    /// Returns the values of an image in this unit; `None` of one that DICOM's Units do not have.
    pub fn of_unit(unit: Unit) -> Option<Self> {
        let by_mass = |mass: &str| Some(PetValues::UptakeByMass(mass.to_owned()));
        match unit {
            Unit::BqPerMl => Some(PetValues::BqPerMl),
            Unit::CountsPerMm => Some(PetValues::Counts),
            Unit::DecaysPerMm3 => Some(PetValues::Other("PROPCNTS".to_owned())),
            Unit::SuvBodyWeight => by_mass("BW"),
            Unit::SuvLeanJanmahasatian => by_mass("LBMJANMA"),
            Unit::SuvLeanJames => by_mass("LBMJAMES128"),
            Unit::SuvBodySurface => Some(PetValues::UptakeBySurface),
            _ => None,
        }
    }
}

/// Facts of a PET scan.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PetScan {
    /// Values of its image.
    pub values: PetValues,
    /// Codes of the corrections that the image contains: ATTN, DECY, …
    pub corrections: Vec<String>,
    /// Moment of the correction for decay.
    pub decay_reference: DecayReference,
    /// Moment to which decay is corrected with [`DecayReference::Start`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scan_start: Option<Sourced<DateTime>>,
    /// End of the last acquisition of the scan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scan_end: Option<DateTime>,
    /// Moment of the injection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub injection: Option<Sourced<DateTime>>,
    /// Injected activity at that moment, Bq.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dose_bq: Option<Sourced<f64>>,
    /// Half-life of the nuclide, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub half_life_secs: Option<Sourced<f64>>,
    /// Name of the tracer or of the nuclide.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tracer: Option<String>,
    /// Name of the nuclide: "F-18", or its meaning in DICOM.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nuclide: Option<String>,
    /// Weight of the patient, kg.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weight_kg: Option<Sourced<f64>>,
    /// Height of the patient, m.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub height_m: Option<Sourced<f64>>,
    /// Sex of the patient.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sex: Option<Sourced<Sex>>,
    /// Philips' uptake value by body weight of one count.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub philips_suv: Option<f64>,
    /// Philips' activity concentration of one count, Bq/mL.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub philips_bq_per_ml: Option<f64>,
}

impl PetScan {
    /// Returns a scan without facts, of an image with these values and corrections.
    pub fn new(values: PetValues, corrections: Vec<String>) -> Self {
        Self {
            values,
            corrections,
            decay_reference: DecayReference::None,
            scan_start: None,
            scan_end: None,
            injection: None,
            dose_bq: None,
            half_life_secs: None,
            tracer: None,
            nuclide: None,
            weight_kg: None,
            height_m: None,
            sex: None,
            philips_suv: None,
            philips_bq_per_ml: None,
        }
    }
}

impl PetScan {
    /// Returns the factor of the correction for decay to the start of the scan: exp(λt) · λd / (1 − exp(−λd)), λ = ln 2 / half-life,
    /// of a frame of the duration d that begins t after the scan. `None` of another correction, and without half-life, start or
    /// duration.
    pub fn decay_factor(&self, acquired: Option<DateTime>, duration_secs: Option<f64>) -> Option<f64> {
        let half_life = self.half_life_secs.as_ref()?.value;
        let start_secs = acquired?.duration_since(self.scan_start.as_ref()?.value).as_secs_f64();
        let is_known = self.decay_reference == DecayReference::Start && half_life > 0.0 && start_secs >= 0.0;
        let factor = 1.0 / mean_decay(half_life, [start_secs, start_secs + duration_secs?]);
        Some(factor).filter(|factor| is_known && factor.is_finite())
    }

    /// Returns the scan with its times moved such that it begins at a given moment, and without free text. Times between injection and
    /// scan stay the same; without a known start no time is left.
    pub fn anonymised(mut self, begin: DateTime) -> Self {
        let shift = self.scan_start.as_ref().map(|start| begin.duration_since(start.value));
        let moved = |fact: Sourced<DateTime>| {
            let value = fact.value.checked_add(shift?).ok()?;
            Some(Sourced { value, source: fact.source })
        };
        self.scan_start = self.scan_start.and_then(moved);
        self.scan_end = self.scan_end.and_then(|end| end.checked_add(shift?).ok());
        self.injection = self.injection.and_then(moved);
        self.tracer = None;
        self.nuclide = self.nuclide.as_deref().and_then(Nuclide::find).map(|nuclide| nuclide.name.to_owned());
        self
    }
}

/// A PET image: its scan, its frame, its correction for decay.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PetImage {
    /// Facts of the scan.
    pub scan: PetScan,
    /// Start of the frame after that of the scan, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_secs: Option<f64>,
    /// Duration of the frame, s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duration_secs: Option<f64>,
    /// Factor of the correction for decay: one for all slices, or one for each along z; empty = none or unknown.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub decay_factors: Vec<f64>,
}

impl PetImage {
    /// Returns the names of the facts that are missing for the factor of the correction for decay to the start of the scan.
    pub fn missing_for_decay(&self) -> Vec<&'static str> {
        let facts = [
            ("half-life", self.scan.half_life_secs.is_some()),
            ("start of the frame", self.start_secs.is_some_and(|secs| secs >= 0.0)),
            ("duration of the frame", self.duration_secs.is_some()),
        ];
        facts.into_iter().filter(|(_, is_known)| !is_known).map(|(name, _)| name).collect()
    }

    /// Returns the factor of the correction for decay of a slice.
    pub fn decay_factor(&self, slice: usize) -> Option<f64> {
        match self.decay_factors[..] {
            [one] => Some(one),
            ref several => several.get(slice).copied(),
        }
    }
}
