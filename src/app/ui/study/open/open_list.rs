//! Open list-mode data.

use crate::data::{CountRates, EventList, EventNumbers, Notice};
use crate::plan::{ListAcquisition, ListFiles, cylinder_of};
use crate::session::Feed;

/// List-mode data, and the facts of the panel.
pub struct OpenList {
    /// Events; none while the file is growing.
    pub list: EventList,
    pub files: ListFiles,
    /// Arrangement of the crystals.
    pub arrangement: String,
    /// Numbers of events so far.
    pub counted: Counted,
    /// Source of further events of a growing file.
    pub following: Option<Following>,
}

/// Growing file of list-mode data.
pub struct Following {
    /// Events so far.
    pub acquisition: ListAcquisition,
    /// Source of further events.
    pub feed: Feed,
}

/// Numbers of events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    pub num_prompts: usize,
    pub num_delayeds: usize,
    /// Counts per second over time, of prompts and delayeds: (s, 1/s).
    pub rates: [Vec<[f64; 2]>; 2],
    /// Width of the time bins, s.
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
    pub fn new(list: EventList, files: ListFiles) -> Self {
        let arrangement = match cylinder_of(&list.facts) {
            Ok(cylinder) => format!("{} rings of {}, {} gaps", cylinder.num_rings, cylinder.num_detectors, cylinder.num_gaps()),
            Err(_) => "no cylinder".to_owned(),
        };
        let counted = Counted::of(&list);
        Self { list, files, arrangement, counted, following: None }
    }

    /// Receives new events. Returns the notices of the file once it is complete.
    pub fn update(&mut self) -> Option<Vec<Notice>> {
        let following = self.following.as_ref()?;
        let Some(list) = following.feed.take_list() else {
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

    /// Treats the events so far as the complete data.
    pub fn stop_following(&mut self) {
        if let Some(following) = &mut self.following {
            following.feed.end();
        }
    }
}
