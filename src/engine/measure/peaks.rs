//! Separate peaks of a profile, and the width of each.
//!
//! A peak reaches at least a fifth as far above the median as the highest, and four times as far as the values scatter below it
//! (the median less the 16th percentile, a standard deviation of Gaussian noise). Between it and a higher one the profile falls
//! to half of its height or below. It is fitted between the minima on both sides, finally after subtraction of the other fits
//! there (backfitting, Hastie and Tibshirani 1986). Without it, the tails of Gaussians less than two and a half widths apart
//! count as background and reduce the widths by more than a hundredth.

use super::peak_width::{NoPeakWidth, PeakWidth, peak_width};
use super::profile::{ProfileInterpolation, ProfilePoint, band_profile};
use crate::data::Volume;
use crate::geometry::Point;
use crate::statistics::quantiles;

/// Smallest height of a peak in parts of that of the highest.
const SMALLEST: f64 = 0.2;
/// Smallest height of a peak in parts of the scatter below the median.
const ABOVE_SCATTER: f64 = 4.0;
/// Depth of the profile between two peaks, in parts of the height of the lower one.
const SADDLE: f64 = 0.5;
/// Most fits of each peak without the others: enough for such that lie two widths apart.
const NUM_FITS_ALONE: usize = 4;
/// By how much of a width places and widths may differ between two fits that need no third.
const SETTLED: f64 = 1e-5;
/// Most points of a profile whose peaks are fitted.
const MAX_POINTS: usize = 2000;

/// Returns the width of each peak of an image along a line, averaged over a band about it as in [`band_profile`]; see
/// [`peak_widths`]. Distances are those from the line's start.
pub fn widths_along(volume: &Volume, ends_mm: [Point; 2], width_mm: f64) -> Vec<Result<PeakWidth, NoPeakWidth>> {
    let [from, to] = ends_mm;
    let length = (0..3).map(|a| (to[a] - from[a]).powi(2)).sum::<f64>().sqrt();
    // One point for each voxel on the line: more contain no more information.
    let num_voxels = (0..3).map(|a| ((to[a] - from[a]) / volume.grid.voxel_mm[a]).powi(2)).sum::<f64>().sqrt();
    let num_points = (num_voxels.round() as usize + 1).min(MAX_POINTS);
    let points = band_profile(volume, ends_mm, width_mm, num_points, ProfileInterpolation::Cubic);
    peak_widths(&points, length / num_voxels)
}

/// Returns the width of each peak of a profile whose points lie a voxel apart, or why it has none, the highest peak first. Where
/// no peaks stand apart it is the one of [`peak_width`].
pub fn peak_widths(points: &[ProfilePoint], voxel_mm: f64) -> Vec<Result<PeakWidth, NoPeakWidth>> {
    let tops = tops(points);
    if tops.len() < 2 {
        return vec![peak_width(points, voxel_mm)];
    }
    let lowest = |pair: &[usize]| (pair[0]..=pair[1]).min_by(|&a, &b| points[a].value.total_cmp(&points[b].value));
    let minima = tops.windows(2).filter_map(lowest);
    let ends: Vec<usize> = std::iter::once(0).chain(minima).chain([points.len() - 1]).collect();
    let mut widths: Vec<_> = ends.windows(2).map(|part| peak_width(&points[part[0]..=part[1]], voxel_mm)).collect();
    for _ in 0..NUM_FITS_ALONE {
        let alone = |(number, part): (usize, &[usize])| {
            let others =
                widths.iter().enumerate().filter(|(other, _)| *other != number).filter_map(|(_, width)| width.as_ref().ok());
            let others: Vec<&PeakWidth> = others.collect();
            let without = |point: &ProfilePoint| {
                let tails: f64 = others.iter().map(|other| other.gaussian(point.distance_mm)).sum();
                ProfilePoint { value: point.value - tails, ..*point }
            };
            let points: Vec<ProfilePoint> = points[part[0]..=part[1]].iter().map(without).collect();
            peak_width(&points, voxel_mm)
        };
        let next: Vec<_> = ends.windows(2).enumerate().map(alone).collect();
        let is_settled = next.iter().zip(&widths).all(|(next, before)| is_as_before(next, before));
        widths = next;
        if is_settled {
            break;
        }
    }
    let mut by_height: Vec<_> = tops.iter().map(|&top| points[top].value).zip(widths).collect();
    by_height.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    by_height.into_iter().map(|(_, width)| width).collect()
}

/// Returns true if a further fit of a peak changed nothing visible: at once if the others lie far away.
fn is_as_before(next: &Result<PeakWidth, NoPeakWidth>, before: &Result<PeakWidth, NoPeakWidth>) -> bool {
    match (next, before) {
        (Ok(next), Ok(before)) => {
            let shift = (next.centre_mm - before.centre_mm).abs().max((next.fwhm_mm - before.fwhm_mm).abs());
            shift < SETTLED * before.fwhm_mm
        }
        _ => next == before,
    }
}

/// Returns the places of the peaks among the points, in their order; none where a value is no finite number.
fn tops(points: &[ProfilePoint]) -> Vec<usize> {
    let values = points.iter().map(|point| point.value).collect();
    let Some([low, median]) = quantiles(values, [0.16, 0.5]) else { return Vec::new() };
    let heights: Vec<f64> = points.iter().map(|point| point.value - median).collect();
    if !heights.iter().all(|height| height.is_finite()) {
        return Vec::new();
    }
    let highest = heights.iter().copied().fold(0.0, f64::max);
    let min = (SMALLEST * highest).max(ABOVE_SCATTER * (median - low)).max(f64::MIN_POSITIVE);
    // An end of the profile may be the flank of a peak outside.
    let mut candidates: Vec<usize> = (1..heights.len().saturating_sub(1)).filter(|&at| heights[at] >= min).collect();
    candidates.sort_by(|&a, &b| heights[b].total_cmp(&heights[a]));
    let mut tops: Vec<usize> = Vec::new();
    for at in candidates {
        let stands_apart = |&other: &usize| {
            let between = &heights[at.min(other)..=at.max(other)];
            between.iter().any(|height| *height <= SADDLE * heights[at])
        };
        if tops.iter().all(stands_apart) {
            tops.push(at);
        }
    }
    tops.sort_unstable();
    tops
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::random;
    use crate::statistics::FWHM_PER_SIGMA;

    const VOXEL_MM: f64 = 0.5;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<ProfilePoint> {
        let point = |(index, value)| ProfilePoint { distance_mm: VOXEL_MM * index as f64, value };
        values.into_iter().enumerate().map(point).collect()
    }

    /// Six Gaussians 5 mm apart on a warm background, the first 20.13 mm from the start, as wide as these.
    fn six(fwhm_mm: [f64; 6]) -> Vec<f64> {
        let value = |index: usize| {
            let peak = |(number, fwhm): (usize, &f64)| {
                let t = (VOXEL_MM * index as f64 - 20.13 - 5.0 * number as f64) * FWHM_PER_SIGMA / fwhm;
                20.0 * (-0.5 * t * t).exp()
            };
            1.0 + fwhm_mm.iter().enumerate().map(peak).sum::<f64>()
        };
        (0..142).map(value).collect()
    }

    fn noise(seed: u64, num: usize) -> Vec<f64> {
        let mut stream = random::stream(seed, 0);
        (0..num).map(|_| StandardNormal.sample(&mut stream)).collect()
    }

    #[test]
    fn each_of_six_points_has_its_width() {
        for (fwhm_mm, tolerance) in [([1.2; 6], 1e-3), ([1.0, 1.2, 1.4, 1.6, 1.8, 2.0], 1e-3), ([2.0; 6], 1e-3), ([2.4; 6], 0.01)]
        {
            let mut found = peak_widths(&points(six(fwhm_mm)), VOXEL_MM);
            assert_eq!(found.len(), 6, "{found:?}");
            found.sort_by(|a, b| a.unwrap().centre_mm.total_cmp(&b.unwrap().centre_mm));
            for (number, (found, fwhm)) in found.iter().zip(fwhm_mm).enumerate() {
                let found = found.unwrap();
                assert!((found.fwhm_mm / fwhm - 1.0).abs() < tolerance, "{number}: {found:?} is not {fwhm}");
                assert!((found.centre_mm - 20.13 - 5.0 * number as f64).abs() < 0.02, "{number}: {found:?}");
            }
        }
    }

    #[test]
    fn noise_neither_adds_peaks_nor_hides_them() {
        let mut num_none = 0;
        for seed in 0..100 {
            let noisy = six([1.5; 6]).iter().zip(noise(seed, 142)).map(|(value, noise)| value + 0.5 * noise).collect::<Vec<_>>();
            let found = peak_widths(&points(noisy), VOXEL_MM);
            assert_eq!(found.len(), 6, "{seed}: {found:?}");
            // Ten points are few: now and then noise makes a peak look flat.
            num_none += found.iter().filter(|width| width.is_err()).count();
            for width in found.iter().flatten() {
                assert!((width.fwhm_mm - 1.5).abs() < 5.0 * width.sd_mm.max(0.03), "{seed}: {width:?}");
            }
            assert!(peak_widths(&points(noise(seed, 142)), VOXEL_MM).iter().all(Result::is_err), "{seed}");
        }
        assert!(num_none <= 30, "{num_none} of 600 have no width");
    }

    #[test]
    fn a_small_peak_next_to_a_high_one_is_found_and_a_shoulder_is_not() {
        let of = |small: f64, apart: f64| {
            let gaussian = |index: usize, at: f64| (-0.5 * ((index as f64 - at) / 2.0).powi(2)).exp();
            points((0..80).map(|index| 1.0 + gaussian(index, 25.0) + small * gaussian(index, 25.0 + apart)))
        };
        let widths = peak_widths(&of(0.3, 25.0), VOXEL_MM);
        assert!(widths.len() == 2 && widths.iter().flatten().all(|w| (w.fwhm_mm - FWHM_PER_SIGMA).abs() < 0.01), "{widths:?}");
        assert_eq!(peak_widths(&of(0.1, 25.0), VOXEL_MM).len(), 1);
        assert_eq!(peak_widths(&of(0.7, 5.0), VOXEL_MM).len(), 1);
    }

    #[test]
    fn the_highest_peak_is_the_first() {
        let heights = [3.0, 9.0, 5.0];
        let value = |index: i32| {
            let peak = |(number, height): (usize, f64)| {
                height * (-0.5 * ((f64::from(index) - 20.0 - 30.0 * number as f64) / 3.0).powi(2)).exp()
            };
            1.0 + heights.into_iter().enumerate().map(peak).sum::<f64>()
        };
        let found = peak_widths(&points((0..100).map(value)), VOXEL_MM);
        let found: Vec<f64> = found.iter().map(|width| width.unwrap().height.round()).collect();
        assert_eq!(found, [9.0, 5.0, 3.0]);
    }

    #[test]
    fn profiles_without_peaks_have_reasons() {
        let only = |values: Vec<f64>| {
            let found = peak_widths(&points(values), VOXEL_MM);
            assert_eq!(found.len(), 1, "{found:?}");
            found[0]
        };
        assert_eq!(only(Vec::new()), Err(NoPeakWidth::TooShort { found: 0 }));
        assert_eq!(only(vec![3.0; 40]), Err(NoPeakWidth::Flat));
        assert_eq!(
            only((0..40).map(|index| if index == 9 { f64::NAN } else { f64::from(index) }).collect()),
            Err(NoPeakWidth::NotFinite)
        );
        assert_eq!(only((0..64).map(f64::from).collect()), Err(NoPeakWidth::NoPeak));
        let body = (0..128).map(|index: i32| if (40..90).contains(&index) { 10.0 } else { 0.0 });
        assert_eq!(only(body.collect()), Err(NoPeakWidth::Plateau));
    }
}
