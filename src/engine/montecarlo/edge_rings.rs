//! Deviation of tubes of response at the edge rings from those inside.
//!
//! One tube represents all ring pairs of a ring difference, as if the heads were infinitely long. At their ends photons escape
//! that would scatter into a neighbour, and none enter from there. This file counts both kinds of ring pairs apart: those with an
//! edge ring, and those without. With E and I the mean tubes of a pair of either kind, added up along the line and over the
//! distances from the axis,
//!
//! ```text
//! Σ E / Σ I − 1     and     √(Σ (E − I)² / Σ I²)
//! ```
//!
//! are the errors of axial translation in the counts of an edge pair, and in their positions. The axis of E points outwards.
//!
//! *Noise is not part of the deviation.* The histories are divided into batches, and squares are products of different batches:
//! their mean is free of noise. Standard errors are jackknife estimates over the batches.

use rayon::prelude::*;

use super::coincidences::Coincidences;
use super::tubes::{Place, sample_at};
use crate::data::TubeSampling;
use crate::random::stream;
use crate::task::{Stopped, Task};

/// Batches of histories.
const NUM_BATCHES: u64 = 64;
/// Histories between two looks at whether to stop.
const HISTORIES_PER_LOOK: u64 = 1 << 12;
/// Number of standard errors from 0 of a significant value.
const SIGNIFICANT: f64 = 2.0;

/// Deviation of tubes of ring pairs with an edge ring from those of the others, for some ring differences.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EdgeDeviation {
    /// First and last |ring difference|.
    pub ring_differences: [usize; 2],
    /// Σ E / Σ I − 1, and its standard error, %.
    pub sum_percent: [f64; 2],
    /// Σ (E − I)² / Σ I² without the part of noise, and its standard error. Where there is no deviation it is now and then negative.
    pub mean_square: [f64; 2],
}

impl EdgeDeviation {
    /// Returns √(Σ (E − I)² / Σ I²) and its standard error, %; `None` if it is not significant.
    pub fn rms_percent(&self) -> Option<[f64; 2]> {
        let [square, error] = self.mean_square;
        (square > SIGNIFICANT * error).then(|| [100.0 * square.sqrt(), 100.0 * 0.5 * error / square.sqrt()])
    }

    /// Returns its upper limit if it is not significant, %.
    pub fn rms_limit_percent(&self) -> f64 {
        let [square, error] = self.mean_square;
        100.0 * (square.max(0.0) + SIGNIFICANT * error).sqrt()
    }
}

/// Counts of some histories, in mm³ of decays.
struct Batch {
    /// `[|ring difference|][across][axial]`, of ring pairs without an edge ring, and of those with one.
    sums: [Vec<f64>; 2],
}

impl Coincidences {
    /// Returns the deviation of tubes at the edge rings: for direct planes, for each third of the ring differences, and for all.
    /// Ring differences without counts of either kind are left out. The result is the same for any number of threads.
    ///
    /// # Errors
    /// Stopped.
    pub fn edge_deviation(
        &self,
        sampling: &TubeSampling,
        num_histories: u64,
        seed: u64,
        task: &Task,
    ) -> Result<Vec<EdgeDeviation>, Stopped> {
        task.begin(num_histories);
        let first = |batch: u64| batch * num_histories / NUM_BATCHES;
        let batches: Vec<Batch> = (0..NUM_BATCHES)
            .into_par_iter()
            .map(|batch| self.batch(sampling, first(batch)..first(batch + 1), seed, task))
            .collect::<Result<_, _>>()?;
        let of = |differences| deviation(&batches, sampling, self.geometry.num_rings, differences);
        Ok(groups(self.geometry.num_rings).into_iter().filter_map(of).collect())
    }

    fn batch(&self, sampling: &TubeSampling, histories: std::ops::Range<u64>, seed: u64, task: &Task) -> Result<Batch, Stopped> {
        let [_, num_across, num_axial] = sampling.num;
        let zeros = || vec![0.0; self.geometry.num_rings * num_across * num_axial];
        let mut batch = Batch { sums: [zeros(), zeros()] };
        for history in histories.clone() {
            if (history - histories.start).is_multiple_of(HISTORIES_PER_LOOK) {
                task.check()?;
                task.advance(HISTORIES_PER_LOOK.min(histories.end - history));
            }
            self.count_by_rings(&mut batch, sampling, seed, history);
        }
        Ok(batch)
    }

    fn count_by_rings(&self, batch: &mut Batch, sampling: &TubeSampling, seed: u64, history: u64) -> Option<()> {
        let mut random = stream(seed, history);
        let start = self.start(&mut random)?;
        let (line, share) = self.count(&start, &mut random)?;
        let Place { ring_difference, offset: [along, across, axial], .. } = Place::of(self, sampling, &line, start.decay)?;
        let [is_first, is_last] = [0, self.geometry.num_rings - 1].map(|edge| line.rings.contains(&edge));
        // Positive towards larger z. Inside there is no outwards: half a turn makes both directions alike.
        let upwards = if line.rings[0] < line.rings[1] { -axial } else { axial };
        let axials: &[f64] = match (is_first, is_last) {
            (false, false) => &[upwards, -upwards],
            (true, _) => &[-upwards],
            (false, true) => &[upwards],
        };
        for axial in axials {
            let Some([_, b, c]) = sample_at(sampling, [along, across, *axial]) else { continue };
            let cell = (ring_difference * sampling.num[1] + b) * sampling.num[2] + c;
            batch.sums[usize::from(is_first || is_last)][cell] += start.weight_mm3 * share / axials.len() as f64;
        }
        Some(())
    }
}

/// Returns the groups: direct planes, each third of the ring differences that have pairs of both kinds, and all of these.
fn groups(num_rings: usize) -> Vec<[usize; 2]> {
    let Some(last) = num_rings.checked_sub(3) else { return Vec::new() };
    let [low, high] = [num_rings / 3, 2 * num_rings / 3];
    let groups = [[0, 0], [1, low.saturating_sub(1)], [low.max(1), high - 1], [high, last], [0, last]];
    let mut groups: Vec<[usize; 2]> = groups.into_iter().map(|[a, b]| [a, b.min(last)]).filter(|[a, b]| a <= b).collect();
    groups.dedup();
    groups
}

/// Returns the figures of some ring differences; `None` where nothing was counted.
fn deviation(batches: &[Batch], sampling: &TubeSampling, num_rings: usize, differences: [usize; 2]) -> Option<EdgeDeviation> {
    let len = sampling.num[1] * sampling.num[2];
    // The mean tubes of a ring pair inside and at the edge, of each batch.
    let of_batch = |batch: &Batch| -> [Vec<f64>; 2] {
        let of_kind = |kind: usize| {
            let of_difference = |difference: usize| {
                let num_pairs = if kind == 0 { num_rings - difference - 2 } else { 2 } as f64;
                batch.sums[kind][difference * len..][..len].iter().map(move |sum| sum / num_pairs)
            };
            (differences[0]..=differences[1]).flat_map(of_difference).collect()
        };
        [of_kind(0), of_kind(1)]
    };
    let of_batches: Vec<[Vec<f64>; 2]> = batches.iter().map(of_batch).collect();
    let sum = |batches: &[&[Vec<f64>; 2]]| {
        let [inside, edge] = [0, 1].map(|kind| batches.iter().map(|batch| batch[kind].iter().sum::<f64>()).sum::<f64>());
        100.0 * (edge / inside - 1.0)
    };
    let mean_square = |batches: &[&[Vec<f64>; 2]]| {
        let off = square(batches, |[inside, edge], cell| edge[cell] - inside[cell]);
        off / square(batches, |[inside, _], cell| inside[cell])
    };
    let found = EdgeDeviation {
        ring_differences: differences,
        sum_percent: jackknife(&of_batches, sum),
        mean_square: jackknife(&of_batches, mean_square),
    };
    [found.sum_percent, found.mean_square].as_flattened().iter().all(|figure| figure.is_finite()).then_some(found)
}

/// Returns Σ over cells of the products of a value in different batches, up to a factor: (Σ v)² − Σ v².
fn square(batches: &[&[Vec<f64>; 2]], value: impl Fn(&[Vec<f64>; 2], usize) -> f64) -> f64 {
    let num_cells = batches.first().map_or(0, |batch| batch[0].len());
    let of_cell = |cell: usize| {
        let (sum, squares) = batches.iter().map(|batch| value(batch, cell)).fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
        sum * sum - squares
    };
    (0..num_cells).map(of_cell).sum()
}

/// Returns a figure of all batches, and its standard error from leaving out each of them in turn.
fn jackknife<T>(batches: &[T], figure: impl Fn(&[&T]) -> f64) -> [f64; 2] {
    let all: Vec<&T> = batches.iter().collect();
    let without = |left_out: usize| {
        let others: Vec<&T> =
            batches.iter().enumerate().filter(|(number, _)| *number != left_out).map(|(_, batch)| batch).collect();
        figure(&others)
    };
    let figures: Vec<f64> = (0..batches.len()).map(without).collect();
    let num = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / num;
    let variance = (num - 1.0) / num * figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>();
    [figure(&all), variance.sqrt()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_is_that_of_its_values() {
        let values = [3.0, 5.0, 4.0, 8.0];
        let [mean, error] = jackknife(&values, |values| values.iter().copied().sum::<f64>() / values.len() as f64);
        // √(Σ (v − 5)² / (n (n − 1)))
        assert!((mean - 5.0).abs() < 1e-12 && (error - (14.0_f64 / 12.0).sqrt()).abs() < 1e-12, "{mean} {error}");
    }

    #[test]
    fn ring_differences_are_grouped_in_thirds() {
        assert_eq!(groups(30), [[0, 0], [1, 9], [10, 19], [20, 27], [0, 27]]);
        assert_eq!(groups(4), [[0, 0], [1, 1], [0, 1]]);
        assert_eq!(groups(3), [[0, 0]]);
        assert!(groups(2).is_empty());
    }

    #[test]
    fn noise_is_no_deviation() {
        let of = |mean_square| EdgeDeviation { ring_differences: [0, 0], sum_percent: [0.0, 1.0], mean_square };
        assert_eq!(of([0.01, 0.002]).rms_percent(), Some([10.0, 1.0]));
        assert_eq!(of([0.003, 0.002]).rms_percent(), None);
        assert_eq!(of([-0.003, 0.0002]).rms_limit_percent(), 2.0);
    }
}
