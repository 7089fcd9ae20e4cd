//! Facts of an examination and a scan in the header of raw data.

use jiff::civil::DateTime;

use super::scan::Sex;

/// Start, injection and patient of an examination, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Exam {
    /// Start of the scan.
    pub start: Option<DateTime>,
    /// Moment of the injection.
    pub injection: Option<DateTime>,
    /// Injected activity at that moment, Bq.
    pub dose_bq: Option<f64>,
    /// Name of the tracer.
    pub tracer: Option<String>,
    /// Weight of the patient, kg.
    pub weight_kg: Option<f64>,
    /// Height of the patient, m.
    pub height_m: Option<f64>,
    /// Sex of the patient.
    pub sex: Option<Sex>,
    /// True if the times have an unknown time zone; false if they are UTC.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_local: bool,
}

/// Facts of a scan from the header of its sinograms, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ScanFacts {
    /// Start, injection and tracer.
    pub exam: Exam,
    /// Start of the data after the start of the scan, s.
    pub start_secs: Option<f64>,
    /// Duration of the data, s.
    pub duration_secs: Option<f64>,
    /// Name of the radionuclide.
    pub isotope: Option<String>,
    /// Half-life of the radionuclide, s.
    pub half_life_secs: Option<f64>,
    /// Width of the coincidence window: the range of t₁ − t₂, ps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coincidence_window_ps: Option<f64>,
    /// Share of the data in the time of the whole scan, of a frame; `None` = 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of_scan: Option<f64>,
}
