//! The randoms of a list, from its delayed coincidences: of bins, and of events.

use std::sync::Arc;

use super::sampling::{HistogramSettings, cylinder_of, sampling_of};
use crate::data::{EventHistogram, ListMetadata};
use crate::measure::{Fans, PairPartners, SimilarPlaces, smoothed_singles};
use crate::scanner::Crystal;
use crate::task::{Stopped, Task};

/// Maximum number of crystals for which every pair is inspected (128 MB of bits).
const MAX_CRYSTALS: usize = 1 << 15;

/// Returns the expected randoms of each bin of a histogram of delayeds. Pairs in coincidence are those with an efficiency above
/// 0, or without efficiencies all pairs of the bins.
///
/// # Errors
/// Stopped.
pub fn randoms_of_bins(
    facts: &ListMetadata,
    delayeds: &EventHistogram,
    prompts: &EventHistogram,
    task: &Task,
) -> Result<Vec<f32>, Stopped> {
    let (cylinder, num) = (&delayeds.cylinder, delayeds.cylinder.num_detectors);
    let crystal = |place: usize| cylinder.crystal(place / num, place % num);
    let mut randoms = vec![0.0; delayeds.counts.len()];
    let Some(partners) = pairs_in_coincidence(facts, |pair| delayeds.bin(pair).is_some()) else {
        let counts = &delayeds.counts_of_places;
        let keys: Vec<_> = (0..counts.len()).map(|place| crystal(place).map(|crystal| key(facts, crystal))).collect();
        let similar = SimilarPlaces::new(&keys, counts, &prompts.counts_of_places);
        let singles = smoothed_singles(counts, &similar, &Fans::new(cylinder, &delayeds.geometry), task)?;
        delayeds.for_each_pair(|bin, ends| randoms[bin] += (singles[ends[0]] * singles[ends[1]]) as f32);
        return Ok(randoms);
    };
    let of_crystals = |histogram: &EventHistogram| -> Vec<f64> {
        let crystals = 0..facts.detectors.crystals().len() as u32;
        crystals.map(|crystal| histogram.counts_of_places[cylinder.place(crystal)]).collect()
    };
    let singles = of_pairs(facts, [&of_crystals(delayeds), &of_crystals(prompts)], &partners, task)?;
    delayeds.for_each_pair(|bin, ends| {
        if let [Some(first), Some(second)] = ends.map(|place| crystal(place).map(|crystal| crystal as usize))
            && partners.is_pair([first, second])
        {
            randoms[bin] += (singles[first] * singles[second]) as f32;
        }
    });
    Ok(randoms)
}

/// Singles of crystals, of the delayeds and the prompts that each took part in.
fn of_pairs(facts: &ListMetadata, counts: [&[f64]; 2], partners: &PairPartners, task: &Task) -> Result<Vec<f64>, Stopped> {
    let [delayeds, prompts] = counts;
    let keys: Vec<_> = (0..delayeds.len() as u32).map(|crystal| Some(key(facts, crystal))).collect();
    smoothed_singles(delayeds, &SimilarPlaces::new(&keys, delayeds, prompts), partners, task)
}

/// Crystals with the same key count singles alike, but for their own efficiencies: those of one size in one layer and one ring. (The layer
/// is the distance from the axis along their depth, which is that of a whole flat module.)
fn key(facts: &ListMetadata, crystal: u32) -> [i64; 5] {
    let Crystal { centre_mm, axes, size_mm } = &facts.detectors.crystals()[crystal as usize];
    let layer_mm: f64 = (0..3).map(|axis| centre_mm[axis] * axes[0][axis]).sum();
    let tenths = |mm: f64| (10.0 * mm).round() as i64;
    [tenths(size_mm[0]), tenths(size_mm[1]), tenths(size_mm[2]), layer_mm.round() as i64, centre_mm[2].round() as i64]
}

/// Returns the pairs in coincidence by the efficiencies of the list, if it has some and the crystals are not too many. (In
/// formats with bins, all pairs of the bins are in coincidence; a missing crystal has no delayeds.)
fn pairs_in_coincidence(facts: &ListMetadata, is_counted: impl Fn([u32; 2]) -> bool + Sync) -> Option<PairPartners> {
    let efficiency = facts.efficiency.as_ref().filter(|_| facts.sampling.is_none()).map(Arc::clone)?;
    let num = facts.detectors.crystals().len();
    let is_pair = |first: usize, second: usize| {
        let pair = [first as u32, second as u32];
        efficiency.of(pair) > 0.0 && is_counted(pair)
    };
    (num <= MAX_CRYSTALS).then(|| PairPartners::new(num, is_pair))
}

/// The expected randoms of pairs of crystals, from the delayeds that each crystal took part in.
#[derive(Debug)]
pub struct CrystalRandoms {
    singles: Vec<f64>,
}

impl CrystalRandoms {
    /// Estimates the randoms; `counts` = delayeds of each crystal, and its prompts. `None` if the pairs in coincidence are
    /// unknown: neither efficiencies nor the sampling of a cylinder.
    ///
    /// # Errors
    /// Stopped.
    pub fn new(facts: &ListMetadata, counts: [&[f64]; 2], task: &Task) -> Result<Option<Self>, Stopped> {
        if let Some(partners) = pairs_in_coincidence(facts, |_| true) {
            return Ok(Some(Self { singles: of_pairs(facts, counts, &partners, task)? }));
        }
        let Ok(cylinder) = cylinder_of(facts) else { return Ok(None) };
        let Ok(geometry) = sampling_of(facts, &cylinder, &HistogramSettings::default()) else { return Ok(None) };
        let num_places = cylinder.num_rings * cylinder.num_detectors;
        let mut keys = vec![None; num_places];
        let [mut delayeds, mut prompts] = [0; 2].map(|_| vec![0.0; num_places]);
        for (crystal, (num_delayeds, num_prompts)) in (0..).zip(counts[0].iter().zip(counts[1])) {
            let place = cylinder.place(crystal);
            keys[place] = Some(key(facts, crystal));
            (delayeds[place], prompts[place]) = (*num_delayeds, *num_prompts);
        }
        let similar = SimilarPlaces::new(&keys, &delayeds, &prompts);
        let of_places = smoothed_singles(&delayeds, &similar, &Fans::new(&cylinder, &geometry), task)?;
        let singles = (0..counts[0].len() as u32).map(|crystal| of_places[cylinder.place(crystal)]).collect();
        Ok(Some(Self { singles }))
    }

    /// Returns the expected randoms of a pair.
    pub fn of(&self, [first, second]: [u32; 2]) -> f64 {
        self.singles[first as usize] * self.singles[second as usize]
    }
}
