//! Attenuation of photon pairs in the object.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::volume::Volume;
use crate::geometry::Point;

/// Usual resolution (FWHM) of PET, mm, to which an attenuation map is smoothed.
const USUAL_FWHM_MM: f64 = 6.0;

/// Unit of the values of an attenuation map.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_unit)]
pub enum MuUnit {
    /// 1/cm.
    PerCm,
    /// 1/mm.
    PerMm,
}

fn not_a_unit(text: &str) -> String {
    format!("'{text}' is not a unit of attenuation; use per-cm or per-mm")
}

/// Linear attenuation coefficients at 511 keV, out of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct AttenuationMap {
    /// The file.
    pub file: PathBuf,
    /// µ, 1/mm, 0 or more, on any grid; 0 outside of it.
    pub per_mm: Volume,
    /// Conversion, if the file contains CT.
    pub ct: Option<CtConversion>,
}

/// Settings of the conversion of CT into an attenuation map.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CtSettings {
    /// Tube voltage, kV; `None` = that of the file.
    pub kvp: Option<f64>,
    /// FWHM of the Gaussian filter of the map, mm: the resolution of PET; 0 = none.
    pub fwhm_mm: f64,
    /// Shift of the CT in the world, mm.
    pub shift_mm: Point,
}

impl Default for CtSettings {
    fn default() -> Self {
        Self { kvp: None, fwhm_mm: USUAL_FWHM_MM, shift_mm: [0.0; 3] }
    }
}

/// Conversion of CT into an attenuation map.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CtConversion {
    /// Tube voltage, kV.
    pub kvp: f64,
    /// FWHM of the Gaussian filter, mm; 0 = none.
    pub fwhm_mm: f64,
    /// Shift of the CT in the world, mm.
    pub shift_mm: Point,
}

impl CtConversion {
    /// Returns the conversion as text: "120 kV, 6 mm".
    pub fn text(&self) -> String {
        let Self { kvp, fwhm_mm, shift_mm: [x, y, z] } = self;
        let shift = if self.shift_mm == [0.0; 3] { String::new() } else { format!(", shifted by ({x}, {y}, {z}) mm") };
        format!("{kvp} kV, {fwhm_mm} mm{shift}")
    }
}

/// Attenuation information of list-mode data.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Attenuation {
    /// Nothing.
    #[default]
    Untold,
    /// The factors of the list's files include it.
    InFactors,
    /// A map: the line between the middles of two crystals keeps exp(−∫ µ dl) of its photon pairs.
    Map(Arc<AttenuationMap>),
}

impl Attenuation {
    /// Returns the map, where there is one.
    pub fn map(&self) -> Option<&Arc<AttenuationMap>> {
        match self {
            Attenuation::Map(map) => Some(map),
            _ => None,
        }
    }
}
