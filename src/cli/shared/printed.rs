//! Texts that several commands print.

use std::path::Path;

use super::console::out;
use super::error::CliResult;
use crate::data::{Counts, MatrixMade, Michelogram, ResponseMatrix, SharedTubes};
use crate::io::{Correction, write_projections};
use crate::measure::FitCounts;
use crate::report::{Column, Columns};
use crate::text::counted;

/// A written file and its content.
const WRITTEN: Columns<2> = Columns([Column::words("", 29), Column::words("", 0)]);

/// Prints a written file and its content.
pub fn written(path: &Path, content: impl Into<String>) {
    out!("  {}", WRITTEN.line([path.display().to_string(), content.into()]));
}

/// Prints the numbers of fitted and of masked voxels; `out_of_range` = the cause of those without anything to measure.
pub fn print_fits(counts: &FitCounts, out_of_range: &'static str) {
    out!("{} fitted", counted(counts.fitted, "voxel"));
    for (num, cause) in counts.masked(out_of_range) {
        out!("{} masked: {cause}", counted(num, "voxel"));
    }
}

/// Writes projection data with its corrections, and prints each file with its content.
pub fn write_counts(
    output: &Path,
    counts: &Counts,
    content: String,
    content_of: impl Fn(Correction, &Michelogram) -> String,
) -> CliResult {
    write_projections(output, &counts.prompts)?;
    written(output, content);
    for (correction, data) in [(Correction::Multiplicative, &counts.multiplicative), (Correction::Additive, &counts.additive)] {
        if let Some(data) = data {
            let path = correction.path_beside(output);
            write_projections(&path, data)?;
            written(&path, content_of(correction, data));
        }
    }
    Ok(())
}

/// Describes super-LORs and their effect.
pub fn shared_text(SharedTubes { sizes, median_error_percent, deviation }: &SharedTubes) -> String {
    let error = median_error_percent.map_or_else(String::new, |error| format!("standard error {error:.1} % (median); "));
    format!(
        "super-LORs of {sizes}: {error}{:.1} % (RMS) from the single tubes and their noise, {:.1} % in the outermost groups",
        deviation.inner_percent, deviation.edge_percent
    )
}

/// Describes a matrix in a line.
pub fn text(matrix: &ResponseMatrix) -> String {
    let ResponseMatrix { num_basic, basis, .. } = matrix;
    format!("{num_basic} basic {}, {} mm apart", basis.kind.text(), basis.spacing_mm)
}

/// Describes the simulation of a matrix.
pub fn made_lines(made: &MatrixMade) -> [String; 3] {
    let MatrixMade { num_histories, num_counted, num_decays, counted_percent, multiple_percent, effective_counts, .. } = made;
    [
        format!(
            "{num_histories} decays were followed, {num_counted} of them counted: as many as of {num_decays:.3e} in all of the object"
        ),
        format!(
            "counted: {counted_percent:.2} % of the decays in the object; rejected, as more than two crystals report: {multiple_percent:.2} %"
        ),
        format!("counts behind an element: {effective_counts:.1} (mean)"),
    ]
}
