//! Benchmarks of the program: medians, spreads and ratios within one run.

mod arrival;
mod epri;
mod iteration;
mod list_mode;
mod penalty;
mod projector;
mod replicates;
mod tubes;

pub use arrival::{ArrivalBench, ArrivalRow, bench_arrival};
pub use epri::{Directions, EpriBench, EpriRow, ProgramKind, bench_epri};
pub use iteration::{IterationRow, bench_iteration};
pub use list_mode::{ListModeBench, ListModeRow, bench_list_mode};
pub use penalty::{PenaltyBench, PenaltyRow, bench_penalty};
pub use projector::{Direction, ProjectorBench, ProjectorRow, bench_projector};
pub use replicates::{ReplicatesBench, ReplicatesRow, bench_replicates};
pub use tubes::{TubesBench, TubesRow, bench_tubes};

use std::time::Instant;

use serde::Serialize;

use crate::algebra::Backend;
use crate::coded::Problem;
use crate::operator::OperatorError;
use crate::plan::DeviceChoice;
use crate::recon::{Algorithm, Stage, StageTimes};
use crate::statistics::{median, median_and_spread};
use crate::task::Task;

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

struct TimedIterations {
    median_s: f64,
    spread_s: f64,
    stages: Vec<StageTimes>,
}

impl TimedIterations {
    /// Times a number of full iterations.
    fn measure(algorithm: &mut dyn Algorithm, count: usize, task: &Task) -> Result<Self, Problem> {
        Self::measure_together(algorithm, 1, count, task)
    }

    /// Times a number of groups of full iterations; the seconds are the means of the groups.
    fn measure_together(algorithm: &mut dyn Algorithm, group: usize, count: usize, task: &Task) -> Result<Self, Problem> {
        let (mut secs, mut stages) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let start = Instant::now();
            for _ in 0..group {
                stages.push(algorithm.iterate(task)?);
            }
            secs.push(start.elapsed().as_secs_f64() / group as f64);
        }
        let (median_s, spread_s) = median_and_spread(secs).unwrap_or_default();
        Ok(Self { median_s, spread_s, stages })
    }

    /// Returns the median seconds of a stage.
    fn median_of(&self, stage: Stage) -> f64 {
        let secs = self.stages.iter().map(|times| times[stage].as_secs_f64()).collect();
        median(secs).unwrap_or_default()
    }
}

/// Returns the refusal of a program without CUDA.
#[cfg(not(feature = "cuda"))]
fn without_cuda() -> Problem {
    Problem::new("bench", "this program was built without its feature `cuda`")
}

/// Kind of the device of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BenchDevice {
    Cpu,
    Cuda,
    /// A GPU through wgpu.
    Gpu,
}

/// A GPU to measure, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchGpu {
    Cuda(usize),
    /// A GPU through wgpu.
    WebGpu(usize),
}

impl From<BenchGpu> for DeviceChoice {
    fn from(gpu: BenchGpu) -> Self {
        match gpu {
            BenchGpu::Cuda(number) => Self::Cuda(number),
            BenchGpu::WebGpu(number) => Self::WebGpu(number),
        }
    }
}

/// The result of a benchmark as JSON.
#[derive(Debug, Serialize)]
pub struct BenchReport<R> {
    pub device: String,
    /// One entry for each measurement.
    pub rows: Vec<R>,
}
