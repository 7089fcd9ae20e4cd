//! Options of CT for the attenuation of a scan.

use std::path::PathBuf;

use clap::Args;

use super::options::{not_negative, positive, triple};
use crate::data::CtSettings;

/// CT for the attenuation of a scan.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Corrections")]
pub struct CtArguments {
    /// CT for the attenuation, in Hounsfield units: a folder with a DICOM series, or an image ({read images}).
    ///
    /// Its values become linear attenuation coefficients at 511 keV by the tube voltage (Carney 2006). Its world is that of the
    /// scanner: 0 on the axis, at the axial middle.
    #[arg(long, value_name = "SERIES", group = "object_attenuation")]
    pub ct: Option<PathBuf>,

    /// Tube voltage of the CT, kV.
    ///
    /// Default: that of the DICOM series (KVP).
    #[arg(long, value_name = "KV", value_parser = positive, requires = "ct")]
    kvp: Option<f64>,

    /// FWHM of a Gaussian filter of the CT's attenuation, mm: the resolution of PET.
    ///
    /// 0 = no filter. Default: 6.
    #[arg(long, value_name = "FWHM", value_parser = not_negative, requires = "ct")]
    ct_fwhm_mm: Option<f64>,

    /// Shift of the CT to its position in the scanner, mm.
    ///
    /// World coordinates: +x to the patient's left, +y to posterior, +z to inferior. Default: 0,0,0.
    #[arg(long, value_name = "X,Y,Z", value_parser = finite_triple, requires = "ct")]
    ct_shift_mm: Option<[f64; 3]>,
}

impl CtArguments {
    /// Returns the settings of the conversion; `None` without CT.
    pub fn settings(&self) -> Option<CtSettings> {
        self.ct.as_ref().map(|_| settings(self.kvp, self.ct_fwhm_mm, self.ct_shift_mm))
    }
}

/// Returns settings with these values, or the default ones.
pub fn settings(kvp: Option<f64>, fwhm_mm: Option<f64>, shift_mm: Option<[f64; 3]>) -> CtSettings {
    let usual = CtSettings::default();
    CtSettings { kvp, fwhm_mm: fwhm_mm.unwrap_or(usual.fwhm_mm), shift_mm: shift_mm.unwrap_or(usual.shift_mm) }
}

/// Parses three lengths, mm.
pub fn finite_triple(text: &str) -> Result<[f64; 3], String> {
    let found: [f64; 3] = triple(text)?;
    let is_finite = found.iter().all(|mm| mm.is_finite());
    is_finite.then_some(found).ok_or_else(|| format!("'{text}' is not 3 lengths in mm, separated by commas"))
}
