//! The layers of crystals of a scanner.

use crate::geometry::Point;
use crate::scanner::{Crystal, axes_of_depth};

/// What a table tells of the crystals of a layer beside their places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) num_crystals: u64,
    /// Along depth, tangentially, axially; 0 where it is not told.
    pub(super) size_mm: [f64; 3],
    /// From the inner face to where events are taken to be seen.
    pub(super) interaction_mm: Option<f64>,
}

impl Layer {
    /// A crystal of the layer. Its middle is moved along its depth to where events are taken to be seen, since CASToR's lines end there.
    pub(super) fn crystal(&self, middle_mm: Point, depth: Point) -> Crystal {
        let shift = self.interaction_mm.map_or(0.0, |mm| mm - 0.5 * self.size_mm[0]);
        let centre_mm = std::array::from_fn(|a| middle_mm[a] + shift * depth[a]);
        Crystal { centre_mm, axes: axes_of_depth(depth), size_mm: self.size_mm }
    }
}
