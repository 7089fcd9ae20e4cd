//! Open sinograms.

use super::open_tubes::OpenTubes;
use crate::data::Counts;
use crate::plan::{ScanFiles, SetupProblem, SubsetRule, scanner_of_tubes};
use crate::scanner::Scanner;

/// Open sinograms.
pub struct OpenCounts {
    pub counts: Counts,
    pub total: f64,
    /// Bound on the number of their subsets.
    pub subset_rule: SubsetRule,
    /// Their files; `None` for a simulation.
    pub files: Option<ScanFiles>,
    /// Calibration in the folder of a scan on a server, Bq/mL of 1 count/mm.
    pub calibration_of_server: Option<f64>,
    pub tubes: Option<Box<OpenTubes>>,
}

impl OpenCounts {
    pub fn new(counts: Counts, files: Option<ScanFiles>) -> Self {
        let (total, subset_rule) = (counts.prompts.total(), SubsetRule::of_counts(&counts));
        Self { counts, total, subset_rule, files, calibration_of_server: None, tubes: None }
    }

    /// Returns the scanner whose tubes of response can be simulated for them.
    ///
    /// # Errors
    /// The scanner has no tubes.
    pub fn scanner_of_tubes(&self) -> Result<&'static Scanner, SetupProblem> {
        scanner_of_tubes(self.counts.geometry())
    }
}
