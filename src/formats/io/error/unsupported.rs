//! Unsupported content of well-formed files, one variant for each problem.

use std::path::PathBuf;

use super::Mismatch;
use super::form::FormProblem;
use crate::coded::Coded;
use crate::data::NotFinite;

/// Largest coefficient of attenuation that is read, 1/cm: lead has 1.8.
pub const MAX_PER_CM: f32 = 5.0;

/// Largest counts of a bin of a CASToR histogram: 32-bit floats hold all whole numbers up to here.
pub const MAX_COUNTS: f32 = 16_777_216.0;

/// Unsupported content of a file, and the remedy. Each variant has a code: [`Coded::code`].
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case", prefix = "io.unsupported.")]
pub enum Unsupported {
    // Files of the program's own forms.
    /// A file of one of the program's own forms; the code is that of the problem.
    #[error("{0}: {1}")]
    OwnForm(&'static str, FormProblem),
    /// A calibration; the code is that of the problem.
    #[error("it is no calibration that is understood ({0})")]
    Calibration(FormProblem),

    /// A point spread function; the code is that of the problem.
    #[error("it is no point spread function that is understood ({0})")]
    Psf(FormProblem),

    // Files of other programs.
    /// A file of another program, and how to export its data.
    #[error("it is {0}, and is not read; {1}")]
    Foreign(&'static str, &'static str),

    // Images of any format.
    /// The number of voxels is not that of the grid.
    #[error("its voxels do not fill its grid")]
    Voxels,
    /// A side, by its voxels, the format and its limit, that is too long for the format.
    #[error("a side of {0} voxels does not fit in {1} (at most {2}); write Interfile (.hv)")]
    LongSide(usize, &'static str, usize),
    /// A map of attenuation with another unit.
    #[error("its values are in {0}; a map of attenuation holds linear attenuation coefficients, 1/cm")]
    AttenuationUnit(&'static str),
    /// A map of attenuation with voxels that are not finite.
    #[error(transparent)]
    AttenuationNotFinite(NotFinite),
    /// A map of attenuation, by its smallest and largest values, that attenuation does not have.
    #[error(
        "its values go from {} to {}; a map of attenuation holds linear attenuation coefficients at 511 keV, from 0 to \
         {MAX_PER_CM} per cm (water has 0.096): Hounsfield units are converted by tomoscope mu-map, or by --ct", .0[0], .0[1]
    )]
    AttenuationRange([f32; 2]),
    /// A map whose largest value suits 1/cm and 1/mm.
    #[error(
        "its largest value is {0}, which can be per cm or per mm (water has 0.096 or 0.0096); give its unit (--mu-unit per-cm or per-mm)"
    )]
    AttenuationAmbiguous(f32),

    // NIfTI.
    /// A NIfTI-2 file.
    #[error("it is a NIfTI-2 file; convert it to NIfTI-1")]
    Nifti2,
    /// A file that is shorter than a NIfTI header, by its bytes.
    #[error("it is not a NIfTI-1 file: it has {0} bytes, and a header has 348")]
    ShortNifti(usize),
    /// The header of a pair of files.
    #[error("it is the header of a .hdr/.img pair; convert it to one .nii file")]
    NiftiPair,
    /// A file that does not begin with a NIfTI header.
    #[error("it is not a NIfTI-1 file: its first 348 bytes are no such header")]
    NotNifti,
    /// Several images, where one is expected.
    #[error("it has {0} images (4-D); take one out: tomoscope convert FILE OUT --frame 1 to {0}")]
    SeveralImages(usize),
    /// An image that the file does not have: its number, and the number of images.
    #[error("it has no image {0}; its images are 1 to {1}")]
    NoSuchImage(usize, usize),
    /// A size of the image that the NIfTI library refuses, with its message.
    #[error("invalid image size: {0}")]
    ImageSize(String),
    /// More than three dimensions and time: the volumes along a dimension, and its number.
    #[error("it has {0} volumes along dimension {1}; images of three dimensions and time are read, so split it")]
    Dimension(usize, usize),
    /// A side, by its voxels, that NIfTI does not allow.
    #[error("invalid side of {0} voxels; NIfTI allows 1 to {max}", max = i16::MAX)]
    NiftiSide(usize),
    /// Colours, complex numbers and the like.
    #[error("its data type has the code {0}; integers and floats of up to 64 bits are read (no colours, no complex numbers)")]
    DataType(i16),
    /// A slope and an intercept that are not numbers.
    #[error("its scale, slope {} and intercept {}, is not a number", .0[0], .0[1])]
    Scale([f64; 2]),
    /// Values that start within the header or far behind it.
    #[error("its values start at byte {0} ('vox_offset'); 352 is usual")]
    DataStart(f32),
    /// An affine that is not finite.
    #[error("its affine holds values that are not numbers")]
    Affine,
    /// Voxel axes that are not along the patient's, or not at right angles.
    #[error("its voxel axes are oblique to the patient's or not at right angles; resample it to axes along the patient's first")]
    Oblique,
    /// An oblique image in a format without directions.
    #[error("the image is oblique, and this format has no directions of axes; write NIfTI (.nii.gz) or DICOM (.dcm)")]
    ObliqueFormat,
    /// A series of images on different grids.
    #[error("images that are not on one grid are no series: {0}")]
    SeriesGrids(ndarray::ShapeError),
    /// A series of no image or of too many, by their number.
    #[error("a series has 1 to {max} images, and this one {0}", max = i16::MAX)]
    SeriesLength(usize),

    // DICOM.
    /// A quantity that a PET series cannot hold, and the formats that can hold it.
    #[error("a DICOM PET series holds activity, and the image {0}; write {1}")]
    DicomUnit(&'static str, &'static str),
    /// An image without a unit.
    #[error(
        "a DICOM PET series needs a unit, and the image has none; set it (tomoscope convert … --unit), or write \
         NIfTI (.nii.gz), Interfile (.hv) or .npy"
    )]
    DicomNoUnit,
    /// A correction for decay without a fact that a series must contain.
    #[error("the image is corrected for decay, and {0} is unknown, which a DICOM series must contain; write NIfTI (.nii.gz)")]
    DicomDecay(String),
    /// A segmentation without voxels.
    #[error("no lesion has a voxel, so that there is nothing to write")]
    EmptySegmentation,
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
    /// A shape with another number of dimensions than expected.
    #[error("its shape {0:?} is not that of an array of {1}")]
    NumpyShape(Vec<usize>, &'static str),
    /// A missing provenance record, by its path and that of its image.
    #[error(
        "no provenance record with the position of its voxels ({}); copy the record there, or set the voxel size: \
         tomoscope convert {} OUT --voxel-mm X,Y,Z",
        .0.display(), .1.display()
    )]
    NoRecord(PathBuf, PathBuf),
    /// A record, by its path, of another size than its image.
    #[error(
        "it has {} × {} × {} voxels along x, y and z, its record {} has {} × {} × {}; they do not belong together",
        .1.found[0], .1.found[1], .1.found[2], .0.display(), .1.expected[0], .1.expected[1], .1.expected[2]
    )]
    OtherRecord(PathBuf, Mismatch<[usize; 3]>),

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
    /// A sample that is not finite: its number, its spectrum or table, and its value.
    #[error("sample {0} of {1} is {2}, which nothing can be made of; repair it or leave it out")]
    NotFinite(usize, String, f32),
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
    /// An image without a field of its samples.
    #[error(
        "it has no spectra: the name of its intent is not 'tomoscope field'; expected an image of reconstruct --spectral-samples"
    )]
    NoFieldAxis,
    /// A table of another shape, rows and columns, than one vector for each of the projections.
    #[error(
        "its shape is {} × {} where 3 × {expected} is expected (2 × {expected} for a slice): one vector per projection",
        .0[0], .0[1], expected = .1
    )]
    VectorShape([usize; 2], usize),
    /// More than one spectrum, by rows and columns.
    #[error("it holds {} × {} numbers, where one spectrum is expected", .0[0], .0[1])]
    NotOneSpectrum([usize; 2]),
    /// An axis, by rows and columns, of another length than the projections.
    #[error("it holds {} × {} numbers where {} are expected, one per sample", .0[0], .0[1], .1)]
    AxisLength([usize; 2], usize),
    /// An axis that is not even.
    #[error(
        "it is not an axis of evenly spaced, growing values; reverse a falling axis together with the projections, interpolate projections at \
         uneven values"
    )]
    UnevenAxis,
    /// Weights of another number than the projections.
    #[error("it holds {} weights for {} projections", .0.found, .0.expected)]
    NumWeights(Mismatch),
    /// A negative weight, by its number.
    #[error("weight {0} is negative")]
    NegativeWeight(usize),
    /// Weights that are all 0.
    #[error("all weights are 0; expected some above 0")]
    NoWeight,

    // Bruker BES3T.
    /// A file that does not begin as a descriptor.
    #[error("it is not a BES3T descriptor: it begins with '{0}' where '#DESC' is expected")]
    NotBes3t(String),
    /// A spectral-spatial image, whose descriptor lacks the size of each gradient.
    #[error(
        "it is a spectral-spatial image (NrOfPsi is not 1), whose descriptor lacks the gradient of each projection; write the projections \
         and their gradients as a NumPy set (NAME-proj.npy, NAME-fgrad.npy, NAME-B.npy) and open that"
    )]
    SpectralSpatial,
    /// Data of three axes.
    #[error("it has a third axis (ZTYP), which neither a sweep nor a spectrum has; export one slice of it")]
    ThirdAxis,
    /// Spectra along an axis that is no gradient, by its name, and their number.
    #[error(
        "its {1} spectra are along an axis of {0}, not of gradients; export one of them as a single spectrum (of a saturation series one at a power \
         below saturation)"
    )]
    SecondAxis(String, usize),
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
    /// Several time frames or types of image: their number, name and key.
    #[error("it holds {0} {1} ('{2}'); split it into files of one each")]
    SeveralParts(usize, &'static str, &'static str),
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
    /// Prompts and randoms that overlap: the bytes of each, and their offsets.
    #[error("its prompts and randoms of {} bytes each overlap ('data offset in bytes [i]': {} and {})", .0, .1[0], .1[1])]
    Overlap(u64, [u64; 2]),

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
    #[error("it is of the scanner '{}', but the list's is '{}'", .0.found, .0.expected)]
    OtherScanner(Mismatch<String>),
    /// No table of the scanner of this name.
    #[error(
        "the table of its scanner is missing: put {0}.hscan and {0}.lut, {0}.geom or {0}.crystals.toml in its folder, or set the table (--crystals)"
    )]
    NoTable(String),
    /// A table of another size than its header describes.
    #[error("it has {found} bytes where {num} crystals of {size} bytes are expected (at most {max})")]
    TableSize {
        /// Bytes of the file.
        found: u64,
        /// Crystals of the scanner.
        num: u64,
        /// Bytes of a crystal.
        size: u64,
        /// Crystals that a scanner can have.
        max: u64,
    },
    /// Counts of a bin, by its number, that are not whole numbers.
    #[error("bin {0} has {1} counts; whole numbers from 0 to {MAX_COUNTS} are expected, not counts that were corrected before")]
    BinCounts(u64, f32),
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
    /// An event with invalid crystal numbers, and the last crystal of the scanner.
    #[error("an event is of the crystals {} and {}, but two of 0 to {} are expected", .0[0], .0[1], .1)]
    EventCrystals([u32; 2], usize),
    /// An event of crystals without efficiency.
    #[error("an event of the crystals {} and {} exists, but their efficiency is {}", .0[0], .0[1], .1)]
    EventEfficiency([u32; 2], f32),
    /// Intervals of time of flight of different widths, mm.
    #[error("the intervals of time of flight are {} mm and {} mm wide, but CASToR's lists have one width", .0.expected, .0.found)]
    TofWidths(Mismatch<f64>),
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
            Self::OwnForm(_, problem) | Self::Calibration(problem) | Self::Psf(problem) => problem.into(),
            other => other.into(),
        }
    }
}
