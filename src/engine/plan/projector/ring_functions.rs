//! The functions of a basis where the decays of a ring are.

use crate::algebra::RingBasis;
use crate::geometry::Point;
use crate::montecarlo::FunctionsAt;

/// The functions of a basis where the decays of a ring are.
pub struct RingFunctions {
    /// The functions.
    pub basis: RingBasis,
    /// Modules of the ring.
    pub num_turns: usize,
}

impl FunctionsAt for RingFunctions {
    fn at_images(&self, point: Point, visit: &mut dyn FnMut(usize, usize, f64)) {
        self.basis.at_images(self.num_turns, point, visit);
    }
}
