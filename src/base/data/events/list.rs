//! Events as the data of a study.

use std::ops::Range;
use std::sync::Arc;

use super::chunk::{Events, ListMetadata};
use super::count_rates::CountRates;
use super::scan_time::{FrameTime, ScanTime};

/// Numbers of list-mode data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EventNumbers {
    /// Coincidences.
    pub num_prompts: usize,
    /// Those with one side delayed.
    pub num_delayeds: usize,
    /// True if events differ in their factors, as far as known.
    pub has_factors: bool,
    /// True if the background of each event is known.
    pub has_background: bool,
}

/// List-mode data of a study.
#[derive(Clone, Debug)]
pub struct EventList {
    /// Metadata.
    pub facts: Arc<ListMetadata>,
    /// The coincidences.
    pub prompts: Arc<Events>,
    /// Coincidences with one side delayed: their pairs and times.
    pub delayeds: Arc<Events>,
    /// Expected background of all pairs together, as far as known; a term of the likelihood besides the image.
    pub total_additive: f64,
    /// Times of all events of the list, also of those outside of its frame.
    pub time: ScanTime,
    /// Counts per second over time.
    pub rates: CountRates,
    /// The frame that its events are of, ms; `None` = all that there are.
    pub frame_ms: Option<Range<u32>>,
    /// Numbers of the events, if they are on a remote host and this list is empty.
    pub elsewhere: Option<EventNumbers>,
}

impl EventList {
    /// Returns true if events differ in their factors, as far as known.
    pub fn has_factors(&self) -> bool {
        !self.facts.attenuation.maps().is_empty() || self.numbers().has_factors
    }

    /// Returns the numbers of its events, local or remote.
    pub fn numbers(&self) -> EventNumbers {
        self.elsewhere.unwrap_or_else(|| EventNumbers {
            num_prompts: self.prompts.len(),
            num_delayeds: self.delayeds.len(),
            has_factors: self.facts.efficiency.is_some() || !self.prompts.multiplicative.is_empty(),
            has_background: !self.prompts.additive.is_empty(),
        })
    }

    /// Returns the true limits of a frame, ms, in this list.
    pub fn frame_time(&self, frame_ms: &Range<u32>) -> FrameTime {
        self.time.frame(frame_ms, &self.facts)
    }

    /// Describes the range of the times of all events, "3600 to 3700 s"; `None` without times.
    pub fn extent_text(&self) -> Option<String> {
        self.time.extent_text(&self.facts)
    }

    /// Returns true if prompts exist in a frame, ms; for remote data as far as their rates show.
    pub fn has_events_in(&self, frame_ms: &Range<u32>) -> bool {
        match self.elsewhere {
            Some(_) => self.rates.has_prompts_in(&self.frame_time(frame_ms).limits_ms),
            None => self.prompts.times_ms.iter().any(|ms| frame_ms.contains(ms)),
        }
    }
}
