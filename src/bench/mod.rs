//! Benchmarks of the program by itself: commands that print medians, spreads and ratios within one run.

mod projector;

pub use projector::{ProjectorBench, ProjectorRow, bench_projector};

use serde::Serialize;

/// The result of a benchmark as JSON.
#[derive(Debug, Serialize)]
pub struct BenchReport<R> {
    /// The device in words.
    pub device: String,
    /// One entry for each measured thing.
    pub rows: Vec<R>,
}

/// Median of some times, and half the distance between the quartiles.
fn median_and_spread(mut secs: Vec<f64>) -> (f64, f64) {
    secs.sort_by(f64::total_cmp);
    let at = |q: f64| secs.get(((secs.len() as f64 - 1.0) * q).round() as usize).copied().unwrap_or(0.0);
    (at(0.5), 0.5 * (at(0.75) - at(0.25)))
}
