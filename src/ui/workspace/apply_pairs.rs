//! What the window does about counts of pairs of crystals and their matrices: shows the counts, waits for matrices out of files, and
//! keeps those that runs made.

use std::path::PathBuf;
use std::sync::Arc;

use egui::Context;

use super::app::App;
use crate::data::{Notice, PairCounts, ResponseMatrix, Study};
use crate::plan::{Job, StartInfo};
use crate::session::{Maker, MatrixFile};
use crate::ui::study::open_pairs::OpenPairs;
use crate::ui::study::open_study::OpenStudy;

impl App {
    /// Shows counts of pairs of crystals; what is to be told about them comes back.
    pub(super) fn show_pairs(&mut self, mut study: Study<PairCounts>, file: Option<PathBuf>) -> Vec<Notice> {
        self.options.trace.record("study_ready", &[("pairs", study.measured.counts.len() as f64)]);
        let notices = std::mem::take(&mut study.notices);
        // The matrix of the study before goes with another one of the same ring.
        let before = self.study.pairs().and_then(|open| Some((open.matrix.clone()?, open.matrix_file.clone())));
        let (matrix, matrix_file) = before.filter(|(matrix, _)| matrix.fits(&study.measured.ring).is_ok()).unzip();
        let open = OpenPairs { matrix, matrix_file: matrix_file.flatten(), ..OpenPairs::new(study, file) };
        self.study.open = Some(OpenStudy::Pairs(open));
        notices
    }

    /// Begins to read a matrix; one that was on its way is given up.
    pub(super) fn await_matrix(&mut self, ctx: &Context, path: PathBuf) {
        let wake = ctx.clone();
        self.study.matrix_maker = Some(Maker::start(MatrixFile(path), move || wake.request_repaint()));
    }

    /// Takes in a matrix that has come; the next start uses it.
    pub(super) fn receive_matrix(&mut self, ctx: &Context) {
        let Some(maker) = &self.study.matrix_maker else { return };
        let Some(outcome) = maker.poll() else { return };
        let file = Some(maker.source().0.clone());
        self.study.matrix_maker = None;
        match outcome.and_then(|(matrix, notices)| self.study.take_matrix(Arc::new(matrix), file).map(|()| notices)) {
            Ok(notices) => {
                notices.into_iter().for_each(|notice| self.notify(ctx, notice));
                self.notify(ctx, Notice::info("the next run uses this system matrix"));
            }
            Err(reason) => self.notify(ctx, Notice::error(reason)),
        }
        self.start_if_it_waited(ctx);
    }

    /// Keeps the matrix that a run came by itself, so that the next one and the window have it too.
    pub(super) fn take_matrix_of_run(&mut self, info: &StartInfo) {
        let Job::Pairs { study, settings } = &info.job else { return };
        let Some(open) = self.study.pairs().filter(|open| Arc::ptr_eq(&open.study, study)) else { return };
        if let Some(matrix) = settings.matrix.as_ref().filter(|_| open.matrix.is_none()) {
            // It was used with these counts: it fits.
            let _ = self.study.take_matrix(Arc::clone(matrix), None);
        }
    }

    /// The counts of pairs of crystals that are open.
    pub fn pairs(&self) -> Option<&Study<PairCounts>> {
        self.study.pairs().map(|open| &*open.study)
    }

    /// The matrix of the open counts of pairs of crystals.
    pub fn matrix(&self) -> Option<&Arc<ResponseMatrix>> {
        self.study.pairs()?.matrix.as_ref()
    }

    /// Whether a matrix is being read.
    pub fn awaits_matrix(&self) -> bool {
        self.study.matrix_maker.is_some()
    }
}
