//! Open crystal-pair histogram.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::{PairCounts, ResponseMatrix};
use crate::plan::default_matrix_recipe;

/// Crystal-pair histogram and its system matrix.
pub struct OpenPairs {
    pub pairs: PairCounts,
    /// Total counts.
    pub total: f64,
    /// Its file; `None` for a simulation.
    pub file: Option<PathBuf>,
    pub matrix: Option<Arc<ResponseMatrix>>,
    pub matrix_file: Option<PathBuf>,
    /// Reason why a run cannot simulate a matrix.
    pub matrix_refusal: Option<String>,
}

impl OpenPairs {
    /// Returns the state without a matrix.
    pub fn new(pairs: PairCounts, file: Option<PathBuf>) -> Self {
        let matrix_refusal = default_matrix_recipe(&pairs.ring).err().map(|error| error.to_string());
        Self { total: pairs.total(), pairs, file, matrix: None, matrix_file: None, matrix_refusal }
    }
}
