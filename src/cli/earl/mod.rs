//! `tomoscope earl SCAN`: reconstructs a scan of the body phantom, and finds the iterations and post-filters whose images comply
//! with a standard of recovery coefficients.

mod options;
mod run;

pub use options::{EarlOptions, OTHERS};
pub use run::run;
