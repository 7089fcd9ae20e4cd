//! The randoms of a list, from its delayed coincidences: of bins, and of events.

use std::sync::Arc;

use super::histogram::{HistogramSettings, cylinder_of, sampling_of};
use crate::data::{EventHistogram, ListFacts};
use crate::measure::{Fans, PairPartners, most_likely_singles};
use crate::task::{Stopped, Task};

/// Most crystals of which every pair is looked at (128 MB of bits).
const MOST_CRYSTALS: usize = 1 << 15;

/// The expected randoms of each bin of a histogram of delayeds. Which pairs are in coincidence is what the list's efficiencies tell,
/// else all those of the bins.
///
/// # Errors
/// Stopped.
pub fn randoms_of_bins(facts: &ListFacts, delayeds: &EventHistogram, task: &Task) -> Result<Vec<f32>, Stopped> {
    let (cylinder, num) = (delayeds.cylinder(), delayeds.cylinder().num_detectors);
    let mut randoms = vec![0.0; delayeds.counts().len()];
    let Some(partners) = pairs_in_coincidence(facts, |pair| delayeds.bin(pair).is_some()) else {
        let singles = most_likely_singles(delayeds.counts_of_places(), &Fans::new(cylinder, delayeds.geometry()), task)?;
        delayeds.for_each_pair(|bin, ends| randoms[bin] += (singles[ends[0]] * singles[ends[1]]) as f32);
        return Ok(randoms);
    };
    let of_crystal = |crystal: usize| delayeds.counts_of_places()[cylinder.place(crystal as u32)];
    let counts: Vec<f64> = (0..facts.detectors.crystals().len()).map(of_crystal).collect();
    let singles = most_likely_singles(&counts, &partners, task)?;
    delayeds.for_each_pair(|bin, ends| {
        let crystals = ends.map(|place| cylinder.crystal(place / num, place % num));
        if let [Some(first), Some(second)] = crystals.map(|crystal| crystal.map(|crystal| crystal as usize))
            && partners.is_pair([first, second])
        {
            randoms[bin] += (singles[first] * singles[second]) as f32;
        }
    });
    Ok(randoms)
}

/// The pairs that the list's efficiencies have in coincidence, where they tell and the crystals are not too many. (Where the format has
/// bins, all pairs in them are; a crystal that is none has no delayeds.)
fn pairs_in_coincidence(facts: &ListFacts, is_counted: impl Fn([u32; 2]) -> bool + Sync) -> Option<PairPartners> {
    let efficiency = facts.efficiency.as_ref().filter(|_| facts.sampling.is_none()).map(Arc::clone)?;
    let num = facts.detectors.crystals().len();
    let is_pair = |first: usize, second: usize| {
        let pair = [first as u32, second as u32];
        efficiency.of(pair) > 0.0 && is_counted(pair)
    };
    (num <= MOST_CRYSTALS).then(|| PairPartners::new(num, is_pair))
}

/// The expected randoms of pairs of crystals, from the delayeds that each crystal took part in.
#[derive(Debug)]
pub struct CrystalRandoms {
    singles: Vec<f64>,
}

impl CrystalRandoms {
    /// `counts` = delayeds of each crystal. `None` where nothing tells which pairs are in coincidence: neither efficiencies nor the
    /// sampling of a cylinder.
    ///
    /// # Errors
    /// Stopped.
    pub fn new(facts: &ListFacts, counts: &[f64], task: &Task) -> Result<Option<Self>, Stopped> {
        if let Some(partners) = pairs_in_coincidence(facts, |_| true) {
            return Ok(Some(Self { singles: most_likely_singles(counts, &partners, task)? }));
        }
        let Ok(cylinder) = cylinder_of(facts) else { return Ok(None) };
        let Ok(geometry) = sampling_of(facts, &cylinder, &HistogramSettings::default()) else { return Ok(None) };
        let mut of_places = vec![0.0; cylinder.num_rings * cylinder.num_detectors];
        (0..).zip(counts).for_each(|(crystal, count)| of_places[cylinder.place(crystal)] = *count);
        let of_places = most_likely_singles(&of_places, &Fans::new(&cylinder, &geometry), task)?;
        let singles = (0..counts.len() as u32).map(|crystal| of_places[cylinder.place(crystal)]).collect();
        Ok(Some(Self { singles }))
    }

    /// Expected randoms of a pair.
    pub fn of(&self, [first, second]: [u32; 2]) -> f64 {
        self.singles[first as usize] * self.singles[second as usize]
    }
}
