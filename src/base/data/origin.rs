//! The files that data came from.

use std::path::{Path, PathBuf};

use super::attenuation::CtConversion;

/// Input files; all `None` for a simulation.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// The measured data: projection data or a sweep.
    pub measured: Option<PathBuf>,
    /// Factors of each bin.
    pub multiplicative: Option<PathBuf>,
    /// True if the file of the factors holds their inverse: correction factors (STIR's ACF, normalisation).
    #[serde(default)]
    pub multiplicative_inverse: bool,
    /// Expected background of each bin.
    pub additive: Option<PathBuf>,
    /// True if the background was divided by the factors in its file (STIR's convention).
    pub additive_inside: bool,
    /// Attenuation of the object, in the factors of each bin.
    #[serde(default)]
    pub attenuation: Option<PathBuf>,
    /// Further maps of attenuation in these factors, as of a bed.
    #[serde(default)]
    pub added_attenuation: Vec<PathBuf>,
    /// Conversion of the attenuation, if its file is CT.
    #[serde(default)]
    pub ct: Option<CtConversion>,
    /// The reference spectrum of a continuous-wave sweep, if it has a separate file.
    pub reference: Option<PathBuf>,
}

impl Origin {
    /// Returns measured data of a file without further ones.
    pub fn of(measured: &Path) -> Self {
        Self { measured: Some(measured.to_owned()), ..Self::default() }
    }
}
