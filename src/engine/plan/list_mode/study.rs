//! Turns list-mode data into a study: the prompts of a frame, with the expected background of each.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rand_philox::Philox;

use super::factors::with_attenuation;
use super::randoms::CrystalRandoms;
use crate::data::{CountRates, EventChunk, EventList, ListMetadata, Notice, Origin, ScanTime, Study, moved_limits};
use crate::io::list_mode::{ListOptions, for_each_piece};
use crate::io::open_list_mode;
use crate::plan::device::memory::FreeMemory;
use crate::plan::error::ListError;
use crate::random;
use crate::task::{Stopped, Task};
use crate::text::counted;

/// Which events of a list are reconstructed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListSelection {
    /// Those of this frame, ms; `None` = all.
    pub frame_ms: Option<Range<u32>>,
    /// True if the time of flight is ignored.
    pub without_tof: bool,
    /// The seed by which events of a time block are given times inside it; `None` = a block belongs to one frame as a whole.
    pub split_seed: Option<u64>,
}

/// Reads a list-mode file.
///
/// # Errors
/// The file is not readable to its end, the memory is too small for its events, or it was stopped.
pub fn list_study(
    path: &Path,
    options: &ListOptions,
    selection: &ListSelection,
    task: &Task,
) -> Result<Study<EventList>, ListError> {
    let mut reader = open_list_mode(path, options)?;
    let (mut events, of_map) = EventAccumulator::begun(reader.facts(), options, selection.clone())?;
    for_each_piece(&mut *reader, task, |chunk| events.add(chunk))?;
    let (list, notices) = events.finish(task)?;
    let notices = [reader.notices(), of_map, notices].concat();
    Ok(Study { notices, ..study_of(path, list) })
}

/// Returns the data of a list-mode file as a study.
pub fn study_of(path: &Path, list: EventList) -> Study<EventList> {
    let title = path.file_name().unwrap_or_default().to_string_lossy();
    let origin = Origin::of(path);
    Study { origin, ..Study::new(title, list) }
}

/// Events of a selection, as far as they were read.
#[derive(Clone, Debug)]
pub struct EventAccumulator {
    selection: ListSelection,
    /// Without the randoms that delayeds make expect.
    list: EventList,
    /// Factor of the additive terms of events if the time of flight is ignored.
    of_window: f32,
    splitter: Option<BlockSplitter>,
    /// Events for which the memory was looked at.
    checked: usize,
}

impl EventAccumulator {
    /// Returns an empty accumulator.
    pub fn new(facts: Arc<ListMetadata>, selection: ListSelection) -> Self {
        let (facts, of_window) = match &facts.tof {
            // Per mm of d becomes the whole line's.
            Some(tof) if selection.without_tof => {
                let window_mm = tof.window_mm[1] - tof.window_mm[0];
                (Arc::new(ListMetadata { tof: None, ..(*facts).clone() }), window_mm as f32)
            }
            _ => (facts, 1.0),
        };
        let list = EventList {
            facts,
            prompts: Arc::default(),
            delayeds: Arc::default(),
            total_additive: 0.0,
            time: ScanTime::default(),
            rates: CountRates::default(),
            frame_ms: selection.frame_ms.clone(),
            elsewhere: None,
        };
        let splitter = selection.split_seed.map(BlockSplitter::new);
        Self { selection, list, of_window, splitter, checked: 0 }
    }

    /// Returns an empty accumulator with the attenuation map of the options, and notices about the map.
    ///
    /// # Errors
    /// The map is not readable, or does not match the list.
    pub fn begun(
        facts: &Arc<ListMetadata>,
        options: &ListOptions,
        selection: ListSelection,
    ) -> Result<(Self, Vec<Notice>), ListError> {
        if options.yrt.lacks_range() && !selection.without_tof {
            return Err(ListError::TofRange);
        }
        let mut notices = Vec::new();
        let facts = with_attenuation(facts, options, &mut notices)?;
        Ok((Self::new(facts, selection), notices))
    }

    /// Returns the list so far, without the randoms that its delayeds make expect.
    pub fn list(&self) -> &EventList {
        &self.list
    }

    /// Adds the selected events of a chunk; removes the others from it.
    ///
    /// # Errors
    /// The memory is too small to continue.
    pub fn add(&mut self, chunk: &mut EventChunk) -> Result<(), ListError> {
        self.list.time.add(chunk);
        if let Some(splitter) = &mut self.splitter {
            splitter.split(&mut self.list.time, chunk);
        }
        if let Some(frame_ms) = &self.selection.frame_ms {
            chunk.retain_frame(frame_ms.clone());
        }
        if self.selection.without_tof {
            chunk.prompts.tof_mm.clear();
        }
        if self.of_window != 1.0 {
            chunk.prompts.additive.iter_mut().for_each(|additive| *additive *= self.of_window);
        }
        self.list.rates.add(chunk, &self.list.time);
        let delayeds = Arc::make_mut(&mut self.list.delayeds);
        delayeds.pairs.extend_from_slice(&chunk.delayeds.pairs);
        delayeds.times_ms.extend_from_slice(&chunk.delayeds.times_ms);
        let prompts = Arc::make_mut(&mut self.list.prompts);
        prompts.extend(&chunk.prompts);
        let num = prompts.len() + delayeds.len();
        if num > 2 * self.checked {
            // The arrays double when they are full, and a run needs as much again.
            let needed = 4 * (num * prompts.bytes_per_event()) as u64;
            if let Some(free) = FreeMemory::of_the_computer().bytes.filter(|free| *free < needed) {
                return Err(ListError::ListMemory { num_events: num as u64, needed, free });
            }
            self.checked = num;
        }
        Ok(())
    }

    /// Returns the list with the randoms expected from its delayeds, and notices about them and its times.
    ///
    /// # Errors
    /// Stopped.
    pub fn finish(mut self, task: &Task) -> Result<(EventList, Vec<Notice>), Stopped> {
        let mut notices = Vec::new();
        if let Some(frame_ms) = &self.list.frame_ms {
            notices.extend(moved_limits(&[self.list.frame_time(frame_ms)]));
            let of_frame = share_of(&self.list, frame_ms);
            Arc::make_mut(&mut self.list.prompts).additive.iter_mut().for_each(|additive| *additive *= of_frame);
        }
        notices.extend(self.list.time.warnings(&self.list.facts, self.list.prompts.len()));
        notices.extend(self.splitter.and_then(|_| nothing_to_split(&self.list.time)));
        let (list, of_randoms) = with_randoms(self.list, task)?;
        notices.extend(of_randoms);
        Ok((list, notices))
    }
}

/// Returns the events of a frame with their expected background, as [`list_study`] reads that frame, and notices. (The count
/// rates are those of the whole list.)
///
/// # Errors
/// Stopped.
pub(in crate::plan) fn list_in_frame(
    list: &EventList,
    frame_ms: Range<u32>,
    task: &Task,
) -> Result<(EventList, Vec<Notice>), Stopped> {
    let mut prompts = list.prompts.in_frame(&frame_ms);
    if list.total_additive > 0.0 {
        // It was estimated from all delayeds, and will be from the frame's.
        prompts.additive.clear();
    }
    let of_frame = share_of(list, &frame_ms);
    prompts.additive.iter_mut().for_each(|additive| *additive *= of_frame);
    let (prompts, delayeds) = (Arc::new(prompts), Arc::new(list.delayeds.in_frame(&frame_ms)));
    with_randoms(EventList { prompts, delayeds, total_additive: 0.0, frame_ms: Some(frame_ms), ..list.clone() }, task)
}

/// Returns a list with the randoms expected from its delayeds, unless it contains its own background; and notices.
fn with_randoms(mut list: EventList, task: &Task) -> Result<(EventList, Vec<Notice>), Stopped> {
    let num_delayeds = list.delayeds.len();
    if num_delayeds == 0 || !list.prompts.additive.is_empty() {
        return Ok((list, Vec::new()));
    }
    let [delayeds, prompts] = [&list.delayeds, &list.prompts].map(|events| {
        let mut of_crystals = vec![0.0; list.facts.detectors.crystals().len()];
        events.pairs.iter().flatten().for_each(|crystal| of_crystals[*crystal as usize] += 1.0);
        of_crystals
    });
    let notice = match CrystalRandoms::new(&list.facts, [&delayeds, &prompts], task)? {
        Some(randoms) => {
            // With time of flight they are spread evenly over the window of each pair.
            let tof = list.facts.tof.as_ref().filter(|_| !list.prompts.tof_mm.is_empty());
            let width_mm = |pair| tof.map(|tof| tof.window_of(pair)).map_or(1.0, |[from, to]| to - from);
            list.total_additive = num_delayeds as f64;
            let prompts = Arc::make_mut(&mut list.prompts);
            prompts.additive = prompts.pairs.iter().map(|&pair| (randoms.of(pair) / width_mm(pair)) as f32).collect();
            Notice::info(format!(
                "the expected randoms are those of {}, smoothed over all crystals",
                counted(num_delayeds, "delayed coincidence")
            ))
        }
        None => Notice::warning(format!(
            "{num_delayeds} delayed coincidences, but the crystal pairs in coincidence are unknown: no randoms correction"
        )),
    };
    Ok((list, vec![notice]))
}

/// Returns the part of the scan time in a frame: the background of a list is that of the whole scan.
fn share_of(list: &EventList, frame_ms: &Range<u32>) -> f32 {
    let (frame, whole) = (list.frame_time(frame_ms).duration_ms, list.time.duration_ms(&list.facts));
    if whole > 0 { (frame as f64 / whole as f64) as f32 } else { 1.0 }
}

/// Gives the events of time blocks times inside these, however the list comes in pieces.
#[derive(Clone, Debug)]
pub(in crate::plan) struct BlockSplitter {
    seed: u64,
    /// For prompts and delayeds.
    random: [Philox; 2],
}

impl BlockSplitter {
    pub(in crate::plan) fn new(seed: u64) -> Self {
        Self { seed, random: [0, 1].map(|kind| random::stream(seed, kind)) }
    }

    /// Gives the events of a piece their times.
    pub(in crate::plan) fn split(&mut self, time: &mut ScanTime, chunk: &mut EventChunk) {
        for (events, random) in [&mut chunk.prompts, &mut chunk.delayeds].into_iter().zip(&mut self.random) {
            time.split(events, self.seed, random);
        }
    }
}

/// Describes that a list has no time blocks that could be split.
pub(in crate::plan) fn nothing_to_split(time: &ScanTime) -> Option<Notice> {
    let text = "--split-blocks has no effect: every event of this file has its own time";
    (!time.has_blocks()).then(|| Notice::warning(text))
}
