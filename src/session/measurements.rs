//! The numbers of an iterate as rows of a table: mean, SD, extremes and noise-to-signal ratio of each ROI, contrast
//! recovery where its role and the background allow it, the log-likelihood, and what a race lost.

use super::{IterateReport, RunId};
use crate::data::{Roi, RoiRole, RoiSums, Unit};
use crate::io::measurements::Measurement;
use crate::measure::{RoiStats, cold_recovery, hot_recovery, noise_to_signal, pooled};
use crate::recon::RaceReport;

/// Rows of ROIs measured on one image; quantities that are undefined have no row. The background of contrast is all
/// ROIs of that role together.
pub fn roi_rows(run: RunId, [iteration, subset]: [usize; 2], rois: &[Roi], sums: &[RoiSums], unit: Unit) -> Vec<Measurement> {
    let background: Vec<RoiSums> =
        rois.iter().zip(sums).filter(|(roi, _)| roi.role == RoiRole::Background).map(|(_, sums)| *sums).collect();
    let background_mean = RoiStats::of(&pooled(&background), 1.0).map(|stats| stats.mean);
    let mut rows = Vec::new();
    for (roi, sums) in rois.iter().zip(sums) {
        let Some(stats) = RoiStats::of(sums, 1.0) else { continue };
        let recovery = background_mean.and_then(|background| match roi.role {
            RoiRole::Hot => hot_recovery(stats.mean, background, roi.activity_ratio?),
            RoiRole::Cold => cold_recovery(stats.mean, background),
            RoiRole::Background | RoiRole::None => None,
        });
        let quantities = [
            ("mean", Some(stats.mean), unit.label()),
            ("sd", stats.sd, unit.label()),
            ("min", Some(f64::from(stats.min)), unit.label()),
            ("max", Some(f64::from(stats.max)), unit.label()),
            ("nsr", noise_to_signal(sums), ""),
            ("contrast_recovery", recovery, ""),
        ];
        for (quantity, value, unit) in quantities {
            let Some(value) = value else { continue };
            let (roi, quantity, unit) = (roi.name.clone(), quantity.to_owned(), unit.to_owned());
            rows.push(Measurement { run, iteration, subset, roi, quantity, value, unit });
        }
    }
    rows
}

/// Rows of what a step's race lost, beside the number of the iterate after the step: `lost` and `lost_of_ones`, the parts
/// of the additions that did not arrive, and `level`, the image's relative to a race-free step's.
pub fn race_rows(run: RunId, [iteration, subset]: [usize; 2], race: &RaceReport) -> [Measurement; 3] {
    [("lost", race.lost), ("lost_of_ones", race.lost_of_ones), ("level", race.level)].map(|(quantity, value)| {
        let (roi, quantity, unit) = (String::new(), quantity.to_owned(), String::new());
        Measurement { run, iteration, subset, roi, quantity, value, unit }
    })
}

/// Rows of a step: the ROIs on the iterate after it, what its race lost, and the log-likelihood of the step's subset, which
/// is that of the iterate *before* it and stands beside that one's number.
pub fn iterate_rows(run: RunId, report: &IterateReport, num_subsets: usize, rois: &[Roi], unit: Unit) -> Vec<Measurement> {
    let number = |subiteration: usize| [subiteration / num_subsets.max(1), subiteration % num_subsets.max(1)];
    let likelihood = report.log_likelihood.map(|value| {
        let [iteration, subset] = number(report.subiteration.saturating_sub(1));
        let (roi, quantity, unit) = (String::new(), "log_likelihood".to_owned(), String::new());
        Measurement { run, iteration, subset, roi, quantity, value, unit }
    });
    let at = number(report.subiteration);
    let race = report.race.iter().flat_map(|race| race_rows(run, at, race));
    likelihood.into_iter().chain(race).chain(roi_rows(run, at, rois, &report.roi_sums, unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RoiMask, RoiShape};

    #[test]
    fn contrast_recovery_is_taken_against_all_background_regions_together() {
        let roi = |name: &str, role, activity_ratio| Roi {
            name: name.into(),
            shape: RoiShape::Sphere { radius_mm: 1.0 },
            centre_mm: [0.0; 3],
            role,
            activity_ratio,
        };
        let rois = [
            roi("hot", RoiRole::Hot, Some(4.0)),
            roi("cold", RoiRole::Cold, None),
            roi("a", RoiRole::Background, None),
            roi("b", RoiRole::Background, None),
            roi("outside", RoiRole::None, None),
        ];
        let sums = |values: &[f32]| RoiMask { voxels: (0..values.len() as u32).map(|i| (i, 1.0)).collect() }.sums(values);
        let sums = [sums(&[5.0, 5.0]), sums(&[1.0]), sums(&[1.0, 3.0]), sums(&[2.0, 2.0]), sums(&[])];
        let rows = roi_rows(3, [2, 1], &rois, &sums, Unit::CountsPerMm);
        let value = |roi: &str, quantity: &str| {
            rows.iter().find(|row| row.roi == roi && row.quantity == quantity).map(|row| (row.value, row.unit.as_str()))
        };
        // Background mean 2: hot (5/2 − 1)/(4 − 1), cold 1 − 1/2, noise of a √2/2.
        assert_eq!(value("hot", "contrast_recovery"), Some((0.5, "")));
        assert_eq!(value("cold", "contrast_recovery"), Some((0.5, "")));
        assert_eq!(value("a", "nsr"), Some((2f64.sqrt() / 2.0, "")));
        assert_eq!(value("a", "max"), Some((3.0, "counts/mm")));
        assert_eq!((value("cold", "sd"), value("a", "contrast_recovery"), value("outside", "mean")), (None, None, None));
        assert!(rows.iter().all(|row| (row.run, row.iteration, row.subset) == (3, 2, 1)));
    }
}
