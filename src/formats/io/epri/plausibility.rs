//! Signs of a wrong image that no reader refuses: signal at the ends of projections, projections of zeros, gaps between directions, lengths
//! in another unit, reference spectra with an offset or on other fields.

use std::path::Path;

use rayon::prelude::*;

use crate::data::{Notice, Projection, ReferenceSpectrum, Sweep, SweepKind};
use crate::statistics::median;

/// Samples at each end: one of this number.
const SAMPLES_PER_END_SAMPLE: usize = 50;

/// Signal at an end of a projection, of the largest, that is reported.
const MAX_AT_ENDS: f64 = 0.1;

/// Standard deviations of noise that are no signal.
const NUM_DEVIATIONS: f64 = 4.0;

/// Part of the projections with such ends that is reported, of those under the largest gradient: single spectra drift.
const MIN_PART: f64 = 0.1;

/// Length of a direction, of the largest, that counts as that of the largest gradient.
const LARGEST_GRADIENT: f64 = 0.99;

/// Sum of a reference spectrum, of the sum of its sizes, that is reported.
const MAX_SUM: f64 = 0.1;

/// Lengths of projections, mm, from microscopes to limbs.
const EXTENTS_MM: std::ops::RangeInclusive<f64> = 0.5..=250.0;

/// Part of all directions that the nearest ones to one projection may be.
const MAX_PART_OF_DIRECTIONS: f64 = 1.0 / 6.0;

/// Numbers of projections that a notice names.
const MAX_NAMED: usize = 5;

/// Leaves out projections of zeros between others, which were not measured either, and reports their numbers.
pub fn remove_zeros(sweep: &mut Sweep) -> Option<Notice> {
    let num = sweep.num_complete();
    let zeros: Vec<usize> = (0..num).filter(|&index| sweep.projections[index].is_zero()).map(|index| index + 1).collect();
    sweep.projections.retain(|projection| !projection.is_zero());
    let named: Vec<String> = zeros.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = if zeros.len() > MAX_NAMED { ", …" } else { "" };
    (!zeros.is_empty()).then(|| {
        Notice::warning(format!(
            "{} of {num} projections contain zeros only (number {}{more}): they were not measured and are left out",
            zeros.len(),
            named.join(", ")
        ))
    })
}

/// Warns of signal at the ends of projections: there the object or its lines continue beyond the samples.
pub fn cut_off(sweep: &Sweep) -> Option<Notice> {
    let is_wave = sweep.is_continuous_wave();
    let num_end = sweep.num_points.div_ceil(SAMPLES_PER_END_SAMPLE);
    let ends: Vec<Ends> = sweep.projections.par_iter().map(|projection| Ends::of(&projection.values, num_end, is_wave)).collect();
    let largest = ends.iter().map(|ends| ends.largest).fold(0.0, f64::max);
    let length = |direction: &[f64; 3]| direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    let is_under_largest = |(projection, _): &(&Projection, &Ends)| !is_wave || length(&projection.direction) > LARGEST_GRADIENT;
    let under_largest: Vec<(&Projection, &Ends)> = sweep.projections.iter().zip(&ends).filter(is_under_largest).collect();
    let is_cut = |(projection, ends): &&(&Projection, &Ends)| {
        ends.at_end > MAX_AT_ENDS * largest && ends.at_end > noise_at_end(&projection.values, num_end)
    };
    let (num, num_cut) = (under_largest.len(), under_largest.iter().filter(is_cut).count());
    let what = match sweep.kind {
        SweepKind::Pulse => "the object reaches beyond the samples, and its densities are wrong. Measure over a larger extent",
        SweepKind::ContinuousWave { .. } => {
            "the field sweep is too narrow for the gradient, and signal beyond it is folded back (aliasing). Measure a wider sweep or a smaller \
             gradient"
        }
    };
    (num_cut > 0 && num_cut as f64 >= MIN_PART * num as f64).then(|| {
        Notice::warning(format!(
            "{num_cut} of {num} projections have more than {:.0} % of the largest signal at an end: {what}",
            100.0 * MAX_AT_ENDS
        ))
    })
}

/// Sizes of a projection.
struct Ends {
    /// Largest size.
    largest: f64,
    /// Size of the mean of the samples at an end, the larger one.
    at_end: f64,
}

impl Ends {
    fn of(values: &[f32], num_end: usize, is_wave: bool) -> Self {
        let values: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
        // A derivative is 0 nearly everywhere: its median is the offset.
        let level = if is_wave { median(values.clone()).unwrap_or(0.0) } else { 0.0 };
        let mean = |part: &[f64]| (part.iter().sum::<f64>() / part.len() as f64 - level).abs();
        Self {
            largest: values.iter().fold(0.0_f64, |largest, value| largest.max((value - level).abs())),
            at_end: mean(&values[..num_end]).max(mean(&values[values.len() - num_end..])),
        }
    }
}

/// Returns the size of the mean of samples at an end that noise hardly reaches.
fn noise_at_end(values: &[f32], num_end: usize) -> f64 {
    // Second differences of noise with the standard deviation σ have a median size of 0.6745 √6 σ; those of a signal are small.
    let curvature = |part: &[f32]| (f64::from(part[0]) - 2.0 * f64::from(part[1]) + f64::from(part[2])).abs();
    let deviation = median(values.windows(3).map(curvature).collect()).unwrap_or(0.0) / (0.6745 * 6f64.sqrt());
    NUM_DEVIATIONS * deviation / (num_end as f64).sqrt()
}

/// Warns of projections as long as no object, as gradients or fields in another unit give them.
pub fn extent(sweep: &Sweep) -> Option<Notice> {
    let extent_mm = sweep.extent_mm();
    let what = if sweep.is_continuous_wave() { "the gradients and the field" } else { "the positions" };
    (!EXTENTS_MM.contains(&extent_mm)).then(|| {
        Notice::warning(format!(
            "The projections are {extent_mm:.3} mm long, expected {} to {} mm: check the units of {what}",
            EXTENTS_MM.start(),
            EXTENTS_MM.end()
        ))
    })
}

/// Warns of a direction that many others are missing next to.
pub fn gap(sweep: &Sweep) -> Option<Notice> {
    let largest = sweep.projections.iter().map(|projection| projection.weight).fold(0.0, f64::max);
    let part = largest / sweep.space.whole_weight();
    (sweep.num_gradient_sizes() < 2 && part > MAX_PART_OF_DIRECTIONS).then(|| {
        Notice::warning(format!(
            "One projection counts for {:.0} % of all directions: there are few projections, or a gap between them. Shapes and values in the image \
             are wrong",
            100.0 * part
        ))
    })
}

/// Warns of a reference spectrum with an offset, or a line that is cut off: a first derivative has the sum 0.
pub fn sum_of_reference(path: &Path, spectrum: &ReferenceSpectrum) -> Option<Notice> {
    let sum_of = |value: fn(f64) -> f64| spectrum.values.iter().map(|&v| value(f64::from(v))).sum::<f64>();
    let part = sum_of(|v| v).abs() / sum_of(f64::abs);
    (part > MAX_SUM).then(|| {
        Notice::warning(format!(
            "{}: the sum of the samples is {:.0} % of the sum of their sizes, expected 0 of a first derivative. It has an offset, or a line that is \
             cut off: subtract the baseline, or measure a wider sweep",
            path.display(),
            100.0 * part
        ))
    })
}

/// Warns of a reference spectrum whose middle sample is at another field than that of the projections, mT.
pub fn other_middle(path: &Path, [of_reference, of_projections]: [f64; 2], sweep: &Sweep) -> Option<Notice> {
    let SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, .. } = sweep.kind else { return None };
    let apart_mt = (of_reference - of_projections).abs();
    (apart_mt > 0.5 * step_mt).then(|| {
        Notice::warning(format!(
            "The middle of the reference spectrum {} is at {of_reference:.4} mT, that of the projections at {of_projections:.4} mT. They are taken \
             as one field: at the same frequency, the image is blurred by {:.2} mm. Measure both over the same fields",
            path.display(),
            apart_mt / gradient_mt_per_mm
        ))
    })
}
