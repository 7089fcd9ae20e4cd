//! How much of the photon pairs the object takes away.

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

/// What is known of the attenuation in a list of events.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Attenuation {
    /// Nothing.
    #[default]
    Untold,
    /// The factors that the list's files tell have it in them.
    InFactors,
    /// A map: the line between the middles of two crystals keeps exp(−∫ µ dl) of its photon pairs.
    Map(Arc<AttenuationMap>),
}

impl Attenuation {
    /// The map, where there is one.
    pub fn map(&self) -> Option<&Arc<AttenuationMap>> {
        match self {
            Attenuation::Map(map) => Some(map),
            _ => None,
        }
    }
}
