//! Lines in the spectrum of each voxel of a spectral-spatial image: amplitude, width and position.

mod error;
mod fit;
mod maps;
mod regions;
mod shape;

pub use error::SpectrumError;
pub use fit::{Line, LineFit, LineFitter};
pub use maps::{LineMaps, MASK_FRACTION, NO_LINE, line_maps};
pub use regions::{FittedLines, LineFigures, mean_spectrum};
pub use shape::LineResiduals;
