//! Provenance of maps of lines in spectra.

use serde::{Deserialize, Serialize};

use crate::data::OxygenCalibration;
use crate::measure::spectrum::Line;

/// Image and fit of a map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinewidthRecord {
    /// Name of the file of the spectra.
    pub image: String,
    /// Shape of the lines.
    pub line: Line,
    /// Limit of the mask, as a fraction of the largest peak-to-peak amplitude.
    pub mask_fraction: f64,
    /// Calibration of the oxygen pressure, if it is mapped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calibration: Option<OxygenCalibration>,
}

impl LinewidthRecord {
    pub(super) fn text(&self) -> String {
        format!("{} lines fitted", self.line.name())
    }
}
