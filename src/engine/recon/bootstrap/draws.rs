//! Counts of replicates, drawn from counter-based streams: each number depends on the seed, the index of its datum in the order of the
//! study, and the number of the replicate, and so on nothing else.

use std::sync::Arc;

use rand_distr::Distribution as _;
use rayon::prelude::*;

use crate::phantom::poisson;
use crate::random::stream;
use crate::recon::DataProblem;

/// Bits of the index of a datum in the number of a stream. Replicates have higher ones, from 1: a simulation with the same seed draws
/// its noise from the streams below.
const INDEX_BITS: u32 = 40;

/// Number of the thinned counts in place of that of a replicate.
const THINNED: u64 = (1 << (u64::BITS - INDEX_BITS)) - 2;

/// Replicates of the counts of a scan, or of the part p of its time. A run with p < 1 has thinned counts y ~ Binomial(y, p), and replicates
/// y* ~ Poisson(p y) of all counts. Both are divided by p: that is the scan of the shorter time with p times the background and p times the
/// duration, in units of the whole one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Number of replicates.
    pub num: usize,
    /// Seed of all streams.
    pub seed: u64,
    /// p, above 0 and at most 1.
    pub share: f64,
}

impl Bootstrap {
    /// Returns the counts of a replicate, numbered from 0, in the order of those of the study.
    pub fn replicate(&self, replicate: usize, counts: &[f32]) -> Vec<f32> {
        let Self { seed, share, .. } = *self;
        let first = (replicate as u64 + 1) << INDEX_BITS;
        let draw = |(index, &count): (usize, &f32)| match count > 0.0 {
            true => (f64::from(poisson(share * f64::from(count), &mut stream(seed, first | index as u64))) / share) as f32,
            false => 0.0,
        };
        counts.par_iter().enumerate().map(draw).collect()
    }

    /// Returns the counts of the run itself: all of them, or those of the part of the time.
    pub fn of_run(&self, counts: &Arc<Vec<f32>>) -> Arc<Vec<f32>> {
        let Self { seed, share, .. } = *self;
        if share >= 1.0 {
            return Arc::clone(counts);
        }
        let draw = |(index, &count): (usize, &f32)| {
            let thinned = rand_distr::Binomial::new(count.max(0.0) as u64, share);
            let drawn = thinned.map(|thinned| thinned.sample(&mut stream(seed, THINNED << INDEX_BITS | index as u64)));
            (drawn.unwrap_or(0) as f64 / share) as f32
        };
        Arc::new(counts.par_iter().enumerate().map(draw).collect())
    }

    /// Refuses counts that have no part of the time: thinning needs whole numbers.
    ///
    /// # Errors
    /// A count with a fraction, of a part of the time.
    pub fn check(&self, counts: &[f32]) -> Result<(), DataProblem> {
        let fraction = counts.iter().position(|count| count.fract() != 0.0).filter(|_| self.share < 1.0);
        fraction.map_or(Ok(()), |index| Err(DataProblem::FractionalCount { value: counts[index], index }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Bootstrap = Bootstrap { num: 3, seed: 5, share: 1.0 };

    /// Mean and variance.
    fn moments(values: &[f32]) -> [f64; 2] {
        let num = values.len() as f64;
        let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / num;
        [mean, values.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / (num - 1.0)]
    }

    #[test]
    fn weights_have_mean_and_variance_of_their_poisson_distribution() {
        const NUM: usize = 200_000;
        // (Var(s²) = (μ₄ − σ⁴)/n with μ₄ = λ + 3 λ² in units of counts.)
        for (count, share) in [(1.0, 1.0), (7.0, 1.0), (400.0, 1.0), (1.0, 0.25), (12.0, 0.5)] {
            let [mean, variance] = moments(&Bootstrap { share, ..WHOLE }.replicate(1, &[count; NUM]));
            let (count, num) = (f64::from(count), NUM as f64);
            let expected = count / share;
            assert!((mean - count).abs() < 5.0 * (expected / num).sqrt(), "mean {mean} of {count} at {share}");
            let of_counts = share * count;
            let error = ((of_counts + 2.0 * of_counts * of_counts) / num).sqrt() / (share * share);
            assert!((variance - expected).abs() < 5.0 * error, "variance {variance} of {count} at {share}");
        }
    }

    #[test]
    fn thinned_counts_are_those_of_a_part_of_the_time() {
        let counts = Arc::new(vec![20.0f32; 200_000]);
        assert!(Arc::ptr_eq(&WHOLE.of_run(&counts), &counts));
        let part = Bootstrap { share: 0.25, ..WHOLE };
        let [mean, variance] = moments(&part.of_run(&counts));
        // n p (1 − p) / p²
        assert!(
            (mean - 20.0).abs() < 5.0 * (60.0f64 / 200_000.0).sqrt() && (variance / 60.0 - 1.0).abs() < 0.02,
            "{mean} {variance}"
        );
        assert!(part.of_run(&counts).iter().all(|value| *value <= 80.0 && (0.25 * value).fract() == 0.0));
        assert_eq!(part.check(&[1.0, 2.5]), Err(DataProblem::FractionalCount { value: 2.5, index: 1 }));
        assert!(part.check(&counts).is_ok() && WHOLE.check(&[2.5]).is_ok());
    }

    #[test]
    fn replicates_depend_on_seed_index_and_number_alone() {
        let counts: Vec<f32> = (0..5000).map(|bin| (bin % 7) as f32).collect();
        let with = |threads: usize, replicate| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| WHOLE.replicate(replicate, &counts))
        };
        assert_eq!(with(1, 2), with(2, 2));
        assert!(with(1, 1) != with(1, 2) && Bootstrap { seed: 6, ..WHOLE }.replicate(2, &counts) != with(1, 2));
        // A part of the data has the same numbers as in the whole, and bins without counts have none.
        assert_eq!(WHOLE.replicate(2, &counts[..100]), with(1, 2)[..100]);
        assert!(with(1, 2).iter().step_by(7).all(|value| *value == 0.0));
    }

    #[test]
    fn replicates_are_independent_of_the_noise_of_a_simulation_with_the_same_seed() {
        let simulated: Vec<f32> = (0..100_000).map(|bin| poisson(3.0, &mut stream(WHOLE.seed, bin))).collect();
        let replicates = [0, 1].map(|replicate| WHOLE.replicate(replicate, &[3.0; 100_000]));
        let correlation = |a: &[f32], b: &[f32]| {
            let product: f64 = a.iter().zip(b).map(|(a, b)| f64::from((a - 3.0) * (b - 3.0))).sum();
            product / (3.0 * a.len() as f64)
        };
        assert!(replicates.iter().all(|replicate| correlation(&simulated, replicate).abs() < 0.02));
        assert!(correlation(&replicates[0], &replicates[1]).abs() < 0.02);
    }
}
