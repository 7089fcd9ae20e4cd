//! Words that several commands print.

use crate::data::{MatrixMade, ResponseMatrix, SharedTubes};
use crate::report::{Column, Columns};

/// A file that was written, and what it holds.
pub const WRITTEN: Columns<2> = Columns([Column::words("", 29), Column::words("", 0)]);

/// Which tubes share one, and what that changes.
pub fn shared_words(SharedTubes { sizes, median_error_percent, deviation }: &SharedTubes) -> String {
    let error = median_error_percent.map_or_else(String::new, |error| format!("standard error {error:.1} % (median); "));
    format!(
        "super-LORs of {sizes}: {error}{:.1} % (RMS) from the single tubes and their noise, {:.1} % in the outermost groups",
        deviation.inner_percent, deviation.edge_percent
    )
}

/// A matrix in a line.
pub fn text(matrix: &ResponseMatrix) -> String {
    let ResponseMatrix { num_basic, basis, .. } = matrix;
    format!("{num_basic} basic {}, {} mm apart", basis.kind.text(), basis.spacing_mm)
}

/// How a matrix was simulated.
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
