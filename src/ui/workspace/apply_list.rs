//! What the window does about lists of events: shows them, and follows those that are still being written.

use egui::Context;

use super::app::App;
use crate::data::{EventList, Notice, Severity};
use crate::plan::{Data, SubsetRule};
use crate::session::EndReason;
use crate::ui::run::frame_series::FrameSeries;
use crate::ui::run::live::RunState;
use crate::ui::run::run_view::RunInput;
use crate::ui::study::open::open_study::OpenStudy;

impl App {
    /// Begins the next frame of a series when the one before has ended.
    pub(super) fn go_on_with_frames(&mut self, ctx: &Context) {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        let notices = self.runs.active_mut().go_on_with_frames(input);
        notices.into_iter().for_each(|notice| self.notify(ctx, notice));
    }

    /// Whether a notice was told of a frame before and is not told of each again.
    pub(super) fn is_told_of_frames(&self, notice: &Notice) -> bool {
        notice.severity == Severity::Info && self.frames().is_some_and(|series| !series.done().is_empty())
    }

    /// The frames of the list that are reconstructed one after the other.
    pub fn frames(&self) -> Option<&FrameSeries> {
        self.run().series.as_ref()
    }

    /// Takes in what has arrived of a list. When it is whole, and its image was growing, it is reconstructed as any other.
    pub(super) fn receive_list(&mut self, ctx: &Context) {
        let Some(last_words) = self.study.open.as_mut().and_then(OpenStudy::update_list) else { return };
        last_words.into_iter().for_each(|notice| self.notify(ctx, notice));
        self.study.num_made += 1;
        let Some(open) = self.study.list() else { return };
        let rule = SubsetRule::of_list(&open.list);
        let run = self.runs.active_mut();
        // What was right for many events need not be right for those that have come.
        run.forms.settings.follow(rule);
        let was_growing =
            run.live.info.as_ref().is_some_and(|info| matches!(info.job.data(), Data::Events { growing: Some(_), .. }));
        let goes_on = match run.live.state {
            RunState::Starting => true,
            RunState::Running | RunState::Ended(EndReason::Completed) => was_growing,
            _ => false,
        };
        if goes_on {
            self.start(ctx, false);
        }
    }

    /// The list of events that is open.
    pub fn list(&self) -> Option<&EventList> {
        self.study.list().map(|open| &open.list)
    }
}
