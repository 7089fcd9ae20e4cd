//! Poisson bootstrap: how sure an image is, from its measured data alone.
//!
//! A replicate is the same scan with other counts, drawn as if it were repeated: y* ~ Poisson(y) of each bin, a weight w ~ Poisson(1) of
//! each event (Haynor & Woods 1989, IEEE Trans Med Imaging 8:337; Dahlbom 2002, IEEE Trans Nucl Sci 49:2062). Replicates take the steps of
//! a run with their own counts; the standard deviation of a number between them is that of the number between repeated scans.
//! Sensitivity, factors and expected background are those of the run: their own noise is not included.

mod draws;
mod replicates;

pub use draws::Bootstrap;
pub(super) use replicates::{Replicates, Scratch};
