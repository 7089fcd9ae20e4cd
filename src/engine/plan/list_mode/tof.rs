//! The time-of-flight bins into which the events of a list are sorted.
//!
//! Each bin is a whole number of the bins of the list, if it has some, so that each event is in one bin. The bins lie within the
//! coincidence window of the list: a bin that reaches beyond it would lack counts that the model expects.

use crate::data::{ListMetadata, Notice, TofBins, TofMeasurement};
use crate::plan::error::ListError;
use crate::scanner::ScanGeometry;
use crate::text::counted;

/// Difference of lengths that count as equal, in parts of a bin.
const TOLERANCE: f64 = 1e-3;

/// Requested time-of-flight bins of a sinogram; a number that is missing is one that suits the list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TofRequest {
    /// Number of bins; `None` = as many as cover the image.
    pub num: Option<usize>,
    /// Width of each, mm of d; `None` = a little less than the resolution.
    pub width_mm: Option<f64>,
}

/// Returns the bins of a list with time of flight for a sampling of its lines.
///
/// # Errors
/// No time of flight, one that differs between crystal pairs, invalid bins.
pub(super) fn tof_bins(facts: &ListMetadata, geometry: &ScanGeometry, request: TofRequest) -> Result<TofBins, ListError> {
    let tof = facts.tof.as_ref().ok_or(ListError::NoTof)?;
    if tof.exceptions.iter().any(|other| other.fwhm_mm != tof.fwhm_mm || other.edges_mm != tof.edges_mm) {
        return Err(ListError::TofDiffers);
    }
    let (fwhm_mm, own) = (tof.fwhm_mm, own_bins(tof));
    let suitable_mm = TofBins::suitable_width_mm(fwhm_mm);
    let width_mm = request.width_mm.unwrap_or_else(|| own.map_or(suitable_mm, |own| joined_width_mm(own, suitable_mm)));
    let bins = TofBins { num: 1, width_mm, fwhm_mm }.checked()?;
    let Some(num) = request.num else {
        let covering = TofBins::covering(width_mm, fwhm_mm, geometry)?;
        // An even number of bins of the list has an edge in the middle. So has an even number of bins.
        let is_even = own.is_some_and(|(num, own_mm)| num.is_multiple_of(2) && (width_mm / own_mm).round() as usize % 2 == 1);
        let num = covering.num + usize::from(is_even);
        let in_window = (2.0 * half_window_mm(tof) / width_mm + TOLERANCE).floor() as usize;
        let in_window = if in_window % 2 == num % 2 { in_window } else { in_window.saturating_sub(1) };
        return Ok(TofBins { num: num.min(in_window.max(1)), ..bins });
    };
    Ok(TofBins { num, ..bins }.checked()?)
}

/// Returns number and width, mm, of the list's own bins if they are equal and as many on either side.
fn own_bins(tof: &TofMeasurement) -> Option<(usize, f64)> {
    let (first, last) = (tof.edges_mm.first()?, tof.edges_mm.last()?);
    let num = tof.edges_mm.len() - 1;
    let width_mm = (last - first) / num as f64;
    let is_at = |(edge, mm): (usize, &f64)| (mm - (edge as f64 - 0.5 * num as f64) * width_mm).abs() <= TOLERANCE * width_mm;
    (width_mm > 0.0 && tof.edges_mm.iter().enumerate().all(is_at)).then_some((num, width_mm))
}

/// Returns the width of as many of the list's own bins as fit into a suitable width: an odd number of them if one is in the middle,
/// an even number if an edge is.
fn joined_width_mm((num, own_mm): (usize, f64), suitable_mm: f64) -> f64 {
    let most = (suitable_mm / own_mm + TOLERANCE).floor().max(1.0) as usize;
    let joined = if most % 2 == num % 2 { most } else { most - 1 };
    joined.max(1) as f64 * own_mm
}

/// Returns the largest |d| that is recorded on both sides, mm.
fn half_window_mm(tof: &TofMeasurement) -> f64 {
    tof.resolutions().map(|(_, [from, to])| (-from).min(to)).fold(f64::INFINITY, f64::min).max(0.0)
}

/// Returns the part of the coincidence window that time-of-flight bins cover: that of the randoms, which are the same everywhere
/// in it.
pub(super) fn share_of_window(bins: &TofBins, tof: &TofMeasurement) -> f64 {
    let half_mm = 0.5 * bins.num as f64 * bins.width_mm;
    let [from, to] = tof.window_mm;
    if to > from { (half_mm.min(to) - (-half_mm).max(from)).max(0.0) / (to - from) } else { 1.0 }
}

/// Returns notices about the bins, the events outside of them, and those that reach into two bins.
pub(super) fn tof_notices(bins: &TofBins, [outside, across]: [u64; 2], facts: &ListMetadata) -> Vec<Notice> {
    let mut notices = vec![Notice::info(format!("time of flight: {}", bins.text()))];
    let half_mm = 0.5 * bins.num as f64 * bins.width_mm;
    let window_mm = facts.tof.as_ref().map_or(f64::INFINITY, half_window_mm);
    if half_mm > window_mm + TOLERANCE * bins.width_mm {
        notices.push(Notice::warning(format!(
            "the time-of-flight bins end at ±{half_mm:.1} mm, the coincidence window of the list at ±{window_mm:.1} mm: the outer \
             bins lack counts; use fewer or narrower bins (--tof-bins, --tof-bin-mm)"
        )));
    }
    if outside > 0 {
        let events = counted(outside as usize, "prompt");
        notices.push(Notice::info(format!("{events} outside the time-of-flight bins (±{half_mm:.1} mm), not counted")));
    }
    if across > 0 {
        let events = counted(across as usize, "prompt");
        notices.push(Notice::warning(format!(
            "{events} with a time-of-flight interval across two bins, counted in that of its middle; a width that is a multiple of \
             the list's own bins avoids it (--tof-bin-mm)"
        )));
    }
    notices
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::TofException;
    use crate::scanner::{Detectors, find};

    fn bins_of(tof: TofMeasurement, request: TofRequest) -> Result<TofBins, ListError> {
        let geometry = &find("small").unwrap().geometry;
        let detectors = Arc::new(Detectors::of_cylinder(geometry).unwrap());
        tof_bins(&ListMetadata { tof: Some(tof), ..ListMetadata::new("test", detectors) }, geometry, request)
    }

    fn measurement(fwhm_mm: f64, own: Option<(usize, f64)>, half_mm: f64) -> TofMeasurement {
        let edges_mm = own
            .map_or_else(Vec::new, |(num, width_mm)| (0..=num).map(|edge| (edge as f64 - 0.5 * num as f64) * width_mm).collect());
        TofMeasurement { fwhm_mm, window_mm: [-half_mm, half_mm], edges_mm, ..TofMeasurement::default() }
    }

    #[test]
    fn bins_are_whole_numbers_of_the_lists_own_and_end_within_its_window() {
        let usual = TofRequest::default();
        // A list without bins: 0.9 of the resolution over the image, an odd number.
        let bins = bins_of(measurement(20.0, None, 500.0), usual).unwrap();
        assert!((bins.width_mm - 18.0).abs() < 1e-9 && bins.num % 2 == 1);
        let extent_mm = bins.num as f64 * bins.width_mm;
        assert_eq!(bins_of(measurement(20.0, None, 45.0), usual).unwrap().num, 5, "{extent_mm}");
        // One of its bins in the middle: an odd number of 5 mm; an edge there: an even number.
        for (num, width_mm, joined) in [(101, 5.0, 3.0), (100, 5.0, 2.0), (100, 12.0, 1.0), (7, 30.0, 1.0)] {
            let bins = bins_of(measurement(20.0, Some((num, width_mm)), 0.5 * num as f64 * width_mm), usual).unwrap();
            assert!((bins.width_mm - joined * width_mm).abs() < 1e-9, "{bins:?}");
            let first = (bins.edges_mm(0)[0] / width_mm + 0.5 * num as f64).rem_euclid(1.0);
            assert!(first.min(1.0 - first) < 1e-6, "{bins:?} lie across the bins of the list");
        }
        let given = TofRequest { num: Some(4), width_mm: Some(11.0) };
        assert_eq!(bins_of(measurement(20.0, None, 500.0), given).unwrap(), TofBins { num: 4, width_mm: 11.0, fwhm_mm: 20.0 });
    }

    #[test]
    fn the_randoms_in_the_bins_are_their_part_of_the_window() {
        let bins = TofBins { num: 5, width_mm: 20.0, fwhm_mm: 20.0 };
        assert_eq!(share_of_window(&bins, &measurement(20.0, None, 200.0)), 0.25);
        assert_eq!(share_of_window(&bins, &measurement(20.0, None, 40.0)), 1.0);
    }

    #[test]
    fn lists_without_one_resolution_are_refused() {
        let exception = TofException { crystals: [10..20, 0..10], fwhm_mm: 45.0, window_mm: [-99.0, 99.0], edges_mm: Vec::new() };
        let differing = TofMeasurement { exceptions: vec![exception], ..measurement(20.0, None, 99.0) };
        assert!(matches!(bins_of(differing, TofRequest::default()), Err(ListError::TofDiffers)));
    }
}
