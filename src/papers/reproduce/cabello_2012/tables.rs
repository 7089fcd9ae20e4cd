//! Stored measurements of the tables and figures.

pub mod images;
pub mod mouse;
pub mod times;

use super::Context;
use super::implementation::Implementation;
use super::measure::{Run, Sample};
use super::plan::Scan;
use super::stages::Work;
use crate::data::BasisKind;
use crate::reproduce::ReproduceError;

impl Context {
    /// Returns a measured reconstruction with some functions.
    pub fn run_with(&self, kind: BasisKind, scan: Scan, one: Implementation) -> Result<Option<Run>, ReproduceError> {
        self.load_offered(&Work::Image(kind, scan, one))
    }

    /// Returns the reconstructions of a scan with blobs, the reference first; none where it is missing.
    pub fn runs(&self, scan: Scan) -> Result<Vec<(Implementation, Run)>, ReproduceError> {
        let mut runs = Vec::new();
        for implementation in Implementation::of_images(scan, self.device) {
            runs.extend(self.run_with(BasisKind::Blobs, scan, implementation)?.map(|run| (implementation, run)));
        }
        let has_reference = runs.first().is_some_and(|(one, _)| *one == Implementation::reference(self.device));
        Ok(if has_reference { runs } else { Vec::new() })
    }
}

impl Run {
    /// Returns the measurements after an iteration.
    pub fn at(&self, iteration: usize) -> Option<&Sample> {
        self.samples.iter().find(|sample| sample.iteration == iteration)
    }

    pub fn last_up_to(&self, iteration: usize) -> Option<&Sample> {
        self.samples.iter().rfind(|sample| sample.iteration <= iteration)
    }
}

/// Returns the difference of a number from another, %.
pub fn percent_off(number: Option<f64>, from: Option<f64>) -> Option<f64> {
    let (number, from) = number.zip(from)?;
    (from != 0.0).then(|| 100.0 * (number / from - 1.0))
}
