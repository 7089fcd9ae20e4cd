//! Attenuation of photon pairs in the object.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::volume::Volume;

/// Linear attenuation coefficients at 511 keV, out of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct AttenuationMap {
    /// The file.
    pub file: PathBuf,
    /// µ, 1/mm, 0 or more, on any grid; 0 outside of it.
    pub per_mm: Volume,
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
