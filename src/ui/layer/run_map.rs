//! Maps computed from a run that cover its image: of pulse oximetry, or of the lines of its spectra.

use super::line_map::LineMap;
use super::oxygen_map::OxygenMap;
use crate::data::Volume;
use crate::ui::widgets::colour_scale::ColourScale;

/// Map computed from a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMap {
    /// Quantity of pulse oximetry.
    Oxygen(OxygenMap),
    /// Parameter of the lines in the spectra of the voxels.
    Line(LineMap),
}

impl RunMap {
    /// Returns palette and window of a map that the user has not changed.
    pub(super) fn colouring(self, map: &Volume) -> ColourScale {
        match self {
            RunMap::Oxygen(of) => of.colouring(map),
            RunMap::Line(of) => of.colouring(map),
        }
    }
}
