//! Randoms out of delayed coincidences, smoothed.
//!
//! Two crystals that count singles independently have D_ij = d_i d_j expected delayeds, whatever their efficiencies: these are in
//! the singles already, so that randoms belong to the additive term and no factor is applied to them. Of all pairs in coincidence
//! one crystal takes part in so many that d_i is known far better than any D_ij. The most likely d of Poisson counts solve
//!
//! ```text
//! d_i = Σ_j∈J(i) D_ij / Σ_j∈J(i) d_j,     J(i): the crystals in coincidence with i
//! ```
//!
//! (fan sums: Defrise et al. 1991, Phys Med Biol 36:939; Badawi et al. 1999, Phys Med Biol 44:571). The estimate has as many
//! randoms as there were delayeds.

use std::ops::RangeInclusive;

use rayon::prelude::*;

use crate::scanner::{Cylinder, ScanGeometry};
use crate::task::{Stopped, Task};

/// Iterations end when no d changes by more than this part.
const ENOUGH: f64 = 1e-7;
const MOST_ITERATIONS: usize = 500;

/// Which of some places (or crystals) are in coincidence with each other.
pub trait Partners {
    /// For each place the sum of the values of those in coincidence with it.
    fn sums(&self, values: &[f64]) -> Vec<f64>;
}

/// The most likely d of each place, from the delayeds that each took part in. Places without any have none.
///
/// # Errors
/// Stopped.
pub fn most_likely_singles(counts: &[f64], partners: &impl Partners, task: &Task) -> Result<Vec<f64>, Stopped> {
    // As if all were alike.
    let num_partners: f64 = partners.sums(&vec![1.0; counts.len()]).iter().sum();
    let mean = counts.iter().sum::<f64>() / num_partners.max(1.0);
    let mut singles: Vec<f64> = counts.iter().map(|count| if *count > 0.0 { mean.sqrt() } else { 0.0 }).collect();
    for _ in 0..MOST_ITERATIONS {
        task.check()?;
        let sums = partners.sums(&singles);
        let mut change = 0.0f64;
        for (single, (count, sum)) in singles.iter_mut().zip(counts.iter().zip(&sums)).filter(|(_, (count, _))| **count > 0.0) {
            let wanted = if *sum > 0.0 { count / sum } else { 0.0 };
            change = change.max((wanted / single.max(f64::MIN_POSITIVE) - 1.0).abs());
            // Between both: `wanted` alone swings about the solution.
            *single = (*single * wanted).sqrt();
        }
        if change < ENOUGH {
            break;
        }
    }
    Ok(singles)
}

/// Any pairs, a bit for each.
pub struct PairPartners {
    num: usize,
    bits: Vec<u64>,
}

impl PairPartners {
    /// Those of `num` for which `is_pair` holds, whichever of the two stands first.
    pub fn new(num: usize, is_pair: impl Fn(usize, usize) -> bool + Sync) -> Self {
        let words = num.div_ceil(64);
        let mut bits = vec![0u64; num * words];
        bits.par_chunks_mut(words.max(1)).enumerate().for_each(|(one, row)| {
            (0..num).filter(|&other| other != one && is_pair(one, other)).for_each(|other| row[other / 64] |= 1 << (other % 64));
        });
        Self { num, bits }
    }

    /// Whether two are a pair.
    pub fn is_pair(&self, [one, other]: [usize; 2]) -> bool {
        self.bits[one * self.num.div_ceil(64) + other / 64] >> (other % 64) & 1 != 0
    }
}

impl Partners for PairPartners {
    fn sums(&self, values: &[f64]) -> Vec<f64> {
        let sum_of = |row: &[u64]| {
            let mut sum = 0.0;
            for (word, values) in row.iter().zip(values.chunks(64)) {
                sum += values.iter().enumerate().map(|(k, value)| if word >> k & 1 != 0 { *value } else { 0.0 }).sum::<f64>();
            }
            sum
        };
        self.bits.par_chunks(self.num.div_ceil(64).max(1)).map(sum_of).collect()
    }
}

/// The places of a cylinder within the bins of a histogram, whether there are crystals at them or not.
pub struct Fans {
    num_rings: usize,
    num: usize,
    largest_difference: usize,
    /// How far ahead of a detector the others of its fan are.
    ahead: RangeInclusive<usize>,
    /// Pairs of detectors that are in coincidence although the same distance ahead and behind is not wholly: where the number of
    /// tangential positions is even.
    odd_ones: Vec<[usize; 2]>,
}

impl Fans {
    /// Of the bins of this sampling ([`Cylinder::geometry`]).
    pub fn new(cylinder: &Cylinder, geometry: &ScanGeometry) -> Self {
        let (num, num_tangential) = (cylinder.num_detectors, geometry.num_tangential);
        let largest_difference = geometry.segments.iter().map(|segment| segment.max_ring_difference.unsigned_abs()).max();
        let reach = (num_tangential - 1) / 2;
        let first = geometry.tangential_index(0) as i32;
        let views = if num_tangential.is_multiple_of(2) { 0..geometry.num_views } else { 0..0 };
        Self {
            num_rings: cylinder.num_rings,
            num,
            largest_difference: largest_difference.unwrap_or(0) as usize,
            ahead: num / 2 - reach..=num / 2 + reach,
            odd_ones: views.map(|view| cylinder.detectors(view, first)).collect(),
        }
    }

    /// For each ring and detector the sum over that detector of all rings in coincidence.
    fn over_rings(&self, values: &[f64]) -> Vec<f64> {
        let num = self.num;
        let mut sums = vec![0.0; values.len()];
        for (ring, sums) in sums.chunks_exact_mut(num).enumerate() {
            let last = (ring + self.largest_difference).min(self.num_rings - 1);
            for row in values.chunks_exact(num).take(last + 1).skip(ring.saturating_sub(self.largest_difference)) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
        }
        sums
    }
}

impl Partners for Fans {
    fn sums(&self, values: &[f64]) -> Vec<f64> {
        let num = self.num;
        let over_rings = self.over_rings(values);
        let mut sums = vec![0.0; values.len()];
        for (sums, row) in sums.chunks_exact_mut(num).zip(over_rings.chunks_exact(num)) {
            let mut running = vec![0.0; 2 * num + 1];
            for k in 0..2 * num {
                running[k + 1] = running[k] + row[k % num];
            }
            for (detector, sum) in sums.iter_mut().enumerate() {
                *sum = running[detector + self.ahead.end() + 1] - running[detector + self.ahead.start()];
            }
            for &[a, b] in &self.odd_ones {
                sums[a] += row[b];
                sums[b] += row[a];
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand_distr::Distribution as _;

    use super::*;
    use crate::data::{EventHistogram, Events};
    use crate::scanner::find;

    fn histogram(num_tangential: usize, span: usize) -> EventHistogram {
        let cylinder = Arc::new(Cylinder::of(&find("small").unwrap().geometry));
        let geometry = Arc::new(cylinder.geometry("small", num_tangential, 5, span, 60.0).unwrap());
        EventHistogram::new(cylinder, geometry)
    }

    /// Singles of very unequal crystals, one of them dead.
    fn singles(place: usize) -> f64 {
        if place == 77 { 0.0 } else { 0.2 + (place % 13) as f64 * 0.07 + if place / 96 == 3 { 0.5 } else { 0.0 } }
    }

    #[test]
    fn fans_hold_what_the_bins_hold() {
        for (num_tangential, span) in [(61, 1), (60, 1), (60, 3)] {
            let histogram = histogram(num_tangential, span);
            let values: Vec<f64> = (0..768).map(singles).collect();
            let mut expected = vec![0.0; values.len()];
            histogram.for_each_pair(|_, [a, b]| {
                expected[a] += values[b];
                expected[b] += values[a];
            });
            for (found, expected) in Fans::new(histogram.cylinder(), histogram.geometry()).sums(&values).iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9 * expected, "{num_tangential}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn few_delayeds_give_the_randoms_that_many_would() {
        let mut random = crate::random::stream(5, 0);
        let mut delayeds = histogram(61, 1);
        let (mut expected, mut pairs) = (vec![0.0; delayeds.counts().len()], Vec::new());
        delayeds.for_each_pair(|bin, [a, b]| {
            expected[bin] = 0.1 * singles(a) * singles(b);
            let num = if expected[bin] > 0.0 {
                rand_distr::Poisson::new(expected[bin]).unwrap().sample(&mut random) as usize
            } else {
                0
            };
            pairs.extend(std::iter::repeat_n([a as u32, b as u32], num));
        });
        let num = pairs.len() as f64;
        delayeds.add(&Events { pairs, ..Events::default() });
        let singles =
            most_likely_singles(delayeds.counts_of_places(), &Fans::new(delayeds.cylinder(), delayeds.geometry()), &Task::new())
                .unwrap();
        let mut found = vec![0.0; expected.len()];
        delayeds.for_each_pair(|bin, ends| found[bin] += (singles[ends[0]] * singles[ends[1]]) as f32);
        let cylinder = Arc::clone(delayeds.cylinder());
        let partners = PairPartners::new(768, |a, b| a % 96 != b % 96 && delayeds.bin([a as u32, b as u32]).is_some());
        let again = most_likely_singles(delayeds.counts_of_places(), &partners, &Task::new()).unwrap();
        assert_eq!(cylinder.num_gaps(), 0);
        assert!(singles.iter().zip(&again).all(|(a, b)| (a - b).abs() <= 1e-5 * a));
        let total: f64 = found.iter().map(|&v| f64::from(v)).sum();
        assert!((total / num - 1.0).abs() < 1e-5, "{total} of {num}");
        // A crystal has some 18 delayeds, so that the product of two is known to 33 %; a bin alone has 0.04.
        let squares = |of: &dyn Fn(usize) -> f64| (0..expected.len()).map(|bin| (of(bin) - expected[bin]).powi(2)).sum::<f64>();
        let size: f64 = expected.iter().map(|v| v * v).sum();
        let (smoothed, raw) =
            (squares(&|bin| f64::from(found[bin])) / size, squares(&|bin| f64::from(delayeds.counts()[bin])) / size);
        assert!(smoothed.sqrt() < 0.36 && raw.sqrt() > 3.0, "{smoothed} {raw}");
        delayeds.for_each_pair(|bin, [a, b]| assert!((a != 77 && b != 77) || found[bin] == 0.0));
    }
}
