//! A list of events becomes a study: the prompts of a frame, with what is expected of each beside the image.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::FreeMemory;
use super::histogram::ListError;
use super::list_factors::with_attenuation;
use super::list_randoms::CrystalRandoms;
use crate::data::{CountRates, EventChunk, EventList, Events, ListFacts, Notice, Origin, Study};
use crate::io::list_mode::{self, ListOptions, for_each_piece};
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
    let (mut events, of_map) = GatheredEvents::begun(reader.facts(), options, selection.clone())?;
    for_each_piece(&mut *reader, task, |chunk| events.add(chunk))?;
    let (list, notices) = events.finish(task)?;
    let notices = [reader.notices(), of_map, notices].concat();
    Ok(Study { notices, ..study_of(path, list) })
}

/// What was read of a file as a study.
pub fn study_of(path: &Path, list: EventList) -> Study<EventList> {
    let title = path.file_name().unwrap_or_default().to_string_lossy();
    let origin = Origin { measured: Some(path.to_owned()), ..Origin::default() };
    Study { origin, ..Study::new(title, list) }
}

/// Events of a selection, as far as they were read.
#[derive(Clone, Debug)]
pub struct GatheredEvents {
    selection: ListSelection,
    /// Without the randoms that delayeds make expect.
    list: EventList,
    /// Delayeds that each crystal took part in.
    of_crystals: Vec<f64>,
    /// What the additive terms of events are multiplied by.
    additive_factor: f32,
    /// Events for which the memory was looked at.
    checked: usize,
}

impl GatheredEvents {
    /// None yet.
    pub fn new(facts: Arc<ListFacts>, selection: ListSelection) -> Self {
        let of_crystals = vec![0.0; facts.detectors.crystals().len()];
        let (facts, additive_factor) = match &facts.tof {
            // Per mm of d becomes the whole line's.
            Some(tof) if selection.without_tof => {
                let window_mm = tof.window_mm[1] - tof.window_mm[0];
                (Arc::new(ListFacts { tof: None, ..(*facts).clone() }), window_mm as f32)
            }
            _ => (facts, 1.0),
        };
        let list = EventList {
            facts,
            prompts: Arc::new(Events::default()),
            num_delayeds: 0,
            total_additive: 0.0,
            rates: CountRates::default(),
        };
        Self { selection, list, of_crystals, additive_factor, checked: 0 }
    }

    /// None yet of a list, with the map of attenuation that its options name; what there is to know about that comes too.
    ///
    /// # Errors
    /// The map cannot be read, or does not go with the list.
    pub fn begun(
        facts: &Arc<ListFacts>,
        options: &ListOptions,
        selection: ListSelection,
    ) -> Result<(Self, Vec<Notice>), ListError> {
        let mut notices = Vec::new();
        let facts = with_attenuation(facts, options.attenuation.as_deref(), &mut notices)?;
        Ok((Self::new(facts, selection), notices))
    }

    /// The list so far, without the randoms that its delayeds make expect.
    pub fn list(&self) -> &EventList {
        &self.list
    }

    /// Adds those of a piece that were selected; the others are taken out of it.
    ///
    /// # Errors
    /// There is not enough memory to go on.
    pub fn add(&mut self, chunk: &mut EventChunk) -> Result<(), ListError> {
        if let Some(frame_ms) = &self.selection.frame_ms {
            chunk.retain_frame(frame_ms.clone());
        }
        if self.selection.without_tof {
            chunk.prompts.tof_mm.clear();
        }
        if self.additive_factor != 1.0 {
            chunk.prompts.additive.iter_mut().for_each(|additive| *additive *= self.additive_factor);
        }
        self.list.rates.add(chunk);
        self.list.num_delayeds += chunk.delayeds.len() as u64;
        for crystal in chunk.delayeds.pairs.iter().flatten() {
            self.of_crystals[*crystal as usize] += 1.0;
        }
        let prompts = Arc::make_mut(&mut self.list.prompts);
        prompts.extend(&chunk.prompts);
        let num = prompts.len();
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

    /// The list with the randoms that its delayeds make expect, and what there is to know about them.
    ///
    /// # Errors
    /// Stopped.
    pub fn finish(self, task: &Task) -> Result<(EventList, Vec<Notice>), Stopped> {
        let Self { mut list, of_crystals, .. } = self;
        let num_delayeds = list.num_delayeds;
        if num_delayeds == 0 || !list.prompts.additive.is_empty() {
            return Ok((list, Vec::new()));
        }
        let notice = match CrystalRandoms::new(&list.facts, &of_crystals, task)? {
            Some(randoms) => {
                let window_mm = list.facts.tof.as_ref().map(|tof| tof.window_mm[1] - tof.window_mm[0]);
                let per_mm = window_mm.filter(|_| !list.prompts.tof_mm.is_empty()).map_or(1.0, |window_mm| 1.0 / window_mm);
                list.total_additive = num_delayeds as f64;
                let prompts = Arc::make_mut(&mut list.prompts);
                prompts.additive = prompts.pairs.iter().map(|&pair| (per_mm * randoms.of(pair)) as f32).collect();
                Notice::info(format!(
                    "{} of delayed coincidences, smoothed over all crystals, are the randoms that are expected",
                    counted(num_delayeds as usize, "event")
                ))
            }
            None => Notice::warning(format!(
                "the list has {num_delayeds} delayed coincidences, but does not tell which pairs of crystals are in coincidence: randoms are not corrected for"
            )),
        };
        Ok((list, vec![notice]))
    }
}
