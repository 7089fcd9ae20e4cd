//! A list of events becomes a study: the prompts of a frame, with what is expected of each beside the image.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::FreeMemory;
use super::histogram::ListError;
use super::list_randoms::CrystalRandoms;
use crate::data::{CountRates, EventChunk, EventList, Events, ListFacts, Notice, Origin, Study};
use crate::io::list_mode::{self, ListOptions};
use crate::task::{Stopped, Task};
use crate::words::counted;

/// Which events of a list are reconstructed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListSelection {
    /// Those of this frame, ms; `None` = all.
    pub frame_ms: Option<Range<u32>>,
    /// Whether their time of flight is left out.
    pub without_tof: bool,
}

/// Reads a list.
///
/// # Errors
/// It cannot be read to its end, there is not enough memory for its events, or it was stopped.
pub fn list_study(
    path: &Path,
    options: &ListOptions,
    selection: &ListSelection,
    task: &Task,
) -> Result<Study<EventList>, ListError> {
    let mut reader = list_mode::open(path, options)?;
    let mut list = Gathered::new(Arc::clone(reader.facts()), selection.clone());
    let mut chunk = EventChunk::default();
    task.begin(reader.progress()[1]);
    let mut read = 0;
    while reader.next(&mut chunk)? {
        task.check()?;
        list.add(&mut chunk)?;
        let now = reader.progress()[0];
        task.advance(now.saturating_sub(read));
        read = now;
    }
    reader.check_end()?;
    let mut notices = reader.notices();
    let measured = list.finish(&mut notices, task)?;
    let title = path.file_name().unwrap_or_default().to_string_lossy();
    let origin = Origin { measured: Some(path.to_owned()), ..Origin::default() };
    Ok(Study { origin, notices, ..Study::new(title, measured) })
}

/// Events that have been read so far.
struct Gathered {
    facts: Arc<ListFacts>,
    selection: ListSelection,
    prompts: Events,
    /// Pairs and times.
    delayeds: Events,
    rates: CountRates,
    /// Events for which the memory was looked at.
    checked: usize,
}

impl Gathered {
    fn new(facts: Arc<ListFacts>, selection: ListSelection) -> Self {
        Self {
            facts,
            selection,
            prompts: Events::default(),
            delayeds: Events::default(),
            rates: CountRates::default(),
            checked: 0,
        }
    }

    fn add(&mut self, chunk: &mut EventChunk) -> Result<(), ListError> {
        if let Some(frame_ms) = &self.selection.frame_ms {
            chunk.prompts.retain_frame(frame_ms.clone());
            chunk.delayeds.retain_frame(frame_ms.clone());
        }
        if self.selection.without_tof {
            chunk.prompts.tof_mm.clear();
        }
        self.rates.add(chunk);
        self.delayeds.pairs.extend_from_slice(&chunk.delayeds.pairs);
        self.delayeds.times_ms.extend_from_slice(&chunk.delayeds.times_ms);
        self.prompts.extend(&chunk.prompts);
        let num = self.prompts.len() + self.delayeds.len();
        if num > 2 * self.checked {
            // The arrays double when they are full, and a run needs as much again.
            let needed = 4 * (num * self.prompts.bytes_per_event()) as u64;
            if let Some(free) = FreeMemory::of_the_computer().bytes.filter(|free| *free < needed) {
                return Err(ListError::ListMemory { num_events: num as u64, needed, free });
            }
            self.checked = num;
        }
        Ok(())
    }

    /// The list with its randoms.
    fn finish(mut self, notices: &mut Vec<Notice>, task: &Task) -> Result<EventList, ListError> {
        let facts = self.facts;
        let window_mm = facts.tof.as_ref().map(|tof| tof.window_mm[1] - tof.window_mm[0]);
        if self.selection.without_tof
            && let Some(window_mm) = window_mm
        {
            // Per mm of d became the whole line's.
            self.prompts.additive.iter_mut().for_each(|additive| *additive *= window_mm as f32);
        }
        let facts = match self.selection.without_tof {
            true => Arc::new(ListFacts { tof: None, ..(*facts).clone() }),
            false => facts,
        };
        let list = EventList {
            facts,
            prompts: Arc::default(),
            delayeds: Arc::new(self.delayeds),
            total_additive: 0.0,
            rates: self.rates,
            frame_ms: self.selection.frame_ms,
        };
        Ok(with_background(list, self.prompts, notices, task)?)
    }
}

/// The events of a frame of a list, with the background that is expected of them: what [`list_study`] reads of that frame. (Their rates
/// are those of the whole.)
///
/// # Errors
/// Stopped.
pub(super) fn list_in_frame(
    list: &EventList,
    frame_ms: Range<u32>,
    notices: &mut Vec<Notice>,
    task: &Task,
) -> Result<EventList, Stopped> {
    let mut prompts = list.prompts.in_frame(&frame_ms);
    if list.total_additive > 0.0 {
        // It was estimated from all delayeds, and will be from the frame's.
        prompts.additive.clear();
    }
    let delayeds = Arc::new(list.delayeds.in_frame(&frame_ms));
    let frame = EventList { prompts: Arc::default(), delayeds, total_additive: 0.0, frame_ms: Some(frame_ms), ..list.clone() };
    with_background(frame, prompts, notices, task)
}

/// The list with these prompts. What is expected of their background is what the list tells of it, else randoms that are estimated from
/// its delayeds.
fn with_background(list: EventList, mut prompts: Events, notices: &mut Vec<Notice>, task: &Task) -> Result<EventList, Stopped> {
    let facts = &list.facts;
    let mut total_additive = 0.0;
    if !prompts.additive.is_empty() {
        let share = list.frame_ms.as_ref().map_or(1.0, |frame_ms| share_of(frame_ms, facts.duration_ms)) as f32;
        prompts.additive.iter_mut().for_each(|additive| *additive *= share);
    } else if !list.delayeds.is_empty() {
        let mut of_crystals = vec![0.0; facts.detectors.crystals().len()];
        list.delayeds.pairs.iter().flatten().for_each(|crystal| of_crystals[*crystal as usize] += 1.0);
        let num_delayeds = list.delayeds.len();
        match CrystalRandoms::new(facts, &of_crystals, task)? {
            Some(randoms) => {
                let window_mm = facts.tof.as_ref().filter(|_| !prompts.tof_mm.is_empty());
                let per_mm = window_mm.map_or(1.0, |tof| 1.0 / (tof.window_mm[1] - tof.window_mm[0]));
                total_additive = num_delayeds as f64;
                prompts.additive = prompts.pairs.iter().map(|&pair| (per_mm * randoms.of(pair)) as f32).collect();
                notices.push(Notice::info(format!(
                    "{} of delayed coincidences, smoothed over all crystals, are the randoms that are expected",
                    counted(num_delayeds, "event")
                )));
            }
            None => notices.push(Notice::warning(format!(
                "the list has {num_delayeds} delayed coincidences, but does not tell which pairs of crystals are in coincidence: randoms are not corrected for"
            ))),
        }
    }
    Ok(EventList { prompts: Arc::new(prompts), total_additive, ..list })
}

/// A frame's part of a scan of so many ms, where that is known: the background that a list tells is that of all its time.
fn share_of(frame_ms: &Range<u32>, duration_ms: Option<u64>) -> f64 {
    let frame = f64::from(frame_ms.end - frame_ms.start);
    duration_ms.filter(|ms| *ms > 0).map_or(1.0, |ms| (frame / ms as f64).min(1.0))
}
