//! Tubes of response and system matrices: simulation, reading, and use for the study that they fit.

use std::path::PathBuf;
use std::sync::Arc;

use super::state::Workspace;
use crate::data::{Notice, PairCounts, ResponseMatrix, TubeSet};
use crate::montecarlo::TubeRecipe;
use crate::plan::{ProjectorChoice, StartInfo};
use crate::session::{MatrixFile, Outcome, Producer, Source, TubeSource};
use crate::ui::study::open::open_study::OpenStudy;

/// Returns the result of a producer that has finished, with its source.
fn take_product<S: Source>(producer: &mut Option<Producer<S>>) -> Option<(S, Outcome<S::Product>)> {
    let outcome = producer.as_ref()?.poll()?;
    Some((producer.take()?.source().clone(), outcome))
}

impl Workspace {
    /// Starts simulating tubes for the scanner of the open study.
    pub fn simulate_tubes(&mut self, recipe: TubeRecipe) {
        let Some(open) = self.study.open.as_ref().and_then(OpenStudy::counts) else { return };
        match open.scanner_of_tubes() {
            Ok(scanner) => {
                let (cache, device) = (self.options.cache.clone(), self.runs.active().forms.settings.device);
                self.start_tubes(TubeSource::Simulation { scanner, recipe, device, cache });
            }
            Err(reason) => self.notify(Notice::error(reason.to_string())),
        }
    }

    /// Starts simulating or reading tubes; cancels earlier work of this kind.
    pub fn start_tubes(&mut self, source: TubeSource) {
        let wake = self.ctx.clone();
        self.study.tube_maker = Some(Producer::start(source, move || wake.request_repaint()));
    }

    /// Starts reading a system matrix; cancels earlier work of this kind.
    pub fn read_matrix(&mut self, path: PathBuf) {
        let wake = self.ctx.clone();
        self.study.matrix_maker = Some(Producer::start(MatrixFile(path), move || wake.request_repaint()));
    }

    /// Receives tubes and matrices. The next run uses them.
    pub fn receive_simulations(&mut self) {
        if let Some((source, outcome)) = take_product(&mut self.study.tube_maker) {
            let file = if let TubeSource::File(path) = source { Some(path) } else { None };
            let taken = outcome.and_then(|(set, notices)| self.study.take_tubes(Arc::new(set), file).map(|()| notices));
            // A restored session contains its projector.
            let is_chosen = taken.is_ok() && !self.study.starts_when_made;
            if is_chosen {
                self.runs.active_mut().forms.settings.projector = ProjectorChoice::TUBES;
            }
            let text = is_chosen.then_some("the next run uses these tubes of response (projector tubes)");
            self.finish_simulation(taken, text);
        }
        if let Some((MatrixFile(path), outcome)) = take_product(&mut self.study.matrix_maker) {
            let take = |(matrix, notices)| self.study.take_matrix(Arc::new(matrix), Some(path)).map(|()| notices);
            let taken = outcome.and_then(take);
            self.finish_simulation(taken, Some("the next run uses this system matrix"));
        }
    }

    /// Reports the result, and starts a run that waits for it.
    fn finish_simulation(&mut self, taken: Result<Vec<Notice>, String>, text: Option<&str>) {
        match taken {
            Ok(notices) => self.notify_all(notices.into_iter().chain(text.map(Notice::info))),
            Err(reason) => self.notify(Notice::error(reason)),
        }
        self.start_if_waiting();
    }

    /// Stores tubes and matrix that a run has made, for later runs and for the window.
    pub fn take_simulations_of_run(&mut self, info: &StartInfo) {
        if !self.study.is_of_open(&info.job) {
            return;
        }
        // The run used them with the open data, so they fit.
        if let Some(set) = info.job.settings.inputs.tubes.as_ref().filter(|_| self.study.tubes().is_none()) {
            let _ = self.study.take_tubes(Arc::clone(set), None);
        }
        if let Some(matrix) = &info.job.settings.inputs.matrix
            && self.study.pairs().is_some_and(|open| open.matrix.is_none())
        {
            let _ = self.study.take_matrix(Arc::clone(matrix), None);
        }
    }

    /// Stores tubes of the previous study, and continues their simulation, if they fit the open one. A notice reports tubes
    /// that do not.
    pub fn keep_fitting_tubes(&mut self, tubes: Option<(Arc<TubeSet>, Option<PathBuf>)>) {
        self.study.tube_form = None;
        if let Some(Err(reason)) = tubes.map(|(set, file)| self.study.take_tubes(set, file)) {
            self.notify(Notice::info(format!("tubes of the previous study discarded: {reason}")));
        }
        let scanner = self.study.open.as_ref().and_then(OpenStudy::counts).and_then(|open| open.scanner_of_tubes().ok());
        if let Some(TubeSource::Simulation { scanner: simulated, .. }) = self.study.tube_maker.as_ref().map(Producer::source)
            && scanner.is_none_or(|scanner| scanner.name != simulated.name)
        {
            let text = format!("tubes of {} are no longer made: they do not fit the study that is open now", simulated.title);
            self.study.tube_maker = None;
            self.notify(Notice::info(text));
        }
    }

    pub fn pairs(&self) -> Option<&PairCounts> {
        self.study.pairs().map(|open| &open.pairs)
    }

    pub fn matrix(&self) -> Option<&Arc<ResponseMatrix>> {
        self.study.pairs()?.matrix.as_ref()
    }

    /// Returns true while tubes of response are being simulated or read.
    pub fn awaits_tubes(&self) -> bool {
        self.study.tube_maker.is_some()
    }
}
