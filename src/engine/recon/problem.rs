//! Reason why data or settings do not suit an algorithm, one variant for each reason.

use crate::data::{FrameTime, SweepSpace, frame_text};

/// Name of the measured data in the refusal of a bin.
pub const MEASURED: &str = "measured data";

/// Reason why data do not suit an algorithm.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DataProblem {
    // Counts.
    /// A bin that is negative or not finite.
    #[error(
        "the {name} holds {value} at view {}, tangential position {}, plane {}; MLEM and OSEM need numbers of zero or more in every \
         bin{}",
        .bin.0, .bin.1, .bin.2,
        if *name == MEASURED {
            " (data already corrected for randoms can go below zero: give the randoms as an additive sinogram instead)"
        } else {
            ""
        }
    )]
    Bin {
        /// [`MEASURED`], for example.
        name: &'static str,
        /// The value.
        value: f32,
        /// View, tangential position and plane.
        bin: (usize, usize, usize),
    },
    /// A count with a fraction, of a scan that is to be thinned to a part of its time.
    #[error(
        "bin {index} of the measured data holds {value}; a scan as if it were shorter needs whole numbers of counts: leave \
         --as-if-secs out"
    )]
    FractionalCount {
        /// The value.
        value: f32,
        /// Its index in the order of the study.
        index: usize,
    },
    /// Bins that are all zero.
    #[error("the measured data has no counts: every bin is zero")]
    NoCounts,
    /// Counts of a pair of crystals that are negative or not finite.
    #[error("crystals {} and {} have {value} counts; MLEM needs counts of zero or more", .crystals.0, .crystals.1)]
    Pair {
        /// The crystals.
        crystals: (usize, usize),
        /// The counts.
        value: f32,
    },
    /// Pairs of crystals that are all zero.
    #[error("the measured data has no counts: every pair of crystals has zero")]
    NoPairs,
    /// A list without events, or a frame of a list with the range of its times.
    #[error("the list has no event{}: there is nothing to reconstruct", .0.as_ref().map_or_else(String::new, in_frame))]
    NoEvents(Option<(FrameTime, Option<String>)>),

    // EPRI acquisitions.
    /// Too few samples.
    #[error("a projection has {0} samples; a second derivative needs three at least")]
    NumSamples(usize),
    /// A distance of samples, mm, that is not positive.
    #[error("the samples of a projection are {0} mm apart; a positive length is needed")]
    Step(f64),
    /// A centre that is not finite.
    #[error("the sample at t = 0 is number {0}, which is no place")]
    Centre(f64),
    /// An unusable projection.
    #[error("projection {index} (counted from 0) {problem}")]
    Projection {
        /// Its index.
        index: usize,
        /// The problem.
        problem: ProjectionProblem,
    },
    /// No projection that is not yet in the image.
    #[error("every projection that has arrived is in the image already")]
    AllUsed,
    /// Too few projections to resample them.
    #[error("{found} projections are too few to resample to equal angles; at least {needed} are needed")]
    FewProjections {
        /// Projections of the sweep.
        found: usize,
        /// Projections that are needed.
        needed: usize,
    },
    /// Projections without any signal at the frequencies of the image.
    #[error(
        "the projections, times the reference spectrum, are zero at all frequencies of the image, or too small or large for single precision: \
         expected values of about 1e-15 to 1e15; scale both files"
    )]
    NoSignal,
    /// A spectrum in each voxel of pulse data.
    #[error("pulse data have no spectrum in each voxel: leave --spectral-samples out, or reconstruct continuous-wave data")]
    NoSpectra,
    /// Gradients of one size only, for a spectrum in each voxel.
    #[error(
        "all gradients have one size, which does not separate spectra from positions: measure projections under gradients of several \
         sizes, or leave --spectral-samples out"
    )]
    OneGradientSize,
    /// Continuous-wave data without a reference spectrum.
    #[error(
        "these are continuous-wave spectra, which are deconvolved with the probe's spectrum measured without a gradient: open that \
         reference spectrum too"
    )]
    NoReference,
    /// Pulse data with spectra of radicals.
    #[error(
        "these are pulse projections, which are free of the probe's spectrum: they do not separate radicals by their spectra; leave the \
         spectra of radicals out"
    )]
    RadicalsOfPulses,
    /// A further acquisition that does not go with the first one.
    #[error("experiment {file}: {problem}")]
    Experiment {
        /// Its file.
        file: String,
        /// The problem.
        problem: Box<ExperimentProblem>,
    },
    /// An unusable reference spectrum.
    #[error(
        "the reference spectrum {0}, so nothing can be deconvolved with it; open the spectrum that was measured without a gradient"
    )]
    Reference(ReferenceProblem),
}

/// Reason of the refusal of a projection.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProjectionProblem {
    /// Another number of samples than the sweep has.
    #[error("has {found} samples where the sweep's have {expected}; all need the same number")]
    NumSamples {
        /// Samples of the projection.
        found: usize,
        /// Samples of the sweep.
        expected: usize,
    },
    /// A sample that is not finite.
    #[error("holds {value} at sample {sample}; every sample must be a number")]
    Sample {
        /// Number of the sample.
        sample: usize,
        /// Its value.
        value: f32,
    },
    /// A direction of length 0.
    #[error("has no gradient: its direction is zero; leave such service traces out")]
    NoGradient,
    /// A direction of another length than 1.
    #[error("has a direction of length {0:.4}; a unit vector along the gradient is needed")]
    Direction(f64),
    /// A gradient of another size than most, with the difference of a gradient from the largest one and the largest difference, parts of the
    /// largest one.
    #[error(
        "has another gradient than most: gradients differ by {:.2} %, filtered backprojection in one stage takes 50 %, in two stages {:.1} %. \
         Use --algorithm tv", 100.0 * difference, 100.0 * max
    )]
    Gradient {
        /// Difference.
        difference: f64,
        /// Largest difference.
        max: f64,
    },
    /// A direction that leaves the slice.
    #[error("has a direction that leaves the slice; all of a two-dimensional sweep lie in one plane")]
    OutOfSlice,
    /// A weight that is negative or not finite.
    #[error("has the weight {0}; an angle of zero or more is needed")]
    Weight(f64),
}

/// Reason of the refusal of a further acquisition of the same object.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExperimentProblem {
    /// Another space, or other axes.
    #[error("it is {found}, and the first acquisition is {expected}; all need the same gradient axes")]
    Space {
        /// Its space.
        found: SweepSpace,
        /// That of the first acquisition.
        expected: SweepSpace,
    },
    /// Pulses with continuous-wave data.
    #[error("it contains {}, and the first acquisition {}: all need the same kind", kind(*is_pulse), kind(!is_pulse))]
    Kind {
        /// True if it contains pulses.
        is_pulse: bool,
    },
    /// Spectra of other radicals.
    #[error("expected the spectra of {}, found {}", listed(expected), listed(found))]
    Radicals {
        /// Their names.
        found: Vec<String>,
        /// Names of the radicals of the run.
        expected: Vec<String>,
    },
    /// No projection.
    #[error("it has no complete projection")]
    NoProjections,
    /// Data that suit no run.
    #[error(transparent)]
    Data(DataProblem),
}

/// Returns the name of a kind of projections.
fn kind(is_pulse: bool) -> &'static str {
    if is_pulse { "pulse projections" } else { "continuous-wave spectra" }
}

/// Returns names as text.
fn listed(names: &[String]) -> String {
    if names.is_empty() { "no radical".to_owned() } else { names.join(", ") }
}

/// Reason of the refusal of a reference spectrum.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReferenceProblem {
    /// No distance of its samples.
    #[error("has no sample distance")]
    NoStep,
    /// A sample that is not finite.
    #[error("holds {value} at sample {sample}")]
    Sample {
        /// Number of the sample.
        sample: usize,
        /// Its value.
        value: f32,
    },
    /// Samples that are all zero.
    #[error("is zero everywhere")]
    Zero,
}

/// Reason why settings do not suit data or an algorithm.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsProblem {
    /// A start image with negative or non-finite values.
    #[error(
        "the start image has negative or non-finite values; MLEM and OSEM multiply it, so it must be zero or positive everywhere"
    )]
    StartImage,
    /// A start image in another unit, or of another scan.
    #[error(
        "the start image makes {times} times as many counts expect as there are: it is in another unit, or of another scan; the strength \
         and the floor of a penalised run follow from it. Divide it by that number, or start without it"
    )]
    StartImageLevel {
        /// Expected counts of the image as a multiple of the measured ones.
        times: String,
    },
    /// κ of an image without the image.
    #[error("the weights κ are those of an image, and there is none: choose --kappa FILE, auto or none")]
    NoKappa,
    /// κ with values that are no weights, or without any.
    #[error("the weights κ have negative or non-finite values, or are zero everywhere; a weight is zero or positive")]
    UnusableKappa,
    /// No iterations.
    #[error("no iteration was asked for")]
    NoIterations,
    /// A penalty of an image that is not made of voxels.
    #[error(
        "a penalty compares neighbouring voxels, and this image is made of overlapping functions: choose a projector with voxels, \
         or no penalty"
    )]
    PenaltyWithoutVoxels,
    /// No replicates.
    #[error("this run has no replicates; ask for them before it begins")]
    NoReplicates,
    /// No sensitivity image.
    #[error("the sensitivity image is missing")]
    NoSensitivity,
    /// More data for an algorithm that needs all of them from the start.
    #[error("this algorithm needs all data from the start; it accepts no more")]
    WholeData,
    /// Steps of no projection.
    #[error("a step needs at least one projection; it was given none")]
    NoProjections,
    /// A strength of total variation that is not positive.
    #[error("invalid strength {0} of total variation: expected a number above 0")]
    TvStrength(f64),
    /// Samples of the spectrum in each voxel that are too few or more than those of a projection.
    #[error("invalid number of spectral samples {found}: expected 4 to {max}, the samples of a projection")]
    SpectralSamples {
        /// The number.
        found: usize,
        /// Samples of a projection.
        max: usize,
    },
    /// Spectra without negative values.
    #[error("first-derivative spectra have negative values: leave --positivity out")]
    PositiveSpectra,
    /// A spectrum in each voxel of several radicals.
    #[error("--spectral-samples finds the spectrum in each voxel, which has no radicals: leave --radicals out")]
    SpectraOfRadicals,
    /// A spectrum in each voxel from several acquisitions.
    #[error("--spectral-samples finds the spectrum in each voxel from one acquisition: leave --experiment out")]
    SpectraOfExperiments,
    /// A spectral strength that is negative or not finite.
    #[error("invalid spectral strength {0} of total variation: expected a number of at least 0")]
    SpectralStrength(f64),
    /// A start image of total variation with values that are not finite.
    #[error("the start image has values that are not finite: choose another one")]
    TvStart,
    /// A mask without a voxel.
    #[error("the mask has no value above 0: no voxel would be reconstructed")]
    EmptyMask,
    /// A cut-off that is out of range.
    #[error("invalid cut-off {0}: expected a fraction of the frequencies above 0 and at most 1")]
    Cutoff(f64),
    /// A baseline of pulse data.
    #[error(
        "a baseline is taken off continuous-wave spectra; these projections were measured with pulses and have none: use baseline none"
    )]
    Baseline,
}

/// Returns the place of events that are missing: " in the frame 1–2 s".
fn in_frame((frame, of_list): &(FrameTime, Option<String>)) -> String {
    let of_list = of_list.as_ref().map_or_else(String::new, |text| format!(" (its events are from {text})"));
    match frame.limits_ms.is_empty() {
        true => format!(" in the frame {}, which holds no time block{of_list}", frame_text(&frame.requested_ms)),
        false => format!(" in the frame {}{of_list}", frame.text()),
    }
}
