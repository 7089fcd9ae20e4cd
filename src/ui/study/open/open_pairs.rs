//! Counts of pairs of crystals that are open.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::{PairCounts, ResponseMatrix};
use crate::plan::quick_matrix_recipe;

/// Counts of pairs of crystals, and the matrix that reconstructs them.
pub struct OpenPairs {
    /// The counts.
    pub pairs: PairCounts,
    /// Its total counts.
    pub total: f64,
    /// The file that it was read from; `None` for a simulation.
    pub file: Option<PathBuf>,
    /// The matrix; `None` = none was made or opened yet.
    pub matrix: Option<Arc<ResponseMatrix>>,
    /// The file that the matrix was read from, if it was.
    pub matrix_file: Option<PathBuf>,
    /// Why a start makes none, where it does not.
    pub why_none_made: Option<String>,
}

impl OpenPairs {
    /// Counts of which no matrix is known yet.
    pub fn new(pairs: PairCounts, file: Option<PathBuf>) -> Self {
        let why_none_made = quick_matrix_recipe(&pairs.ring).err().map(|error| error.to_string());
        Self { total: pairs.total(), pairs, file, matrix: None, matrix_file: None, why_none_made }
    }
}
