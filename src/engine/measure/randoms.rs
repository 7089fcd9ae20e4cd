//! Randoms from delayed coincidences, smoothed.
//!
//! Two crystals that count singles independently have D_ij = d_i d_j expected delayeds, for any efficiencies: the singles include
//! them, so that randoms belong to the additive term and no factor is applied to them. One crystal is part of many pairs in
//! coincidence, so that d_i is far more precise than any D_ij. With n_i delayeds of crystal i, Poisson counts have
//!
//! ```text
//! n_i ~ Poisson(d_i S_i),     S_i = Σ_j∈J(i) d_j,     J(i): the crystals in coincidence with i
//! ```
//!
//! (fan sums: Defrise et al. 1991, Phys Med Biol 36:939; Badawi et al. 1999, Phys Med Biol 44:571). The most likely d_i = n_i /
//! S_i is 0 for every crystal without a delayed. So similar crystals share information: d_i has a Gamma prior, whose mean r_i is
//! that of similar crystals and whose relative variance v is the one of the counts beyond Poisson's. Then
//!
//! ```text
//! d_i = r_i (1 + v n_i) / (1 + v r_i S_i)
//! ```
//!
//! is r_i for few delayeds and n_i / S_i for many. Within a group of similar crystals (a ring) the prompts show differences: r_i
//! is the group's mean times 1 + β(q_i − 1), where q_i is the crystal's part of the group's prompts and β is fitted to the
//! delayeds. By this fit the mean over the prompts' crystals is the delayeds' own and no smaller, although efficient crystals
//! have more prompts. The estimate has as many randoms as there were delayeds.

use std::ops::RangeInclusive;

use rayon::prelude::*;

use crate::scanner::{Cylinder, ScanGeometry};
use crate::task::{Stopped, Task};

/// Iterations end when no d changes by more than this part.
const TOLERANCE: f64 = 1e-7;
const MAX_ITERATIONS: usize = 500;

/// Which of some places (or crystals) are in coincidence with each other.
pub trait Partners {
    /// Returns for each place the sum of the values of those in coincidence with it.
    fn sums(&self, values: &[f64]) -> Vec<f64>;
}

/// Information about places in addition to their delayeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimilarPlaces {
    /// Number of each place's group of places alike; `None` where there is no crystal.
    group: Vec<Option<usize>>,
    /// Prompts of each place, and one more, so that one place without any is not excluded by that.
    prompts: Vec<f64>,
}

impl SimilarPlaces {
    /// Delayeds of a group at least, so that its mean is known to 10 %.
    const MIN_COUNTS: f64 = 100.0;

    /// Groups places with the same key; keys that follow each other are taken together where they have few delayeds.
    /// `prompts` has the prompts of each place, or nothing.
    pub fn new<K: Ord>(keys: &[Option<K>], counts: &[f64], prompts: &[f64]) -> Self {
        let mut places: Vec<(&K, usize)> = keys.iter().zip(0..).filter_map(|(key, place)| Some((key.as_ref()?, place))).collect();
        places.sort_unstable();
        let mut group = vec![None; keys.len()];
        let left = |from: usize| places[from..].iter().map(|(_, place)| counts[*place]).sum::<f64>();
        let (mut number, mut sum, mut rest) = (0, 0.0, left(0));
        for (index, &(key, place)) in places.iter().enumerate() {
            let is_new_key = index > 0 && places[index - 1].0 != key;
            if is_new_key && sum >= Self::MIN_COUNTS && rest >= Self::MIN_COUNTS {
                (number, sum) = (number + 1, 0.0);
            }
            group[place] = Some(number);
            (sum, rest) = (sum + counts[place], rest - counts[place]);
        }
        Self { group, prompts: (0..keys.len()).map(|place| 1.0 + prompts.get(place).copied().unwrap_or(0.0)).collect() }
    }

    /// Returns the prior of each place, given its fan sum: mean of d, and the relative variance.
    fn prior(&self, counts: &[f64], sums: &[f64]) -> (Vec<f64>, f64) {
        let num_groups = self.group.iter().flatten().max().map_or(0, |last| last + 1);
        // Of each group: delayeds, and fan sums without and with the prompts.
        let mut of_groups = vec![[0.0; 3]; num_groups];
        let places = || self.group.iter().enumerate().filter_map(|(place, group)| Some((place, (*group)?)));
        for (place, group) in places() {
            let terms = [counts[place], sums[place], sums[place] * self.prompts[place]];
            of_groups[group].iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let mut means = vec![0.0; counts.len()];
        let mut parts = vec![0.0; counts.len()];
        for (place, group) in places() {
            let [counts, sum, with_prompts] = of_groups[group];
            means[place] = ratio(counts, sum);
            parts[place] = self.prompts[place] * ratio(sum, with_prompts) - 1.0;
        }
        let [mut covariance, mut variance] = [0.0; 2];
        for place in 0..counts.len() {
            let expected = means[place] * sums[place];
            covariance += (counts[place] - expected) * parts[place];
            variance += expected * parts[place].powi(2);
        }
        let share = ratio(covariance, variance).clamp(0.0, 1.0);
        means.iter_mut().zip(&parts).for_each(|(mean, part)| *mean *= 1.0 + share * part);
        let [mut excess, mut squares] = [0.0; 2];
        for (place, _) in places() {
            let expected = means[place] * sums[place];
            excess += (counts[place] - expected).powi(2) - expected;
            squares += expected.powi(2);
        }
        (means, ratio(excess, squares).max(0.0))
    }
}

/// Returns d of each place, from the delayeds that each took part in. Places without a crystal, and those in coincidence with none, have none.
///
/// # Errors
/// Stopped.
pub fn smoothed_singles(
    counts: &[f64],
    similar: &SimilarPlaces,
    partners: &impl Partners,
    task: &Task,
) -> Result<Vec<f64>, Stopped> {
    // As if all were alike.
    let ones: Vec<f64> = similar.group.iter().map(|group| f64::from(u8::from(group.is_some()))).collect();
    let num_partners: f64 = partners.sums(&ones).iter().zip(&ones).map(|(sum, one)| sum * one).sum();
    let mean = (counts.iter().sum::<f64>() / num_partners.max(1.0)).sqrt();
    let mut singles: Vec<f64> = ones.iter().map(|one| mean * one).collect();
    for _ in 0..MAX_ITERATIONS {
        task.check()?;
        let sums = partners.sums(&singles);
        let (means, variance) = similar.prior(counts, &sums);
        let mut change = 0.0f64;
        for (place, single) in singles.iter_mut().enumerate() {
            let wanted = means[place] * (1.0 + variance * counts[place]) / (1.0 + variance * means[place] * sums[place]);
            if wanted > 0.0 && sums[place] > 0.0 && *single > 0.0 {
                change = change.max((wanted / *single - 1.0).abs());
                // Between both: `wanted` alone swings about the solution.
                *single = (*single * wanted).sqrt();
            } else {
                *single = 0.0;
            }
        }
        if change < TOLERANCE {
            break;
        }
    }
    let expected: f64 = partners.sums(&singles).iter().zip(&singles).map(|(sum, single)| sum * single).sum();
    let scale = if expected > 0.0 { (counts.iter().sum::<f64>() / expected).sqrt() } else { 0.0 };
    singles.iter_mut().for_each(|single| *single *= scale);
    Ok(singles)
}

/// Any pairs, a bit for each.
pub struct PairPartners {
    num: usize,
    bits: Vec<u64>,
}

impl PairPartners {
    /// Returns those of `num` for which `is_pair` holds, in either order.
    pub fn new(num: usize, is_pair: impl Fn(usize, usize) -> bool + Sync) -> Self {
        let words = num.div_ceil(64);
        let mut bits = vec![0u64; num * words];
        bits.par_chunks_mut(words.max(1)).enumerate().for_each(|(one, row)| {
            (0..num).filter(|&other| other != one && is_pair(one, other)).for_each(|other| row[other / 64] |= 1 << (other % 64));
        });
        Self { num, bits }
    }

    /// Returns true if two are a pair.
    pub fn is_pair(&self, [one, other]: [usize; 2]) -> bool {
        self.bits[one * self.num.div_ceil(64) + other / 64] >> (other % 64) & 1 != 0
    }
}

impl Partners for PairPartners {
    fn sums(&self, values: &[f64]) -> Vec<f64> {
        // Crystals of a module follow each other and mostly have the same partners: most words have no bit or all.
        let of_words: Vec<f64> = values.chunks(64).map(|values| values.iter().sum()).collect();
        let sum_of = |row: &[u64]| {
            let mut sum = 0.0;
            for ((&word, values), whole) in row.iter().zip(values.chunks(64)).zip(&of_words) {
                sum += match word {
                    0 => 0.0,
                    u64::MAX => *whole,
                    _ => sum_of_bits(word, values),
                };
            }
            sum
        };
        self.bits.par_chunks(self.num.div_ceil(64).max(1)).map(sum_of).collect()
    }
}

/// Returns Σ of the values whose bits are set.
fn sum_of_bits(mut word: u64, values: &[f64]) -> f64 {
    let mut sum = 0.0;
    while word != 0 {
        sum += values[word.trailing_zeros() as usize];
        word &= word - 1;
    }
    sum
}

/// The places of a cylinder within the bins of a histogram, whether there are crystals at them or not.
pub struct Fans {
    num_rings: usize,
    num: usize,
    largest_difference: usize,
    /// Distances from a detector to the others of its fan.
    ahead: RangeInclusive<usize>,
    /// Pairs of detectors that are in coincidence although the same distance ahead and behind is not wholly: where the number of
    /// tangential positions is even.
    odd_ones: Vec<[usize; 2]>,
}

impl Fans {
    /// Returns the fans of this sampling ([`Cylinder::geometry`]).
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

    /// Returns for each ring and detector the sum over that detector of all rings in coincidence.
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
    use rand_philox::{Philox, u32_to_unit_f64};

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
    fn fans_match_the_bins() {
        for (num_tangential, span) in [(61, 1), (60, 1), (60, 3)] {
            let histogram = histogram(num_tangential, span);
            let values: Vec<f64> = (0..768).map(singles).collect();
            let mut expected = vec![0.0; values.len()];
            histogram.for_each_pair(|_, [a, b]| {
                expected[a] += values[b];
                expected[b] += values[a];
            });
            for (found, expected) in Fans::new(&histogram.cylinder, &histogram.geometry).sums(&values).iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9 * expected, "{num_tangential}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn few_delayeds_give_the_randoms_that_many_would() {
        let mut random = crate::random::stream(5, 0);
        let mut delayeds = histogram(61, 1);
        let (mut expected, mut pairs) = (vec![0.0; delayeds.counts.len()], Vec::new());
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
        let rings: Vec<Option<usize>> = (0..768).map(|place| Some(place / 96)).collect();
        // Prompts show which crystal is dead.
        let prompts: Vec<f64> = (0..768).map(|place| (400.0 * singles(place)).round()).collect();
        delayeds.add(&Events { pairs, ..Events::default() });
        let similar = SimilarPlaces::new(&rings, &delayeds.counts_of_places, &prompts);
        let singles = smoothed_singles(
            &delayeds.counts_of_places,
            &similar,
            &Fans::new(&delayeds.cylinder, &delayeds.geometry),
            &Task::new(),
        )
        .unwrap();
        let mut found = vec![0.0; expected.len()];
        delayeds.for_each_pair(|bin, ends| found[bin] += (singles[ends[0]] * singles[ends[1]]) as f32);
        let cylinder = Arc::clone(&delayeds.cylinder);
        let partners = PairPartners::new(768, |a, b| a % 96 != b % 96 && delayeds.bin([a as u32, b as u32]).is_some());
        let again = smoothed_singles(&delayeds.counts_of_places, &similar, &partners, &Task::new()).unwrap();
        assert_eq!(cylinder.num_gaps(), 0);
        assert!(singles.iter().zip(&again).all(|(a, b)| (a - b).abs() <= 1e-5 * a));
        let total: f64 = found.iter().map(|&v| f64::from(v)).sum();
        assert!((total / num - 1.0).abs() < 1e-5, "{total} of {num}");
        // A crystal has some 18 delayeds, so that the product of two is known to 33 %; a bin alone has 0.04.
        let squares = |of: &dyn Fn(usize) -> f64| (0..expected.len()).map(|bin| (of(bin) - expected[bin]).powi(2)).sum::<f64>();
        let size: f64 = expected.iter().map(|v| v * v).sum();
        let (smoothed, raw) =
            (squares(&|bin| f64::from(found[bin])) / size, squares(&|bin| f64::from(delayeds.counts[bin])) / size);
        assert!(smoothed.sqrt() < 0.36 && raw.sqrt() > 3.0, "{smoothed} {raw}");
        delayeds.for_each_pair(|bin, [a, b]| assert!((a != 77 && b != 77) || found[bin] < 0.004, "{}", found[bin]));
    }

    /// Pairs of places, drawn in proportion to weights.
    fn drawn(num: usize, pairs: &[[usize; 2]], weight: impl Fn([usize; 2]) -> f64, random: &mut Philox) -> Vec<[usize; 2]> {
        let mut sum = 0.0;
        let sums: Vec<f64> = pairs
            .iter()
            .map(|&pair| {
                sum += weight(pair);
                sum
            })
            .collect();
        let draw = |_| {
            let place = sum * u32_to_unit_f64(random.next_u32());
            pairs[sums.partition_point(|below| *below <= place)]
        };
        (0..num).map(draw).collect()
    }

    fn counts_of(pairs: &[[usize; 2]]) -> Vec<f64> {
        let mut counts = vec![0.0; 768];
        pairs.iter().flatten().for_each(|place| counts[*place] += 1.0);
        counts
    }

    #[test]
    fn a_thousand_delayeds_on_800_crystals_are_unbiased_and_leave_no_prompt_without_randoms() {
        let histogram = histogram(61, 1);
        let cylinder = Arc::clone(&histogram.cylinder);
        let fans = Fans::new(&cylinder, &histogram.geometry);
        let mut pairs = Vec::new();
        histogram.for_each_pair(|_, pair| pairs.push(pair));
        // Crystals count differently well, 16 % (one standard deviation); more singles are in the middle.
        let efficiency = |place: usize| if place == 77 { 0.0 } else { 0.6 + 0.04 * ((7 * place) % 11) as f64 };
        let single = |place: usize| efficiency(place) * (1.0 - 0.02 * ((place / 96) as f64 - 3.5).powi(2));
        let rings: Vec<Option<usize>> = (0..768).map(|place| Some(place / 96)).collect();
        // Prompts come from the whole bore, and from a small object beside the axis.
        let at = |place: usize| {
            let (sin, cos) = (std::f64::consts::TAU * (place % 96) as f64 / 96.0).sin_cos();
            [cylinder.radius_mm * sin, -cylinder.radius_mm * cos]
        };
        let distance = |[a, b]: [usize; 2], [x, y]: [f64; 2]| {
            let ([ax, ay], [bx, by]) = (at(a), at(b));
            let (dx, dy) = (bx - ax, by - ay);
            ((x - ax) * dy - (y - ay) * dx).abs() / dx.hypot(dy)
        };
        for is_small in [false, true] {
            let seen =
                |pair: [usize; 2]| if is_small && distance(pair, [0.3 * cylinder.radius_mm, 10.0]) > 12.0 { 0.0 } else { 1.0 };
            let mut random = crate::random::stream(7, u64::from(is_small));
            let prompts = drawn(18_500, &pairs, |[a, b]| efficiency(a) * efficiency(b) * seen([a, b]), &mut random);
            let of_prompts = counts_of(&prompts);
            let scale = 1000.0 / pairs.iter().map(|[a, b]| single(*a) * single(*b)).sum::<f64>();
            let expected: f64 = prompts.iter().map(|[a, b]| scale * single(*a) * single(*b)).sum();
            let [mut sum, mut squares, mut squares_expected] = [0.0; 3];
            for _ in 0..100 {
                let counts = counts_of(&drawn(1000, &pairs, |[a, b]| single(a) * single(b), &mut random));
                let similar = SimilarPlaces::new(&rings, &counts, &of_prompts);
                let singles = smoothed_singles(&counts, &similar, &fans, &Task::new()).unwrap();
                let of = |[a, b]: [usize; 2]| singles[a] * singles[b];
                let total: f64 = pairs.iter().map(|pair| of(*pair)).sum();
                assert!((total / 1000.0 - 1.0).abs() < 1e-6, "{total}");
                let part = |pair: &[usize; 2]| of(*pair) / (scale * single(pair[0]) * single(pair[1]));
                let least = prompts.iter().min_by(|a, b| part(a).total_cmp(&part(b))).unwrap();
                assert!(
                    part(least) > 0.1,
                    "{least:?}: {} {:?}",
                    part(least),
                    least.map(|place| (singles[place], of_prompts[place]))
                );
                sum += prompts.iter().map(|pair| of(*pair)).sum::<f64>();
                squares +=
                    prompts.iter().map(|pair| (of(*pair) - scale * single(pair[0]) * single(pair[1])).powi(2)).sum::<f64>();
                squares_expected += prompts.iter().map(|pair| (scale * single(pair[0]) * single(pair[1])).powi(2)).sum::<f64>();
            }
            let bias = sum / 100.0 / expected - 1.0;
            let error = (squares / squares_expected).sqrt();
            println!("{is_small}: bias {bias:.4}, error {error:.3}");
            assert!(bias.abs() < 0.02, "{bias}");
            // Alone, a crystal with 2.6 delayeds is known to 62 %, a pair to 88 %.
            assert!(error < 0.25, "{error}");
        }
    }

    #[test]
    fn many_delayeds_are_the_most_likely_ones() {
        let histogram = histogram(61, 1);
        let fans = Fans::new(&histogram.cylinder, &histogram.geometry);
        let values: Vec<f64> = (0..768).map(|place| 100.0 * singles(place)).collect();
        // As many as expected, so that the most likely singles are these.
        let counts: Vec<f64> = fans.sums(&values).iter().zip(&values).map(|(sum, value)| sum * value).collect();
        let rings: Vec<Option<usize>> = (0..768).map(|place| Some(place / 96)).collect();
        let found = smoothed_singles(&counts, &SimilarPlaces::new(&rings, &counts, &[]), &fans, &Task::new()).unwrap();
        for (place, (found, value)) in found.iter().zip(&values).enumerate() {
            assert!((found - value).abs() <= 1e-3 * value.max(1.0), "{place}: {found}, not {value}");
        }
    }

    #[test]
    fn few_delayeds_of_a_ring_are_taken_together_with_the_next() {
        let keys: Vec<Option<u8>> = vec![Some(3), Some(1), None, Some(2), Some(1), Some(4)];
        let similar = SimilarPlaces::new(&keys, &[50.0, 90.0, 0.0, 80.0, 20.0, 60.0], &[]);
        assert_eq!(similar.group, [Some(1), Some(0), None, Some(1), Some(0), Some(1)]);
        let similar = SimilarPlaces::new(&keys, &[1.0; 6], &[2.0; 6]);
        assert!(similar.group.iter().flatten().all(|group| *group == 0) && similar.prompts == [3.0; 6]);
    }
}
