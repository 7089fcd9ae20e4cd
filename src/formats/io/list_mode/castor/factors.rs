//! The numbers of an entry, each checked where it is read.

use super::header::{Header, Layout};
use crate::data::LIGHT_MM_PER_PS;
use crate::io::error::Refusal;
use crate::io::list_mode::castor::problem::CastorProblem;
use crate::io::list_mode::records::{f32_at, finite, rate_at};

/// Corrections of the entries of a data file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factors {
    pub(super) layout: Layout,
    calibration: f64,
    duration_secs: f64,
}

impl Factors {
    /// Returns the corrections of a header.
    pub(super) fn new(header: &Header) -> Self {
        Self { layout: header.layout(), calibration: header.calibration, duration_secs: header.duration_secs }
    }

    /// Returns the expected counts per line integral in mm: 1 / (attenuation · normalisation · calibration).
    ///
    /// # Errors
    /// An invalid factor.
    pub(super) fn multiplicative(&self, record: &[u8]) -> Result<f32, Refusal> {
        let factor = |at: Option<usize>, name: &'static str| match at.map(|at| f32_at(record, at)) {
            None => Ok(1.0),
            Some(factor) if factor > 0.0 && factor.is_finite() => Ok(f64::from(factor)),
            Some(factor) => Err(CastorProblem::Factor(name, factor)),
        };
        let layout = &self.layout;
        let product = factor(layout.attenuation, "attenuation")? * factor(layout.normalization, "normalisation")?;
        finite(1.0 / (product * self.calibration), "the inverse of its factors")
    }

    /// Returns the expected counts of a rate at an offset, counts per second; 0 without one.
    ///
    /// # Errors
    /// An invalid rate.
    pub(super) fn expected(&self, record: &[u8], at: Option<usize>, name: &'static str) -> Result<f64, Refusal> {
        at.map_or(Ok(0.0), |at| Ok(rate_at(record, at, name)? * self.duration_secs))
    }
}

/// Returns the width in d, mm, of a range of t₁ − t₂, ps.
pub(super) fn width_mm(range_ps: f64) -> f64 {
    0.5 * LIGHT_MM_PER_PS * range_ps
}
