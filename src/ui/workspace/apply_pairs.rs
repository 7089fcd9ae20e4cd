//! What the window does about counts of pairs of crystals and their matrices: shows the counts, waits for matrices out of files, and
//! keeps those that runs made.

use std::path::PathBuf;
use std::sync::Arc;

use egui::Context;

use super::app::App;
use crate::data::{Notice, PairCounts, ResponseMatrix};
use crate::plan::StartInfo;
use crate::session::{MatrixFile, Producer};

impl App {
    /// Begins to read a matrix; one that was on its way is given up.
    pub(super) fn await_matrix(&mut self, ctx: &Context, path: PathBuf) {
        let wake = ctx.clone();
        self.study.matrix_maker = Some(Producer::start(MatrixFile(path), move || wake.request_repaint()));
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
        if !self.study.is_of_open(&info.job) || self.study.pairs().is_none_or(|open| open.matrix.is_some()) {
            return;
        }
        if let Some(matrix) = &info.job.settings.matrix {
            // It was used with these counts: it fits.
            let _ = self.study.take_matrix(Arc::clone(matrix), None);
        }
    }

    /// The counts of pairs of crystals that are open.
    pub fn pairs(&self) -> Option<&PairCounts> {
        self.study.pairs().map(|open| &open.pairs)
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
