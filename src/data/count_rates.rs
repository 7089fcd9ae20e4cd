//! Counts per second over the time of a scan, however long that is.

/// Bins of time at most.
const MOST_BINS: usize = 512;

/// Counts in equal bins of time, which grow wider as the scan grows longer.
#[derive(Clone, Debug, PartialEq)]
pub struct CountRates {
    bin_ms: u64,
    /// Prompts and delayeds of each bin.
    counts: [Vec<u64>; 2],
}

impl Default for CountRates {
    fn default() -> Self {
        Self { bin_ms: 10, counts: [Vec::new(), Vec::new()] }
    }
}

impl CountRates {
    /// Counts prompts and delayeds at these times, ms.
    pub fn add(&mut self, prompts_ms: &[u32], delayeds_ms: &[u32]) {
        for (kind, times_ms) in [prompts_ms, delayeds_ms].into_iter().enumerate() {
            for &time_ms in times_ms {
                while u64::from(time_ms) / self.bin_ms >= MOST_BINS as u64 {
                    self.widen();
                }
                let bin = (u64::from(time_ms) / self.bin_ms) as usize;
                if bin >= self.counts[kind].len() {
                    self.counts[kind].resize(bin + 1, 0);
                }
                self.counts[kind][bin] += 1;
            }
        }
    }

    fn widen(&mut self) {
        self.bin_ms *= 2;
        for counts in &mut self.counts {
            *counts = counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    /// Seconds and counts per second of the prompts, then of the delayeds: at the middles of the bins.
    pub fn curves(&self) -> [Vec<[f64; 2]>; 2] {
        let secs = 1e-3 * self.bin_ms as f64;
        let curve =
            |counts: &Vec<u64>| (0..).zip(counts).map(|(bin, &num)| [(f64::from(bin) + 0.5) * secs, num as f64 / secs]).collect();
        [curve(&self.counts[0]), curve(&self.counts[1])]
    }

    /// Width of a bin, s.
    pub fn bin_secs(&self) -> f64 {
        1e-3 * self.bin_ms as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_when_bins_grow_wider() {
        let mut rates = CountRates::default();
        let times: Vec<u32> = (0..100_000).collect();
        times.chunks(7000).for_each(|times| rates.add(times, &times[..times.len() / 2]));
        let [prompts, delayeds] = rates.curves();
        assert!(prompts.len() <= MOST_BINS && rates.bin_secs() == 0.32);
        let total = |curve: &[[f64; 2]]| curve.iter().map(|point| point[1]).sum::<f64>() * rates.bin_secs();
        assert!((total(&prompts) - 100_000.0).abs() < 1e-6 && (total(&delayeds) - 50_000.0).abs() < 1e-6);
        assert!(prompts[..prompts.len() - 1].iter().all(|point| (point[1] - 1000.0).abs() < 1e-9));
    }
}
