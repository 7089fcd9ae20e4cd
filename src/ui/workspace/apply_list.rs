//! What the window does about lists of events: shows them, and follows those that are still being written.

use egui::Context;

use super::app::App;
use crate::data::{EventList, Notice, Severity, Study};
use crate::io::list_mode::ListFollower;
use crate::plan::{GatheredEvents, Job, ListAcquisition, ListFiles, SubsetRule};
use crate::session::{EndReason, Feed};
use crate::ui::numbers::tabs::NumbersTab;
use crate::ui::run::frame_series::FrameSeries;
use crate::ui::run::live::RunState;
use crate::ui::run::run_view::RunInput;
use crate::ui::study::open_list::{Following, OpenList};
use crate::ui::study::open_study::OpenStudy;

impl App {
    /// Shows a list of events, and follows it where it is still being written; what is to be told about it comes back.
    pub(super) fn show_list(
        &mut self,
        ctx: &Context,
        mut study: Study<EventList>,
        files: ListFiles,
        following: Option<(ListFollower, GatheredEvents)>,
    ) -> Vec<Notice> {
        self.options.trace.record("study_ready", &[("events", study.measured.numbers().num_prompts as f64)]);
        let notices = std::mem::take(&mut study.notices);
        let mut open = OpenList::new(study, files);
        if let Some((follower, events)) = following {
            let acquisition = ListAcquisition::growing(events);
            let feed = Feed::follow_list(follower, acquisition.clone(), self.on_arrival(ctx));
            open.following = self.feed_or_notice(ctx, feed).map(|feed| Following { acquisition, feed });
        }
        self.study.open = Some(OpenStudy::Events(open));
        self.numbers = NumbersTab::Rates;
        notices
    }

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
        let Some(last_words) = self.study.open.as_mut().and_then(OpenStudy::list_mut).and_then(OpenList::update) else { return };
        last_words.into_iter().for_each(|notice| self.notify(ctx, notice));
        self.study.num_made += 1;
        let Some(open) = self.study.list() else { return };
        let rule = SubsetRule::of_list(&open.study.measured);
        let run = self.runs.active_mut();
        // What was right for many events need not be right for those that have come.
        run.forms.counts.follow(rule);
        let was_growing = run.live.info.as_ref().is_some_and(|info| matches!(info.job, Job::Events { growing: Some(_), .. }));
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
    pub fn list(&self) -> Option<&Study<EventList>> {
        self.study.list().map(|open| &*open.study)
    }
}
