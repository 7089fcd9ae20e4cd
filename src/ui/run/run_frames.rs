//! What a run's view does about the frames of a list: begins one after the other, and shows the one that is looked at.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::frame_series::FrameSeries;
use super::frame_slider::neighbour;
use super::live::LiveRun;
use super::run_view::{PLAY_TIME, RunInput, RunView};
use crate::data::Notice;
use crate::session::{Session, StoredIterate};
use crate::ui::study::state::StudyState;

impl RunView {
    /// When the frame that computes has ended: begins the next one that has events, unless the series is over or its end was asked
    /// for. What is to be told comes back.
    pub fn go_on_with_frames(&mut self, input: RunInput) -> Vec<Notice> {
        let Some(series) = &mut self.series else { return Vec::new() };
        if !series.is_over() && !self.live.state.is_active() {
            let is_whole = series.take(&self.live, &self.edits);
            let job = self.running.as_ref().zip(input.study.open.as_ref()).and_then(|(forms, open)| forms.job(open).ok());
            let next = series.advance(is_whole && job.is_some(), |frame_ms| has_events(input.study, frame_ms));
            if let Some((job, frame_ms)) = job.zip(next) {
                let job = job.for_frames(&series.frames().iter().map(|frame| frame.requested_ms.clone()).collect::<Vec<_>>());
                self.begin_run(job.in_frame(frame_ms), input, false);
            }
            self.look_back(input.session);
        }
        self.series.as_mut().map(|series| std::mem::take(&mut series.left_out)).unwrap_or_default()
    }

    /// Forgets the frames and their images.
    pub(super) fn end_series(&mut self, session: &Session) {
        if let Some(series) = self.series.take() {
            series.let_go(self.live.run, session);
        }
    }

    /// The run whose images are looked at: the one that computes, or that of another frame.
    pub(super) fn looked_at(&self) -> &LiveRun {
        self.series.as_ref().and_then(FrameSeries::selected).unwrap_or(&self.live)
    }

    /// Whether the images of a frame are looked at that is done.
    pub fn looks_at_frame(&self) -> bool {
        self.looked_at().run != self.live.run
    }

    /// Shows the frame of this place, at the iterate that is looked at or the last one of it before that.
    pub(super) fn show_frame(&mut self, place: usize, session: &Session) {
        let Some(series) = &mut self.series else { return };
        series.select(Some(place));
        let wanted = series.iterate;
        if series.selected().is_none() && wanted.is_none() {
            return self.show_iterate(None, session);
        }
        let kept = session.history(self.looked_at().run);
        let is_until =
            |kept: &&StoredIterate| wanted.is_none_or(|wanted| self.number(kept.id.iteration, kept.id.subiteration) <= wanted);
        let past = kept.iter().rfind(is_until).or(kept.first()).cloned();
        self.shown.set_past(past);
        self.look_back(session);
    }

    pub(super) fn set_playing_frames(&mut self, since: Option<Instant>) {
        self.series.iter_mut().for_each(|series| series.playing = since);
    }

    /// The same of the frames, to the last.
    pub(super) fn play_frames(&mut self, session: &Session) -> Option<Duration> {
        let series = self.series.as_ref()?;
        let since = series.playing?.elapsed();
        if since < PLAY_TIME {
            return Some(PLAY_TIME - since);
        }
        let next = neighbour(series, true);
        next.into_iter().for_each(|place| self.show_frame(place, session));
        self.set_playing_frames(next.map(|_| Instant::now()));
        next.map(|_| PLAY_TIME)
    }

    /// The frame of a series whose image is on the screen, in words.
    pub(super) fn shown_frame(&self) -> Option<String> {
        self.series.as_ref()?.text_of(self.shown.id()?.run, self.live.run)
    }

    /// The frame of a series that computes, or was the last to, in words.
    pub fn current_frame(&self) -> Option<String> {
        self.series.as_ref()?.text_of(self.live.run, self.live.run)
    }
}

/// Whether there are events of a list in a frame, ms.
pub fn has_events(study: &StudyState, frame_ms: &Range<u32>) -> bool {
    study.list().is_none_or(|open| open.list.has_events_in(frame_ms))
}
