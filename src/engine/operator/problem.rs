//! Reason why an operator does not apply, one variant for each reason.

use std::fmt::Display;

use crate::data::MichelogramError;

/// Numbers of symmetries of system matrices: all of a ring of 18 modules, and those of squares.
pub const STORED_SYMMETRIES: [usize; 2] = [72, 8];

/// Reason why a projector does not fit a geometry or an image.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Misfit {
    // Tubes of response.
    /// No tubes.
    #[error("it needs tubes of response: make them (tomoscope tubes) and name their file (--tubes)")]
    NoTubes,
    /// Tubes of another scanner.
    #[error("the tubes are those of {tubes}, the data of {data}")]
    OtherScanner {
        /// Scanner of the tubes.
        tubes: String,
        /// Scanner of the data.
        data: String,
    },
    /// Data of several ring differences together.
    #[error("tubes of response belong to single ring differences, and these data add several (span above 1)")]
    Spanned,
    /// Data of positions that have no tubes.
    #[error(
        "the tubes of {scanner} reach to tangential index {} and ring difference {}, these data to {} and {}",
        .tubes[0], .tubes[1], .data[0], .data[1]
    )]
    Reach {
        /// Scanner of the tubes.
        scanner: String,
        /// Largest tangential index and ring difference of the tubes.
        tubes: [usize; 2],
        /// Those of the data.
        data: [usize; 2],
    },
    /// Tubes with too many samples along the axis.
    #[error("the tubes have {found} samples along the axis, and at most {most} can be used")]
    AxialSamples {
        /// Samples of the tubes.
        found: usize,
        /// Samples that can be used.
        most: usize,
    },
    /// A line of the data that is not on the lattice of the samples.
    #[error(
        "the line of view {view} at tangential position {tangential_pos} is not the {across_mm} mm step across from its neighbours \
         that the tubes are sampled at"
    )]
    OffLattice {
        /// The view.
        view: usize,
        /// The tangential position.
        tangential_pos: usize,
        /// Distance of the samples.
        across_mm: f64,
    },
    /// Slices that do not fit the rings.
    #[error("slices must lie half a ring spacing ({half_ring_mm} mm) apart, with one in the middle of every ring")]
    Slices {
        /// Half a ring spacing.
        half_ring_mm: f64,
    },
    /// Too few slices.
    #[error("{found} slices do not reach from the middle of the first ring to that of the last; use {needed} or more")]
    FewSlices {
        /// Slices of the image.
        found: usize,
        /// Slices that are needed.
        needed: usize,
    },
    /// Samples along the axis that are not as far apart as slices.
    #[error("the tubes are sampled every {tubes_mm} mm along the axis, the image every {slices_mm} mm")]
    AxialStep {
        /// Distance of the samples.
        tubes_mm: f64,
        /// Distance of the slices.
        slices_mm: f64,
    },

    /// Data with time of flight.
    #[error(
        "time-of-flight bins need --projector axial-runs on CUDA devices, --projector per-lor on other GPUs, and either of them on the \
         CPU (--no-tof ignores the bins)"
    )]
    Tof,
    /// Time of flight on lines too steep for two sets of weights.
    #[error("the lines of this scanner are too steep for time of flight on a GPU: use --device cpu")]
    SteepTof,

    // Projectors by axial runs.
    /// Planes that are not a whole number of voxels apart.
    #[error(
        "neighbouring planes lie {planes_mm:.4} mm apart, which is {:.4} voxels of {voxel_mm:.4} mm and not a whole number from 1 to \
         {most}", .planes_mm / .voxel_mm
    )]
    PlaneStep {
        /// Distance of the planes.
        planes_mm: f64,
        /// Height of a voxel.
        voxel_mm: f64,
        /// Voxels that planes can be apart.
        most: usize,
    },
    /// Segments that need too many classes of rows.
    #[error("segments with planes {strides:?} voxels apart would need {found} classes of rows (at most {most})")]
    Classes {
        /// Distances of the planes of each segment, in voxels.
        strides: Vec<usize>,
        /// Classes that are needed.
        found: usize,
        /// Classes that can be used.
        most: usize,
    },
    /// An image far from the scanner.
    #[error("the image lies too far from the scanner, or the scanner's planes reach too far beyond the image")]
    FarImage,

    // System matrices.
    /// Another number of symmetries than the code is made for.
    #[error("system matrices have {} or {} symmetries, not {num}", STORED_SYMMETRIES[0], STORED_SYMMETRIES[1])]
    Symmetries {
        /// Symmetries of the matrix.
        num: usize,
    },

    // GPUs.
    /// Tubes that are too large for the kernels.
    #[error(
        "the GPU's kernels take tubes of up to {rings} rings and {across} samples across, and images of up to {slices} slices; the \
         CPU takes more (--device cpu)"
    )]
    LargeTubes {
        /// Rings that they take.
        rings: usize,
        /// Samples across.
        across: usize,
        /// Slices.
        slices: usize,
    },
    /// Tubes of different lengths within a view.
    #[error("the GPU's kernels take tubes whose lines are equally long in all of a view; the CPU takes others (--device cpu)")]
    UnequalLines,
    /// An image that no kernel is made for.
    #[error("an image of {slices} slices with neighbouring planes {step} slices apart is more than its GPU kernels are made for")]
    NoKernel {
        /// Slices of the image.
        slices: usize,
        /// Slices between neighbouring planes.
        step: usize,
    },
    /// A table with too many entries.
    #[error("a table of the GPU kernels would need {0} entries, more than they can number")]
    LargeTable(usize),
    /// Too little shared memory.
    #[error("a warp would need {0} bytes of the GPU's shared memory, more than it has")]
    SharedMemory(usize),
    /// Too many layers of crystals.
    #[error("the GPU simulates rings of up to {0} layers; the CPU takes more (--device cpu)")]
    Layers(usize),

    /// Values that are not those of the geometry.
    #[error(transparent)]
    Michelogram(#[from] MichelogramError),
}

impl Misfit {
    /// Returns the way out, where the reason does not contain it.
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Misfit::Tof | Misfit::SteepTof => "",
            _ => "; use the projector per-lor",
        }
    }
}

/// A setting or an amount of data that an operator or a device does not support.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OperatorLimit {
    /// Too many events.
    #[error("the list has {found} events; the most that can be used at once are {most}")]
    NumEvents {
        /// Events of the list.
        found: usize,
        /// Events that can be used.
        most: u32,
    },
    /// An event of a crystal that the scanner does not have.
    #[error(
        "event {event} of the list is between the crystals {} and {}; the scanner {scanner} has {num_crystals}",
        .pair[0], .pair[1]
    )]
    UnknownCrystal {
        /// Number of the event.
        event: usize,
        /// Its crystals.
        pair: [u32; 2],
        /// Name of the scanner.
        scanner: String,
        /// Crystals of the scanner.
        num_crystals: usize,
    },
    /// A time-of-flight resolution, mm, that is not positive.
    #[error("the time-of-flight resolution (FWHM) is {0} mm; it must be a positive length")]
    TofResolution(f64),
    /// Too many time-of-flight resolutions.
    #[error("the list has {found} time-of-flight resolutions; the most are {most}")]
    NumTofResolutions {
        /// Resolutions of the list.
        found: usize,
        /// Resolutions that can be used.
        most: u8,
    },
    /// Several time-of-flight resolutions on a GPU.
    #[error("the list has {0} time-of-flight resolutions, which only the processor can use (--device cpu)")]
    TofOnGpu(usize),
    /// Several GPUs that do not share events.
    #[error("only NVIDIA GPUs share the events of a list (--device cuda:all); choose one GPU")]
    EventTeam,
    /// Too little memory for the first of two stages.
    #[error(
        "there is no memory for the {num_azimuths} azimuths of the first of two stages, {num_points} samples × {num_layers} layers \
         each; choose an image that the projections reach, or one stage (--algorithm fbp)"
    )]
    StageMemory {
        /// Azimuths.
        num_azimuths: usize,
        /// Samples of each.
        num_points: usize,
        /// Layers of each.
        num_layers: usize,
    },
    /// Several processes.
    #[error("the projector tubes-paper does not support several processes; use the projector tubes")]
    Processes,
    /// Data of a subset that are not contiguous.
    #[error("the measured data of a subset must lie in one piece on a GPU")]
    Pieces,
    /// Threads of a block, by their number, that do not fit.
    #[error("blocks of {0} threads do not fit on the GPU; choose between 32 and 1024")]
    Threads(u32),
    /// Voxels that are too large for the samples.
    #[error(
        "voxels of {voxel_mm:?} mm are too large for samples of {step_mm} mm: a tile of them meets {window} samples, more than the \
         GPU's shared memory holds; choose smaller voxels"
    )]
    LargeVoxels {
        /// Size of the voxels.
        voxel_mm: [f64; 3],
        /// Distance of the samples.
        step_mm: f64,
        /// Samples that a tile meets.
        window: usize,
    },
    /// Rows of an image that are too long.
    #[error("the paper's kernel has a thread for each of the {found} voxels of a row; the GPU allows {most}")]
    LongRow {
        /// Voxels of a row.
        found: usize,
        /// Threads that the GPU allows.
        most: usize,
    },
    /// Another interpolation than the linear one.
    #[error("the paper's kernel interpolates linearly, not by {0}")]
    Interpolation(String),
    /// A GPU, by its number, that is not usable.
    #[error("cuda:{0} is not usable; `tomoscope devices` prints the reason")]
    NoGpu(usize),
}

impl OperatorLimit {
    /// Returns the problem of an interpolation.
    pub fn interpolation(interpolation: impl Display) -> Self {
        OperatorLimit::Interpolation(interpolation.to_string())
    }
}
