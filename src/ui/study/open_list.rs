//! A list of events that is open.

use std::path::PathBuf;
use std::sync::Arc;

use crate::data::{EventList, Study};
use crate::plan::cylinder_of;

/// A list of events, and what the panel tells of it.
pub struct OpenList {
    /// The study.
    pub study: Arc<Study<EventList>>,
    /// The file that it was read from.
    pub file: PathBuf,
    /// How its crystals lie, in words.
    pub arrangement: String,
    /// Counts per second over time, of prompts and delayeds.
    pub rates: [Vec<[f64; 2]>; 2],
}

impl OpenList {
    /// A list out of a file.
    pub fn new(study: Study<EventList>, file: PathBuf) -> Self {
        let arrangement = match cylinder_of(&study.measured.facts) {
            Ok(cylinder) => format!("{} rings of {}, {} gaps", cylinder.num_rings, cylinder.num_detectors, cylinder.num_gaps()),
            Err(_) => "no cylinder".to_owned(),
        };
        let rates = study.measured.rates.curves();
        Self { study: Arc::new(study), file, arrangement, rates }
    }
}
