//! Maps and images of a run that cover its displayed image.

use super::line_map::LineMap;
use super::oxygen_map::OxygenMap;
use crate::data::Volume;
use crate::render::Palette;
use crate::ui::widgets::colour_scale::ColourScale;

/// Map or image of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMap {
    Oxygen(OxygenMap),
    /// Parameter of the lines in the spectra of the voxels.
    Line(LineMap),
    /// Image of a radical, numbered from 0; the first is the displayed one.
    Radical(usize),
}

impl RunMap {
    /// Returns palette and window of a map that the user has not changed.
    pub(super) fn colouring(self, map: &Volume) -> ColourScale {
        match self {
            RunMap::Oxygen(of) => of.colouring(map),
            RunMap::Line(of) => of.colouring(map),
            RunMap::Radical(_) => {
                let high = map.as_slice().iter().copied().fold(f32::MIN_POSITIVE, f32::max);
                ColourScale { window: [0.0, high], auto_palette: false, ..ColourScale::automatic(Palette::HotIron) }
            }
        }
    }
}
