//! Reason why settings do not go together, or do not suit the data: one variant for each reason.

use crate::coded::coded;
use crate::data::TofBinsError;
use crate::geometry::Grid;
use crate::operator::Misfit;
use crate::plan::algorithms::setting::SettingProblem;
use crate::text::{bytes, counted, either};

/// Reason why settings do not go together, or do not suit the data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetupProblem {
    // Devices.
    /// Requested GPUs that are not usable.
    #[error("{}", unusable(device.as_deref(), reason, *names_the_cpu))]
    Device {
        /// The GPU, "CUDA device 0"; `None` = all that were asked for.
        device: Option<String>,
        /// Why, as the driver's error puts it.
        reason: String,
        /// True if the reason already advises to use the CPU.
        names_the_cpu: bool,
    },
    /// A device, by its name, that lacks something.
    #[error("{device} has no {what}; use another device (--device cpu)")]
    Lacks {
        /// Name of the device.
        device: String,
        /// The missing capability.
        what: &'static str,
    },
    /// Several GPUs for work that is not shared out.
    #[error("this works on one GPU only; name one (--device cuda:0)")]
    OneGpu,
    /// Several processes on GPUs through wgpu.
    #[error("gpu:N computes in one process; several processes use CUDA devices or the CPU (--device cuda or cpu)")]
    OneProcess,

    // Image.
    /// An image with too many voxels along a side.
    #[error("the image has a side of {side} voxels; at most {max} can be handled: choose fewer or larger voxels")]
    ImageSize {
        /// Voxels along that side.
        side: usize,
        /// Voxels along a side at most.
        max: usize,
    },
    /// Voxels so small that their number has no end.
    #[error(
        "voxels of {voxel_mm} mm are too small: {extent_mm:.1} mm would take {num_voxels:.1e} voxels; choose larger ones, or set their \
         number (--image)"
    )]
    SmallVoxels {
        /// Side of a voxel, mm.
        voxel_mm: f64,
        /// Length that the voxels cover, mm.
        extent_mm: f64,
        /// Voxels that this takes.
        num_voxels: f64,
    },
    /// A field of view that contains no voxel.
    #[error(
        "a field of view of radius {radius_mm} mm holds no voxel of the image, whose nearest one lies {nearest_mm:.3} mm from the \
         scanner's axis; give a larger --fov-radius-mm"
    )]
    EmptyFieldOfView {
        /// Its radius, mm.
        radius_mm: f64,
        /// Distance of the nearest voxel from the axis, mm.
        nearest_mm: f64,
    },
    /// κ on another grid than the reconstruction.
    #[error(
        "κ of the file has {} but the reconstruction has {}; both must lie on the same grid (choose the grid of κ, or --kappa auto)",
        found.text(), expected.text()
    )]
    Kappa {
        /// Grid of κ.
        found: Box<Grid>,
        /// Grid of the reconstruction.
        expected: Box<Grid>,
    },
    /// A mask on another grid than the reconstruction.
    #[error(
        "--mask: the image has {} but the reconstruction has {}; both must lie on the same grid (take the grid of the mask for the \
         reconstruction: --like)",
        found.text(), expected.text()
    )]
    Mask {
        /// Grid of the mask.
        found: Box<Grid>,
        /// Grid of the reconstruction.
        expected: Box<Grid>,
    },
    /// A start image on another grid than the reconstruction.
    #[error(
        "the start image has {} but the reconstruction has {}; both must lie on the same grid (take the grid of the start image for \
         the reconstruction)",
        found.text(), expected.text()
    )]
    StartImage {
        /// Grid of the start image.
        found: Box<Grid>,
        /// Grid of the reconstruction.
        expected: Box<Grid>,
    },

    // Algorithms.
    /// An algorithm for other kinds of data.
    #[error("{algorithm} is not for these data; choose {}", either(suitable))]
    Algorithm {
        /// Key of the algorithm.
        algorithm: &'static str,
        /// Keys of those that suit the data.
        suitable: Vec<&'static str>,
    },
    /// An algorithm or data without replicates.
    #[error("{algorithm} has no replicates with these data; {}", instead(suitable))]
    NoReplicates {
        /// Key of the algorithm.
        algorithm: &'static str,
        /// Keys of those that have error bars with the data.
        suitable: Vec<&'static str>,
    },
    /// A part of a scan of unknown duration.
    #[error(
        "the data contain no duration of the scan, which a part of it needs (--as-if-secs): set the scan duration (--duration-secs)"
    )]
    UnknownDuration,
    /// A time that is not a part of the scan.
    #[error("expected a time above 0 s and at most the {scan_secs} s of the scan, found {as_if_secs} s (--as-if-secs)")]
    LongerScan {
        /// Time that was asked for, s.
        as_if_secs: f64,
        /// Duration of the scan, s.
        scan_secs: f64,
    },
    /// A parameter that the algorithm lacks, or a value that the parameter cannot have.
    #[error(transparent)]
    Setting(#[from] SettingProblem),

    // Iterations and subsets.
    /// No iteration.
    #[error("0 iterations leave the start image as it is; choose at least 1")]
    Iterations,
    /// No subset, or more than there are data.
    #[error("{num_subsets} subsets of {} are not possible; choose between 1 and {max} subsets", counted(*max, of))]
    Subsets {
        /// Subsets that were asked for.
        num_subsets: usize,
        /// Subsets at most, one of each datum.
        max: usize,
        /// Name of a datum that subsets divide: `view` or `event`.
        of: &'static str,
    },
    /// More subsets than a device has views.
    #[error(
        "{num_subsets} subsets are too many for {num_devices} devices: each device needs one view per subset; choose at most {max} \
         subsets, or fewer devices"
    )]
    DeviceSubsets {
        /// Subsets that were asked for.
        num_subsets: usize,
        /// Devices that share the views.
        num_devices: usize,
        /// Subsets at most.
        max: usize,
    },

    // Projectors.
    /// A projector, by its name, that the device does not have.
    #[error("the projector {0} is not available on this device; use another one")]
    Projector(&'static str),
    /// No projector fits the geometry and the image; contains the reason of the fastest one.
    #[error("the projector {projector} does not fit: {misfit}. {advice}")]
    ProjectorMisfit {
        /// Its name.
        projector: &'static str,
        /// Reason why it does not fit.
        misfit: Box<Misfit>,
        /// Change that makes it fit, as a sentence.
        advice: &'static str,
    },
    /// The device has no projector.
    #[error("there is no projector for this device")]
    NoProjector,

    // Time of flight.
    /// Refused time-of-flight bins.
    #[error(transparent)]
    TofBins(#[from] TofBinsError),
    /// A kernel that ends too early, σ.
    #[error("a time-of-flight kernel of {0} standard deviations is too short; use 1 or more (--tof-sigmas)")]
    TofSigmas(f64),

    // Resolution model.
    /// A resolution model with tubes of response.
    #[error("tubes of response contain the scanner's resolution already; leave the resolution model out (--psf-fwhm-mm, --psf)")]
    PsfOfTubes,
    /// A resolution model without a voxel grid to convolve.
    #[error("the resolution model is for images of sinograms and list-mode data; leave it out here (--psf-fwhm-mm, --psf)")]
    PsfWithoutVoxels,
    /// A point spread function that is wider than the image.
    #[error(
        "the resolution model is {fwhm_mm} mm wide along {axis}, and the image is {extent_mm:.1} mm; give a smaller width, or a larger \
         image"
    )]
    WidePsf {
        /// Its width, mm.
        fwhm_mm: f64,
        /// `x`, `y` or `z`.
        axis: char,
        /// Length of the image, mm.
        extent_mm: f64,
    },

    // EPRI sweeps.
    /// Two stages with the kernel of the paper.
    #[error("the paper's kernel backprojects in one stage; use --algorithm fbp with it")]
    PaperKernel,
    /// Two stages for a two-dimensional sweep.
    #[error(
        "two stages put a volume together from slices, and this sweep is two-dimensional: it has one; use one stage (--algorithm fbp)"
    )]
    TwoStageSlice,
    /// Total variation without negative values of images after an inversion.
    #[error("positivity: images after an inversion have negative values; choose no positivity")]
    PositiveRecovery,
    /// An image of several slices, by their number, of a two-dimensional sweep.
    #[error(
        "this sweep is two-dimensional and makes an image of one slice, not of {0}; ask for two numbers of voxels (--image NX,NY)"
    )]
    NumSlices(usize),
    /// An image of one voxel along an axis, by its name, of an object that is wider.
    #[error(
        "total variation needs the whole object in the image, to explain the projections: expected several voxels along {0}, found 1; ask for \
         more (--image), or use --algorithm fbp"
    )]
    FlatImage(&'static str),
    /// Two stages on a GPU.
    #[error("two stages are done on the CPU; use --device cpu, or one stage (--algorithm fbp) on the GPU")]
    TwoStageGpu,
    /// Two stages for a sweep that is still being acquired.
    #[error("two stages need the whole sweep, and this one is still being acquired; use one stage (--algorithm fbp) for now")]
    WholeSweep,
    /// Several acquisitions of one object without total variation, or with a first one that grows.
    #[error(
        "several acquisitions of one object are reconstructed by total variation, once all are complete: use --algorithm tv without \
         --follow, or leave --experiment out"
    )]
    Experiments,
    /// A sweep that has ended without a projection.
    #[error("the sweep has no projection: there is nothing to reconstruct")]
    NoProjections,

    // Images of other programs.
    /// A series without images.
    #[error("the series has no image")]
    NoImage,

    // Crystal rings and their matrices.
    /// A ring, by its name, that the catalogue lacks.
    #[error("there is no ring '{0}'")]
    NoRing(String),
    /// A matrix with another number of basic functions than its basis.
    #[error("the matrix has {found} basic functions where its basis has {expected}; simulate it again (tomoscope matrix)")]
    MatrixBasis {
        /// Basic functions of the matrix.
        found: usize,
        /// Basic functions of the basis.
        expected: usize,
    },
    /// A grid of cubes for a ring that lacks its symmetries.
    #[error("{ring} has {num_modules} modules, and a grid of cubes is its own image only under half a turn; use blobs or polar")]
    Cubes {
        /// Name of the ring.
        ring: String,
        /// Its modules.
        num_modules: usize,
    },
    /// A matrix that takes too long to be simulated without being asked for.
    #[error(
        "the matrix of {title} is not simulated automatically: that takes minutes on a GPU (in one pass with {} of free memory, else \
         in parts) and hours on a CPU. Simulate it there (tomoscope matrix --scanner {ring} --elements {num_elements} -o \
         {ring}.matrix), then open it",
        bytes(*tally_bytes)
    )]
    LargeMatrix {
        /// Name of the ring.
        ring: String,
        /// Its name for people.
        title: String,
        /// Memory of the simulation in one pass, bytes.
        tally_bytes: u64,
        /// Elements that such a matrix should have.
        num_elements: u64,
    },
    /// A simulated matrix without an element.
    #[error("no decay was counted: follow more of them (--events)")]
    NoDecayCounted,
    /// Fewer elements than were asked for, after as many decays as are followed.
    #[error("{found} elements are all that {num_decays} decays gave; ask for fewer (--elements)")]
    FewElements {
        /// Elements of the matrix.
        found: u64,
        /// Decays that were followed.
        num_decays: u64,
    },

    // Tubes of response.
    /// Tubes of response for a scanner, by its name, without rotating heads.
    #[error("tubes of response are made for scanners with rotating heads, which {0} is not")]
    NoHeads(String),
    /// Tubes of response for data that add several ring differences.
    #[error("tubes of response belong to single ring differences, and these data add several (span above 1)")]
    Spanned,
}

coded!(
    SetupProblem = "setup.settings",
    "setup.device": Device Lacks OneGpu OneProcess TwoStageGpu,
    "setup.image": ImageSize SmallVoxels EmptyFieldOfView Kappa Mask StartImage NumSlices FlatImage,
    "setup.algorithm": Algorithm Setting PaperKernel TwoStageSlice PositiveRecovery WholeSweep Experiments,
    "setup.subsets": Iterations Subsets DeviceSubsets,
    "setup.error-bars": NoReplicates UnknownDuration LongerScan,
    "setup.projector": Projector ProjectorMisfit NoProjector Spanned NoHeads,
    "setup.data": NoProjections NoImage,
    "setup.matrix": NoRing MatrixBasis Cubes LargeMatrix NoDecayCounted FewElements
);

/// Returns the remedy for an algorithm without error bars.
fn instead(suitable: &[&'static str]) -> String {
    match suitable {
        [] => "leave them out (--replicates)".to_owned(),
        _ => format!("choose {} (--algorithm), or leave them out (--replicates)", either(suitable)),
    }
}

/// Returns the reason for which GPUs are not usable, with the remedy.
fn unusable(device: Option<&str>, reason: &str, names_the_cpu: bool) -> String {
    let device = device.map_or(String::new(), |device| format!("{device} is not usable: "));
    let way_out = if names_the_cpu { "" } else { "; use the CPU (--device cpu)" };
    format!("{device}{reason}{way_out}")
}
