//! Maps of the lines in the spectra of the voxels that cover the displayed image.

use std::sync::Arc;

use super::oxygen_map::{PO2_TORR, central};
use crate::data::{OxygenCalibration, Unit, Volume};
use crate::measure::spectrum::{Line, LineFit, LineMaps, MASK_FRACTION};
use crate::render::Palette;
use crate::ui::widgets::colour_scale::ColourScale;

/// Settings of the lines that are fitted to the spectra.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineSettings {
    pub line: Line,
    /// Limit of the mask, as a fraction of the largest peak-to-peak amplitude.
    pub mask_fraction: f64,
    /// Calibration of the oxygen pressure by R2; `None` = no map of it.
    pub calibration: Option<&'static OxygenCalibration>,
}

impl Default for LineSettings {
    fn default() -> Self {
        Self { line: Line::default(), mask_fraction: MASK_FRACTION, calibration: None }
    }
}

/// Image of a run with spectra on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::VariantArray)]
pub enum LineMap {
    /// The peak-to-peak amplitude of the spectra alone.
    #[default]
    Signal,
    /// Double integral of the line.
    Amplitude,
    Width,
    /// Standard deviation of the width in each voxel.
    WidthSd,
    Position,
    /// Oxygen pressure.
    Po2,
}

impl LineMap {
    pub fn name(self) -> &'static str {
        match self {
            LineMap::Signal => "Peak to peak",
            LineMap::Amplitude => "Amplitude",
            LineMap::Width => "Linewidth",
            LineMap::WidthSd => "σ of linewidth",
            LineMap::Position => "Position",
            LineMap::Po2 => "pO2",
        }
    }

    pub fn help(self) -> &'static str {
        match self {
            LineMap::Signal => "The reconstructed image: peak-to-peak amplitude of the spectrum in each voxel",
            LineMap::Amplitude => "Double integral of the fitted line; voxels without a line are grey",
            LineMap::Width => "Full width at half maximum of the fitted Lorentzian, mT; voxels without a line are grey",
            LineMap::WidthSd => "Standard deviation of the width of each voxel, mT, from the residuals of the fit",
            LineMap::Position => "Position of the fitted line, mT from the middle of the field sweep",
            LineMap::Po2 => "Oxygen pressure, torr (1 torr = 1 mmHg), by the linewidth and the chosen calibration",
        }
    }

    pub fn of(self, images: &LineImages) -> Option<&Arc<Volume>> {
        match self {
            LineMap::Signal => None,
            LineMap::Amplitude => Some(&images.amplitude),
            LineMap::Width => Some(&images.width),
            LineMap::WidthSd => Some(&images.width_sd),
            LineMap::Position => Some(&images.position),
            LineMap::Po2 => images.po2.as_ref(),
        }
    }

    /// Returns palette and window of a map that the user has not changed.
    pub(super) fn colouring(self, map: &Volume) -> ColourScale {
        let [low, high] = central(map);
        let (palette, window) = match self {
            LineMap::Po2 => (Palette::Oxygen, PO2_TORR),
            LineMap::Amplitude | LineMap::WidthSd => (Palette::Viridis, [0.0, high]),
            LineMap::Signal | LineMap::Width | LineMap::Position => (Palette::Viridis, [low, high]),
        };
        ColourScale { window, auto_palette: false, ..ColourScale::automatic(palette) }
    }
}

/// Maps of the fitted lines on the grid of the image; voxels without a line are NaN.
#[derive(Clone, Debug)]
pub struct LineImages {
    /// Double integral.
    pub amplitude: Arc<Volume>,
    /// Full width at half maximum of the Lorentzian, mT.
    pub width: Arc<Volume>,
    /// Its standard deviation, mT.
    pub width_sd: Arc<Volume>,
    /// Position, mT from the middle of the field sweep.
    pub position: Arc<Volume>,
    /// Oxygen pressure, torr, by a calibration.
    pub po2: Option<Arc<Volume>>,
    pub fits: Arc<LineMaps>,
}

impl LineImages {
    pub fn new(fits: Arc<LineMaps>, calibration: Option<&OxygenCalibration>) -> Self {
        let map = |unit: Unit, value: &dyn Fn(&LineFit) -> f64| Arc::new(fits.map(unit, value));
        Self {
            amplitude: map(Unit::Arbitrary, &|fit| fit.amplitude),
            width: map(Unit::Millitesla, &|fit| fit.width_mt),
            width_sd: map(Unit::Millitesla, &|fit| fit.width_sd_mt),
            position: map(Unit::Millitesla, &|fit| fit.position_mt),
            po2: calibration.map(|calibration| map(Unit::Torr, &|fit| fit.po2_torr(calibration))),
            fits: Arc::clone(&fits),
        }
    }
}
