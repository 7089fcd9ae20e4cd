//! Crystal-pair histograms in the study panel: the system matrix.

use egui::{RichText, Ui};

use super::edit;
use crate::data::ResponseMatrix;
use crate::session::{MatrixFile, Producer};
use crate::ui::study::open::open_pairs::OpenPairs;
use crate::ui::widgets::fields::button;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::format;
use crate::ui::workspace::state::{Request, ask};

/// Draws the description of the system matrix and the button that opens another one, or the progress of reading.
pub fn matrix_ui(open: &OpenPairs, maker: Option<&Producer<MatrixFile>>, ui: &mut Ui, requests: &mut Vec<Request>) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Matrix").weak());
        let text = open.matrix.as_deref().map_or_else(|| none_yet(open), matrix_text);
        ui.label(text).on_hover_text(
            "System matrix: the probability that a crystal pair detects a decay in each basis function. It is simulated and stored in the cache",
        );
    });
    if maker.is_some() {
        ui.add(egui::ProgressBar::new(0.0).animate(true).text(format::under_way("Reading the matrix", None, None)));
        let cancel = edit(|study| (study.matrix_maker, study.starts_when_made) = (None, false));
        button(ui, "Cancel matrix", "Give up the matrix that is on its way", requests, cancel);
    } else {
        let open = ask(FileTask::OpenMatrix);
        button(ui, "Open matrix…", "A matrix of this ring from a file (.matrix)", requests, open);
    }
}

/// Describes the effect of a missing matrix.
fn none_yet(open: &OpenPairs) -> String {
    match &open.matrix_refusal {
        None => "none yet: computed at the start, or read from the cache".to_owned(),
        Some(reason) => format!("none: {reason}"),
    }
}

fn matrix_text(matrix: &ResponseMatrix) -> String {
    let functions = matrix.basis.kind.text();
    let elements = format::count(matrix.elements.len() as f64);
    let counts = matrix.made.map_or_else(String::new, |made| format!(", {:.1} counts behind each (mean)", made.effective_counts));
    format!("{elements} elements{counts}; {functions} {} mm apart", format::short_number(matrix.basis.spacing_mm))
}
