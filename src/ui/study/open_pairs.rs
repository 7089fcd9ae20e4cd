//! Counts of pairs of crystals that are open.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::{PairCounts, ResponseMatrix, Study};

/// Counts of pairs of crystals, and the matrix that reconstructs them.
pub struct OpenPairs {
    /// The study.
    pub study: Arc<Study<PairCounts>>,
    /// Its total counts.
    pub total: f64,
    /// The file that it was read from; `None` for a simulation.
    pub file: Option<PathBuf>,
    /// The matrix; `None` = none was made or opened yet.
    pub matrix: Option<Arc<ResponseMatrix>>,
}

impl OpenPairs {
    /// A study, of which no matrix is known yet.
    pub fn new(study: Study<PairCounts>, file: Option<PathBuf>) -> Self {
        Self { total: study.measured.total(), study: Arc::new(study), file, matrix: None }
    }
}
