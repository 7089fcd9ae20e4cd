//! Oxygen from a relaxation rate of a spin probe: pO₂ = slope · (R − intercept).
//!
//! A relaxation rate of a dissolved probe grows linearly with the oxygen about it. R₁ is less sensitive to the concentration of the
//! probe than R₂ (Epel et al., Magn Reson Med 2014, mrm.24926). Pages on R₂ use the linewidth LLW = R₂/(2π · 2.802 MHz/G) in its place.

use std::f64::consts::TAU;

/// Electron's frequency in a field, MHz/G.
const MHZ_PER_GAUSS: f64 = 2.802;

/// Linewidth of a rate of 1/µs, mG.
pub const MILLIGAUSS_PER_RATE: f64 = 1e3 / (TAU * MHZ_PER_GAUSS);

/// Returns the rate R₂ with this half width at half maximum of a Lorentzian line, mT; 1/µs.
pub fn rate_of_linewidth(half_width_mt: f64) -> f64 {
    // (1 mT = 10⁴ mG.)
    1e4 * half_width_mt / MILLIGAUSS_PER_RATE
}

/// A relaxation rate, 1/µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RelaxationRate {
    /// Spin–lattice relaxation, from images at several delays after an inversion or a saturation.
    R1,
    /// Spin–spin relaxation, from images at several echo times.
    R2,
}

impl RelaxationRate {
    /// Returns the name in files: "r1".
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the label: "R1".
    pub fn label(self) -> &'static str {
        match self {
            RelaxationRate::R1 => "R1",
            RelaxationRate::R2 => "R2",
        }
    }
}

/// Calibration of a probe in a medium, and its source.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OxygenCalibration {
    /// Name on the command line.
    pub name: String,
    /// Name in texts.
    pub title: String,
    /// Publication of the numbers.
    pub source: String,
    /// Measured rate.
    pub rate: RelaxationRate,
    /// Oxygen pressure per rate, torr·µs.
    pub slope_torr_us: f64,
    /// Rate without oxygen, 1/µs.
    pub intercept_per_us: f64,
}

impl OxygenCalibration {
    /// Returns the oxygen pressure at a rate, torr.
    pub fn po2_torr(&self, rate_per_us: f64) -> f64 {
        self.slope_torr_us * (rate_per_us - self.intercept_per_us)
    }

    /// Returns the standard deviation of the pressure from that of the rate, torr.
    pub fn po2_sd_torr(&self, rate_sd_per_us: f64) -> f64 {
        self.slope_torr_us * rate_sd_per_us
    }

    /// Returns the rate at an oxygen pressure, 1/µs.
    pub fn rate_per_us(&self, po2_torr: f64) -> f64 {
        self.intercept_per_us + po2_torr / self.slope_torr_us
    }

    /// Describes it: title and formula.
    pub fn text(&self) -> String {
        let Self { title, rate, slope_torr_us, intercept_per_us, .. } = self;
        format!("{title}: pO2 = {slope_torr_us:.3} torr·µs × ({} − {intercept_per_us:.4}/µs)", rate.label())
    }
}
