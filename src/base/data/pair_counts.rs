//! Counts of a ring of crystals: how many decays each pair of crystals counted.

use std::sync::Arc;

use crate::coded::coded;
use crate::scanner::CrystalRing;

/// A histogram over the lines of response of a ring.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCounts {
    /// The ring.
    pub ring: Arc<CrystalRing>,
    /// Counts of each line of response, in their order (`CrystalRing::lor`).
    pub counts: Arc<Vec<f32>>,
}

/// Another number of counts than the ring has lines of response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{scanner} has {expected} pairs of crystals, but {found} counts were given")]
pub struct PairCountsError {
    /// The ring.
    pub scanner: String,
    /// Its lines of response.
    pub expected: usize,
    /// Counts that were given.
    pub found: usize,
}

coded!(PairCountsError = "pairs");

impl PairCounts {
    /// Returns counts of a ring.
    ///
    /// # Errors
    /// Another number of them than it has lines of response.
    pub fn new(ring: Arc<CrystalRing>, counts: Vec<f32>) -> Result<Self, PairCountsError> {
        if counts.len() != ring.num_lors() {
            return Err(PairCountsError { scanner: ring.name.clone(), expected: ring.num_lors(), found: counts.len() });
        }
        Ok(Self { ring, counts: Arc::new(counts) })
    }

    /// Returns all counts together.
    pub fn total(&self) -> f64 {
        self.counts.iter().map(|&count| f64::from(count)).sum()
    }
}
