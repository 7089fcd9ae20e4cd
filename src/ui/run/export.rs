//! The numbers of every iterate of the runs as CSV.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::live::LiveRun;
use crate::io::IoError;
use crate::io::measurements::{Measurement, MeasurementWriter};
use crate::session::StepFigures;

/// Writes what each run has measured, the ROIs of its newest branch, with what 1 count/mm of its images stands for (Bq/mL) where
/// that is known: of a run whose ROIs were not edited exactly what the command line writes while it goes on.
///
/// # Errors
/// The file cannot be written.
pub fn write_csv<'a>(path: &Path, runs: impl Iterator<Item = (&'a LiveRun, Option<f64>)>) -> Result<(), IoError> {
    let rows: Vec<Measurement> = runs.flat_map(|(live, bq_per_ml)| rows(live, bq_per_ml)).collect();
    MeasurementWriter::create(path)?.write(&rows)
}

fn rows(live: &LiveRun, bq_per_ml: Option<f64>) -> Vec<Measurement> {
    let Some(table) = live.table().map(|table| table.calibrated(bq_per_ml)) else { return Vec::new() };
    let figures: BTreeMap<usize, &StepFigures> = live.steps.iter().map(|step| (step.subiteration, step)).collect();
    let newest = live.branches.values().next_back();
    let points = newest.map(|branch| &branch.points);
    // Iterates of a part that was measured again after an edit may have nothing but their ROIs.
    let steps = figures.keys().chain(points.into_iter().flat_map(BTreeMap::keys)).chain(live.comparisons.keys());
    let steps: BTreeSet<usize> = steps.copied().collect();
    let mut rows = table.first_rows();
    for step in steps {
        rows.extend(figures.get(&step).iter().flat_map(|figures| table.step_rows(figures)));
        if let Some((branch, point)) = newest.and_then(|branch| Some((branch, branch.points.get(&step)?))) {
            rows.extend(table.roi_rows(point.iteration, step, &branch.rois, &point.sums));
        }
        rows.extend(live.comparisons.get(&step).iter().flat_map(|comparison| table.comparison_rows(comparison)));
    }
    rows
}
