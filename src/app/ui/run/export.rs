//! Export of the numbers of all iterates as CSV.

use std::collections::BTreeSet;
use std::path::Path;

use super::live::LiveRun;
use crate::data::ValueScale;
use crate::io::IoError;
use crate::io::measurements::{Measurement, MeasurementWriter};

/// Writes the numbers of each run with the ROIs of its newest branch as CSV. Each run comes with the scale of
/// another unit, if it has one. For a run without edited ROIs and with at most `MAX_STORED` steps, the file
/// is that of the command line.
///
/// # Errors
/// Writing the file failed.
pub fn write_csv<'a>(path: &Path, runs: impl Iterator<Item = (&'a LiveRun, Option<ValueScale>)>) -> Result<(), IoError> {
    let rows: Vec<Measurement> = runs.flat_map(|(live, scale)| rows(live, scale)).collect();
    MeasurementWriter::create(path)?.write(&rows)
}

fn rows(live: &LiveRun, scale: Option<ValueScale>) -> Vec<Measurement> {
    let Some(table) = live.table().map(|table| table.converted(scale)) else { return Vec::new() };
    let newest = live.rois.newest();
    // Iterates that were measured again after an edit may have ROI sums alone.
    let measured = newest.into_iter().flat_map(|branch| branch.points.keys());
    let steps: BTreeSet<&usize> = live.steps.keys().chain(measured).chain(live.found.comparisons.keys()).collect();
    let mut rows = table.first_rows();
    for step in steps {
        rows.extend(live.steps.get(step).iter().flat_map(|figures| table.step_rows(figures)));
        if let Some((branch, point)) = newest.and_then(|branch| Some((branch, branch.points.get(step)?))) {
            rows.extend(table.roi_rows(point.iteration, *step, &branch.rois, &point.sums));
            rows.extend(table.deviation_rows(point.iteration, *step, &branch.rois, &point.deviations));
        }
        rows.extend(live.found.comparisons.get(step).iter().flat_map(|comparison| table.comparison_rows(comparison)));
    }
    rows
}
