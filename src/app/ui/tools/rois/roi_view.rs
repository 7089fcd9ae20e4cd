//! Input of the panel of the regions.

use crate::data::{Roi, ValueScale};
use crate::ui::rois::measured::TableCache;
use crate::ui::rois::second_numbers::SecondNumbers;
use crate::ui::rois::state::RoiState;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::workspace::state::{Request, request};

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

impl RoiView<'_> {
    pub fn rois(&self) -> &[Roi] {
        &self.state.document.rois
    }
}

/// Requests the crosshair at the centre of a region.
pub fn go_to(index: usize) -> Request {
    request(move |work| work.go_to_roi(index))
}
