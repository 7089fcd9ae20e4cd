//! Texts that several commands print.

use std::fs;
use std::path::{Path, PathBuf};

use super::console::out;
use super::error::CliResult;
use crate::data::{CorrectionContent, Counts, MatrixMade, Michelogram, ResponseMatrix, SharedTubes};
use crate::io::{Correction, IoError, OutputLock, OwnFacts, checksum_of_scan, stale_companions, write_projections_with};
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

/// Writes projection data with its corrections of these contents, and prints each file with its content. The companions of a scan that
/// is replaced are removed.
///
/// # Errors
/// A write fails; a companion of the old name belongs to another scan.
pub fn write_counts(
    output: &Path,
    counts: &Counts,
    contents: ContentsOf,
    content: String,
    content_of: impl Fn(Correction, &Michelogram) -> String,
) -> CliResult {
    let corrections = [
        (Correction::Multiplicative, &counts.multiplicative, contents.factors),
        (Correction::Additive, &counts.additive, contents.background),
    ];
    let corrections = corrections.into_iter().filter_map(|(which, data, contents)| Some((which, data.as_ref()?, contents)));
    let corrections: Vec<_> =
        corrections.map(|(which, data, contents)| (which.path_beside(output), which, data, contents)).collect();
    let _lock = OutputLock::wait(output)?;
    let stale = stale_companions(output, |file| corrections.iter().any(|(path, ..)| path == file))?;
    let own = OwnFacts { scan: counts.facts.clone(), ..OwnFacts::default() };
    write_projections_with(output, &counts.prompts, &own)?;
    written(output, content);
    let of_scan = checksum_of_scan(output)?;
    for (path, which, data, contents) in corrections {
        let own = OwnFacts { of_scan: Some(of_scan.clone()), contents: Some(contents.to_vec()), ..OwnFacts::default() };
        write_projections_with(&path, data, &own)?;
        written(&path, content_of(which, data));
    }
    remove_stale(&stale)
}

/// Contents of the corrections of projection data.
pub struct ContentsOf {
    pub factors: &'static [CorrectionContent],
    pub background: &'static [CorrectionContent],
}

/// Removes companions of a scan that was replaced, and prints their names.
///
/// # Errors
/// A file is not removable.
pub fn remove_stale(stale: &[PathBuf]) -> CliResult {
    for path in stale {
        fs::remove_file(path).map_err(IoError::write(path))?;
        written(path, "removed: it belonged to the replaced scan");
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
