//! Further acquisitions of the object of a run.

use std::path::PathBuf;
use std::sync::Arc;

use super::sweep::{Radical, Sweep};

/// A further acquisition of the object of a run, with other settings: microwave power, modulation, field range, gradients. It has the
/// image of the run, and its own fields, gradients and spectra.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its file.
    pub file: PathBuf,
    /// Its projections.
    pub sweep: Arc<Sweep>,
    /// The radicals of the run, in the same order, with their spectra in this acquisition; none = one, with its own reference spectrum.
    pub radicals: Vec<Radical>,
}
