//! Data of EPRI: acquisitions, spectra and calibrations of oxygen.

mod experiment;
mod field_axis;
mod line_shape;
mod oxygen;
mod sweep;

pub use experiment::Experiment;
pub use field_axis::FieldAxis;
pub use line_shape::{lorentzian_derivative, voigt_derivative};
pub use oxygen::{
    MILLIGAUSS_PER_RATE, OxygenCalibration, OxygenSeries, RelaxationRate, SeriesProblem, not_of_a_series, rate_of_linewidth,
};
pub use sweep::{
    Direction, FieldShift, GradientAxis, MIN_GRADIENT, Phase, Projection, Radical, ReferenceSpectrum, Sweep, SweepKind,
    SweepMetadata, SweepSpace,
};
