//! Benchmarks of the program by itself: commands that print medians, spreads and ratios within one run.

mod arrival;
mod epri;
mod iteration;
mod list_mode;
mod matrix;
mod projector;
mod tubes;

pub use arrival::{ArrivalBench, ArrivalRow, bench_arrival};
pub use epri::{Directions, EpriBench, EpriRow, ProgramKind, bench_epri};
pub use iteration::{IterationRow, bench_iteration};
pub use list_mode::{ListModeBench, ListModeRow, bench_list_mode};
pub use matrix::bench_matrix;
pub use projector::{Direction, ProjectorBench, ProjectorRow, bench_projector};
pub use tubes::{TubesBench, TubesRow, bench_tubes};

use std::time::Instant;

use serde::Serialize;

use crate::algebra::Backend;
use crate::coded::Problem;
use crate::operator::OperatorError;

/// Does `work` on so many threads; `None` = all.
fn on_threads<T: Send>(num_threads: Option<usize>, work: impl FnOnce() -> Result<T, Problem> + Send) -> Result<T, Problem> {
    let count = num_threads.unwrap_or(0);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(count).build();
    threads.map_err(|error| Problem::new("bench", format!("{count} threads could not be started: {error}")))?.install(work)
}

/// Returns the seconds of repetitions of `work`, two at least, after a first one that touches its memory for the first time.
fn timed<B: Backend>(
    backend: &mut B,
    budget_secs: f64,
    mut work: impl FnMut(&mut B) -> Result<(), OperatorError>,
) -> Result<Vec<f64>, OperatorError> {
    let (mut secs, begin) = (Vec::new(), Instant::now());
    while secs.len() < 3 || begin.elapsed().as_secs_f64() < budget_secs {
        backend.finish()?;
        let start = Instant::now();
        work(backend)?;
        backend.finish()?;
        secs.push(start.elapsed().as_secs_f64());
    }
    secs.remove(0);
    Ok(secs)
}

/// The refusal of a program that has no CUDA.
#[cfg(not(feature = "cuda"))]
fn without_cuda() -> Problem {
    Problem::new("bench", "this program was built without its feature `cuda`")
}

/// Where a projector or a program was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BenchDevice {
    /// The processor.
    Cpu,
    /// A CUDA device.
    Cuda,
}

/// The result of a benchmark as JSON.
#[derive(Debug, Serialize)]
pub struct BenchReport<R> {
    /// The device in words.
    pub device: String,
    /// One entry for each measured thing.
    pub rows: Vec<R>,
}
