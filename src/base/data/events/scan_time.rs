//! Times of list-mode events, and of frames.
//!
//! Formats with time blocks (PETSIRD) record one interval for many events and no time of a single one. Readers give such an event
//! the middle of its block as its time. So a block belongs as a whole to the frame with its middle: a frame limit inside a block
//! moves to the nearest edge (the earlier on a tie), the same for all frames, and no event is lost between frames or counted in
//! two. Gaps between blocks do not count as duration.
//!
//! Events with individual times keep them. Their scan lasts as long as the header states, and at least to the last event; a frame
//! lasts as long as it overlaps the scan.

use std::ops::Range;

use rand_philox::Philox;

use super::chunk::{EventChunk, Events, ListMetadata};
use super::frames::frame_text;
use crate::data::notice::Notice;
use crate::text::counted;

/// Part of a header's duration by which the last event may be later.
const TOLERANCE: u64 = 100;

/// Part of a scan by which its first event may be late, and its last one early.
const TENTH: u64 = 10;

/// Fewest events whose last one is near the end of a scan.
const MIN_EVENTS: usize = 100;

/// Most frames that a notice names.
const MAX_NAMED: usize = 5;

/// Time blocks of one duration that follow each other without a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct BlockRun {
    begin_ms: u32,
    block_ms: u32,
    num_blocks: u32,
}

impl BlockRun {
    fn end_ms(&self) -> u64 {
        u64::from(self.begin_ms) + u64::from(self.block_ms) * u64::from(self.num_blocks)
    }
}

/// The times of a list's events.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ScanTime {
    /// Time blocks by their beginnings; empty if events have individual times.
    runs: Vec<BlockRun>,
    /// The first event and the end of the millisecond of the last one, if events have individual times.
    events_ms: Option<[u64; 2]>,
    /// The seed by which the events of a block were given times inside it.
    split_seed: Option<u64>,
    /// Blocks with the times of an earlier one.
    #[serde(default)]
    num_repeated: u64,
}

/// A frame as it was asked for and as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameTime {
    /// The limits that were asked for, ms.
    pub requested_ms: Range<u32>,
    /// The true limits, ms.
    pub limits_ms: Range<u32>,
    /// Measured duration between them, ms.
    pub duration_ms: u64,
    /// The seed by which time blocks at its limits were divided.
    pub split_seed: Option<u64>,
}

/// Returns the time of the events of a block.
pub fn middle_ms([begin, end]: [u32; 2]) -> u32 {
    ((u64::from(begin) + u64::from(end)) / 2) as u32
}

impl ScanTime {
    /// Takes in the times of a piece of a list.
    pub fn add(&mut self, chunk: &EventChunk) {
        chunk.intervals_ms.iter().for_each(|&interval| self.add_block(interval));
        if self.has_blocks() {
            return;
        }
        for &ms in chunk.prompts.times_ms.iter().chain(&chunk.delayeds.times_ms) {
            let [first, end] = self.events_ms.unwrap_or([u64::from(ms); 2]);
            self.events_ms = Some([first.min(ms.into()), end.max(u64::from(ms) + 1)]);
        }
    }

    fn add_block(&mut self, [begin_ms, end_ms]: [u32; 2]) {
        // A block without duration is a time. Blocks may be repeated: the first of them counts.
        let Some(block_ms) = end_ms.checked_sub(begin_ms).filter(|&ms| ms > 0) else { return };
        if self.block_at(middle_ms([begin_ms, end_ms])) == Some([begin_ms, end_ms]) {
            self.num_repeated += 1;
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.block_ms == block_ms && last.end_ms() == u64::from(begin_ms) => last.num_blocks += 1,
            _ => {
                let place = self.runs.partition_point(|run| run.begin_ms <= begin_ms);
                self.runs.insert(place, BlockRun { begin_ms, block_ms, num_blocks: 1 });
            }
        }
    }

    /// Returns true if events lie in time blocks.
    pub fn has_blocks(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Returns the times of the first and of the last event, ms, if events have individual times.
    pub fn events_ms(&self) -> Option<[u64; 2]> {
        self.events_ms.map(|[first, end]| [first, end - 1])
    }

    /// Returns the number of time blocks.
    pub fn num_blocks(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.num_blocks)).sum()
    }

    /// Returns warnings about the times of this number of events: blocks that are repeated, and a header with another start or duration.
    pub fn warnings(&self, facts: &ListMetadata, num_events: usize) -> Vec<Notice> {
        [self.repeated(), self.contradiction(facts, num_events)].into_iter().flatten().collect()
    }

    /// Returns the warning about a header whose start or duration is not that of this number of events.
    fn contradiction(&self, facts: &ListMetadata, num_events: usize) -> Option<Notice> {
        // (Events of a histogram have one time.)
        let ([first, end], start) = (self.events_ms.filter(|[first, end]| *end > first + 1)?, facts.start_ms);
        let secs = |ms: u64| ms as f64 / 1e3;
        if first < start {
            let text = format!(
                "the first event is at {} s, before the start of the scan in the header ({} s): times are counted from 0",
                secs(first),
                secs(start)
            );
            return Some(Notice::warning(text));
        }
        if num_events >= MIN_EVENTS && first - start > (end - start) / TENTH {
            let text = format!(
                "the first event is {} s after the start of the scan, and the last {} s: decay is corrected to that start; check the start \
                 in the header",
                secs(first - start),
                secs(end - start)
            );
            return Some(Notice::warning(text));
        }
        let (measured, stated) = (end - start, facts.duration_ms?);
        let use_of = match () {
            () if measured > stated + (stated / TOLERANCE).max(1000) => "the scan lasts to its last event",
            () if num_events >= MIN_EVENTS && stated > measured + (measured / TENTH).max(1000) => {
                "the header's duration is used for decay, frames and calibration"
            }
            () => return None,
        };
        let text = format!(
            "the events end {} s after the start of the scan, whose header has {} s; {use_of}",
            secs(measured),
            secs(stated)
        );
        Some(Notice::warning(text))
    }

    /// Returns the warning about blocks with the times of an earlier one, if there are any.
    fn repeated(&self) -> Option<Notice> {
        let num = counted(self.num_repeated as usize, "block");
        let text = format!(
            "{num} with the times of an earlier one: the events of both count. A block that was written twice counts twice"
        );
        (self.num_repeated > 0).then(|| Notice::warning(text))
    }

    /// Returns the time block in which a time lies.
    pub fn block_at(&self, ms: u32) -> Option<[u32; 2]> {
        let run = self.runs[..self.runs.partition_point(|run| run.begin_ms <= ms)].last()?;
        let place = (ms - run.begin_ms) / run.block_ms.max(1);
        let begin = run.begin_ms + place * run.block_ms;
        (u64::from(ms) < run.end_ms()).then(|| [begin, begin.saturating_add(run.block_ms)])
    }

    /// Returns the interval in which the events of this time were measured.
    pub fn interval_ms(&self, ms: u32) -> [u32; 2] {
        let block = if self.split_seed.is_none() { self.block_at(ms) } else { None };
        block.unwrap_or([ms; 2])
    }

    /// Gives the events of blocks times that are drawn evenly inside their blocks.
    pub fn split(&mut self, events: &mut Events, seed: u64, random: &mut Philox) {
        if self.has_blocks() {
            self.split_seed = Some(seed);
        }
        for ms in &mut events.times_ms {
            if let Some([begin, end]) = self.block_at(*ms) {
                *ms = begin + ((u64::from(random.next_u32()) * u64::from(end - begin)) >> 32) as u32;
            }
        }
    }

    /// Returns the beginning and the end of the scan, ms.
    pub fn extent_ms(&self, facts: &ListMetadata) -> Range<u64> {
        if let Some(first) = self.runs.first() {
            return first.begin_ms.into()..self.runs.iter().map(BlockRun::end_ms).max().unwrap_or_default();
        }
        let [first, end] = self.events_ms.unwrap_or([0; 2]);
        let begin = if first >= facts.start_ms { facts.start_ms } else { 0 };
        begin..end.max(begin + facts.duration_ms.unwrap_or_default())
    }

    /// Describes the range of the times, "3600 to 3700 s"; `None` without times.
    pub fn extent_text(&self, facts: &ListMetadata) -> Option<String> {
        let extent = self.extent_ms(facts);
        let [from, to] = [extent.start, extent.end].map(|ms| ms as f64 / 1e3);
        (!extent.is_empty()).then(|| format!("{from} to {to} s"))
    }

    /// Returns how long was measured between two times, ms.
    fn measured_ms(&self, limits: Range<u64>, facts: &ListMetadata) -> u64 {
        let overlap = |begin: u64, end: u64| limits.end.min(end).saturating_sub(limits.start.max(begin));
        if !self.has_blocks() {
            let scan = self.extent_ms(facts);
            return if scan.is_empty() { limits.end - limits.start } else { overlap(scan.start, scan.end) };
        }
        let (mut sum, mut reached) = (0, 0);
        for run in &self.runs {
            sum += overlap(reached.max(run.begin_ms.into()), run.end_ms());
            reached = reached.max(run.end_ms());
        }
        sum
    }

    /// Returns how long the whole scan measured, ms.
    pub fn duration_ms(&self, facts: &ListMetadata) -> u64 {
        self.measured_ms(self.extent_ms(facts), facts)
    }

    /// Returns the true limits of a frame, ms, in this list.
    pub fn frame(&self, requested_ms: &Range<u32>, facts: &ListMetadata) -> FrameTime {
        let edge = |ms: u32| match self.block_at(ms) {
            Some([begin, end]) if self.split_seed.is_none() => {
                if ms - begin <= end - ms {
                    begin
                } else {
                    end
                }
            }
            _ => ms,
        };
        let limits_ms = edge(requested_ms.start)..edge(requested_ms.end);
        let duration_ms = self.measured_ms(limits_ms.start.into()..limits_ms.end.into(), facts);
        FrameTime { requested_ms: requested_ms.clone(), limits_ms, duration_ms, split_seed: self.split_seed }
    }

    /// Returns start and end of a frame, or of the whole list, after the start of the scan, s; a frame beyond the end of the list ends with
    /// it. `None` of a list without times.
    pub fn limits_secs(&self, frame: Option<&FrameTime>, facts: &ListMetadata) -> Option<[f64; 2]> {
        let scan_ms = self.extent_ms(facts);
        let secs = |ms: u64| ms.saturating_sub(scan_ms.start) as f64 / 1e3;
        let Some(FrameTime { limits_ms, .. }) = frame else {
            return (!scan_ms.is_empty()).then(|| [0.0, secs(scan_ms.end)]);
        };
        let end_ms = u64::from(limits_ms.end);
        let end_ms = if scan_ms.is_empty() { end_ms } else { end_ms.min(scan_ms.end) };
        Some([secs(limits_ms.start.into()), secs(end_ms)])
    }

    /// Returns true for valid times.
    pub fn is_valid(&self) -> bool {
        let is_run = |run: &BlockRun| run.block_ms > 0 && run.num_blocks > 0 && run.end_ms() <= u32::MAX.into();
        self.runs.iter().all(is_run)
            && self.runs.is_sorted_by_key(|run| run.begin_ms)
            && self.events_ms.is_none_or(|[first, end]| first < end && end <= 1 << 32)
    }
}

impl FrameTime {
    /// Returns a frame without gaps in the measurement, ms.
    pub fn exact(frame_ms: Range<u32>) -> Self {
        let duration_ms = u64::from(frame_ms.end.saturating_sub(frame_ms.start));
        Self { requested_ms: frame_ms.clone(), limits_ms: frame_ms, duration_ms, split_seed: None }
    }

    /// Returns true if its limits differ from the requested ones.
    pub fn is_moved(&self) -> bool {
        self.limits_ms != self.requested_ms
    }

    /// Describes its true limits: "2.5–4 s".
    pub fn text(&self) -> String {
        frame_text(&self.limits_ms)
    }
}

/// Describes the frames whose limits were moved, if there are any.
pub fn moved_limits(frames: &[FrameTime]) -> Option<Notice> {
    let moved: Vec<&FrameTime> = frames.iter().filter(|frame| frame.is_moved()).collect();
    let named = moved.iter().take(MAX_NAMED).map(|frame| match frame.limits_ms.is_empty() {
        true => format!("{} becomes empty", frame_text(&frame.requested_ms)),
        false => format!("{} becomes {}", frame_text(&frame.requested_ms), frame.text()),
    });
    let named: Vec<String> = named.collect();
    let rest = moved.len().saturating_sub(MAX_NAMED);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let text = format!("Frame limits inside a time block moved to its nearest edge: {}{rest}", named.join(", "));
    (!moved.is_empty()).then(|| Notice::warning(text))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::random;
    use crate::scanner::{Detectors, find};

    fn facts(duration_ms: Option<u64>) -> ListMetadata {
        let detectors = Arc::new(Detectors::of_cylinder(&find("small").unwrap().geometry).unwrap());
        ListMetadata { duration_ms, ..ListMetadata::new("a list", detectors) }
    }

    fn of_blocks(intervals_ms: &[[u32; 2]]) -> ScanTime {
        let mut time = ScanTime::default();
        time.add(&EventChunk { intervals_ms: intervals_ms.to_vec(), ..EventChunk::default() });
        time
    }

    /// The blocks of the ring's list.
    const RING: [[u32; 2]; 5] = [[0, 1000], [1000, 2000], [2000, 2500], [2500, 4000], [4000, 5000]];

    #[test]
    fn limits_inside_a_block_move_to_the_nearest_edge() {
        let (time, facts) = (of_blocks(&RING), facts(None));
        let frames: Vec<FrameTime> = (0..5).map(|k| time.frame(&(1000 * k..1000 * (k + 1)), &facts)).collect();
        let limits: Vec<Range<u32>> = frames.iter().map(|frame| frame.limits_ms.clone()).collect();
        assert_eq!(limits, [0..1000, 1000..2000, 2000..2500, 2500..4000, 4000..5000]);
        assert_eq!(frames.iter().map(|frame| frame.duration_ms).collect::<Vec<_>>(), [1000, 1000, 500, 1500, 1000]);
        // On a tie the earlier edge; beyond the blocks nothing moves, and only what was measured lasts.
        assert_eq!(time.frame(&(500..3250), &facts).limits_ms, 0..2500);
        assert_eq!(time.frame(&(501..3251), &facts).limits_ms, 1000..4000);
        let beyond = time.frame(&(4000..9000), &facts);
        assert_eq!((beyond.limits_ms.clone(), beyond.duration_ms, beyond.is_moved()), (4000..9000, 1000, false));
        let text = moved_limits(&frames).unwrap().text;
        assert!(text.ends_with("2–3 s becomes 2–2.5 s, 3–4 s becomes 2.5–4 s"), "{text}");
        assert_eq!(moved_limits(&frames[..2]), None);
        assert!(moved_limits(&[time.frame(&(2600..2700), &facts)]).unwrap().text.ends_with("2.6–2.7 s becomes empty"));
    }

    #[test]
    fn the_middles_of_blocks_lie_where_the_limits_move_to() {
        let (facts, mut random) = (facts(None), random::stream(1, 0));
        let mut below = |num: u32| random.next_u32() % num;
        for _ in 0..2000 {
            let (mut blocks, mut end) = (Vec::new(), 0);
            for _ in 0..1 + below(9) {
                let begin = end + below(3);
                end = begin + 1 + below(6);
                blocks.push([begin, end]);
            }
            let time = of_blocks(&blocks);
            assert_eq!((time.num_blocks(), time.is_valid()), (blocks.len() as u64, true));
            let mut cuts = [below(60), below(60), below(60)];
            cuts.sort();
            let frames = cuts.windows(2).map(|cut| time.frame(&(cut[0]..cut[1]), &facts));
            let mut before = None;
            for frame in frames {
                let inside = blocks.iter().filter(|block| frame.requested_ms.contains(&middle_ms(**block)));
                let within = |&&[begin, end]: &&[u32; 2]| frame.limits_ms.start <= begin && end <= frame.limits_ms.end;
                assert!(inside.clone().all(|block| within(&block)), "{blocks:?} {frame:?}");
                assert_eq!(
                    inside.map(|[begin, end]| u64::from(end - begin)).sum::<u64>(),
                    frame.duration_ms,
                    "{blocks:?} {frame:?}"
                );
                assert!(before.is_none_or(|before| before == frame.limits_ms.start));
                before = Some(frame.limits_ms.end);
            }
        }
    }

    #[test]
    fn holes_do_not_last_and_repeated_blocks_count_once() {
        let facts = facts(None);
        let time = of_blocks(&[[250, 700], [700, 1200], [1500, 2600], [1500, 2600], [2600, 3250], [5000, 5000]]);
        assert_eq!((time.num_blocks(), time.duration_ms(&facts), time.extent_ms(&facts)), (4, 2700, 250..3250));
        assert_eq!(time.frame(&(1200..1500), &facts).duration_ms, 0);
        assert_eq!([0, 249, 1300, 3250].map(|ms| time.block_at(ms)), [None; 4]);
        assert_eq!([250, 699, 700].map(|ms| time.block_at(ms)), [Some([250, 700]), Some([250, 700]), Some([700, 1200])]);
        // Blocks may overlap and come in any order.
        assert_eq!(of_blocks(&[[0, 1000], [1000, 2000], [500, 1500], [100, 400]]).duration_ms(&facts), 2000);
    }

    #[test]
    fn an_event_with_a_time_stays_and_its_scan_lasts_as_the_header_states() {
        let of_times = |times_ms: &[u32]| {
            let mut time = ScanTime::default();
            let prompts = Events { times_ms: times_ms.to_vec(), ..Events::default() };
            time.add(&EventChunk { prompts, ..EventChunk::default() });
            time
        };
        let (time, stated) = (of_times(&[3, 4990]), facts(Some(60_000)));
        let frame = time.frame(&(40_000..100_000), &stated);
        assert_eq!((frame.limits_ms.clone(), frame.duration_ms), (40_000..100_000, 20_000));
        assert_eq!((time.duration_ms(&stated), time.duration_ms(&facts(None))), (60_000, 4991));
        // Times that count from elsewhere.
        let late = ListMetadata { start_ms: 100_000, ..facts(Some(60_000)) };
        assert_eq!(of_times(&[100_001, 159_000]).frame(&(90_000..130_000), &late).duration_ms, 30_000);
        assert_eq!(of_times(&[1, 59_000]).frame(&(0..30_000), &late).duration_ms, 30_000);
        assert_eq!(ScanTime::default().frame(&(5..10), &facts(None)).duration_ms, 5);
        // Headers whose start or duration is not that of the events.
        let warning = |times_ms: &[u32], facts: &ListMetadata, num_events| {
            of_times(times_ms).contradiction(facts, num_events).map_or_else(String::new, |notice| notice.text)
        };
        assert!(warning(&[1, 59_000], &late, 1000).contains("before the start of the scan in the header (100 s)"));
        assert!(warning(&[1, 62_000], &stated, 2).contains("its last event"));
        assert!(warning(&[1000, 50_000], &stated, 100).contains("has 60 s"));
        assert!(warning(&[50_000, 60_000], &stated, 100).contains("the first event is 50 s after the start"));
        assert!(warning(&[1, 29_000], &stated, 100).contains("has 60 s; the header's duration is used"));
        for (times_ms, facts, num_events) in [
            (&[1, 60_900][..], &stated, 1000),
            (&[1, 55_000], &stated, 1000),
            (&[1, 3000], &stated, 99),
            (&[100_001, 159_000], &late, 1000),
            (&[5000, 59_000], &stated, 1000),
            (&[1, 9000], &facts(None), 1000),
            (&[], &stated, 1000),
        ] {
            assert_eq!(warning(times_ms, facts, num_events), "", "{times_ms:?}");
        }
    }

    #[test]
    fn events_of_a_split_block_are_shared_by_the_time_that_frames_have_of_it() {
        let (mut time, facts) = (of_blocks(&RING), facts(None));
        let mut events = Events { times_ms: vec![middle_ms([2500, 4000]); 30_000], ..Events::default() };
        time.split(&mut events, 7, &mut random::stream(7, 0));
        let frame = time.frame(&(2000..3000), &facts);
        assert_eq!((frame.limits_ms, frame.duration_ms, frame.split_seed), (2000..3000, 1000, Some(7)));
        let num = events.num_in_frame(&(2000..3000)) as f64;
        assert!((num / 10_000.0 - 1.0).abs() < 0.03, "{num}");
        assert_eq!(events.num_in_frame(&(2500..4000)), 30_000);
    }

    #[test]
    fn blocks_of_one_time_are_reported() {
        assert_eq!(of_blocks(&[[0, 1000], [1000, 2000]]).repeated(), None);
        let twice = of_blocks(&[[0, 1000], [1000, 2000], [0, 1000], [2000, 3000], [1000, 2000]]);
        assert!(twice.repeated().unwrap().text.starts_with("2 blocks with the times of an earlier one"));
        assert_eq!((twice.num_blocks(), twice.extent_text(&facts(None)).as_deref()), (3, Some("0 to 3 s")));
        assert_eq!(ScanTime::default().extent_text(&facts(None)), None);
    }
}
