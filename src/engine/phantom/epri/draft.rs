//! Draft of a phantom, in its usual size.

use super::Part;
use crate::data::Roi;

/// Parts of a phantom, the oxygen pressure of each, torr, and regions.
pub(super) struct Draft {
    pub parts: Vec<Part>,
    pub oxygen_torr: Vec<f64>,
    pub rois: Vec<Roi>,
}
