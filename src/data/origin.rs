//! The files that data came from.

use std::path::PathBuf;

/// Input files; all `None` for a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// The measured data: projection data or a sweep.
    pub measured: Option<PathBuf>,
    /// Factors of each bin.
    pub multiplicative: Option<PathBuf>,
    /// Expected background of each bin.
    pub additive: Option<PathBuf>,
    /// True if the background was divided by the factors in its file (STIR's convention).
    pub additive_inside: bool,
    /// The reference spectrum of a continuous-wave sweep, if it has a separate file.
    pub reference: Option<PathBuf>,
}
