//! The layers of crystals of a scanner.

use crate::geometry::Point;
use crate::scanner::{Crystal, axes_of_depth};

/// Facts of a table on the crystals of a layer, except their positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) num_crystals: u64,
    /// Along depth, tangentially, axially; 0 if unknown.
    pub(super) size_mm: [f64; 3],
    /// From the inner face to where events are taken to be seen.
    pub(super) interaction_mm: Option<f64>,
}

impl Layer {
    /// Returns a crystal of the layer. Its middle is moved along its depth to the mean position of events, where CASToR's lines
    /// end.
    pub(super) fn crystal(&self, middle_mm: Point, depth: Point) -> Crystal {
        let shift = self.interaction_mm.map_or(0.0, |mm| mm - 0.5 * self.size_mm[0]);
        let centre_mm = std::array::from_fn(|a| middle_mm[a] + shift * depth[a]);
        Crystal { centre_mm, axes: axes_of_depth(depth), size_mm: self.size_mm }
    }
}
