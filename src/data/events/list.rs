//! Events as the data of a study.

use std::ops::Range;
use std::sync::Arc;

use super::chunk::{Events, ListMetadata};
use super::count_rates::CountRates;
use super::scan_time::{FrameTime, ScanTime};

/// Numbers of a list of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EventNumbers {
    /// Coincidences.
    pub num_prompts: usize,
    /// Those with one side delayed.
    pub num_delayeds: usize,
    /// Whether events count differently well, as far as it is known.
    pub has_factors: bool,
    /// Whether the background of each event is known.
    pub has_background: bool,
}

/// A list of events as a study's data.
#[derive(Clone, Debug)]
pub struct EventList {
    /// What is known about it.
    pub facts: Arc<ListMetadata>,
    /// The coincidences.
    pub prompts: Arc<Events>,
    /// Coincidences with one side delayed: their pairs and times.
    pub delayeds: Arc<Events>,
    /// Expected background of all pairs together, as far as it is known; what the likelihood counts besides the image.
    pub total_additive: f64,
    /// Times of all events of the list, also of those outside of its frame.
    pub time: ScanTime,
    /// Counts per second over time.
    pub rates: CountRates,
    /// The frame that its events are of, ms; `None` = all that there are.
    pub frame_ms: Option<Range<u32>>,
    /// Their numbers, where the events are elsewhere and this list has none.
    pub elsewhere: Option<EventNumbers>,
}

impl EventList {
    /// Whether events count differently well, as far as it is known.
    pub fn has_factors(&self) -> bool {
        self.facts.attenuation.map().is_some() || self.numbers().has_factors
    }

    /// Returns the numbers of its events, wherever these are.
    pub fn numbers(&self) -> EventNumbers {
        self.elsewhere.unwrap_or_else(|| EventNumbers {
            num_prompts: self.prompts.len(),
            num_delayeds: self.delayeds.len(),
            has_factors: self.facts.efficiency.is_some() || !self.prompts.multiplicative.is_empty(),
            has_background: !self.prompts.additive.is_empty(),
        })
    }

    /// Returns what a frame, ms, is of this list.
    pub fn frame_time(&self, frame_ms: &Range<u32>) -> FrameTime {
        self.time.frame(frame_ms, &self.facts)
    }

    /// Whether there are prompts in a frame, ms; of a list elsewhere as far as its rates tell.
    pub fn has_events_in(&self, frame_ms: &Range<u32>) -> bool {
        match self.elsewhere {
            Some(_) => self.rates.has_prompts_in(&self.frame_time(frame_ms).limits_ms),
            None => self.prompts.times_ms.iter().any(|ms| frame_ms.contains(ms)),
        }
    }
}
