//! Facts of a PET scan that standardised uptake values need, each with its source.

use jiff::civil::DateTime;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Sex {
    /// Female.
    Female,
    /// Male.
    Male,
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
    pub scan_start: Option<Sourced<DateTime>>,
    /// Moment of the injection.
    pub injection: Option<Sourced<DateTime>>,
    /// Injected activity at that moment, Bq.
    pub dose_bq: Option<Sourced<f64>>,
    /// Half-life of the nuclide, s.
    pub half_life_secs: Option<Sourced<f64>>,
    /// Name of the tracer or of the nuclide.
    pub tracer: Option<String>,
    /// Weight of the patient, kg.
    pub weight_kg: Option<Sourced<f64>>,
    /// Height of the patient, m.
    pub height_m: Option<Sourced<f64>>,
    /// Sex of the patient.
    pub sex: Option<Sourced<Sex>>,
    /// Philips' uptake value by body weight of one count.
    pub philips_suv: Option<f64>,
    /// Philips' activity concentration of one count, Bq/mL.
    pub philips_bq_per_ml: Option<f64>,
}
