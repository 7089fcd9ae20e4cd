//! Problems of the program's own forms: sessions, sweeps, crystals, tubes and so on.

use std::path::PathBuf;

use super::{Excess, Mismatch};
use crate::data::{MatrixError, PairCountsError, PsfError, RelaxationRate, TubeSetError};

/// A problem of such a file.
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
        /// True if the text ends at the error.
        is_cut: bool,
    },
    /// A version that is not supported, and the versions that are.
    #[error("version {} is not supported; this program reads version {}", .0, versions(.1))]
    Version(i64, &'static [u32]),
    /// A data file in another folder.
    #[error("'data_file' must be the name of a file in the same folder")]
    DataFolder,
    /// A data file, by its path, of another size.
    #[error("{} has {} bytes where {} are expected", .0.display(), .1.found, .1.expected)]
    DataSize(PathBuf, Mismatch<u64>),
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
    /// A session with too many bytes to be read again.
    #[error("{} bytes are more than the {} that a session can have", .0.found, .0.max)]
    LongSession(Excess<u64>),

    // Calibrations.
    /// A factor that is not positive.
    #[error("bq_per_ml is {0}, which must be positive")]
    CalibrationFactor(f64),

    // Point spread functions.
    /// Widths that are no point spread function.
    #[error(transparent)]
    Psf(PsfError),
    /// A list of another length than that of the distances.
    #[error("{key} has {found} numbers where radius_mm has {expected}")]
    PsfLen {
        /// Its key.
        key: &'static str,
        /// Numbers of this list.
        found: usize,
        /// Numbers of `radius_mm`.
        expected: usize,
    },

    // Standards of recovery coefficients.
    /// A key, by its name, without a text.
    #[error("'{0}' is empty; enter a text")]
    EmptyText(&'static str),
    /// Diameters, mm, that are not those of the six spheres.
    #[error(
        "'diameters_mm' is {}; expected the inner diameters of the NEMA spheres, 10, 13, 17, 22, 28 and 37, each once", listed(.0)
    )]
    SphereDiameters(Vec<f64>),
    /// A list of another length than six.
    #[error("[{section}]: '{key}' has {found} numbers; expected 6, one for each of 'diameters_mm'")]
    BandLen {
        /// Its section.
        section: &'static str,
        /// Its key.
        key: &'static str,
        /// Its length.
        found: usize,
    },
    /// Limits of a sphere that are no band.
    #[error(
        "[{section}], sphere of {diameter_mm} mm: min is {min} and max {max}; expected 0 ≤ min < max ≤ 10, as fractions (1 is the true activity)"
    )]
    BandLimits {
        /// Their section.
        section: &'static str,
        /// Diameter of the sphere, mm.
        diameter_mm: f64,
        /// Lower limit.
        min: f64,
        /// Upper limit.
        max: f64,
    },
    /// No section with limits.
    #[error("it limits nothing; add [mean_a50], [max] or [peak], each with min and max")]
    NoBand,

    // Calibrations of oxygen.
    /// No section, or several.
    #[error("expected one of the sections [r1], [r2] and [linewidth]")]
    OxygenSection,
    /// A slope or an intercept that is no calibration.
    #[error(
        "the slope is {slope_torr_us} torr·µs and the intercept {intercept_per_us}/µs; expected a slope above 0 and an intercept of at least 0"
    )]
    OxygenLine {
        /// Slope, torr·µs.
        slope_torr_us: f64,
        /// Intercept, 1/µs.
        intercept_per_us: f64,
    },

    // Studies of pulse oximetry.
    /// Times that are not those of the calibration and of the acquisitions.
    #[error(
        "expected {} with a time for each of {num} acquisitions, found {found}; the calibration is of {}",
        times_key(*rate), rate.label()
    )]
    OximetryTimes {
        /// Rate of the calibration, which determines the key.
        rate: RelaxationRate,
        /// Number of times under that key.
        found: usize,
        /// Number of the acquisitions.
        num: usize,
    },

    // Crystals.
    /// An angle out of range.
    #[error("min_angle_deg is {0}; it must be 0 to 180")]
    MinAngle(f64),
    /// A block, by its number, without crystals or copies.
    #[error("block {0}: it has no crystals or no copies; crystals, around and along must be 1 or more")]
    EmptyBlock(usize),
    /// A block, by its number, with more crystals than a scanner can have.
    #[error("block {0}: with it the scanner would have more than {1} crystals")]
    ManyCrystals(usize, usize),
    /// A block, by its number, in the middle of the scanner.
    #[error("block {0}: its middle lies on the axis, from where no direction is outwards; move it (centre_mm)")]
    BlockOnAxis(usize),
    /// A crystal, by its number, whose direction is not a unit vector.
    #[error("crystal {} looks in the direction ({}, {}, {}), which is no unit vector", .0, .1[0], .1[1], .1[2])]
    CrystalDirection(usize, [f64; 3]),

    // Crystal-pair histograms, system matrices, tubes of response, sensitivities.
    /// A ring that is not known.
    #[error("there is no ring '{0}'")]
    UnknownRing(String),
    /// Another number of crystals than a ring, by its name, has.
    #[error("{} has {} crystals, not {}", .0, .1.expected, .1.found)]
    NumCrystals(String, Mismatch),
    /// Another number of pairs than a ring, by its name, has.
    #[error("{} has {} pairs of crystals, not {}", .0, .1.expected, .1.found)]
    NumPairs(String, Mismatch),
    /// Too many elements of a matrix.
    #[error("it would have more than {0} elements")]
    ManyElements(u64),
    /// No coefficients, or too many.
    #[error("they would have none, or more than {0} coefficients")]
    NumCoefficients(usize),
    /// A sensitivity that is negative or not finite.
    #[error("{} contains negative or non-finite values", .0.display())]
    SensitivityValues(PathBuf),
    /// Attenuation factors outside of 0 … 1.
    #[error("{} contains values that are not from 0 to 1", .0.display())]
    FactorValues(PathBuf),
    /// Another number of voxels than the grid has.
    #[error("its voxels do not fill its grid")]
    Voxels,

    // Saved sweeps.
    /// A header of too many bytes.
    #[error("it has {} bytes, more than the {} that such a header can have", .0.found, .0.max)]
    LongHeader(Excess<u64>),
    /// A key with a value that is not positive.
    #[error("'{0}' is {1} where a positive number is expected")]
    NotPositive(&'static str, f64),
    /// Too few or too many samples.
    #[error("'num_points' is {} where 3 to {} are expected", .0.found, .0.max)]
    NumPoints(Excess),
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

/// Returns numbers as text.
fn listed(numbers: &[f64]) -> String {
    numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns versions as text: "1 and 2".
fn versions(versions: &[u32]) -> String {
    versions.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}

/// Returns the key of the times in a study of pulse oximetry.
fn times_key(rate: RelaxationRate) -> &'static str {
    match rate {
        RelaxationRate::R1 => "delays_us",
        RelaxationRate::R2 => "echo_times_us",
    }
}
