//! Input of the panel of the regions.

use super::measured::TableCache;
use super::state::RoiState;
use crate::data::{Roi, ValueScale};
use crate::ui::widgets::image_axes::ImageAxes;

pub struct RoiView<'a> {
    pub state: &'a RoiState,
    /// Their numbers in the displayed image.
    pub table: &'a TableCache,
    /// Standard deviations of their means between replicates, in the order of the regions, and the number of replicates; `None` of an
    /// image without them.
    pub deviations: Option<(Vec<Option<f64>>, usize)>,
    /// Scale of the displayed values.
    pub scale: ValueScale,
    pub voxel_mm: Option<[f64; 3]>,
    /// Name of the measured image, of a run with several: its radical.
    pub image: Option<String>,
    pub has_study_rois: bool,
    /// True if an iterate was measured.
    pub is_measured: bool,
    /// FWHM of the filter of the displayed image, mm.
    pub filter_mm: Option<f64>,
    pub axes: ImageAxes,
    pub second: Option<&'a SecondNumbers>,
    /// True if written files are anonymous.
    pub is_anonymous: bool,
}

/// Numbers of the regions in the second image, at the voxels of the displayed one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecondNumbers {
    /// Name of the second image: "CT".
    pub name: String,
    pub unit: &'static str,
    /// Mean and standard deviation of each region; `None` outside the second image.
    pub means: Vec<Option<[f64; 2]>>,
}

impl RoiView<'_> {
    pub fn rois(&self) -> &[Roi] {
        &self.state.document.rois
    }
}
