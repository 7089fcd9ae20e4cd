//! Numbers of runs and of their iterates.

use serde::{Deserialize, Serialize};

/// Number of a run within its session, from 1.
pub type RunId = u64;

/// Numbers of an iterate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IterateId {
    /// Number of the run.
    pub run: RunId,
    /// Number of complete iterations.
    pub iteration: usize,
    /// Number of complete steps, 0 for the start image; of an EPRI acquisition number of projections in the image.
    pub subiteration: usize,
}

impl IterateId {
    /// Numbers of an image of a file, which belongs to no run.
    pub const FILE: Self = Self { run: 0, iteration: 0, subiteration: 0 };
}
