//! The numbers of every iterate of the run as CSV.

use std::path::Path;

use super::live::LiveRun;
use super::measured::{RoiNumbers, numbers};
use crate::io::IoError;
use crate::io::measurements::{Measurement, MeasurementWriter};

/// Writes the ROI numbers of the newest branch and the log-likelihood.
///
/// # Errors
/// The file cannot be written.
pub fn write_csv(path: &Path, live: &LiveRun, unit: &str) -> Result<(), IoError> {
    MeasurementWriter::create(path)?.write(&rows(live, unit))
}

fn rows(live: &LiveRun, unit: &str) -> Vec<Measurement> {
    let mut rows = Vec::new();
    let subsets = live.num_subsets();
    let voxel_ml = live.info.as_ref().map_or(0.0, |info| info.settings.grid.voxel_ml());
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
