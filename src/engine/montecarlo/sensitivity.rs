//! Which share of the decays at a place is counted.

use super::coincidences::Coincidences;
use super::draws::in_pieces;
use crate::random::stream;
use crate::task::{Stopped, Task};

impl Coincidences {
    /// Returns the share of the decays at a place (in the frame of the gantry, mm) that is counted, between 0 and 1: decays in
    /// all directions that matter, both photons of each followed into every pair of heads in coincidence. The same for any number
    /// of threads.
    ///
    /// # Errors
    /// Stopped.
    pub fn sensitivity_at(&self, place_mm: [f64; 3], num_histories: u64, seed: u64, task: &Task) -> Result<f64, Stopped> {
        task.begin(num_histories);
        let sums: Vec<f64> = in_pieces(0..num_histories, task, |some| {
            Ok::<f64, Stopped>(some.map(|history| self.share_counted(place_mm, seed, history)).sum())
        })?;
        Ok(sums.iter().sum::<f64>() / num_histories.max(1) as f64 * self.share_followed())
    }

    /// Returns the share of one decay that is counted, among those that are followed.
    fn share_counted(&self, place_mm: [f64; 3], seed: u64, history: u64) -> f64 {
        self.count_decay(place_mm, &mut stream(seed, history)).map(|(_, share)| share).sum()
    }
}
