//! The frames of a dynamic list, reconstructed one after the other as runs with the same settings: which are done, which of them
//! is looked at, and the window that all are seen in.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use crate::data::{FrameTime, MaskedRois, Notice, frame_text, moved_limits};
use crate::render::Palette;
use crate::session::{EndReason, Event, HistoryChange, IterateId, RunId, Session};
use crate::ui::run::live::{LiveRun, Mark, RunState};
use crate::ui::run::roi_edits::RoiEdits;
use crate::ui::widgets::colour_scale::WindowPercentile;

/// Palette, percentile and FWHM of the post-filter, on which an automatic window depends besides the image.
pub type WindowKey = (Palette, WindowPercentile, Option<u64>);

/// A frame that is reconstructed.
#[derive(Clone, Debug)]
pub struct DoneFrame {
    /// Its run, whose images the session keeps.
    pub live: LiveRun,
    edits: RoiEdits,
}

#[derive(Clone, Debug, Default)]
pub struct FrameSeries {
    frames: Vec<FrameTime>,
    /// The frame that computes, or was the last to.
    current: usize,
    done: BTreeMap<usize, DoneFrame>,
    /// The frame that is looked at; `None` = the one that computes.
    selected: Option<usize>,
    /// Number of the selected iterate in every frame; `None` = the last of each.
    pub iterate: Option<usize>,
    /// While the frames are shown one after the other: when the last one came.
    pub playing: Option<Instant>,
    /// True if the computing frame is the last one.
    is_ending: bool,
    is_over: bool,
    /// Pending notices on frames without events and on moved limits.
    pub left_out: Vec<Notice>,
    window: Option<(WindowKey, [f32; 2])>,
}

impl FrameSeries {
    /// Returns a series of these frames; `None` without any.
    pub fn new(frames: Vec<FrameTime>) -> Option<Self> {
        (!frames.is_empty()).then(|| Self { left_out: moved_limits(&frames).into_iter().collect(), frames, ..Self::default() })
    }

    pub fn frames(&self) -> &[FrameTime] {
        &self.frames
    }

    /// Returns the requested limits of the frame that computes or was computed last, ms.
    pub fn current_ms(&self) -> Range<u32> {
        self.frames[self.current].requested_ms.clone()
    }

    /// Returns the complete frames by their indices in the series.
    pub fn done(&self) -> &BTreeMap<usize, DoneFrame> {
        &self.done
    }

    /// True if the last frame has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Lets no further frame follow.
    pub fn end(&mut self) {
        self.is_ending = true;
    }

    /// Stores the current frame after the end of its run. Returns true if its image is complete. (The end by a stop rule counts
    /// as complete.)
    pub fn take(&mut self, live: &LiveRun, edits: &RoiEdits) -> bool {
        let by_rule = live.marks.iter().any(|(_, mark)| matches!(mark, Mark::Rule(_)));
        let is_whole = match live.state {
            RunState::Ended(EndReason::Completed) => true,
            RunState::Ended(EndReason::Stopped) => by_rule,
            _ => false,
        };
        if is_whole {
            self.done.insert(self.current, DoneFrame { live: live.clone(), edits: edits.clone() });
        }
        is_whole
    }

    /// Continues with the next frame that has events and returns its limits, ms; else ends the series.
    pub fn advance(&mut self, may_go_on: bool, has_events: impl Fn(&Range<u32>) -> bool) -> Option<Range<u32>> {
        let goes_on = may_go_on && !self.is_ending;
        let next = goes_on.then(|| self.first_with_events(self.current + 1, has_events)).flatten();
        self.is_over = next.is_none();
        self.current = next.unwrap_or(self.current);
        next.map(|_| self.current_ms())
    }

    /// Goes to the first frame that has events; it.
    pub fn begin(&mut self, has_events: impl Fn(&Range<u32>) -> bool) -> Option<Range<u32>> {
        self.current = self.first_with_events(0, has_events)?;
        Some(self.current_ms())
    }

    /// Returns the index of the first frame with events from an index on, and leaves out those before it.
    fn first_with_events(&mut self, from: usize, has_events: impl Fn(&Range<u32>) -> bool) -> Option<usize> {
        let first = (from..self.frames.len()).find(|place| has_events(&self.frames[*place].requested_ms));
        let left_out = from..first.unwrap_or(self.frames.len());
        let words: Vec<String> = left_out.map(|place| format!("{}, has no event: it is left out", self.text(place))).collect();
        self.left_out.extend(words.into_iter().map(Notice::warning));
        first
    }

    /// Returns the index of the frame before or after the selected one.
    pub fn neighbour(&self, forward: bool) -> Option<usize> {
        let (stops, at) = (self.stops(), self.position());
        if forward { stops.into_iter().find(|stop| *stop > at) } else { stops.into_iter().rev().find(|stop| *stop < at) }
    }

    /// Returns the indices of the frames that can be displayed: the complete ones and the computing one.
    pub fn stops(&self) -> Vec<usize> {
        let current = (!self.done.contains_key(&self.current)).then_some(self.current);
        self.done.keys().copied().chain(current).collect()
    }

    /// Returns the index of the displayed frame.
    pub fn position(&self) -> usize {
        self.selected.unwrap_or(self.current)
    }

    /// Looks at the frame of this place; where that is not done, or `None`, at the one that computes.
    pub fn select(&mut self, place: Option<usize>) {
        self.selected = place.filter(|place| self.done.contains_key(place));
    }

    /// Returns the run of the selected frame, unless it is the computing one.
    pub fn selected(&self) -> Option<&LiveRun> {
        self.selected.and_then(|place| self.done.get(&place)).map(|frame| &frame.live)
    }

    /// Returns the run of this number, if it is a complete frame.
    pub fn run(&self, run: RunId) -> Option<&LiveRun> {
        self.done.values().map(|frame| &frame.live).find(|live| live.run == run)
    }

    /// Returns a text such as "frame 3 of 12, 120–180 s".
    pub fn text(&self, place: usize) -> String {
        let words = |frame: &FrameTime| match frame.limits_ms.is_empty() {
            true => frame_text(&frame.requested_ms),
            false => frame.text(),
        };
        let time = self.frames.get(place).map(words).unwrap_or_default();
        format!("frame {} of {}, {time}", place + 1, self.frames.len())
    }

    /// Returns the text of the frame of a run; `current` = the run of the computing frame.
    pub fn text_of(&self, run: RunId, current: RunId) -> Option<String> {
        let done = self.done.iter().find(|(_, frame)| frame.live.run == run).map(|(place, _)| *place);
        done.or((run == current).then_some(self.current)).map(|place| self.text(place))
    }

    /// Receives an event. Returns true if it belongs to a complete frame.
    pub fn receive(&mut self, event: &Event) -> bool {
        let frame = self.done.values_mut().find(|frame| frame.live.run == event.run);
        frame.map(|frame| frame.live.apply(event)).is_some()
    }

    /// Lets edited regions be measured on the images of the frames that are done.
    pub fn send_rois(&mut self, rois: &MaskedRois, is_held: bool, session: &Session) {
        for DoneFrame { live, edits } in self.done.values_mut() {
            edits.send(live, rois, false, is_held, session);
        }
    }

    /// Returns the window of an image whose automatic window is this. The common window of the frames contains those of all final
    /// images displayed so far; without one the image has its automatic window.
    pub fn window(&mut self, key: WindowKey, [low, high]: [f32; 2], is_final: bool) -> [f32; 2] {
        let common = self.window.filter(|(of, _)| *of == key).map(|(_, window)| window);
        if !is_final {
            return common.unwrap_or([low, high]);
        }
        let both = common.map_or([low, high], |common| [low.min(common[0]), high.max(common[1])]);
        self.window = Some((key, both));
        both
    }

    /// True if an image is the last of a complete frame, or of the one that `current` has computed to its end.
    pub fn is_final(&self, id: IterateId, current: &LiveRun) -> bool {
        let is_last = |live: &LiveRun| live.last.as_ref().is_some_and(|last| last.subiteration == id.subiteration);
        let is_at_end = |live: &LiveRun| matches!(live.progress(), (done, total) if total > 0 && done >= total);
        match self.run(id.run) {
            Some(live) => is_last(live),
            None => current.run == id.run && is_last(current) && is_at_end(current),
        }
    }

    /// Keeps the images of its frames no longer.
    pub fn let_go(&self, current: RunId, session: &Session) {
        self.done
            .values()
            .map(|frame| frame.live.run)
            .chain([current])
            .for_each(|run| _ = session.send(HistoryChange::Release(run)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(run: RunId, reason: EndReason) -> LiveRun {
        let mut live = LiveRun::requested(run, 1, &[], false);
        live.state = RunState::Ended(reason);
        live
    }

    fn series() -> FrameSeries {
        FrameSeries::new((0..4).map(|k| FrameTime::exact(1000 * k..1000 * (k + 1))).collect()).unwrap()
    }

    #[test]
    fn frames_without_events_are_left_out_and_told() {
        let mut series = series();
        // Events in the second and the third alone.
        let has_events = |frame_ms: &Range<u32>| (1000..3000).contains(&frame_ms.start);
        assert_eq!(series.begin(has_events), Some(1000..2000));
        assert!(series.take(&ended(1, EndReason::Completed), &RoiEdits::default()));
        assert_eq!(series.advance(true, has_events), Some(2000..3000));
        assert_eq!((series.stops(), series.position(), series.is_over()), (vec![1, 2], 2, false));
        assert!(series.take(&ended(2, EndReason::Completed), &RoiEdits::default()));
        assert_eq!((series.advance(true, has_events), series.is_over()), (None, true));
        let told: Vec<&str> = series.left_out.iter().map(|notice| &notice.text[..12]).collect();
        assert_eq!(told, ["frame 1 of 4", "frame 4 of 4"]);
        assert_eq!(series.text_of(1, 2).unwrap(), "frame 2 of 4, 1–2 s");
        assert_eq!((series.neighbour(false), series.neighbour(true)), (Some(1), None));
        series.select(Some(1));
        assert_eq!((series.selected().unwrap().run, series.neighbour(false), series.neighbour(true)), (1, None, Some(2)));
        series.select(Some(3));
        assert!(series.selected().is_none() && series.position() == 2, "what is not done cannot be looked at");
    }

    #[test]
    fn a_frame_that_was_stopped_by_hand_is_not_done_and_by_a_rule_it_is() {
        let mut series = series();
        assert!(!series.take(&ended(1, EndReason::Stopped), &RoiEdits::default()));
        let mut by_rule = ended(1, EndReason::Stopped);
        by_rule.marks.push((3, Mark::Rule("enough".into())));
        assert!(series.take(&by_rule, &RoiEdits::default()));
        // After a wish for its end the frame that computes is the last one.
        series.end();
        assert_eq!((series.advance(true, |_| true), series.is_over(), series.done().len()), (None, true, 1));
    }

    #[test]
    fn one_window_holds_all_frames_until_it_depends_on_something_else() {
        let mut series = series();
        let key = (Palette::Grey, WindowPercentile::NearlyAll, None);
        // The uniform start image.
        assert_eq!(series.window(key, [0.0, 1.0], false), [0.0, 1.0]);
        assert_eq!(series.window(key, [0.0, 0.004], true), [0.0, 0.004]);
        assert_eq!(series.window(key, [0.0, 1.0], false), [0.0, 0.004]);
        assert_eq!(series.window(key, [-0.001, 0.003], true), [-0.001, 0.004]);
        let other = (Palette::Grey, WindowPercentile::NearlyAll, Some(1));
        assert_eq!(series.window(other, [0.0, 1.0], false), [0.0, 1.0]);
        assert_eq!(series.window(other, [0.0, 0.002], true), [0.0, 0.002]);
    }
}
