//! Facts of an examination in the header of list-mode data.

use jiff::civil::DateTime;

use super::scan::Sex;

/// Start, injection and patient of an examination, as far as they are known. Times are UTC.
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
}
