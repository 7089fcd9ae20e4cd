//! Actions of the tab of spectra.

use crate::ui::layer::action::LayerAction;
use crate::ui::rois::action::RoiAction;

/// Place whose spectrum is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpectrumOf {
    /// The voxel under the crosshair.
    #[default]
    Crosshair,
    /// The selected region.
    Region,
}

#[derive(Clone, Debug)]
pub enum SpectrumAction {
    /// On the maps of lines.
    Layer(LayerAction),
    Roi(RoiAction),
    /// Chooses the drawn spectrum.
    Show(SpectrumOf),
}
