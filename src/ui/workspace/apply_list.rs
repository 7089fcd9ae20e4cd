//! What the window does about lists of events: shows them.

use std::path::PathBuf;

use super::app::App;
use crate::data::{EventList, Notice, Study};
use crate::ui::numbers::tabs::NumbersTab;
use crate::ui::run::frame_series::FrameSeries;
use crate::ui::run::run_view::RunInput;
use crate::ui::study::open_list::OpenList;
use crate::ui::study::open_study::OpenStudy;

impl App {
    /// Shows a list of events; what is to be told about it comes back.
    pub(super) fn show_list(&mut self, mut study: Study<EventList>, file: PathBuf) -> Vec<Notice> {
        self.options.trace.record("study_ready", &[("events", study.measured.prompts.len() as f64)]);
        let notices = std::mem::take(&mut study.notices);
        self.study.open = Some(OpenStudy::Events(OpenList::new(study, file)));
        self.numbers = NumbersTab::Rates;
        notices
    }

    /// Begins the next frame of a series when the one before has ended.
    pub(super) fn go_on_with_frames(&mut self) {
        let input = RunInput { session: &self.session, study: &self.study, rois: self.rois.masked() };
        self.runs.active_mut().go_on_with_frames(input);
    }

    /// The frames of the list that are reconstructed one after the other.
    pub fn frames(&self) -> Option<&FrameSeries> {
        self.run().series.as_ref()
    }

    /// The list of events that is open.
    pub fn list(&self) -> Option<&Study<EventList>> {
        self.study.list().map(|open| &*open.study)
    }
}
