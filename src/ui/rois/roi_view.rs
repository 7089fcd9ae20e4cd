//! Input of the panel of the regions.

use super::measured::TableCache;
use super::state::RoiState;
use crate::data::{Roi, ValueScale};
use crate::ui::widgets::image_axes::ImageAxes;

/// Content of the panel.
pub struct RoiView<'a> {
    /// State of the regions.
    pub state: &'a RoiState,
    /// Their numbers in the displayed image.
    pub table: &'a TableCache,
    /// Scale of the displayed values.
    pub scale: ValueScale,
    /// Voxel size of the image, mm.
    pub voxel_mm: Option<[f64; 3]>,
    /// True if the study contains ROIs.
    pub has_study_rois: bool,
    /// True if an iterate was measured.
    pub is_measured: bool,
    /// FWHM of the filter of the displayed image, mm.
    pub filter_mm: Option<f64>,
    /// Axes of the image.
    pub axes: ImageAxes,
}

impl RoiView<'_> {
    /// Returns the regions.
    pub fn rois(&self) -> &[Roi] {
        &self.state.document.rois
    }
}
