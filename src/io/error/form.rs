//! What can be wrong in a file of one of the program's own forms: sessions, sweeps, crystals, tubes and so on.

use std::path::PathBuf;

use crate::data::{MatrixError, PairCountsError, TubeSetError};

/// What is wrong in such a file.
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case", prefix = "io.unsupported.")]
pub enum FormProblem {
    // Any form.
    /// Not TOML, or not the keys of this form.
    #[error("line {line}: {message}{}", if *.is_cut { "; the file ends there and may have been cut short" } else { "" })]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The message of the TOML library.
        message: String,
        /// Whether the text ends there.
        is_cut: bool,
    },
    /// A version that is not supported.
    #[error("version {found} is not supported; this program reads version {}", versions(.supported))]
    Version {
        /// The version of the file.
        found: i64,
        /// The versions that are read.
        supported: &'static [u32],
    },
    /// A data file in another folder.
    #[error("'data_file' must be the name of a file in the same folder")]
    DataFolder,
    /// A data file of another size.
    #[error("{data} has {found} bytes where {expected} are expected", data = .data.display())]
    DataSize {
        /// The data file.
        data: PathBuf,
        /// Its bytes.
        found: u64,
        /// Bytes that the header describes.
        expected: u64,
    },
    /// Counts that are not those of the ring.
    #[error(transparent)]
    #[strum(serialize = "content")]
    Pairs(#[from] PairCountsError),
    /// Coefficients that are not a set of tubes.
    #[error(transparent)]
    #[strum(serialize = "content")]
    Tubes(#[from] TubeSetError),
    /// Elements that are not a system matrix.
    #[error(transparent)]
    #[strum(serialize = "content")]
    Matrix(#[from] MatrixError),

    // Sessions.
    /// Something without a text, such as a path that is not UTF-8.
    #[error("{0}")]
    NoText(toml::ser::Error),
    /// A session that is too long to be read again.
    #[error("{found} bytes are more than the {most} that a session can have")]
    LongSession {
        /// Bytes of the session.
        found: usize,
        /// Bytes that are read.
        most: u64,
    },

    // Calibrations.
    /// A factor that is not positive.
    #[error("bq_per_ml is {0}, which must be positive")]
    CalibrationFactor(f64),

    // Crystals.
    /// An angle out of range.
    #[error("min_angle_deg is {0}; it must be 0 to 180")]
    MinAngle(f64),
    /// A block, by its number, without crystals or copies.
    #[error("block {0}: it has no crystals or no copies; crystals, around and along must be 1 or more")]
    EmptyBlock(usize),
    /// A block with too many crystals.
    #[error("block {block}: with it the scanner would have more than {most} crystals")]
    ManyCrystals {
        /// Number of the block.
        block: usize,
        /// Crystals that a scanner can have.
        most: usize,
    },
    /// A block, by its number, in the middle of the scanner.
    #[error("block {0}: its middle lies on the axis, from where no direction is outwards; move it (centre_mm)")]
    BlockOnAxis(usize),
    /// A direction that is not a unit vector.
    #[error("crystal {number} looks in the direction ({}, {}, {}), which is no unit vector", .direction[0], .direction[1], .direction[2])]
    CrystalDirection {
        /// Number of the crystal.
        number: usize,
        /// Its direction.
        direction: [f64; 3],
    },

    // Crystal-pair histograms, system matrices, tubes of response, sensitivities.
    /// A ring that is not known.
    #[error("there is no ring '{0}'")]
    UnknownRing(String),
    /// Another number of crystals than the ring has.
    #[error("{ring} has {expected} crystals, not {found}")]
    NumCrystals {
        /// Name of the ring.
        ring: String,
        /// Its crystals.
        expected: usize,
        /// Crystals of the file.
        found: usize,
    },
    /// Another number of pairs than the ring has.
    #[error("{ring} has {expected} pairs of crystals, not {found}")]
    NumPairs {
        /// Name of the ring.
        ring: String,
        /// Its pairs.
        expected: usize,
        /// Pairs of the file.
        found: usize,
    },
    /// Too many elements of a matrix.
    #[error("it would have more than {0} elements")]
    ManyElements(u64),
    /// No coefficients, or too many.
    #[error("they would have none, or more than {0} coefficients")]
    NumCoefficients(usize),
    /// A sensitivity that is negative or not finite.
    #[error("{} contains negative or non-finite values", .0.display())]
    SensitivityValues(PathBuf),
    /// Another number of voxels than the grid has.
    #[error("its voxels do not fill its grid")]
    Voxels,

    // Saved sweeps.
    /// A header that is too long.
    #[error("it has {found} bytes, more than the {most} that such a header can have")]
    LongHeader {
        /// Bytes of the header.
        found: usize,
        /// Bytes that are read.
        most: u64,
    },
    /// A value that is not positive.
    #[error("'{key}' is {value} where a positive number is expected")]
    NotPositive {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
    },
    /// Too few or too many samples.
    #[error("'num_points' is {found} where 3 to {most} are expected")]
    NumPoints {
        /// Number of samples.
        found: usize,
        /// Samples that a projection can have.
        most: usize,
    },
    /// A centre that is not a number.
    #[error("'centre' is {0} where a number is expected")]
    Centre(f64),
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
    #[strum(serialize = "reference")]
    ReferenceValues,
    /// A key of another version.
    #[error("version {version} has no '{key}'")]
    OtherVersionsKey {
        /// The version.
        version: u32,
        /// The key.
        key: &'static str,
    },
    /// A reference spectrum without its samples or their distance.
    #[error("a reference spectrum needs '{0}' of at least three samples and 'reference_step_mt'")]
    IncompleteReference(&'static str),
    /// A projection with other samples than it must have.
    #[error("projection {number} does not have {expected} finite samples")]
    Samples {
        /// Number of the projection.
        number: usize,
        /// Samples that it must have.
        expected: usize,
    },
}

/// Returns versions as text: "1 and 2".
fn versions(versions: &[u32]) -> String {
    versions.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}
