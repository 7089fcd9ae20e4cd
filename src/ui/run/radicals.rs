//! Images of all radicals of a run.

use std::sync::Arc;

use crate::data::Volume;

/// Images of all radicals after a step.
#[derive(Clone, Debug)]
pub struct RadicalImages {
    /// Number of steps before them.
    pub subiteration: usize,
    /// One of each radical.
    pub images: Vec<Arc<Volume>>,
}
