//! List-mode data: time frames, and following of a growing file.

use super::state::Workspace;
use crate::data::{EventList, Notice, Severity};
use crate::plan::SubsetRule;
use crate::session::EndReason;
use crate::ui::run::frames::series::FrameSeries;
use crate::ui::run::live::RunState;
use crate::ui::run::run_view::RunInput;
use crate::ui::study::open::open_study::OpenStudy;

impl Workspace {
    /// Starts the next time frame of a series after the end of the previous one.
    pub fn continue_frames(&mut self) {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        let notices = self.runs.active_mut().advance_frames(input);
        self.notify_all(notices);
    }

    /// Returns true for an information that an earlier time frame of the series has reported.
    pub fn is_repeated_for_frames(&self, notice: &Notice) -> bool {
        notice.severity == Severity::Info && self.frames().is_some_and(|series| !series.done().is_empty())
    }

    pub fn frames(&self) -> Option<&FrameSeries> {
        self.run().series.as_ref()
    }

    /// Receives new events of a growing file. Its end restarts a run on growing data with the complete data.
    pub fn receive_list(&mut self) {
        let Some(notices) = self.study.open.as_mut().and_then(OpenStudy::update_list) else { return };
        self.notify_all(notices);
        self.study.num_made += 1;
        let Some(open) = self.study.list() else { return };
        let rule = SubsetRule::of_list(&open.list);
        let run = self.runs.active_mut();
        // The number of subsets follows from the final number of events.
        run.forms.settings.follow(rule);
        let was_growing = run.live.info.as_ref().is_some_and(|info| info.job.data().growing_list().is_some());
        let restarts = match run.live.state {
            RunState::Starting => true,
            RunState::Running | RunState::Ended(EndReason::Completed) => was_growing,
            _ => false,
        };
        if restarts {
            self.start(false);
        }
    }

    pub fn list(&self) -> Option<&EventList> {
        self.study.list().map(|open| &open.list)
    }
}
