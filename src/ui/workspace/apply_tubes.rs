//! What the window does about tubes of response: waits for them, gives them to the study they fit, and puts others away.

use std::path::PathBuf;
use std::sync::Arc;

use egui::Context;

use super::app::App;
use crate::data::{Notice, TubeSet};
use crate::plan::{ProjectorChoice, StartInfo};
use crate::session::{Producer, TubeSource};
use crate::ui::plots::{BottomTab, TabsOf};
use crate::ui::study::open::open_study::OpenStudy;

impl App {
    /// Begins to make or read tubes; those that were on their way are given up.
    pub(super) fn await_tubes(&mut self, ctx: &Context, source: TubeSource) {
        let wake = ctx.clone();
        self.study.tube_maker = Some(Producer::start(source, move || wake.request_repaint()));
    }

    /// Takes in tubes that have come; the next start uses them.
    pub(super) fn receive_tubes(&mut self, ctx: &Context) {
        let Some(maker) = &self.study.tube_maker else { return };
        let Some(outcome) = maker.poll() else { return };
        let file = match maker.source() {
            TubeSource::File(path) => Some(path.clone()),
            TubeSource::Simulation { .. } => None,
        };
        self.study.tube_maker = None;
        let taken = outcome.and_then(|(set, notices)| self.study.take_tubes(Arc::new(set), file).map(|()| notices));
        match taken {
            Ok(notices) => {
                notices.into_iter().for_each(|notice| self.notify(ctx, notice));
                // A restored session has its own projector.
                if !self.study.starts_when_made {
                    self.runs.active_mut().forms.settings.projector = ProjectorChoice::TUBES;
                    self.notify(ctx, Notice::info("the next run uses these tubes of response (projector tubes)"));
                }
            }
            Err(reason) => self.notify(ctx, Notice::error(reason)),
        }
        self.start_if_it_waited(ctx);
    }

    /// Keeps the tubes that a run came by itself, so that the next one and the window have them too.
    pub(super) fn take_tubes_of_run(&mut self, info: &StartInfo) {
        let is_wanted = self.study.is_of_open(&info.job) && self.study.tubes().is_none();
        if let Some(set) = info.job.settings.tubes.as_ref().filter(|_| is_wanted) {
            // They were used with these counts: they fit.
            let _ = self.study.take_tubes(Arc::clone(set), None);
        }
    }

    /// Another study is open: keeps tubes and their simulation where they fit it, and says so where they do not.
    pub(super) fn keep_fitting_tubes(&mut self, ctx: &Context, tubes: Option<(Arc<TubeSet>, Option<PathBuf>)>) {
        self.study.tube_form = None;
        if let Some(Err(reason)) = tubes.map(|(set, file)| self.study.take_tubes(set, file)) {
            self.notify(ctx, Notice::info(format!("tubes of the previous study discarded: {reason}")));
        }
        let scanner = self.study.open.as_ref().and_then(OpenStudy::counts).and_then(|open| open.scanner_of_tubes().ok());
        if let Some(TubeSource::Simulation { scanner: simulated, .. }) = self.study.tube_maker.as_ref().map(Producer::source)
            && scanner.is_none_or(|scanner| scanner.name != simulated.name)
        {
            let text = format!("tubes of {} are no longer made: they do not fit the study that is open now", simulated.title);
            self.study.tube_maker = None;
            self.notify(ctx, Notice::info(text));
        }
        if !self.tabs().has(self.numbers) {
            self.numbers = BottomTab::Rois;
        }
    }

    /// What of the study decides which tabs there are.
    pub(super) fn tabs(&self) -> TabsOf {
        let counts = self.study.open.as_ref().and_then(OpenStudy::counts);
        let has_tubes = counts.is_some_and(|open| open.scanner_of_tubes().is_ok());
        TabsOf { is_sweep: self.study.sweep().is_some(), is_list: self.study.list().is_some(), has_tubes }
    }
}
