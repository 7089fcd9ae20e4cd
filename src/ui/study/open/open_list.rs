//! A list of events that is open.

use crate::data::{CountRates, EventList, EventNumbers, Notice};
use crate::plan::{ListAcquisition, ListFiles, cylinder_of};
use crate::session::Feed;

/// A list of events, and what the panel tells of it.
pub struct OpenList {
    /// The list; while it is still being written without events.
    pub list: EventList,
    /// The files that it was read from.
    pub files: ListFiles,
    /// How its crystals lie, in words.
    pub arrangement: String,
    /// What was counted so far.
    pub counted: Counted,
    /// What adds events, while the list is still being written.
    pub following: Option<Following>,
}

/// The file of a list that is still being written.
pub struct Following {
    /// The events so far.
    pub acquisition: ListAcquisition,
    /// What adds to them.
    pub feed: Feed,
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// Coincidences.
    pub num_prompts: usize,
    /// Those with one side delayed.
    pub num_delayeds: usize,
    /// Counts per second over time, of prompts and delayeds.
    pub rates: [Vec<[f64; 2]>; 2],
    /// Width of the intervals of time, s.
    pub bin_secs: f64,
}

impl Counted {
    fn of(list: &EventList) -> Self {
        let EventNumbers { num_prompts, num_delayeds, .. } = list.numbers();
        let rates = &list.rates;
        Self { num_prompts, num_delayeds, rates: CountRates::curves(rates), bin_secs: rates.bin_secs() }
    }
}

impl OpenList {
    /// A list out of a file.
    pub fn new(list: EventList, files: ListFiles) -> Self {
        let arrangement = match cylinder_of(&list.facts) {
            Ok(cylinder) => format!("{} rings of {}, {} gaps", cylinder.num_rings, cylinder.num_detectors, cylinder.num_gaps()),
            Err(_) => "no cylinder".to_owned(),
        };
        let counted = Counted::of(&list);
        Self { list, files, arrangement, counted, following: None }
    }

    /// Takes in what has arrived. Returns the notices about the list once it is whole.
    pub fn update(&mut self) -> Option<Vec<Notice>> {
        let following = self.following.as_ref()?;
        let Some(list) = following.feed.take_whole() else {
            let num_known = (self.counted.num_prompts, self.counted.num_delayeds);
            let new = following.acquisition.look(|events| {
                let list = events.list();
                (num_known != (list.prompts.len(), list.delayeds.len())).then(|| Counted::of(list))
            });
            new.into_iter().for_each(|new| self.counted = new);
            return None;
        };
        self.counted = Counted::of(&list);
        self.list = list;
        self.files.is_followed = false;
        self.following.take().map(|following| following.feed.stop())
    }

    /// Takes what there is for the whole list.
    pub fn stop_following(&mut self) {
        if let Some(following) = &mut self.following {
            following.feed.end();
        }
    }
}
