//! Panel parts of crystal-pair histograms: facts and system matrix.

use std::path::Path;

use egui::{RichText, Ui};
use strum::VariantArray as _;

use super::action::{StudyAction, StudyEdit};
use super::open::open_kind::OpenKind;
use super::open::open_pairs::OpenPairs;
use crate::data::ResponseMatrix;
use crate::operator::Accumulation;
use crate::session::{MatrixFile, Producer};
use crate::ui::widgets::fields::button;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::format;

impl OpenKind for OpenPairs {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let ring = &self.pairs.ring;
        let [across, along] = ring.num;
        let crystals =
            format!("{}: {} modules, {} layers of {across} × {along}", ring.num_crystals(), ring.num_modules, ring.num_layers());
        let from = self.file.as_ref().and_then(|path| path.file_name());
        let from = from.map_or_else(|| "Monte Carlo simulation".to_owned(), |name| name.to_string_lossy().into_owned());
        vec![
            ("Ring", ring.title.clone()),
            ("Crystals", crystals),
            ("Pairs", format!("{}, {} symmetries", format::count(ring.num_lors() as f64), ring.num_symmetries())),
            ("Counts", format::count(self.total)),
            ("From", from),
        ]
    }

    fn measured_file(&self) -> Option<&Path> {
        None
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn made_at_start(&self) -> &'static str {
        "the matrix"
    }
}

/// Draws the description of the system matrix and the button that opens another one, or the progress of reading.
pub fn matrix_ui(open: &OpenPairs, maker: Option<&Producer<MatrixFile>>, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Matrix").weak());
        let text = open.matrix.as_deref().map_or_else(|| none_yet(open), matrix_text);
        ui.label(text).on_hover_text(
            "System matrix: the probability that a crystal pair detects a decay in each basis function. It is simulated and stored in the cache",
        );
    });
    if maker.is_some() {
        ui.add(egui::ProgressBar::new(0.0).animate(true).text(format::under_way("Reading the matrix", None, None)));
        let cancel = StudyAction::Edit(StudyEdit::CancelMatrix);
        button(ui, "Cancel matrix", "Give up the matrix that is on its way", actions, cancel);
    } else {
        let open = StudyAction::Ask(FileTask::OpenMatrix);
        button(ui, "Open matrix…", "A matrix of this ring from a file (.matrix)", actions, open);
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
