//! Reasons why images give no map of lines.

use crate::coded::coded;
use crate::task::Stopped;

/// Images that give no map of lines.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SpectrumError {
    /// Fewer samples than a fit needs.
    #[error("{found} samples of a spectrum for a line with {needed} parameters; expected at least {}", .needed + 1)]
    FewSamples {
        /// Number of samples.
        found: usize,
        /// Number of parameters.
        needed: usize,
    },
    /// No voxel has a spectrum.
    #[error("all spectra are flat: there is no line to fit")]
    NoSignal,
    /// Stopped by the user.
    #[error("the fit was {0}")]
    Stopped(#[from] Stopped),
}

coded!(SpectrumError = "spectrum"; Stopped);
