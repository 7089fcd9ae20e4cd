//! Counts per second over the time of a scan, however long that is.

use std::ops::Range;

use super::chunk::EventChunk;
use super::scan_time::ScanTime;

/// Bins of time at most.
const MAX_BINS: usize = 512;

/// Counts in equal bins of time, which grow wider as the scan grows longer.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CountRates {
    bin_ms: u64,
    /// Prompts and delayeds of each bin.
    counts: [Vec<f64>; 2],
}

impl Default for CountRates {
    fn default() -> Self {
        Self { bin_ms: 10, counts: [Vec::new(), Vec::new()] }
    }
}

impl CountRates {
    /// Counts the events of a piece; those of a time block are spread evenly over it.
    pub fn add(&mut self, chunk: &EventChunk, time: &ScanTime) {
        for (kind, events) in [&chunk.prompts, &chunk.delayeds].into_iter().enumerate() {
            for same in events.times_ms.chunk_by(|a, b| a == b) {
                self.spread(kind, time.interval_ms(same[0]).map(u64::from), same.len() as f64);
            }
        }
    }

    fn spread(&mut self, kind: usize, [begin, end]: [u64; 2], num: f64) {
        // An interval without length is one ms.
        let end = end.max(begin + 1);
        while (end - 1) / self.bin_ms >= MAX_BINS as u64 {
            self.widen();
        }
        let bins = begin / self.bin_ms..=(end - 1) / self.bin_ms;
        let counts = &mut self.counts[kind];
        if *bins.end() as usize >= counts.len() {
            counts.resize(*bins.end() as usize + 1, 0.0);
        }
        for bin in bins {
            let inside = end.min((bin + 1) * self.bin_ms) - begin.max(bin * self.bin_ms);
            counts[bin as usize] += num * inside as f64 / (end - begin) as f64;
        }
    }

    fn widen(&mut self) {
        self.bin_ms *= 2;
        for counts in &mut self.counts {
            *counts = counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    /// Returns the seconds and counts per second of the prompts, then of the delayeds: at the middles of the bins.
    pub fn curves(&self) -> [Vec<[f64; 2]>; 2] {
        let secs = self.bin_secs();
        let curve =
            |counts: &Vec<f64>| (0..).zip(counts).map(|(bin, &num)| [(f64::from(bin) + 0.5) * secs, num / secs]).collect();
        [curve(&self.counts[0]), curve(&self.counts[1])]
    }

    /// Returns true if a prompt was counted in a frame, ms, or in a bin that overlaps it.
    pub fn has_prompts_in(&self, frame_ms: &Range<u32>) -> bool {
        let bins = u64::from(frame_ms.start) / self.bin_ms..u64::from(frame_ms.end).div_ceil(self.bin_ms);
        !frame_ms.is_empty() && (0..).zip(&self.counts[0]).any(|(bin, num)| bins.contains(&bin) && *num > 0.0)
    }

    /// Returns true for valid rates: a positive bin width, and at most the maximum number of bins.
    pub fn is_valid(&self) -> bool {
        let are_counts = |counts: &Vec<f64>| counts.len() <= MAX_BINS && counts.iter().all(|num| *num >= 0.0 && num.is_finite());
        (1..=1 << 32).contains(&self.bin_ms) && self.counts.iter().all(are_counts)
    }

    /// Returns the width of a bin, s.
    pub fn bin_secs(&self) -> f64 {
        1e-3 * self.bin_ms as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::events::chunk::Events;

    fn chunk(times_ms: &[u32], delayed_ms: &[u32], intervals_ms: Vec<[u32; 2]>) -> EventChunk {
        let events = |times_ms: &[u32]| Events { times_ms: times_ms.to_vec(), ..Events::default() };
        EventChunk { prompts: events(times_ms), delayeds: events(delayed_ms), intervals_ms }
    }

    fn total(rates: &CountRates, curve: &[[f64; 2]]) -> f64 {
        curve.iter().map(|point| point[1]).sum::<f64>() * rates.bin_secs()
    }

    #[test]
    fn counts_are_preserved_when_bins_grow_wider() {
        let mut rates = CountRates::default();
        let times: Vec<u32> = (0..100_000).collect();
        times
            .chunks(7000)
            .for_each(|times| rates.add(&chunk(times, &times[..times.len() / 2], Vec::new()), &ScanTime::default()));
        let [prompts, delayeds] = rates.curves();
        assert!(prompts.len() <= MAX_BINS && rates.bin_secs() == 0.32);
        assert!((total(&rates, &prompts) - 100_000.0).abs() < 1e-6);
        let expected: usize = times.chunks(7000).map(|times| times.len() / 2).sum();
        assert!((total(&rates, &delayeds) - expected as f64).abs() < 1e-6);
        assert!(prompts[..prompts.len() - 1].iter().all(|point| (point[1] - 1000.0).abs() < 1e-9));
    }

    #[test]
    fn events_of_an_interval_are_spread_over_it() {
        let mut rates = CountRates::default();
        let mut time = ScanTime::default();
        // In two pieces of one block, and a shorter one.
        for piece in [
            chunk(&[500; 600], &[], vec![[0, 1000]]),
            chunk(&[500; 400], &[], Vec::new()),
            chunk(&[1250; 500], &[], vec![[1000, 1500]]),
        ] {
            time.add(&piece);
            rates.add(&piece, &time);
        }
        let [prompts, _] = rates.curves();
        assert!((total(&rates, &prompts) - 1500.0).abs() < 1e-9);
        assert!(prompts.iter().all(|point| (point[1] - 1000.0).abs() < 1e-6) && prompts.len() == 150);
    }
}
