//! Iteration scheme of a run: names and counts of its steps, and their results.

use crate::data::{IterateId, Unit};
use crate::text::counted;

/// Differences between runs that iterate over the same data and runs that add data to their image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationScheme {
    /// Unit that curves, the history and progress count: "iteration" or "projection".
    pub counted: &'static str,
    /// True if the unit is a full iteration of one or more steps; else each step is a unit.
    pub by_iteration: bool,
    /// Unit of the image.
    pub unit: Unit,
    /// True if data may arrive during the run.
    pub can_grow: bool,
    /// True if steps have a likelihood.
    pub has_likelihood: bool,
    /// True if steps have an objective of least squares in its place.
    pub has_objective: bool,
    /// Name of a datum, and a clause about data with counts that the model does not explain.
    pub unexplained: [&'static str; 2],
    /// True if further iterations can follow the requested ones.
    pub can_continue: bool,
}

impl IterationScheme {
    /// Of counts, iteratively.
    pub const ITERATIONS: IterationScheme = IterationScheme {
        counted: "iteration",
        by_iteration: true,
        unit: Unit::CountsPerMm,
        can_grow: false,
        has_likelihood: true,
        has_objective: false,
        unexplained: [
            "bin",
            "whose line crosses no voxel of the image, or whose factor is 0. An image that covers the whole field of view, or an additive sinogram (randoms + scatter), explains them",
        ],
        can_continue: true,
    };

    /// Of counts with a matrix of absolute responses.
    pub const DENSITIES: IterationScheme = IterationScheme {
        unit: Unit::DecaysPerMm3,
        unexplained: ["pair of crystals", "that the system matrix has no element for. A matrix of more decays explains them"],
        ..IterationScheme::ITERATIONS
    };

    /// Of single events.
    pub const EVENTS: IterationScheme = IterationScheme {
        unexplained: [
            "event",
            "that lie outside the image, by their line or time of flight, or have a factor of 0. An image that covers the whole field of view explains them",
        ],
        ..IterationScheme::ITERATIONS
    };

    /// Scheme of list-mode data that are still being written: every step makes an image of the events that have arrived.
    pub const ARRIVING_EVENTS: IterationScheme = IterationScheme {
        counted: "update",
        by_iteration: false,
        can_grow: true,
        has_likelihood: false,
        can_continue: false,
        ..IterationScheme::EVENTS
    };

    /// Scheme of a sweep: each block of projections is added to the image once.
    pub const PROJECTIONS: IterationScheme = IterationScheme {
        counted: "projection",
        by_iteration: false,
        unit: Unit::Arbitrary,
        can_grow: true,
        has_likelihood: false,
        has_objective: false,
        unexplained: ["projection", ""],
        can_continue: false,
    };

    /// Scheme of a sweep whose projections are all in the image, which every step improves.
    pub const LEAST_SQUARES: IterationScheme = IterationScheme {
        counted: "iteration",
        by_iteration: true,
        has_objective: true,
        can_continue: true,
        ..IterationScheme::PROJECTIONS
    };

    /// Scheme of acquisitions at several delays: every step reconstructs the next one.
    pub const DELAYS: IterationScheme =
        IterationScheme { counted: "delay", can_grow: false, unexplained: ["delay", ""], ..IterationScheme::PROJECTIONS };

    /// Scheme of acquisitions at several echo times.
    pub const ECHOES: IterationScheme =
        IterationScheme { counted: "echo time", unexplained: ["echo time", ""], ..IterationScheme::DELAYS };

    /// Scheme of images of another program: every step shows the next one.
    pub const IMAGES: IterationScheme = IterationScheme {
        counted: "image",
        by_iteration: false,
        unit: Unit::Unknown,
        can_grow: false,
        has_likelihood: false,
        has_objective: false,
        unexplained: ["image", ""],
        can_continue: false,
    };

    /// Returns the number that identifies an image, from its full iterations and its steps in total.
    pub fn number(&self, iteration: usize, subiteration: usize) -> usize {
        if self.by_iteration { iteration } else { subiteration }
    }

    /// Describes an iterate of a run with this number of subsets.
    pub fn iterate_text(&self, id: IterateId, num_subsets: usize) -> String {
        match (id.subiteration, id.subiteration % num_subsets) {
            (0, _) if !self.by_iteration => format!("no {} yet", self.counted),
            (number, _) if !self.by_iteration => self.text(number),
            (0, _) => "start image".to_owned(),
            (_, 0) => format!("iteration {}", id.iteration),
            (_, subset) => format!("iteration {}, after subset {subset} of {num_subsets}", id.iteration),
        }
    }

    /// Returns a number with its unit: "3 iterations".
    pub fn text(&self, number: usize) -> String {
        counted(number, self.counted)
    }
}
