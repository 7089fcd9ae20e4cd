//! Provenance of maps of pulse oximetry.

use serde::{Deserialize, Serialize};

use super::algorithm::ExplainedRecord;
use crate::data::{OxygenCalibration, RelaxationRate};
use crate::measure::oximetry::{ChiSquare, NoiseTrend};

/// Images and calibration of a map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OximetryRecord {
    /// Names of the image files, or of the acquisitions, in the order of the times.
    pub images: Vec<String>,
    /// Delays after the inversion (R1) or echo times (R2), µs.
    pub times_us: Vec<f64>,
    /// Calibration of the oxygen pressure.
    pub calibration: OxygenCalibration,
    /// Limit of the mask, as a fraction of the largest value of the image with the most signal.
    pub mask_fraction: f64,
    /// True if values were magnitudes, whose signs are those of the best fit.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_magnitude: bool,
    /// Iterations of each acquisition's reconstruction; empty of images and of filtered backprojection.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub iterations: Vec<usize>,
    /// Part of the samples of each acquisition that its image explains, where it is known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub explained: Vec<ExplainedRecord>,
    /// Draws of the noise between which the standard deviation of each voxel is; `None` = it is from the residuals of the fits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub draws: Option<usize>,
    /// Residuals of the fits against the noise of the background, of images by filtered backprojection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chi_square: Option<ChiSquare>,
    /// Change of the noise over the acquisitions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub noise_trend: Option<NoiseTrend>,
}

impl OximetryRecord {
    pub(super) fn text(&self) -> String {
        let fit = match self.calibration.rate {
            RelaxationRate::R1 => "recovery",
            RelaxationRate::R2 => "echo decay",
        };
        format!("{fit} of {} images, {}", self.images.len(), self.calibration.title)
    }
}
