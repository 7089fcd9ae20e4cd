//! Problems of saved sweeps.

use crate::io::error::Excess;
use crate::io::own::toml_text::FormProblem;

/// A problem of a saved sweep.
#[derive(Debug, thiserror::Error)]
pub enum SavedSweepProblem {
    /// A problem of the text.
    #[error(transparent)]
    Form(#[from] FormProblem),
    /// A header of too many bytes.
    #[error("it has {} bytes, more than the {} that such a header can have", .0.found, .0.max)]
    LongHeader(Excess<u64>),
    /// A key with a value that is not positive.
    #[error("'{0}' is {1} where a positive number is expected")]
    NotPositive(&'static str, f64),
    /// Too few or too many samples.
    #[error("'num_points' is {} where 3 to {} are expected", .0.found, .0.max)]
    NumPoints(Excess),
    /// A centre outside of the samples, by their number.
    #[error("'centre' is {} where a sample of t = 0 is expected, from 0 to {}", .0, .1 - 1)]
    Centre(f64, usize),
    /// A list of projections in another version than this one.
    #[error("'projections' belongs to version {0}, and only there")]
    ListOfProjections(u32),
    /// More projections than expected.
    #[error("'num_projections' is more than 'num_expected'")]
    ManyProjections,
    /// More directions, by their number, than projections are expected.
    #[error("'num_expected' is less than the {0} directions that are listed")]
    ManyDirections(usize),
    /// One axis twice, by its name.
    #[error("'slice_axes' names the axis {0} twice; a slice has two different ones")]
    SliceAxes(&'static str),
    /// A direction, by its number, that leaves the slice.
    #[error("direction {0} leaves the slice ('slice_axes'): its third number must be 0")]
    OutOfSlice(usize),
    /// A direction, by its number, that is not a unit vector with a weight.
    #[error("direction {0} is not a unit vector with a weight of at least 0")]
    Direction(usize),
    /// A pulse acquisition with facts of a continuous-wave one.
    #[error("a pulse acquisition has no [continuous_wave]")]
    PulseWithWave,
    /// A continuous-wave acquisition without its facts.
    #[error("a continuous-wave acquisition needs [continuous_wave]")]
    NoWave,
    /// A reference spectrum in the header that is not finite.
    #[error("'reference' contains a non-finite value")]
    Reference,
    /// A reference spectrum to write that is not finite.
    #[error("its reference spectrum contains a non-finite value")]
    ReferenceValues,
    /// A key that a version does not have.
    #[error("version {0} has no '{1}'")]
    OtherVersionsKey(u32, &'static str),
    /// A reference spectrum without its samples or their distance.
    #[error("a reference spectrum needs '{0}' of at least three samples and 'reference_step_mt'")]
    IncompleteReference(&'static str),
    /// A projection, by its number, with other samples than it must have.
    #[error("projection {0} does not have {1} finite samples")]
    Samples(usize, usize),
}
