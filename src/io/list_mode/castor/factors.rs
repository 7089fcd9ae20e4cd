//! The numbers of an entry, each checked where it is read.

use super::header::{Header, Layout};
use crate::data::LIGHT_MM_PER_PS;
use crate::io::error::EventProblem;
use crate::io::list_mode::records::{f32_at, finite};

/// What corrects the entries of a data file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factors {
    pub(super) layout: Layout,
    calibration: f64,
    duration_secs: f64,
}

impl Factors {
    /// Of a header.
    pub(super) fn new(header: &Header) -> Self {
        Self { layout: header.layout(), calibration: header.calibration, duration_secs: header.duration_secs }
    }

    /// Expected counts per line integral in mm: 1 / (attenuation · normalisation · calibration).
    ///
    /// # Errors
    /// A factor that is none.
    pub(super) fn multiplicative(&self, record: &[u8]) -> Result<f32, EventProblem> {
        let factor = |at: Option<usize>, name: &'static str| match at.map(|at| f32_at(record, at)) {
            None => Ok(1.0),
            Some(factor) if factor > 0.0 && factor.is_finite() => Ok(f64::from(factor)),
            Some(factor) => Err(EventProblem::Factor { name, factor }),
        };
        let layout = &self.layout;
        let product = factor(layout.attenuation, "attenuation")? * factor(layout.normalization, "normalisation")?;
        finite(1.0 / (product * self.calibration), "the inverse of its factors")
    }

    /// Expected counts of a rate at a place, counts per second; 0 where there is none.
    ///
    /// # Errors
    /// A rate that is none.
    pub(super) fn expected(&self, record: &[u8], at: Option<usize>, name: &'static str) -> Result<f64, EventProblem> {
        match at.map(|at| f32_at(record, at)) {
            None => Ok(0.0),
            Some(rate) if rate >= 0.0 && rate.is_finite() => Ok(f64::from(rate) * self.duration_secs),
            Some(rate) => Err(EventProblem::Rate { name, rate }),
        }
    }
}

/// The width in d, mm, of a range of t₁ − t₂, ps.
pub(super) fn width_mm(range_ps: f64) -> f64 {
    0.5 * LIGHT_MM_PER_PS * range_ps
}
