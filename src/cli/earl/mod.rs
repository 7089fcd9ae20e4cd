//! `tomoscope earl SCAN`: reconstructs a scan of the body phantom, and finds the strengths of the penalty, iterations and
//! post-filters whose images comply with a standard of recovery coefficients.

mod options;
mod run;
mod strengths;

pub use options::EarlOptions;
pub use run::run;
