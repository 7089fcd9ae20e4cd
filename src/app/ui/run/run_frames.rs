//! Time frames of list-mode data in the view of a run: their reconstruction one after the other, and their display.

use std::time::{Duration, Instant};

use super::frames::series::FrameSeries;
use super::live::LiveRun;
use super::run_view::{PLAY_TIME, RunInput, RunView};
use crate::data::Notice;
use crate::session::{IterateId, Session};

impl RunView {
    /// Begins the next frame with events when the computing frame has ended, unless the series ends. Returns the notices of the
    /// series.
    pub fn advance_frames(&mut self, input: RunInput) -> Vec<Notice> {
        let Some(series) = &mut self.series else { return Vec::new() };
        if !series.is_over() && !self.live.state.is_active() {
            let is_whole = series.take(&self.live, &self.edits);
            let job = self.running.as_ref().zip(input.study.open.as_ref()).and_then(|(forms, open)| forms.job(open).ok());
            let next = series.advance(is_whole && job.is_some(), |frame_ms| input.study.has_events(frame_ms));
            if let Some((job, frame_ms)) = job.zip(next) {
                let job = job.for_frames(&series.frames().iter().map(|frame| frame.requested_ms.clone()).collect::<Vec<_>>());
                self.begin_run(job.in_frame(frame_ms), input, false);
            }
            self.refresh_history(input.session);
        }
        self.series.as_mut().map(|series| std::mem::take(&mut series.left_out)).unwrap_or_default()
    }

    /// Discards the frames and their images.
    pub(super) fn end_series(&mut self, session: &Session) {
        if let Some(series) = self.series.take() {
            series.let_go(self.live.run, session);
        }
    }

    /// Returns the run whose images are displayed: the live one, or that of the selected frame.
    pub(super) fn selected_run(&self) -> &LiveRun {
        self.series.as_ref().and_then(FrameSeries::selected).unwrap_or(&self.live)
    }

    /// True while a complete frame is selected.
    pub fn selects_frame(&self) -> bool {
        self.selected_run().run != self.live.run
    }

    /// Displays the frame of this index, at the selected iterate or the last one before.
    pub(super) fn show_frame(&mut self, index: usize, session: &Session) {
        let Some(series) = &mut self.series else { return };
        series.select(Some(index));
        let wanted = series.iterate;
        if series.selected().is_none() && wanted.is_none() {
            return self.show_iterate(None, session);
        }
        let is_until = |id: IterateId| wanted.is_none_or(|wanted| self.number(id.iteration, id.subiteration) <= wanted);
        let past = session.last_stored(self.selected_run().run, is_until);
        self.shown.set_past(past);
        self.refresh_history(session);
    }

    pub(super) fn set_playing_frames(&mut self, since: Option<Instant>) {
        self.series.iter_mut().for_each(|series| series.playing = since);
    }

    /// Displays the next frame of a playback when it is due, up to the last one. Returns the time until the next frame.
    pub(super) fn play_frames(&mut self, session: &Session) -> Option<Duration> {
        let series = self.series.as_ref()?;
        let since = series.playing?.elapsed();
        if since < PLAY_TIME {
            return Some(PLAY_TIME - since);
        }
        let next = series.neighbour(true);
        next.into_iter().for_each(|index| self.show_frame(index, session));
        self.set_playing_frames(next.map(|_| Instant::now()));
        next.map(|_| PLAY_TIME)
    }

    /// Returns the name of the displayed frame.
    pub(super) fn shown_frame(&self) -> Option<String> {
        self.series.as_ref()?.text_of(self.shown.id()?.run, self.live.run)
    }

    /// Returns the name of the frame that computes or was computed last.
    pub fn current_frame(&self) -> Option<String> {
        self.series.as_ref()?.text_of(self.live.run, self.live.run)
    }
}
