//! Signs of a wrong image that no reader refuses: signal at the ends of projections, projections of zeros, gaps between directions, lengths
//! in another unit, reference spectra with an offset or on other fields.

use std::f64::consts::PI;
use std::path::Path;

use rayon::prelude::*;

use crate::data::{Direction, Notice, Projection, ReferenceSpectrum, Sweep, SweepKind, SweepSpace};
use crate::geometry::dot;
use crate::scanner::epri::{Scheme, Weighting};
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

/// Largest gap between directions in a plane, and diameter of the largest circle without one on the sphere, degrees.
const MAX_GAP_DEG: [f64; 2] = [20.0, 40.0];

/// Smaller gaps are reported from this size, if they are this many times the usual distance.
const MIN_WEDGE_DEG: f64 = 12.0;
const WEDGE: f64 = 4.0;

/// Directions nearer than this are the same.
const SAME_DEG: f64 = 0.01;

/// Places on the sphere that are tried.
const NUM_PROBES: usize = 1000;

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
        let mut values: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
        // A derivative is 0 nearly everywhere: the medians of its quarters at the ends are those of a sloping baseline.
        let num_quarter = values.len() / 4;
        if is_wave && num_quarter > 0 {
            let level = |part: &[f64]| median(part.to_vec()).unwrap_or(0.0);
            let levels = [level(&values[..num_quarter]), level(&values[values.len() - num_quarter..])];
            let slope = (levels[1] - levels[0]) / (values.len() - num_quarter) as f64;
            let middle = 0.5 * (num_quarter - 1) as f64;
            values.iter_mut().enumerate().for_each(|(i, value)| *value -= levels[0] + slope * (i as f64 - middle));
        }
        let mean = |part: &[f64]| (part.iter().sum::<f64>() / part.len() as f64).abs();
        Self {
            largest: values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs())),
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

/// Warns of a gap between distinct directions, and of few of them.
pub fn gap(sweep: &Sweep) -> Option<Notice> {
    if sweep.projections.is_empty() || !sweep.has_similar_gradients() {
        return None;
    }
    let unit = |projection: &Projection| projection.direction.map(|v| v / projection.gradient());
    let directions: Vec<Direction> = sweep.projections.iter().map(unit).collect();
    let (gaps, limit, num_across): (Gaps, f64, fn(f64) -> f64) = match sweep.space {
        SweepSpace::Slice(_) => (Gaps::in_a_plane(&directions), MAX_GAP_DEG[0], |num| num),
        SweepSpace::Volume => (Gaps::on_the_sphere(&directions), MAX_GAP_DEG[1], f64::sqrt),
    };
    let Gaps { num_distinct, largest_deg, usual_deg } = gaps;
    let is_wedge = largest_deg > MIN_WEDGE_DEG && largest_deg > WEDGE * usual_deg;
    (is_wedge || largest_deg > limit).then(|| {
        // π/2 directions for each part across, in three dimensions their square.
        let parts = (2.0 / PI * num_across(num_distinct as f64)).max(1.0);
        Notice::warning(format!(
            "The directions leave a gap of {largest_deg:.0}°: {num_distinct} of {} are distinct, and shapes and values in the image are wrong. \
             Spread evenly, {num_distinct} directions resolve {parts:.0} parts across the object",
            directions.len()
        ))
    })
}

/// Distances of directions; n and −n are the same.
struct Gaps {
    num_distinct: usize,
    largest_deg: f64,
    /// From one direction to the next, the median.
    usual_deg: f64,
}

impl Gaps {
    /// Of directions (cos θ, sin θ, 0).
    fn in_a_plane(directions: &[Direction]) -> Self {
        let mut angles: Vec<f64> = directions.iter().map(|[x, y, _]| y.atan2(*x).to_degrees().rem_euclid(180.0)).collect();
        angles.sort_by(f64::total_cmp);
        let next = angles.iter().skip(1).copied().chain(angles.first().map(|first| first + 180.0));
        let gaps: Vec<f64> = angles.iter().zip(next).map(|(angle, next)| next - angle).filter(|gap| *gap > SAME_DEG).collect();
        let largest_deg = gaps.iter().copied().fold(0.0, f64::max);
        Self { num_distinct: gaps.len().max(1), largest_deg, usual_deg: median(gaps).unwrap_or(largest_deg) }
    }

    /// Of directions on the half sphere; a gap is the largest circle without one.
    fn on_the_sphere(directions: &[Direction]) -> Self {
        let step = SAME_DEG.to_radians();
        let cell = |n: &Direction| {
            let sign = n.iter().rev().find(|value| value.abs() > step).map_or(1.0, |value| value.signum());
            n.map(|value| (sign * value / step).round() as i64)
        };
        let mut distinct: Vec<([i64; 3], Direction)> = directions.iter().map(|n| (cell(n), *n)).collect();
        distinct.sort_by_key(|(cell, _)| *cell);
        distinct.dedup_by_key(|(cell, _)| *cell);
        let nearest_deg = |n: &Direction, without: Option<usize>| {
            let others = distinct.iter().enumerate().filter(|(index, _)| Some(*index) != without);
            others.map(|(_, (_, other))| dot(*n, *other).abs()).fold(0.0, f64::max).min(1.0).acos().to_degrees()
        };
        let probes = Scheme::with_at_least(NUM_PROBES).map_or(Vec::new(), |scheme| scheme.directions(Weighting::SolidAngle));
        let radius_deg = probes.par_iter().map(|probe| nearest_deg(&probe.unit, None)).reduce(|| 0.0, f64::max);
        let some = (0..distinct.len()).step_by(distinct.len().div_ceil(NUM_PROBES).max(1));
        let to_next: Vec<f64> = some.map(|index| nearest_deg(&distinct[index].1, Some(index))).collect();
        Self { num_distinct: distinct.len(), largest_deg: 2.0 * radius_deg, usual_deg: median(to_next).unwrap_or(0.0) }
    }
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

/// Part of the width of a line from peak to peak by which it may be shifted without a word.
const MAX_SHIFT: f64 = 0.1;

/// Frequency over field of a free electron, GHz/mT: g_e µ_B / h with g_e = 2.002319 (CODATA 2018).
const GHZ_PER_MT: f64 = 0.028_024_951;

/// Warns of a reference spectrum whose line is at another distance from its middle sample than those of the projections: by the fields of the
/// middle samples, mT, and the microwave frequencies, GHz, of the reference and of the projections, as far as their headers have them.
pub fn other_field(
    path: &Path,
    middles_mt: Option<[f64; 2]>,
    frequencies_ghz: Option<[f64; 2]>,
    sweep: &Sweep,
) -> Option<Notice> {
    let SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference } = &sweep.kind else { return None };
    let by_field = middles_mt.map_or(0.0, |[of_reference, of_projections]| of_reference - of_projections);
    let by_frequency = frequencies_ghz.map_or(0.0, |[of_reference, of_projections]| (of_projections - of_reference) / GHZ_PER_MT);
    // (The header has no more digits.)
    let shift_mt = ((by_field + by_frequency) * 1e6).round() / 1e6;
    let width_mt = reference.as_ref().map_or(0.0, ReferenceSpectrum::peak_to_peak_mt);
    if shift_mt.abs() <= (0.5 * step_mt).max(MAX_SHIFT * width_mt) {
        return None;
    }
    let middles = middles_mt.map(|[of_reference, of_projections]| {
        format!("its middle is at {of_reference:.4} mT, that of the projections at {of_projections:.4} mT")
    });
    let frequencies = frequencies_ghz.map(|[of_reference, of_projections]| {
        format!("the microwave frequencies are {of_reference:.6} and {of_projections:.6} GHz")
    });
    let has_frequencies = frequencies.is_some();
    let causes: Vec<String> = middles.into_iter().chain(frequencies).collect();
    let remedy = match has_frequencies {
        true => format!("or move the reference (--field-shift auto, or {shift_mt:.4})"),
        false => "or move the reference if the frequencies were the same (--field-shift auto)".to_owned(),
    };
    Some(Notice::warning(format!(
        "The line of the reference spectrum {} is {:.4} mT from those of the projections, relative to the middle of the samples: {}. The image is blurred by {:.2} mm. \
         Measure both at one frequency over the same fields, {remedy}",
        path.display(),
        shift_mt.abs(),
        causes.join(", and "),
        shift_mt.abs() / gradient_mt_per_mm
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::SweepMetadata;

    /// Samples 0.025 mT apart, a line of 0.1 mT from peak to peak.
    fn sweep() -> Sweep {
        let values = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0];
        let reference = Some(ReferenceSpectrum { values: values.into(), step_mt: 0.025 });
        Sweep {
            kind: SweepKind::ContinuousWave { step_mt: 0.025, gradient_mt_per_mm: 0.1, reference },
            space: SweepSpace::Volume,
            num_points: 8,
            step_mm: 0.25,
            centre: 4.0,
            projections: Vec::new(),
            num_expected: None,
            secs_per_projection: None,
            facts: SweepMetadata::default(),
        }
    }

    #[test]
    fn fields_and_frequencies_count_together() {
        let text = |middles, frequencies| {
            let notice = other_field(Path::new("h.DSC"), middles, frequencies, &sweep());
            notice.map_or(String::new(), |notice| notice.text)
        };
        let frequency = |shift_mt: f64| Some([9.7, 9.7 + shift_mt * GHZ_PER_MT]);
        // Half a step are 0.0125 mT, a tenth of the line 0.01 mT.
        assert_eq!(text(None, frequency(0.012)), "");
        let other = text(None, frequency(0.014));
        assert!(
            other.contains("0.0140 mT from") && other.contains("blurred by 0.14 mm") && other.contains("auto, or 0.0140"),
            "{other}"
        );
        // 50 MHz are 1.784 mT: fields that are moved with the frequency cancel it.
        let moved = Some([9.7, 9.75]);
        let by_mt = 0.05 / GHZ_PER_MT;
        assert_eq!(text(Some([346.0, 346.0 + by_mt]), moved), "");
        assert!(text(Some([346.0, 346.0 - by_mt]), moved).contains("3.5682 mT from"));
        assert!(text(Some([346.0, 346.0]), moved).contains("9.700000 and 9.750000 GHz"));
        assert!(text(Some([346.0, 346.05]), Some([9.7, 9.7])).contains("auto, or -0.0500"));
        let without = text(Some([346.0, 346.05]), None);
        assert!(
            without.contains("middle is at 346.0000 mT") && without.contains("if the frequencies were the same"),
            "{without}"
        );
        assert_eq!(text(None, None), "");
    }
}
