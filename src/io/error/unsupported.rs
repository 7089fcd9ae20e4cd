//! What a well-formed file can hold that is not supported, one variant for each problem.

use std::path::PathBuf;

use super::form::FormProblem;
use crate::coded::Coded;
use crate::data::NotFinite;

/// What is not supported in a file, and what to do. Each has a code: [`Coded::code`].
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case", prefix = "io.unsupported.")]
pub enum Unsupported {
    // Files of the program's own forms.
    /// A file of one of the program's own forms; the code is that of the problem.
    #[error("{what}: {problem}")]
    OwnForm {
        /// What the file is not, or what failed.
        what: &'static str,
        /// Why.
        problem: FormProblem,
    },
    /// A calibration; the code is that of the problem.
    #[error("it is no calibration that is understood ({0})")]
    Calibration(FormProblem),

    // Images of any format.
    /// The number of voxels is not that of the grid.
    #[error("its voxels do not fill its grid")]
    Voxels,
    /// A side that is too long for the format.
    #[error("a side of {side} voxels does not fit in {format} (at most {most}); write Interfile (.hv)")]
    LongSide {
        /// Voxels of the side.
        side: usize,
        /// The format.
        format: &'static str,
        /// Voxels that a side can have.
        most: usize,
    },
    /// A map of attenuation with another unit.
    #[error("its values are in {0}; a map of attenuation holds linear attenuation coefficients, 1/cm")]
    AttenuationUnit(&'static str),
    /// A map of attenuation with voxels that are not finite.
    #[error(transparent)]
    AttenuationNotFinite(NotFinite),
    /// A map of attenuation with values that attenuation does not have.
    #[error(
        "its values go from {low} to {high}; a map of attenuation holds linear attenuation coefficients at 511 keV, from 0 to \
         {most} per cm (water has 0.096): convert Hounsfield units first"
    )]
    AttenuationRange {
        /// Smallest value.
        low: f32,
        /// Largest value.
        high: f32,
        /// Largest value that is read.
        most: f32,
    },

    // NIfTI.
    /// A NIfTI-2 file.
    #[error("it is a NIfTI-2 file; convert it to NIfTI-1")]
    Nifti2,
    /// A file that is shorter than a NIfTI header.
    #[error("it is not a NIfTI-1 file: it has {found} bytes, and a header has {expected}")]
    ShortNifti {
        /// Bytes of the file.
        found: usize,
        /// Bytes of a header.
        expected: u64,
    },
    /// The header of a pair of files.
    #[error("it is the header of a .hdr/.img pair; convert it to one .nii file")]
    NiftiPair,
    /// A file that does not begin with a NIfTI header.
    #[error("it is not a NIfTI-1 file: its first 348 bytes are no such header")]
    NotNifti,
    /// Several images, where one is expected.
    #[error("it has {0} images (4-D); take one out: tomoscope convert FILE OUT --frame 1 to {0}")]
    SeveralImages(usize),
    /// An image that the file does not have.
    #[error("it has no image {frame}; its images are 1 to {num_frames}")]
    NoSuchImage {
        /// Number of the image.
        frame: usize,
        /// Images of the file.
        num_frames: usize,
    },
    /// A size of the image that the NIfTI library refuses.
    #[error("invalid image size: {reason}")]
    ImageSize {
        /// The message of the library.
        reason: String,
    },
    /// More than three dimensions and time.
    #[error("it has {num} volumes along dimension {dimension}; images of three dimensions and time are read, so split it")]
    Dimension {
        /// Volumes along the dimension.
        num: usize,
        /// Number of the dimension.
        dimension: usize,
    },
    /// A side that NIfTI does not allow.
    #[error("invalid side of {side} voxels; NIfTI allows 1 to {most}")]
    NiftiSide {
        /// Voxels of the side.
        side: usize,
        /// Voxels that a side can have.
        most: usize,
    },
    /// Colours, complex numbers and the like.
    #[error("its data type has the code {0}; integers and floats of up to 64 bits are read (no colours, no complex numbers)")]
    DataType(i16),
    /// A scale that is not a number.
    #[error("its scale, slope {slope} and intercept {intercept}, is not a number")]
    Scale {
        /// The slope.
        slope: f64,
        /// The intercept.
        intercept: f64,
    },
    /// Values that start within the header or far behind it.
    #[error("its values start at byte {0} ('vox_offset'); 352 is usual")]
    DataStart(f32),
    /// An affine that is not finite.
    #[error("its affine holds values that are not numbers")]
    Affine,
    /// Voxel axes that are not along the patient's.
    #[error("its voxel axes are oblique to the patient's; resample it to axes along the patient's first")]
    Oblique,
    /// A series of images on different grids.
    #[error("images that are not on one grid are no series: {0}")]
    SeriesGrids(ndarray::ShapeError),
    /// A series of no image or of too many.
    #[error("a series has 1 to {most} images, and this one {found}")]
    SeriesLength {
        /// Images that a series can have.
        most: usize,
        /// Images of this one.
        found: usize,
    },

    // DICOM.
    /// An image that a PET series cannot hold.
    #[error("a DICOM PET series holds activity, and the image {holds}; write {formats}")]
    DicomUnit {
        /// What the image holds.
        holds: &'static str,
        /// Formats that can hold it.
        formats: &'static str,
    },
    /// An image without a unit.
    #[error(
        "a DICOM PET series needs a unit, and the image has none; set it (tomoscope convert … --unit), or write \
         NIfTI (.nii.gz), Interfile (.hv) or .npy"
    )]
    DicomNoUnit,
    /// A file in the place of the folder of a series.
    #[error("a file of this name exists, and a DICOM series is a folder; choose another name")]
    DicomNotAFolder,
    /// A folder with another file.
    #[error("the folder holds {0}, which is no slice that this program wrote; choose another name")]
    DicomOtherFile(String),

    // NumPy arrays.
    /// A file that is not an array.
    #[error("it is not a NumPy array: the first bytes are not those of an .npy file")]
    NotNumpy,
    /// A header that does not end.
    #[error("its header is cut off or too long")]
    NumpyHeaderCut,
    /// A header that is not text.
    #[error("its header is not text")]
    NumpyHeaderText,
    /// A version of the format.
    #[error("its version {0} of the .npy format is not known; versions 1 to 3 are")]
    NumpyVersion(u8),
    /// A key that the header lacks.
    #[error("its header has no '{0}'")]
    NumpyKey(&'static str),
    /// A type of numbers.
    #[error(
        "its numbers are of type '{0}'; real ones are read: f4, f8, i1 to i8, u1 to u8; save it again as array.astype('float32')"
    )]
    NumpyType(String),
    /// An order that is neither C nor Fortran.
    #[error("its 'fortran_order' is '{0}' where True or False is expected")]
    NumpyOrder(String),
    /// A shape without numbers.
    #[error("its shape {0} is not that of an array with numbers")]
    NumpyNoNumbers(String),
    /// A shape of too many numbers.
    #[error("its shape {0} is more than can be held")]
    NumpyTooLarge(String),
    /// A number of dimensions.
    #[error("its shape {shape:?} is not that of an array of {expected}")]
    NumpyShape {
        /// The shape.
        shape: Vec<usize>,
        /// The dimensions that are read.
        expected: &'static str,
    },
    /// An image without a provenance record.
    #[error(
        "no provenance record with the position of its voxels ({record}); copy the record there, or set the voxel size: \
         tomoscope convert {image} OUT --voxel-mm X,Y,Z",
        record = .record.display(),
        image = .image.display()
    )]
    NoRecord {
        /// Where the record is expected.
        record: PathBuf,
        /// The image.
        image: PathBuf,
    },
    /// An image with a record of another size.
    #[error(
        "it has {} × {} × {} voxels along x, y and z, its record {record} has {} × {} × {}; they do not belong together",
        .found[0], .found[1], .found[2], .expected[0], .expected[1], .expected[2],
        record = .record.display()
    )]
    OtherRecord {
        /// Voxels of the image.
        found: [usize; 3],
        /// The record.
        record: PathBuf,
        /// Voxels of the record.
        expected: [usize; 3],
    },

    // EPRI sweeps of any format.
    /// Projections that are not measured yet.
    #[error(
        "its {0} projections are all zero, as in a file that was allocated in advance and is not measured yet; \
         if it is being written now, follow it (--follow, or Follow… in the window)"
    )]
    AllZero(usize),
    /// A format that does not support following.
    #[error("only a Bruker descriptor (.DSC) or a saved sweep (.sweep) can be followed while it is written")]
    NotFollowed,
    /// A projection that is not written yet.
    #[error("projection {0} has no direction: it is still to be written; follow it (--follow, or Follow… in the window)")]
    NoDirection(usize),
    /// A phase, in degrees, of real values.
    #[error("its values are real, so there is nothing to turn by {0}°; leave the phase out (--phase)")]
    NotComplex(f64),
    /// A sample that is not finite.
    #[error("sample {sample} of {what} is {value}, which nothing can be made of; repair it or leave it out")]
    NotFinite {
        /// Number of the sample.
        sample: usize,
        /// What has the sample.
        what: String,
        /// Its value.
        value: f32,
    },
    /// Directions in a plane that is oblique to the axes.
    #[error(
        "all directions lie in one plane that is oblique to the gradient axes (its normal is {:.3}, {:.3}, {:.3}); a slice is reconstructed where the plane goes through two of the axes: give the gradients along two axes in the plane as a table of two rows",
        .0[0], .0[1], .0[2]
    )]
    ObliqueSlice([f64; 3]),

    // Sets of NumPy arrays.
    /// Another file of a set than the one to open.
    #[error("of a set of NumPy arrays, open the one called NAME{0}.npy")]
    NotOfASet(&'static str),
    /// Projections of too few samples.
    #[error("projections of {0} samples are too short; at least 3 are needed")]
    FewSamples(usize),
    /// A set without directions.
    #[error(
        "the directions are missing: put NAME-fgrad.npy (gradients, G/cm) and NAME-B.npy (field, G) in its folder for \
         continuous-wave projections, or NAME-dir.npy (directions) and NAME-t.npy (positions, mm) for pulse ones"
    )]
    NoDirections,
    /// Gradients that are all zero.
    #[error("all gradients are zero; there is no projection to reconstruct")]
    NoGradient,
    /// Gradients of different sizes.
    #[error(
        "gradient {number} is {size} G/cm and others {largest} G/cm; only gradients of one size (spatial images) are reconstructed"
    )]
    DifferentGradients {
        /// Number of the gradient.
        number: usize,
        /// Its size.
        size: f64,
        /// The largest size.
        largest: f64,
    },
    /// A table of another shape than one vector per projection.
    #[error(
        "its shape is {rows} × {columns} where 3 × {expected} is expected (2 × {expected} for a slice): one vector per projection"
    )]
    VectorShape {
        /// Rows of the table.
        rows: usize,
        /// Columns of the table.
        columns: usize,
        /// Number of projections.
        expected: usize,
    },
    /// More than one spectrum.
    #[error("it holds {rows} × {columns} numbers, where one spectrum is expected")]
    NotOneSpectrum {
        /// Rows of the table.
        rows: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// An axis of another length than the projections.
    #[error("it holds {rows} × {columns} numbers where {expected} are expected, one per sample")]
    AxisLength {
        /// Rows of the table.
        rows: usize,
        /// Columns of the table.
        columns: usize,
        /// Number of samples.
        expected: usize,
    },
    /// An axis that is not even.
    #[error("it is not an axis of evenly spaced, growing values")]
    UnevenAxis,
    /// Weights of another number than the projections.
    #[error("it holds {found} weights for {expected} projections")]
    NumWeights {
        /// Number of weights.
        found: usize,
        /// Number of projections.
        expected: usize,
    },
    /// A negative weight, by its number.
    #[error("weight {0} is negative")]
    NegativeWeight(usize),

    // Bruker BES3T.
    /// A file that does not begin as a descriptor.
    #[error("it is not a BES3T descriptor: it begins with '{0}' where '#DESC' is expected")]
    NotBes3t(String),
    /// A spectral-spatial image.
    #[error("it is a spectral-spatial image (NrOfPsi is not 1), which is not reconstructed yet")]
    SpectralSpatial,
    /// Data of three axes.
    #[error("it has a third axis (ZTYP), which neither a sweep nor a spectrum has; export one slice of it")]
    ThirdAxis,
    /// A spectrum, where a sweep is expected.
    #[error("it is a single spectrum, not a sweep of projections; it may be the reference spectrum of one")]
    SingleSpectrum,
    /// Several spectra, where a reference spectrum is expected.
    #[error("it holds {0} spectra, where one reference spectrum, measured without a gradient, is expected")]
    SeveralSpectra(usize),

    // Interfile.
    /// An empty header.
    #[error("the header is empty; take the file again from where it comes from")]
    EmptyHeader,
    /// Several scaling factors.
    #[error("the key 'image scaling factor' holds different factors; only one for all data is understood")]
    DifferentFactors,
    /// Several time frames or types of image.
    #[error("it holds {num} {what} ('{key}'); split it into files of one each")]
    SeveralParts {
        /// Number of parts.
        num: usize,
        /// What they are.
        what: &'static str,
        /// The key of their number.
        key: &'static str,
    },
    /// Projection data, where an image is expected.
    #[error("'number of dimensions' is 4 or 5: that is projection data, where an image has 3")]
    ProjectionData,
    /// An image by its type, where projection data is expected.
    #[error("it describes an image ('PET data type := Image'), not projection data")]
    Image,
    /// An image by its dimensions, where projection data is expected.
    #[error("'number of dimensions' is 3: that is an image, where projection data has 4")]
    #[strum(serialize = "image")]
    ImageDimensions,
    /// Sinograms with time of flight.
    #[error(
        "it holds time-of-flight data ('number of dimensions' is 5), which is not reconstructed yet; add its time bins up to one file of 4 dimensions"
    )]
    TimeOfFlight,
    /// Siemens data with several bins of time of flight.
    #[error("it holds time-of-flight data ('%number of tof time bins' is {0}), which is not read; add its time bins up")]
    #[strum(serialize = "time-of-flight")]
    TofBins(usize),
    /// An even number of segments.
    #[error("it has {0} segments; only odd numbers are understood: segment 0 and pairs of opposite ring differences")]
    EvenSegments(usize),
    /// Two segments of one mean ring difference.
    #[error(
        "two segments have the same mean ring difference, {0} ('minimum ring difference per segment', 'maximum ring difference per segment')"
    )]
    SameSegments(f64),
    /// No segment of direct planes.
    #[error(
        "no segment has the mean ring difference 0 ('minimum ring difference per segment', 'maximum ring difference per segment')"
    )]
    NoDirectSegment,
    /// Detectors that are not on a cylinder.
    #[error(
        "the scanner geometry is '{0}': its detectors have their own map ('Scanner geometry'); only cylindrical scanners are supported"
    )]
    ScannerGeometry(String),
    /// A data file name that is not valid in a header.
    #[error("its name is not valid in a text header; use plain characters and the ending of a header")]
    HeaderName,

    // Siemens' lists and sinograms.
    /// Events of another size.
    #[error("its words have {0} bits each; only lists of 32 bits are read")]
    WordBits(usize),
    /// Events in planes of several ring pairs.
    #[error(
        "its events are in planes of several ring pairs ('%axial compression' is {0}); only planes of one ring pair are supported"
    )]
    RingPairs(usize),
    /// Compressed sinograms.
    #[error(
        "its data is packed in a way that only Siemens' software unpacks ('%compression' is on); let that write it again \
         without compression"
    )]
    Compressed,
    /// Prompts or randoms twice.
    #[error("it holds {0} twice ('scan data type description')")]
    Twice(String),
    /// No prompts.
    #[error("it holds no prompts ('scan data type description')")]
    NoPrompts,
    /// Prompts and randoms at one place.
    #[error("its prompts and randoms of {num_bytes} bytes each overlap ('data offset in bytes [i]': {prompts} and {randoms})")]
    Overlap {
        /// Bytes of each.
        num_bytes: u64,
        /// Where the prompts begin.
        prompts: u64,
        /// Where the randoms begin.
        randoms: u64,
    },

    // CASToR, read.
    /// Events with the depth of interaction.
    #[error("its events contain the depth of interaction ('POI capability'), which is not supported; write it without")]
    DepthOfInteraction,
    /// No histogram, where one is expected.
    #[error("it is not a histogram ('Data mode'); one's mode is histogram")]
    NotAHistogram,
    /// No events, where they are expected.
    #[error("it has no events ('Data mode'); the mode of those that are read is list-mode or histogram")]
    NoEvents,
    /// No normalisation, where one is expected.
    #[error("it is not a normalisation file ('Data mode'); one's mode is normalization")]
    NotANormalization,
    /// A normalisation of another scanner.
    #[error("it is of the scanner '{found}', but the list's is '{expected}'")]
    OtherScanner {
        /// The scanner of the file.
        found: String,
        /// The scanner of the list.
        expected: String,
    },
    /// No table of the scanner of this name.
    #[error(
        "the table of its scanner is missing: put {0}.hscan and {0}.lut, {0}.geom or {0}.crystals.toml in its folder, or set the table (--crystals)"
    )]
    NoTable(String),
    /// A table of another size than its header describes.
    #[error("it has {found} bytes where {num} crystals of {size} bytes are expected (at most {most})")]
    TableSize {
        /// Bytes of the file.
        found: u64,
        /// Crystals of the scanner.
        num: u64,
        /// Bytes of a crystal.
        size: u64,
        /// Crystals that a scanner can have.
        most: u64,
    },
    /// Counts of a bin that are not whole numbers.
    #[error("bin {bin} has {counts} counts; whole numbers from 0 to {most} are expected, not counts that were corrected before")]
    BinCounts {
        /// Number of the bin.
        bin: u64,
        /// Its counts.
        counts: f32,
        /// Counts that a bin can have.
        most: f32,
    },
    /// An entry of several pairs that was not in the file when it was opened.
    #[error("it has several pairs of crystals and came after the file was opened; open the file when it is whole")]
    LateEntry,

    // CASToR, written.
    /// A scanner name that is not a valid file name.
    #[error("the scanner name '{0}' is not a valid file name; use letters, digits, - and _")]
    ScannerName(String),
    /// A data file name that is not valid in a header.
    #[error("its name is not valid in a CASToR header; use plain characters and the ending .Cdh")]
    CastorName,
    /// A background without the duration of the scan.
    #[error("the background is stored as a rate, but the duration of the scan is unknown; set its duration")]
    NoDuration,
    /// Time of flight without its resolution.
    #[error("its events have time of flight, but the resolution is unknown")]
    NoTofResolution,
    /// Events with other fields than those before.
    #[error("these events have other fields than the previous ones (time, time of flight, factors, background)")]
    OtherFields,
    /// An event with invalid crystal numbers.
    #[error("an event is of the crystals {first} and {second}, but two of 0 to {last} are expected")]
    EventCrystals {
        /// The first crystal.
        first: u32,
        /// The second crystal.
        second: u32,
        /// The scanner's last crystal.
        last: usize,
    },
    /// An event of crystals without efficiency.
    #[error("an event of the crystals {first} and {second} exists, but their efficiency is {efficiency}")]
    EventEfficiency {
        /// The first crystal.
        first: u32,
        /// The second crystal.
        second: u32,
        /// Their efficiency.
        efficiency: f32,
    },
    /// Intervals of time of flight of different widths, mm.
    #[error("the intervals of time of flight are {expected} mm and {found} mm wide, but CASToR's lists have one width")]
    TofWidths {
        /// The width of the first one.
        expected: f64,
        /// The other width.
        found: f64,
    },
    /// Crystals of too many sizes.
    #[error("the sides of its scanner's crystals differ too much for CASToR's table, which has those of whole layers")]
    CrystalSizes,
    /// A table of another scanner with this name.
    #[error("another table of this scanner exists, which other files may need; write to another folder")]
    OtherTable,

    // YRT-PET.
    /// No table of crystals.
    #[error(
        "a YRT-PET list does not name its scanner; name the table of its crystals (.lut, .hscan, .geom or .crystals.toml) with --crystals FILE"
    )]
    YrtNoTable,
    /// An uncertainty or a step of time of flight out of range.
    #[error("its time of flight needs an uncertainty (FWHM) above 0 ps and a step of 0 ps or more, both at most a millisecond")]
    YrtTof,
    /// A range of time of flight out of range.
    #[error("the range of its time of flight needs a width above 0 ps and at most a millisecond, and events with time of flight")]
    YrtTofRange,
}

impl Coded for Unsupported {
    fn code(&self) -> &'static str {
        match self {
            Self::OwnForm { problem, .. } | Self::Calibration(problem) => problem.into(),
            other => other.into(),
        }
    }
}
