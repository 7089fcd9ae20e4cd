//! A list of events becomes a study: the prompts of a frame, with what is expected of each beside the image.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::FreeMemory;
use super::histogram::ListError;
use super::list_factors::with_attenuation;
use super::list_randoms::CrystalRandoms;
use crate::data::{CountRates, EventChunk, EventList, Events, ListFacts, Notice, Origin, Study};
use crate::io::list_mode::{self, ListOptions};
use crate::task::Task;
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
    let mut of_map = Vec::new();
    let facts = with_attenuation(reader.facts(), options.attenuation.as_deref(), &mut of_map)?;
    let mut list = Gathered::new(facts, selection.clone());
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
    let mut notices = [reader.notices(), of_map].concat();
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
    /// Delayeds that each crystal took part in.
    of_crystals: Vec<f64>,
    num_delayeds: u64,
    rates: CountRates,
    /// Events for which the memory was looked at.
    checked: usize,
}

impl Gathered {
    fn new(facts: Arc<ListFacts>, selection: ListSelection) -> Self {
        let of_crystals = vec![0.0; facts.detectors.crystals().len()];
        Self {
            facts,
            selection,
            prompts: Events::default(),
            of_crystals,
            num_delayeds: 0,
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
        self.num_delayeds += chunk.delayeds.len() as u64;
        for crystal in chunk.delayeds.pairs.iter().flatten() {
            self.of_crystals[*crystal as usize] += 1.0;
        }
        self.prompts.extend(&chunk.prompts);
        let num = self.prompts.len();
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
        let mut total_additive = 0.0;
        if self.num_delayeds > 0 && self.prompts.additive.is_empty() {
            match CrystalRandoms::new(&facts, &self.of_crystals, task)? {
                Some(randoms) => {
                    let per_mm = window_mm.filter(|_| !self.prompts.tof_mm.is_empty()).map_or(1.0, |window_mm| 1.0 / window_mm);
                    total_additive = self.num_delayeds as f64;
                    self.prompts.additive = self.prompts.pairs.iter().map(|&pair| (per_mm * randoms.of(pair)) as f32).collect();
                    notices.push(Notice::info(format!(
                        "{} of delayed coincidences, smoothed over all crystals, are the randoms that are expected",
                        counted(self.num_delayeds as usize, "event")
                    )));
                }
                None => notices.push(Notice::warning(format!(
                    "the list has {} delayed coincidences, but does not tell which pairs of crystals are in coincidence: randoms are not corrected for",
                    self.num_delayeds
                ))),
            }
        }
        let facts = match self.selection.without_tof {
            true => Arc::new(ListFacts { tof: None, ..(*facts).clone() }),
            false => facts,
        };
        Ok(EventList {
            facts,
            prompts: Arc::new(self.prompts),
            num_delayeds: self.num_delayeds,
            total_additive,
            rates: self.rates,
        })
    }
}
