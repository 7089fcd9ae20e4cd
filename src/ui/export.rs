//! The numbers of every iterate of the run as CSV.

use std::path::Path;

use super::live::LiveRun;
use super::measured::{RoiNumbers, numbers};
use crate::io::IoError;
use crate::io::measurements::{Measurement, MeasurementWriter};
use crate::session::race_rows;

/// Writes the ROI numbers of the newest branch, the log-likelihood and what a race lost.
///
/// # Errors
/// The file cannot be written.
pub fn write_csv(path: &Path, live: &LiveRun, unit: &str) -> Result<(), IoError> {
    MeasurementWriter::create(path)?.write(&rows(live, unit))
}

fn rows(live: &LiveRun, unit: &str) -> Vec<Measurement> {
    let mut rows = Vec::new();
    let subsets = live.num_subsets();
    let voxel_ml = live.info.as_ref().map_or(0.0, |info| info.job.grid().voxel_ml());
    let row = |subiteration: usize, roi: &str, quantity: &str, value: f64, unit: &str| Measurement {
        run: live.run,
        iteration: subiteration / subsets,
        subset: subiteration % subsets,
        roi: roi.to_owned(),
        quantity: quantity.to_owned(),
        value,
        unit: unit.to_owned(),
    };
    if let Some(branch) = live.branches.values().next_back() {
        for point in branch.points.values() {
            for (roi, n) in branch.rois.iter().zip(numbers(&branch.rois, &point.sums, voxel_ml)) {
                let Some(n) = n else { continue };
                for (quantity, value, unit) in quantities(&n, unit) {
                    rows.push(row(point.subiteration, &roi.name, quantity, value, unit));
                }
            }
        }
    }
    for (subiteration, race) in &live.race {
        rows.extend(race_rows(live.run, [subiteration / subsets, subiteration % subsets], race));
    }
    // The likelihood is that of the image before the step.
    rows.extend(live.log_likelihood.iter().map(|[at, value]| row(*at as usize, "", "log_likelihood", *value, "")));
    rows
}

/// The numbers that are defined, with their names and units.
fn quantities<'a>(n: &RoiNumbers, unit: &'a str) -> Vec<(&'static str, f64, &'a str)> {
    let all = [
        ("mean", n.mean, unit),
        ("sd", n.sd, unit),
        ("min", n.mean.map(|_| f64::from(n.min)), unit),
        ("max", n.mean.map(|_| f64::from(n.max)), unit),
        ("num_voxels", Some(n.num_voxels as f64), ""),
        ("volume", Some(n.volume_ml), "mL"),
        ("nsr", n.nsr, ""),
        ("contrast_recovery", n.recovery, ""),
    ];
    all.into_iter().filter_map(|(quantity, value, unit)| Some((quantity, value?, unit))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Roi, RoiRole, RoiShape, RoiSums};
    use crate::ui::live::{Branch, RoiPoint};

    #[test]
    fn every_defined_number_becomes_a_row() {
        let shape = RoiShape::Sphere { radius_mm: 5.0 };
        let roi = Roi { name: "A".into(), shape, centre_mm: [0.0; 3], role: RoiRole::Background, activity_ratio: None };
        let sums = RoiSums { weight: 2.0, sum: 6.0, sum_of_squares: 20.0, min: 2.0, max: 4.0, num_voxels: 2 };
        let point = |subiteration, sums| RoiPoint { iteration: subiteration, subiteration, sums: vec![sums] };
        let points = [(1, point(1, None)), (2, point(2, Some(sums)))].into();
        let mut live = LiveRun::asked_for(4, 1, &[], false);
        live.log_likelihood.push([0.0, -5.0]);
        live.race.push((2, crate::recon::RaceReport { lost: 0.25, lost_of_ones: 0.5, level: 0.75 }));
        live.branches.insert(1, Branch { rois: vec![roi], points });
        let rows = rows(&live, "counts/mm");
        let find = |quantity: &str| rows.iter().find(|row| row.quantity == quantity).unwrap();
        assert_eq!((find("mean").value, find("mean").iteration, find("mean").unit.as_str()), (3.0, 2, "counts/mm"));
        assert!((find("sd").value - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((find("log_likelihood").value, find("log_likelihood").run), (-5.0, 4));
        assert_eq!((find("lost").value, find("lost_of_ones").value, find("level").value), (0.25, 0.5, 0.75));
        assert_eq!((find("level").iteration, find("level").roi.as_str()), (2, ""));
        assert!(!rows.iter().any(|row| row.quantity == "contrast_recovery"));
        assert_eq!(rows.iter().filter(|row| row.quantity == "mean").count(), 1);
    }
}
