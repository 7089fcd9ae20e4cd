//! Which share of the decays at a place is counted.

use rayon::prelude::*;

use super::coincidences::Coincidences;
use crate::random::stream;
use crate::task::{Stopped, Task};

/// Histories that one task follows.
const HISTORIES_PER_TASK: u64 = 1 << 12;

impl Coincidences {
    /// The share of the decays at a place (in the frame of the gantry, mm) that is counted, between 0 and 1: decays in all
    /// directions that matter, both photons of each followed into every pair of heads in coincidence. The same for any number of threads.
    ///
    /// # Errors
    /// Stopped.
    pub fn sensitivity_at(&self, place_mm: [f64; 3], num_histories: u64, seed: u64, task: &Task) -> Result<f64, Stopped> {
        task.begin(num_histories);
        let sums: Vec<f64> = (0..num_histories.div_ceil(HISTORIES_PER_TASK))
            .into_par_iter()
            .map(|number| {
                task.check()?;
                let histories = number * HISTORIES_PER_TASK..((number + 1) * HISTORIES_PER_TASK).min(num_histories);
                task.advance(histories.end - histories.start);
                Ok(histories.map(|history| self.share_counted(place_mm, seed, history)).sum())
            })
            .collect::<Result<_, Stopped>>()?;
        Ok(sums.iter().sum::<f64>() / num_histories.max(1) as f64 * self.share_followed())
    }

    /// The share of one decay that is counted, among those that are followed.
    fn share_counted(&self, place_mm: [f64; 3], seed: u64, history: u64) -> f64 {
        self.count_decay(place_mm, &mut stream(seed, history)).map(|(_, share)| share).sum()
    }
}
