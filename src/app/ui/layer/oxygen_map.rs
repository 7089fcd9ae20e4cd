//! Maps of pulse oximetry that cover the displayed image.

use std::sync::Arc;

use crate::data::{RelaxationRate, Volume};
use crate::render::Palette;
use crate::session::OxygenImages;
use crate::ui::widgets::colour_scale::ColourScale;

/// Window of the oxygen pressure, torr.
pub(super) const PO2_TORR: [f32; 2] = [0.0, 60.0];

/// Window of its standard deviation, torr.
const SD_TORR: [f32; 2] = [0.0, 10.0];

/// Image of a study of pulse oximetry on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::VariantArray)]
pub enum OxygenMap {
    /// The reconstructed image alone.
    Signal,
    /// Oxygen pressure.
    #[default]
    Po2,
    /// Its standard deviation in each voxel.
    Po2Sd,
    Rate,
}

impl OxygenMap {
    pub fn name(self, rate: RelaxationRate) -> &'static str {
        match self {
            OxygenMap::Signal => "Signal",
            OxygenMap::Po2 => "pO2",
            OxygenMap::Po2Sd => "σ of pO2",
            OxygenMap::Rate => rate.label(),
        }
    }

    pub fn help(self) -> &'static str {
        match self {
            OxygenMap::Signal => "The reconstructed image of one time",
            OxygenMap::Po2 => "Oxygen pressure, torr (1 torr = 1 mmHg); voxels without a fit are grey",
            OxygenMap::Po2Sd => "Standard deviation of the oxygen pressure of each voxel, torr, from the residuals of the fits",
            OxygenMap::Rate => "Relaxation rate, 1/µs",
        }
    }

    pub fn of(self, images: &OxygenImages) -> Option<&Arc<Volume>> {
        match self {
            OxygenMap::Signal => None,
            OxygenMap::Po2 => Some(&images.po2),
            OxygenMap::Po2Sd => images.po2_sd.as_ref(),
            OxygenMap::Rate => Some(&images.rate),
        }
    }

    /// Returns palette and window of a map that the user has not changed.
    pub(super) fn colouring(self, map: &Volume) -> ColourScale {
        let palette = if self == OxygenMap::Po2 { Palette::Oxygen } else { Palette::Viridis };
        let window = match self {
            OxygenMap::Po2 => PO2_TORR,
            OxygenMap::Po2Sd => SD_TORR,
            OxygenMap::Signal | OxygenMap::Rate => central(map),
        };
        ColourScale { window, auto_palette: false, ..ColourScale::automatic(palette) }
    }
}

/// Returns the range of the finite values without 2 % at each end.
pub(super) fn central(map: &Volume) -> [f32; 2] {
    let mut values: Vec<f32> = map.as_slice().iter().copied().filter(|value| value.is_finite()).collect();
    let outer = values.len() / 50;
    if values.is_empty() {
        return [0.0, 1.0];
    }
    let last = values.len() - 1 - outer;
    let low = *values.select_nth_unstable_by(outer, f32::total_cmp).1;
    let high = *values.select_nth_unstable_by(last, f32::total_cmp).1;
    [low, if high > low { high } else { low + 1.0 }]
}
